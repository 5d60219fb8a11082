#!/usr/bin/env bash
# The built GPU plugins hold code for every target, and in each target's code every kernel of plugins/gpu/device/kernels.inc
# and no other; they need no driver and no library of the vendor to load. A plugin that was built without kernels is passed
# over. Usage: check_gpu_images_slow.sh BUILD
set -euo pipefail
build=$(realpath "${1:?usage: check_gpu_images_slow.sh BUILD}")
cd "$(dirname "${BASH_SOURCE[0]}")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
complain() { echo "check_gpu_images: $*" >&2; failed=1; }
fail() { complain "$@"; exit 1; }

cached() { sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt"; }
number() { od -A n -t "u$3" -j "$2" -N "$3" "$1" | tr -d ' '; }

# kernel_names: what the host side asks for.
kernel_names() {
    printf '#define GPU_K(name) @name@\n#include "kernels.inc"\n' |
        cc -E -P -I plugins/gpu/device -I sdk/include -x c - | grep -oE '@[a-z0-9_]+@' | tr -d @ | sort
}

# compare NAME TARGET: kernels of a target, on standard input, against those that are wanted.
compare() {
    local difference
    difference=$(sort | diff "$work/wanted" - | grep '^[<>]' || true)
    [[ -z $difference ]] || complain "$1.so, $2: kernels that lack (<) or are not in kernels.inc (>):
$difference"
}

# The file of each image, in the order of gpu_images[].
image_files() { grep -o 'incbin \\"[^"\\]*' "$build/plugins/$1/images.c" | sed 's/.*"//'; }

# embedded NAME: every image lies in the plugin as its file has it.
embedded() {
    local plugin=$build/lib/wick/$1.so image base i=0 at
    base=$(readelf -SW "$plugin" | sed -n 's/^ *\[ *[0-9]*\] \.rodata *PROGBITS *\([0-9a-f]*\) \([0-9a-f]*\).*/\1 \2/p')
    for image in $(image_files "$1"); do
        at=$(nm "$plugin" | sed -n "s/^\([0-9a-f]*\) . gpu_image_$i\$/\1/p")
        [[ -n $at ]] || fail "$1.so has no image $i, that of $image"
        cmp -s -n "$(stat -c %s "$image")" -i "$((0x$at - 0x${base% *} + 0x${base#* })):0" "$plugin" "$image" ||
            complain "$1.so: image $i is not $image"
        i=$((i + 1))
    done
    ((i > 0)) || fail "$1.so has no images"
}

# ---- CUDA: fat binaries, read here since not every toolkit has cuobjdump ----
# fatbin_entries FILE: "KIND ARCHITECTURE BYTES" of each entry; KIND is 1 for PTX, 2 for machine code.
fatbin_entries() {
    local file=$1 at=16 end
    [[ $(number "$file" 0 4) == $((0xba55ed50)) ]] || fail "$file is no fat binary"
    end=$((16 + $(number "$file" 8 8)))
    while ((at < end)); do
        echo "$(number "$file" "$at" 2) $(number "$file" $((at + 28)) 4) $(number "$file" $((at + 56)) 8)"
        at=$((at + $(number "$file" $((at + 4)) 4) + $(number "$file" $((at + 8)) 8)))
    done
}

# What a fat binary should have: machine code of each architecture, PTX of the last one.
fatbin_wanted() {
    local image=$1 architecture
    for architecture in "${architectures[@]}"; do
        echo "2 $architecture $(stat -c %s "${image%.fatbin}.sm_$architecture.cubin")"
    done
    echo "1 ${architectures[-1]}"
}

cubin_kernels() { readelf -sW "$1" | sed -n 's/.* FUNC *GLOBAL .*<other>: 10\] *[0-9]* //p'; }
ptx_kernels() { sed -n 's/^.*\.entry \([a-z0-9_]*\).*/\1/p' "$1"; }

check_cuda() {
    local images image architecture
    IFS=';' read -ra architectures <<<"$(cached WICK_CUDA_ARCHITECTURES)"
    images=$(image_files cuda)
    for image in $images; do
        diff <(fatbin_wanted "$image" | sort) <(fatbin_entries "$image" | sed 's/^\(1 [0-9]*\) .*/\1/' | sort) >"$work/log" ||
            complain "$image does not hold what was compiled for it (kind, architecture, bytes): $(<"$work/log")"
    done
    for architecture in "${architectures[@]}"; do
        for image in $images; do cubin_kernels "${image%.fatbin}.sm_$architecture.cubin"; done | compare cuda "sm_$architecture"
    done
    for image in $images; do ptx_kernels "${image%.fatbin}.sm_$architecture.ptx"; done | compare cuda "PTX of $architecture"
    echo "cuda.so: $(wc -w <<<"$images") images with code of ${architectures[*]} and PTX of $architecture"
}

# ---- HIP: bundles of code objects ----
bundle_targets() { "$bundler" --list --type=o --input="$1" | sed -n 's/^hip.*--\(gfx[0-9a-z]*\)$/\1/p' | sort; }

# bundle_kernels FILE TARGET: those of its code object for the target.
bundle_kernels() {
    local entry
    entry=$("$bundler" --list --type=o --input="$1" | grep -e "--$2\$")
    "$bundler" --unbundle --type=o --input="$1" --targets="$entry" --output="$work/code"
    readelf -sW "$work/code" | sed -n 's/.* OBJECT *GLOBAL .* \([a-z0-9_]*\)\.kd$/\1/p' | sort -u
}

check_hip() {
    local images image target targets bundler
    bundler=$("$(cached WICK_HIP_COMPILER)" -print-prog-name=clang-offload-bundler)
    IFS=';' read -ra targets <<<"$(cached WICK_HIP_ARCHITECTURES)"
    images=$(image_files hip)
    for image in $images; do
        diff <(printf '%s\n' "${targets[@]}" | sort) <(bundle_targets "$image") >"$work/log" ||
            complain "$image does not hold the targets that it should: $(<"$work/log")"
    done
    for target in "${targets[@]}"; do
        for image in $images; do bundle_kernels "$image" "$target"; done | compare hip "$target"
    done
    echo "hip.so: $(wc -w <<<"$images") images with code of ${targets[*]}"
}

# ---- loading ----
# loads NAME: nothing of the vendor's is linked, and without a device the plugin says why.
loads() {
    local linked info
    linked=$(readelf -d "$build/lib/wick/$1.so" | grep NEEDED | grep -vE '\[(libc|libm|libdl|libpthread)\.so' || true)
    [[ -z $linked ]] || complain "$1.so is linked with more than libc: $linked"
    printf '[plugin.%s]\npath = %s.so\nrequired = no\n' cpu "$build/lib/wick/cpu" "$1" "$build/lib/wick/$1" >"$work/$1.ini"
    info=$("$build/bin/wick" info --config "$work/$1.ini" 2>&1 | grep -A 2 "^$1:") || complain "wick info does not tell of $1.so"
    echo "$info" | sed '/^  path/d'
    [[ $info == "$1: ready"* || ($info == "$1: no device"* && $info =~ "reason (at create) "[a-z]) ]] ||
        complain "$1.so is neither ready nor without a device: $info"
}

kernel_names >"$work/wanted"
(($(wc -l <"$work/wanted") > 1000)) || fail "only $(wc -l <"$work/wanted") kernels in kernels.inc"
[[ $(cached WICK_CUDA)$(cached WICK_HIP) == *ON* ]] || fail "no plugin in $build has kernels"
for name in cuda hip; do
    [[ $(cached "WICK_${name^^}") == ON ]] || continue
    embedded "$name"
    "check_$name"
    loads "$name"
done
exit $failed
