#!/usr/bin/env bash
# Keeps a plugin's binary of an ABI version: builds x86-64/kept-M.m.so from kept-M.m.c and the headers of this tree or of a
# git revision, and writes down how. Later hosts must load it or refuse it as the versions say (test_kept.c). A binary that
# was released is never built again. Usage: keep.sh [REVISION]
set -euo pipefail
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
revision=${1:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree=$(realpath "$here/../..")
[[ $(uname -sm) == "Linux x86_64" ]] || { echo "keep.sh: got $(uname -sm), wanted Linux x86_64"; exit 1; }
if [[ -n $revision ]]; then
    git -C "$tree" archive "$revision" core/include sdk/include | tar x -C "$work"
    tree=$work
fi

number() { cat "$tree"/sdk/include/wick/sdk/*.h | sed -n "s/^#define WICK_ABI_$1 //p"; }
version=$(number MAJOR).$(number MINOR)
base=$here/x86-64/kept-$version
[[ -f $base.c ]] || { echo "keep.sh: write $base.c first: a plugin that uses what $version offers"; exit 1; }
flags=(-std=c17 -O2 -fPIC -shared -fvisibility=hidden -Wall -Wextra -Wno-unused-parameter -Werror -s
    -Wl,--build-id=none -Wl,-z,defs -Wl,-z,now "-ffile-prefix-map=$here=tests/abi")
gcc "${flags[@]}" -I"$tree/core/include" -I"$tree/sdk/include" -o "$base.so" "$base.c"
if [[ ! -f $here/offsets-$version.txt ]]; then
    "$here/layout.sh" "$tree" >"$work/offsets.txt"
    cp "$work/offsets.txt" "$here/offsets-$version.txt"
fi
{
    echo "abi $version"
    echo "headers ${revision:-of the tree that has this file}"
    echo "compiler $(gcc --version | head -1)"
    echo "command gcc ${flags[*]/$here/.} -Icore/include -Isdk/include -o kept-$version.so kept-$version.c"
    echo "layout $(sha256sum <"$here/offsets-$version.txt" | cut -d' ' -f1)"
    echo "sha256 $(sha256sum <"$base.so" | cut -d' ' -f1)"
} >"$base.txt"
cat "$base.txt"
