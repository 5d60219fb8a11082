#!/usr/bin/env bash
# Dependencies point one way: plugins -> sdk; nn, cli -> the core's public headers; the core names no device or plugin.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
failed=0
# forbid MESSAGE PATTERN EXCEPT path...: no include line of the files matches PATTERN unless it matches EXCEPT.
forbid() {
    local message=$1 pattern=$2 except=$3 hits
    shift 3
    hits=$(grep -rnE --include='*.[ch]' --include='*.inc' "$pattern" "$@" | grep -vE "$except" || true)
    [[ -z $hits ]] && return
    echo "$message:"
    echo "$hits"
    failed=1
}
existing() { local path; for path in "$@"; do if [[ -e $path ]]; then echo "$path"; fi; done; }
mapfile -t above < <(existing nn cli bench examples)

# What a plugin may see of wick: sdk headers, and what these include.
forbid "plugins include something other than <wick/sdk/...>" '#include <wick/' '#include <wick/sdk/' plugins
forbid "plugins reach out of their folder" '#include ".*(core|nn|cli)/' '^$' plugins
forbid "above the core only public headers are included" '#include ".*core/' '^$' "${above[@]}"
forbid "the core includes what lies above it" '#include [<"](wick/(nn|optim|data|train)|.*plugins/)' '^$' core sdk
# Comments may mention a device as an example; code and strings may not.
devices='"(cpu|cuda|hip|opencl|metal|vulkan|openblas)|\b(cuda|hip|cublas|cudnn|openblas)[A-Za-z_]*\('
forbid "the core names a device" "$devices" 'FALLBACK_CPU|^[^:]*:[0-9]+: *(/?\*|//)|/\*.*"cpu' core/src core/autograd core/ops
exit $failed
