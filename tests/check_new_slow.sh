#!/usr/bin/env bash
# `wick new plugin` against an installed wick: each kind builds and passes its own tests; wrong names and folders that are
# there already are refused. Usage: check_new_slow.sh BUILD
set -euo pipefail
build=${1:?usage: check_new_slow.sh BUILD}
if grep -qE '^WICK_(SANITIZE:STRING=.+|FUZZERS:BOOL=ON)' "$build/CMakeCache.txt"; then exit 0; fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix
DESTDIR='' cmake --install "$build" --prefix "$prefix" >"$work/install.log"
unset WICK_PLUGIN_PATH WICK_CONFIG
export XDG_CONFIG_HOME=$work
cd "$work"
wick=$prefix/bin/wick
fail() { echo "check_new: $*" >&2; exit 1; }
quietly() { "$@" >log 2>&1 || { cat log >&2; fail "failed: $*"; }; }

for kind in device ops model; do
    name=my_$kind
    quietly "$wick" new plugin "$name" --kind "$kind"
    quietly cmake -S "$name" -B "$name/build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_FLAGS=-Werror
    quietly cmake --build "$name/build"
    quietly ctest --test-dir "$name/build" --output-on-failure
    undefined=$(nm -D --undefined-only "$name/build/$name.so" | grep -o 'wick_[a-z_0-9]*' || true)
    [[ -z $undefined ]] || fail "$name.so needs symbols of the host: $undefined"
    ! grep -rn '@NAME@' "$name" --include='*' --exclude-dir=build || fail "$name has a placeholder left"
done

# refused CODE TEXT arguments...: the command fails so
refused() {
    local code=$1 text=$2 got=0
    shift 2
    "$wick" new "$@" >log 2>&1 || got=$?
    [[ $got == "$code" ]] || fail "wick new $*: exit code $got, wanted $code"
    grep -qF -- "$text" log || fail "wick new $*: no '$text' in: $(<log)"
}
refused 1 "is there already" plugin my_ops --kind ops
refused 2 "C identifier" plugin 3d --kind ops
refused 2 "C identifier" plugin a-b --kind ops
refused 2 "C identifier" plugin "" --kind ops
refused 2 "another meaning" plugin int --kind ops
refused 2 "at most 31" plugin abcdefghijklmnopqrstuvwxyz_0123456789 --kind ops
refused 2 "wanted device, ops or model" plugin good --kind bad
refused 2 "wanted device, ops or model" plugin good
refused 2 "wants a value" plugin good --kind
refused 2 "wanted the word plugin" device good --kind ops
refused 1 "cannot make the folder" plugin good --kind ops --output missing/good
[[ ! -e good && ! -e missing ]] || fail "a refused project left files"
quietly "$wick" new plugin other --kind ops --output folder
[[ -f folder/other.c ]] || fail "--output was not obeyed"
