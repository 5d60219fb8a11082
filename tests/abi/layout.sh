#!/usr/bin/env bash
# Prints the layout of the plugin ABI in the headers of a tree. Usage: layout.sh TREE [OBJECT.so]
# OBJECT.so: also leave a library there that has a variable of every structure, for abidw.
set -euo pipefail
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
tree=${1:?usage: layout.sh TREE [OBJECT.so]}
library=${2:-}
compiler=${ABI_CC:-gcc} # not $CC: clang drops types that no variable has
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Headers whose types stay inside the plugin: code that is compiled into it.
inside='iter|element|loops|link|random|pointwise|shape|arguments'
includes=(-I"$tree/core/include" -I"$tree/sdk/include")
for header in "$tree"/sdk/include/wick/sdk/*.h; do
    name=$(basename "$header" .h)
    [[ $name =~ ^($inside)$ ]] || includes+=(-include "wick/sdk/$name.h")
done

"$compiler" -std=c17 -g -gdwarf-4 -fno-eliminate-unused-debug-types "${includes[@]}" -c "$here/surface.c" -o "$work/surface.o"
readelf --debug-dump=info "$work/surface.o" | awk -f "$here/layout.awk" >"$work/layout.txt"
if [[ -n $library ]]; then
    awk '$1 == "struct" { printf "extern WICK_API const struct %s the_%s;\nconst struct %s the_%s;\n", $2, $2, $2, $2 }' \
        "$work/layout.txt" >"$work/variables.c"
    "$compiler" -std=c17 -g -gdwarf-4 -fPIC -shared "${includes[@]}" "$work/variables.c" -o "$library"
fi
cat "$work/layout.txt"
