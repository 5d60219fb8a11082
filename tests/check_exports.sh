#!/usr/bin/env bash
# What the built objects export and need; libwick's size. Usage: check_exports.sh BUILD
set -euo pipefail
build=${1:?usage: check_exports.sh BUILD}
failed=0
complain() { echo "$*"; failed=1; }
sanitized() { grep -qE '^WICK_(SANITIZE:STRING=.+|FUZZERS:BOOL=ON)' "$build/CMakeCache.txt"; }
exports() { nm -D --defined-only "$1" | awk '$2 ~ /[TDBRVW]/ {print $3}' | sed 's/@.*//' | grep -vE '^(__|_init|_fini|WICK_)' || true; }
needed() { readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\].*/\1/p'; }

for library in "$build"/lib/libwick.so "$build"/lib/libwick-nn.so; do
    [[ -f $library ]] || continue
    foreign=$(exports "$library" | grep -v '^wick_' || true)
    [[ -z $foreign ]] || complain "$library exports names without our prefix: $foreign"
done
for plugin in "$build"/lib/wick/*.so; do
    [[ $(exports "$plugin") == wick_plugin_query ]] || complain "$plugin exports more than wick_plugin_query: $(exports "$plugin")"
    undefined=$(nm -D --undefined-only "$plugin" | grep -o 'wick_[a-z_0-9]*' || true)
    [[ -z $undefined ]] || complain "$plugin needs symbols of the host: $undefined"
done

if ! sanitized; then
    extra=$(needed "$build/lib/libwick.so" | grep -vE '^(libc|libm|libdl|libpthread|ld-linux[-a-z0-9]*)\.so' || true)
    [[ -z $extra ]] || complain "libwick.so needs more than libc and libdl: $extra"
    stripped=$(mktemp)
    trap 'rm -f "$stripped"' EXIT
    strip -o "$stripped" "$build/lib/libwick.so"
    bytes=$(stat -c %s "$stripped")
    echo "libwick.so stripped: $bytes bytes"
    ((bytes < 1000000)) || complain "libwick.so is not below 1 MB"
fi
exit $failed
