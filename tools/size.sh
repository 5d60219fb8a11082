#!/usr/bin/env bash
# How large the source and the built objects are. Usage: size.sh [BUILD]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=${1:-build}

# Lines of each function, from its signature to its closing brace.
function_lengths() {
    find core plugins nn cli tools bench -name '*.c' -print0 | xargs -0 awk '
        FNR == 1 { start = 0 }
        /^[a-zA-Z].*[^;]$/ && !start { start = FNR; is_function = /\(/ && !/=/ }
        /^[^ }].*;$/ { start = 0 }
        /^}/ { if (start && is_function) print FNR - start + 1; start = 0 }'
}

printf '%-10s %6s %7s\n' folder files lines
for folder in core sdk plugins nn cli tools bench tests; do
    find "$folder" \( -name '*.[ch]' -o -name '*.inc' \) -print0 |
        xargs -0 --no-run-if-empty cat | wc -l |
        xargs printf '%-10s %6d %7d\n' "$folder" "$(find "$folder" \( -name '*.[ch]' -o -name '*.inc' \) | wc -l)"
done
function_lengths | sort -n | awk '{ n[NR] = $1 } END { if (NR) printf "%d functions, lines: median %d, 90%% %d, 99%% %d, longest %d\n",
    NR, n[int((NR + 1) / 2)], n[int(NR * 0.9 + 0.5)], n[int(NR * 0.99 + 0.5)], n[NR] }'
find core sdk plugins nn cli tools bench -name '*.[ch]' -print0 | xargs -0 wc -l |
    awk '$1 > 800 && $2 != "total" { print "over 800 lines: " $2 " (" $1 ")" }'
for object in "$build"/lib/lib*.so "$build"/lib/wick/*.so "$build"/bin/wick; do
    [[ -f $object ]] || continue
    stripped=$(mktemp)
    strip -o "$stripped" "$object"
    printf '%-40s %8d bytes stripped\n' "${object#"$build"/}" "$(stat -Lc %s "$stripped")"
    rm -f "$stripped"
done
