#!/usr/bin/env bash
# Builds wick with its CUDA plugin on the GPU machine in a scratch folder, checks it and runs a smoke test, in one call under
# six minutes. Usage: bench/gpu.sh [build|info|parity|train|check|bench|memcheck|racecheck]...   (default: the first four)
#
#   WICK_GPU_DEPS=DIR    unpacked packages that the machine lacks (inih, libzip, jansson, zlib, pkg-config): a root with
#                        usr/ in it, or a prefix with include/ and lib/
#   WICK_GPU_BUILD=DIR   scratch folder (default: /tmp/wick-gpu)
#   WICK_GPU_GOLDENS=DIR recordings to compare with (default: tests/goldens)
#   OUT=DIR              logs and result files go here too, if set
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=${WICK_GPU_BUILD:-/tmp/wick-gpu}
out=${OUT:-$build/out}
goldens=${WICK_GPU_GOLDENS:-tests/goldens}
mkdir -p "$build" "$out"

say() { printf '== %4d s  %s\n' "$SECONDS" "$*"; }
die() { printf 'gpu.sh: %s\n' "$*" >&2; exit 1; }

# ---- what the machine has ----
use_dependencies() {
    local root=${WICK_GPU_DEPS:-} prefix
    [[ -n $root ]] || return 0
    root=$(cd "$root" && pwd)
    prefix=$root
    if [[ -d $root/usr ]]; then
        prefix=$root/usr
        export PKG_CONFIG_SYSROOT_DIR=$root
    fi
    local libraries=$prefix/lib:$prefix/lib/x86_64-linux-gnu:$root/lib/x86_64-linux-gnu
    export CMAKE_PREFIX_PATH=$prefix
    export CPATH=$prefix/include:$prefix/include/x86_64-linux-gnu${CPATH:+:$CPATH}
    export LIBRARY_PATH=$libraries${LIBRARY_PATH:+:$LIBRARY_PATH}
    export LD_LIBRARY_PATH=$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    export PATH=$PATH:$prefix/bin
    export PKG_CONFIG_PATH=$prefix/lib/pkgconfig:$prefix/lib/x86_64-linux-gnu/pkgconfig:$prefix/share/pkgconfig
}

# cuBLASLt and cuDNN where the loader does not look: of CUDA itself, or beside a Python package.
use_gpu_libraries() {
    local folders
    folders=$(python3 - <<'PYTHON' || true
import glob, site, sysconfig
roots = set(site.getsitepackages() + [sysconfig.get_paths()["purelib"]])
print(":".join(sorted({f.rsplit("/", 1)[0] for r in roots for n in ("cublasLt", "cudnn")
                       for f in glob.glob(f"{r}/nvidia/*/lib/lib{n}.so*")})))
PYTHON
    )
    folders=${folders:+$folders:}/usr/local/cuda/lib64
    export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$folders
}

architecture() {
    nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -1 | tr -d '. ' || true
}

# ---- steps ----
step_build() {
    local generator=() arch
    command -v ninja >/dev/null && generator=(-G Ninja)
    arch=$(architecture)
    say "building for sm_${arch:-90} in $build"
    cmake -S . -B "$build" "${generator[@]}" -DCMAKE_BUILD_TYPE=Release -DWICK_CUDA=ON -DWICK_TESTS=ON \
        -DWICK_CUDA_ARCHITECTURES="${arch:-90}" >"$out/configure.log" 2>&1 ||
        { tail -20 "$out/configure.log"; die "configuring failed"; }
    cmake --build "$build" -j "$(nproc)" --target wick wick-nn wick_cpu wick_cuda wick-cli wick-probe wick-parity bench-gpu \
        >"$out/build.log" 2>&1 || { grep -E 'error|FAILED' "$out/build.log" | head -20; die "building failed"; }
}

