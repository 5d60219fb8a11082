#!/usr/bin/env bash
# `wick check` with everything it has on every device plugin that was built: no failures but those that
# tests/check/NAME.known explains. Usage: check_conformance_slow.sh BUILD
set -euo pipefail
build=$(realpath "${1:?usage: check_conformance_slow.sh BUILD}")
source=$(realpath "$(dirname "${BASH_SOURCE[0]}")/..")
wick=$build/bin/wick
[[ -x $wick ]] || { echo "no $wick"; exit 0; }
export WICK_PLUGIN_PATH=$build/lib/wick
export POCL_CACHE_DIR=$build/pocl-cache
mkdir -p "$POCL_CACHE_DIR"
failed=0

# check NAME argument...: a plugin that is there has no failures; one without a device here loads only.
check() {
    local plugin=$build/lib/wick/$1.so known=$source/tests/check/$1.known
    local -a options=(--goldens "$source/tests/goldens")
    shift
    [[ -e $plugin ]] || return 0
    [[ -e $known ]] && options+=(--known "$known")
    if "$wick" check "$plugin" "$@" --mode load | grep -q "no device here"; then set -- "$@" --mode load; fi
    "$wick" check "$plugin" "${options[@]}" "$@" || { echo "wick check $plugin $*: failures"; failed=1; }
}

check cpu
check refdevice
check refdevice --set synchronous=yes --mode load,memory,ops,stress
check refdevice --set delay=50 --mode memory,stress --quick
check opencl
exit $failed
