#!/usr/bin/env bash
# Builds wick with its CUDA plugin on the GPU machine in a scratch folder, checks it and times it beside PyTorch, in one call
# of under six minutes. Usage: bench/gpu.sh [STEP]...   (default: build info losses check parity bench)
#
#   build   libraries, plugins and programs          info    is the CUDA plugin ready?
#   losses  digits on cuda, cuda with graphs and hip: their first 20 losses are the CPU's
#   check   wick check of cuda                       parity  recorded PyTorch results on cuda
#   bench   times beside PyTorch's
#   growth  memory over 5,000 steps of changing shapes does not grow
#   hip     plugin hip over CUDA's driver: digits, recorded results, wick check
#   memcheck, racecheck   wick check under compute-sanitizer          devices   several GPUs of one machine
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
    cmake --build "$build" -j "$(nproc)" --target wick wick-nn wick_cpu wick_cuda wick_hip hip_over_cuda growth wick-cli \
        wick-probe wick-parity bench-gpu >"$out/build.log" 2>&1 || { grep -E 'error|FAILED' "$out/build.log" | head -20; die "building failed"; }
}

# Plugin hip, unchanged, over CUDA's driver (tests/gpu/hip_over_cuda.c).
hip_driver=$build/tests/libhip_over_cuda.so

write_configuration() {
    cat >"$build/gpu.ini" <<INI
[plugin.cpu]
path = $build/lib/wick/cpu.so
[plugin.cuda]
path = $build/lib/wick/cuda.so
fallback = cpu
INI
    cat >"$build/hip.ini" <<INI
[plugin.cpu]
path = $build/lib/wick/cpu.so
[plugin.hip]
path = $build/lib/wick/hip.so
driver = $hip_driver
fallback = cpu
INI
}

# parity DEVICE INI NAME: recorded PyTorch results; $out/NAME.json and NAME.txt
parity() {
    say "recorded PyTorch results of $goldens on $1"
    timeout 150 "$build/bin/wick-parity" "$goldens" --ops --grad --device "$1" --config "$build/$2" \
        --known tests/parity.known --json "$out/$3.json" >"$out/$3.txt" 2>&1 || say "parity failed or timed out"
    tail -5 "$out/$3.txt"
}

# check PLUGIN NAME option...: the conformance suite; $out/NAME.txt
check() {
    local plugin=$1 name=$2
    shift 2
    say "wick check $plugin.so"
    timeout 240 "$build/bin/wick" check "$build/lib/wick/$plugin.so" --mode load,memory,stress,ops,grad \
        --known tests/check/hip.known --output "$out/$name.txt" "$@" >/dev/null 2>&1 || say "wick check failed or timed out"
    tail -9 "$out/$name.txt"
}

# train NAME DEVICE option...: examples/digits.ini; $out/train-NAME.txt, run folder $build/runs/NAME
train() {
    local name=$1 device=$2
    shift 2
    say "wick train examples/digits.ini on $name"
    timeout 60 "$build/bin/wick" train examples/digits.ini --set device="$device" --out "$build/runs/$name" \
        "$@" >"$out/train-$name.txt" 2>&1 || say "training on $name failed"
    tail -3 "$out/train-$name.txt"
}

step_info() {
    say "wick info"
    nvidia-smi --query-gpu=name,driver_version --format=csv,noheader || true
    "$build/bin/wick" info --why 2>&1 | tee "$out/info.txt" | head -40
    grep -q '^.*cuda.*ready' "$out/info.txt" || die "the CUDA plugin is not ready"
}

step_parity() { parity cuda gpu.ini parity; }
# f32 products are mostly the own kernel's in the first, all the library's in the second.
step_check() {
    check cuda check
    check cuda check-library --set small_products=0
}

