#!/usr/bin/env bash
# `wick check`: nothing wrong with the CPU plugin, and every flaw of the fixture plugins found, with its reason. The quick
# modes; all of it is check_conformance_slow.sh's. Usage: check_conformance.sh BUILD
set -euo pipefail
build=$(realpath "${1:?usage: check_conformance.sh BUILD}")
source=$(realpath "$(dirname "${BASH_SOURCE[0]}")/..")
wick=$build/bin/wick plugins=$build/tests/plugins
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
    output=$("$wick" check "$@" 2>&1) || got=$?
    if [[ $got != "$code" || $output != *"$text"* ]]; then
        echo "wick check $*: got exit code $got and: $output"
        echo "  wanted $code and: $text"
        failed=1
    fi
}

# ---- usage ----
expect 2 "wanted one plugin, got 0"
expect 2 "--mode does not take 'frob'" "$build/lib/wick/cpu.so" --mode frob
expect 2 "--report does not take 'xml'" "$build/lib/wick/cpu.so" --report xml
expect 2 "--set does not take 'key'" "$build/lib/wick/cpu.so" --set key
expect 2 "nothing: cannot open" "$build/lib/wick/cpu.so" --known nothing

expect 2 "--timeout does not take '0'" "$build/lib/wick/cpu.so" --timeout 0
[[ $("$wick" help check) == *"--coverage FILE.md"* ]] || { echo "wick help check does not help"; failed=1; }

# ---- files that are no plugin ----
echo "#!/bin/sh" >text.so
expect 1 "file [ELF]: not an ELF file" text.so --mode load
head -c 3000 "$plugins/good.so" >cut.so
expect 1 "cut or damaged" cut.so --mode load
expect 1 "cannot be opened" absent.so --mode load
expect 1 "open: not run: the plugin did not load" absent.so --mode load,ops

# ---- one flaw each ----
flaw() { expect 1 "$2" "$plugins/$1.so" --mode load; }
expect 0 "0 failures" "$plugins/good.so" --mode load --quick
flaw aborts "state [isolate]: the isolated process died of SIGABRT"
flaw exits "ended without an answer, exit code 0"
flaw no_entry "got 1: another_entry; wanted one symbol, wick_plugin_query"
flaw extra_exports "got 3: wick_plugin_query extra_"
flaw undefined_wick "1 undefined wick symbols: wick_release"
flaw needs_missing "needs libfixture_missing.so, which was not found"
flaw wrong_magic "got magic 0x12345678"
flaw zero_size "descriptor: got 0 bytes"
flaw truncated "descriptor: got 40 bytes"
flaw older_minor "state [query]: ABI: got"
flaw newer_minor "state [query]: ABI: got"
flaw newer_major "state [query]: ABI: got"
flaw wrong_sanitizer "sanitizer: got"
flaw no_create "required slot create is not set"
flaw refusing "the plugin refused: not on a Tuesday"
flaw backend_truncated "wick_backend: got 16 bytes"
flaw backend_no_slot "required slot device_query is not set"
flaw no_memory 'interface "memory" 1: got none'
flaw memory_no_slot "required slot"
flaw registers_nothing "create registered nothing"
expect 0 "no device here" "$plugins/good.so" --mode load --set devices=0
expect 1 "the driver is asleep" "$plugins/good.so" --mode load --set "fail=the driver is asleep"

# ---- a device that works, but for one thing ----
device() {
    local flaw=$1 text=$2
    shift 2
    expect 1 "$text" "$plugins/flawed.so" --set "flaw=$flaw" --quick "$@"
}
expect 0 "0 failures" "$plugins/flawed.so" --mode load,memory --quick
expect 0 "0 failures" "$plugins/flawed.so" --mode ops --only add.Tensor
device lost_byte "differs from what was written" --mode memory
device crash "allocate [process]: the process died of SIGABRT" --mode memory
if ! "$wick" check "$plugins/flawed.so" --mode memory --quick | grep -q "a sanitizer's allocator"; then
    device no_limit "allocate [2^50 bytes]: got ok, wanted out of memory" --mode memory
fi
device endless "no answer in 1 s" --mode memory --timeout 1
device half_pair "allocate_pinned is not set" --mode load
device any_name "required slot" --mode load
device wrong_add "add.Tensor [f32]: element 11 is" --mode ops --only add.Tensor
device wrong_stride "neg [f32 transposed out]: element" --mode ops --only neg
expect 1 "neg [i32]: element" "$plugins/flawed.so" --set flaw=wrong_dtype --mode ops --only neg
expect 1 "add.Tensor [f32 large]: element 1000 is" "$plugins/flawed.so" --set flaw=nan --mode ops --only add.Tensor
expect 1 "there is no operator 'frob'" "$plugins/flawed.so" --mode ops --only frob
# After a crash the rest is still looked at.
device crash "copy_peer" --mode memory

# ---- what is known ----
cat >known <<'END'
# not this one
exclude neg : the device has no minus
expect-fail add.Tensor f32 : off by one since yesterday
END
expect 1 "expected ops    add.Tensor [f32]: element 11 is" "$plugins/flawed.so" --set flaw=wrong_add --mode ops \
    --only add.Tensor --known known
sed -i 's/add.Tensor f32/add.Tensor/' known
expect 0 "off by one since yesterday" "$plugins/flawed.so" --set flaw=wrong_add --mode ops --only add.Tensor --known known
expect 1 "passes, but the known file expects it to fail" "$plugins/flawed.so" --mode ops --only add.Tensor --known known
expect 0 "1 excluded" "$plugins/flawed.so" --set flaw=wrong_stride --mode ops --only neg --known known
echo "skip neg" >bad
expect 2 "bad:1: wanted" "$plugins/flawed.so" --known bad

# ---- reports ----
expect 0 "0 failures" "$plugins/flawed.so" --mode ops --only neg --report json --output r.json --coverage r.md
[[ $(cat r.json) == *'"name": "neg", "how": "kernel"'* ]] || { echo "r.json: no row for neg"; failed=1; }
[[ $(cat r.md) == *'| `neg` | kernel | f32 |'* ]] || { echo "r.md: no row for neg"; failed=1; }
if command -v python3 >/dev/null; then python3 -m json.tool r.json >/dev/null || failed=1; fi
expect 0 "<td>neg<td class=\"kernel\">kernel" "$plugins/flawed.so" --mode ops --only neg --report html

# ---- the CPU plugin ----
expect 0 "0 failures" "$build/lib/wick/cpu.so" --quick --mode load,memory,ops,grad,stress --known "$source/tests/check/cpu.known"
exit $failed
