#!/usr/bin/env bash
# The `wick` command: exit codes, messages, and a training from end to end. Usage: check_cli.sh BUILD
set -euo pipefail
build=$(realpath "${1:?usage: check_cli.sh BUILD}")
source=$(realpath "$(dirname "${BASH_SOURCE[0]}")/..")
wick=$build/bin/wick
[[ -x $wick ]] || { echo "no $wick"; exit 0; }
export WICK_PLUGIN_PATH=$build/lib/wick
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
failed=0

# expect CODE TEXT argument...: the exit code, and TEXT somewhere in what is printed.
expect() {
    local code=$1 text=$2 got=0 output
    shift 2
    output=$("$wick" "$@" 2>&1) || got=$?
    if [[ $got != "$code" || $output != *"$text"* ]]; then
        echo "wick $*: got exit code $got and: $output"
        echo "  wanted $code and: $text"
        failed=1
    fi
}

# ---- usage ----
expect 2 "usage: wick COMMAND"
expect 2 "there is no command 'frob'" frob
expect 0 "wick 0." --version
expect 0 "usage: wick COMMAND" help
expect 0 "usage: wick train FILE.ini" help train
expect 0 "batchnorm2d(eps:real=1e-5" help train --keys
expect 2 "there is no command 'frob'" help frob
expect 2 "wanted one INI file, got 0" train
expect 2 "unknown option '--frob'" train --frob x.ini
expect 2 "it has no option --why" train --why x.ini
expect 2 "--set wants a value" train x.ini --set
expect 2 "files of samples" predict run
expect 2 "--format is 'xml', wanted csv or json" predict run x.csv --format xml

# ---- wrong INI files ----
ini=$source/examples/digits.ini
expect 2 "nothing.ini: cannot open" train nothing.ini
expect 2 'unknown key "epoch", nearest known is "epochs"' train "$ini" --set train.epoch=3
expect 2 '[optimizer] lr: got "abc", wanted a number' train "$ini" --set optimizer.lr=abc
expect 1 "[model] layer3: for samples of shape [16, 8, 8]: no layer is called 'relo'" train "$ini" --set model.layer3=relo
expect 1 "nothing.csv: cannot open" train "$ini" --set data.train=nothing.csv
expect 1 'no device "abacus"' train "$ini" --set runtime.device=abacus
expect 2 "nothing: cannot open" eval nothing

# ---- info and ops ----
expect 0 "cpu: ready" info
expect 0 "features" info --why
expect 0 "add.Tensor(Tensor self" ops 'add.*'
expect 0 "primitive cpu" ops add.Tensor --backend cpu
expect 1 "no backend 'abacus' is ready" ops --backend abacus

# ---- a training, stopped and resumed ----
data=$source/examples/data/digits.csv.gz
expect 0 "epoch 2/2" train "$ini" --set train.epochs=2 --out whole
expect 0 "model: " train "$ini" --quiet --set train.epochs=1 --out parts
expect 0 "resuming at epoch 2, batch 1" train "$ini" --set train.epochs=2 --out parts --resume
cmp whole/model.safetensors parts/model.safetensors || failed=1
for file in model.safetensors metrics.csv train.ini report.html checkpoint.safetensors; do
    [[ -s whole/$file ]] || { echo "whole/$file is missing"; failed=1; }
done
expect 0 "accuracy 9" eval whole
expect 0 "samples 1797" eval whole --data "$data"
zcat "$data" | sed -n 1,2p >two.csv
expect 0 "two.csv,0,0,0.9" predict whole two.csv
expect 0 '{"file": "two.csv", "sample": 0, "class": 0,' predict whole two.csv --format json
expect 1 "none/model.safetensors" eval "$ini" --set train.out=none
echo "1,2,3" >bad.csv
expect 1 "bad.csv: got samples of shape [3], wanted [1, 8, 8]" predict whole bad.csv

"$wick" train "$ini" --set train.epochs=100000 --out stopped >stopped.log 2>&1 &
pid=$!
until grep -q "^epoch 1/" stopped.log; do sleep 0.1; done
kill -INT $pid
code=0
wait $pid || code=$?
if [[ $code != 1 ]] || ! grep -q "go on with: wick train .* --out stopped --resume" stopped.log; then
    echo "an interrupted training: got exit code $code and:"
    tail -3 stopped.log
    failed=1
fi
exit $failed