# memcheck or racecheck over f32, i64 and bool cases of every operator, in as many processes as there are cores.
sanitize() {
    local tool=$1 parts k failed=0 notes options=(--tool "$1" --error-exitcode 99 --target-processes all)
    command -v compute-sanitizer >/dev/null || die "no compute-sanitizer"
    # A kernel is looked for in one image after another. Elementwise kernels, most of all, have no shared memory.
    if [[ $tool == memcheck ]]; then options+=(--report-api-errors no); fi
    if [[ $tool == racecheck ]]; then options+=(--kernel-name-exclude kernel_substring=pw_); fi
    parts=$(($(nproc) > 24 ? 24 : $(nproc)))
    say "wick check under compute-sanitizer $tool, $parts processes"
    for ((k = 1; k <= parts; ++k)); do
        timeout 280 compute-sanitizer "${options[@]}" --log-file "$out/$tool-$k-%p.log" "$build/bin/wick" check \
            "$build/lib/wick/cuda.so" --mode ops --quick --in-process --part "$k/$parts" \
            --known tests/check/hip.known --output "$out/$tool-$k.txt" >/dev/null 2>&1 &
    done
    for ((k = 1; k <= parts; ++k)); do
        wait -n || failed=$((failed + 1))
    done
    cat "$out/$tool"-*-*.log >"$out/$tool.log"
    rm -f "$out/$tool"-*-*.log
    notes=$(grep -c 'ERROR SUMMARY: 0 errors\|RACECHECK SUMMARY: 0 hazards' "$out/$tool.log" || true)
    awk 'NF == 5 && ($1 == "ops" || $1 == "grad") { pass += $2; fail += $3 }
        END { print pass, "cases pass,", fail, "fail" }' "$out/$tool"-*.txt
    say "$tool: $notes of $parts reports are clean, $failed processes failed"
    # What there is beside summaries.
    grep -v 'SUMMARY: 0\|^=* COMPUTE-SANITIZER$' "$out/$tool.log" | head -40 || true
    rm -f "$out/$tool"-*.txt
}
step_memcheck() { sanitize memcheck; }
step_racecheck() { sanitize racecheck; }

step_bench() {
    say "bench gpu"
    timeout 240 "$build/bin/bench-gpu" --seconds 0.25 --peer python3 --json "$out/gpu.json" 2>&1 | tee "$out/bench.txt"
}

step_hip() {
    say "wick info of hip"
    "$build/bin/wick" info --why --config "$build/hip.ini" >"$out/info-hip.txt" 2>&1 || true
    cat "$out/info-hip.txt"
    grep -q '^hip: ready' "$out/info-hip.txt" || die "the HIP plugin is not ready over $hip_driver"
    train hip hip --set plugin.hip.driver="$hip_driver"
    parity hip hip.ini parity-hip
    check hip check-hip --set driver="$hip_driver"
}

# compare NAME REFERENCE: are the run's first 20 losses those of the reference within 1e-4 relative?
compare() {
    awk -F, -v name="$1" '
        FNR == 1 { for (i = 1; i <= NF; ++i) column[$i] = i; ++file; next }
        FNR > 21 { next }
        file == 1 { wanted[$1] = $column["loss"]; next }
        {
            d = ($column["loss"] - wanted[$1]) / wanted[$1]
            if (d < 0) d = -d
            if (!(d <= most)) most = d
            ++steps
        }
        END {
            bad = steps != 20 || !(most <= 1e-4)
            printf "%-18s %d losses, largest relative difference %.2g%s\n", name, steps, most, bad ? "  beyond 1e-4" : ""
            exit bad
        }' "$build/runs/$2/steps.csv" "$build/runs/$1/steps.csv"
}

# Another order of summation may put an activation on the other side of a ReLU's kink, and AdamW makes a step of full
# length of a gradient however small: with some seeds losses part there, in PyTorch, too (docs/benchmarks.md).
step_losses() {
    local failed=0 name log=(--set train.log_steps=1)
    rm -rf "$build/runs"
    train cpu cpu "${log[@]}"
    train cuda cuda "${log[@]}"
    train graphs cuda "${log[@]}" --set plugin.cuda.graphs=auto
    train library cuda "${log[@]}" --set plugin.cuda.small_products=0
    train hip hip "${log[@]}" --set plugin.hip.driver="$hip_driver"
    say "first 20 losses"
    for name in cuda graphs library hip; do
        compare "$name" cpu 2>&1 | tee -a "$out/losses.txt" || failed=1
    done
    ((!failed)) || die "losses differ from the CPU's"
}

step_growth() {
    say "memory over 5,000 steps on cuda"
    timeout 240 "$build/tests/growth" "$build/gpu.ini" cuda 5000 16384 2>&1 | tee "$out/growth.txt" || die "memory grows"
}

step_devices() {
    if (($(nvidia-smi --list-gpus | wc -l) < 2)); then
        say "one device: nothing among several was tried"
        return
    fi
    say "wick check among devices"
    "$build/bin/wick" check "$build/lib/wick/cuda.so" --mode memory,stress --output "$out/check-devices.txt" >/dev/null ||
        say "wick check failed"
    cat "$out/check-devices.txt"
    train cuda-1 cuda:1
    parity cuda:1 gpu.ini parity-1
}

use_dependencies
use_gpu_libraries
write_configuration
export WICK_PLUGIN_PATH=$build/lib/wick
for step in "${@:-build info losses check parity bench}"; do
    for name in $step; do
        declare -F "step_$name" >/dev/null || die "unknown step '$name'"
        "step_$name"
    done
done
say "done"
