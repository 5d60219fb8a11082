#!/usr/bin/env bash
# Trains examples/digits.ini on the device of the OpenCL plugin: the losses of the first steps are the CPU's within 1e-4,
# and after four epochs more than 96% of the test part are right. Usage: check_training.sh BUILD.
set -euo pipefail
build=$(realpath "${1:?usage: check_training.sh BUILD}")
source=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../../..")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
wick=$build/bin/wick
# train NAME argument...: the metrics of every epoch but the last in NAME.csv.
train() {
    local name=$1
    shift
    "$wick" train "$source/examples/digits.ini" --set runtime.plugins="cpu opencl" --set train.out="$scratch/$name" \
        "$@" >"$scratch/$name.log" 2>&1 || { cat "$scratch/$name.log"; exit 1; }
}

# One batch an epoch: the loss of each of the first steps.
for device in cpu opencl; do
    train "steps-$device" --set runtime.device="$device" --set train.batch_size=1438 --set train.epochs=4
done
paste -d, "$scratch/steps-cpu/metrics.csv" "$scratch/steps-opencl/metrics.csv" | awk -F, '
    NR > 1 { d = $2 - $(2 + NF / 2); if (d < 0) d = -d; print "step", $1, "cpu", $2, "opencl", $(2 + NF / 2)
             if (d > 1e-4) bad = 1; ++steps }
    END { exit bad || steps != 4 }'

# The example as it is, but for one line and fewer epochs.
train digits --set runtime.device=opencl --set train.epochs=4
tail -n 1 "$scratch/digits/metrics.csv" | awk -F, '{ print "accuracy", $5, "after", $1, "epochs"; exit !($5 > 0.96) }'