write_configuration() {
    cat >"$build/gpu.ini" <<INI
[plugin.cpu]
path = $build/lib/wick/cpu.so
[plugin.cuda]
path = $build/lib/wick/cuda.so
fallback = cpu
INI
    cat tests/parity.known tests/gpu/parity.known >"$build/parity.known"
}

step_info() {
    say "wick info"
    nvidia-smi --query-gpu=name,driver_version --format=csv,noheader || true
    "$build/bin/wick" info --why 2>&1 | tee "$out/info.txt" | head -40
    grep -q '^.*cuda.*ready' "$out/info.txt" || die "the CUDA plugin is not ready"
}

step_parity() {
    say "recorded PyTorch results of $goldens on cuda"
    timeout 150 "$build/bin/wick-parity" "$goldens" --ops --grad --device cuda --config "$build/gpu.ini" \
        --known "$build/parity.known" --json "$out/parity.json" >"$out/parity.txt" 2>&1 || say "parity failed or timed out"
    tail -5 "$out/parity.txt"
}

step_check() {
    say "wick check"
    timeout 240 "$build/bin/wick" check "$build/lib/wick/cuda.so" --mode load,memory,stress,ops,grad \
        --known tests/check/hip.known --output "$out/check.txt" >/dev/null 2>&1 || say "wick check failed or timed out"
    tail -9 "$out/check.txt"
}

# memcheck or racecheck over f32, i64 and bool cases of every operator, in as many processes as there are cores.
sanitize() {
    local tool=$1 parts k failed=0 notes
    command -v compute-sanitizer >/dev/null || die "no compute-sanitizer"
    parts=$(($(nproc) > 24 ? 24 : $(nproc)))
    say "wick check under compute-sanitizer $tool, $parts processes"
    for ((k = 1; k <= parts; ++k)); do
        timeout "${WICK_GPU_SANITIZE_SECONDS:-280}" compute-sanitizer --tool "$tool" --error-exitcode 99 --report-api-errors no \
            --target-processes all --log-file "$out/$tool-$k-%p.log" "$build/bin/wick" check "$build/lib/wick/cuda.so" \
            --mode ops --quick --in-process --part "$k/$parts" --known tests/check/hip.known \
            --output "$out/$tool-$k.txt" >/dev/null 2>&1 &
    done
    for ((k = 1; k <= parts; ++k)); do
        wait -n || failed=$((failed + 1))
    done
    cat "$out/$tool"-*-*.log >"$out/$tool.log"
    rm -f "$out/$tool"-*-*.log
    notes=$(grep -c 'ERROR SUMMARY: 0 errors\|RACECHECK SUMMARY: 0 hazards' "$out/$tool.log" || true)
    cat "$out/$tool"-*.txt | awk '$1 == "ops" && NF == 5 { pass += $2; fail += $3 } END { print pass, "cases pass,", fail, "fail" }'
    say "$tool: $notes of $parts reports are clean, $failed processes failed"
    grep -v 'SUMMARY: 0\|^=* COMPUTE-SANITIZER$' "$out/$tool.log" | head -40 || true
    rm -f "$out/$tool"-*.txt
}
step_memcheck() { sanitize memcheck; }
step_racecheck() { sanitize racecheck; }

step_bench() {
    say "bench gpu"
    timeout 240 "$build/bin/bench-gpu" --seconds 0.25 --peer python3 --json "$out/gpu.json" 2>&1 | tee "$out/bench.txt"
}

step_train() {
    local device
    for device in cpu cuda; do
        say "wick train examples/digits.ini on $device"
        timeout 60 "$build/bin/wick" train examples/digits.ini --set device=$device >"$out/train-$device.txt" 2>&1 ||
            say "training on $device failed"
        tail -3 "$out/train-$device.txt"
    done
}

use_dependencies
use_gpu_libraries
write_configuration
export WICK_PLUGIN_PATH=$build/lib/wick
for step in "${@:-build info parity train}"; do
    for name in $step; do
        declare -F "step_$name" >/dev/null || die "unknown step '$name'"
        "step_$name"
    done
done
say "done"
