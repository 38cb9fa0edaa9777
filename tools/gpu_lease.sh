#!/bin/bash
# Proof and speed of CUDA's kernels on a machine with a GPU that is lent for minutes and reaches no registry.
#
# usage: gpu_lease.sh pack FOLDER        here: builds what runs there, and puts it into a folder of at most 60 MB
#        FOLDER/gpu_lease.sh run [OUT]   there: all of it within 9 minutes, most important first, into OUT (qdq-gpu)
#
# OUT/summary.txt has a line for each step, written as it ends, and OUT/bench.json a line for each row: whenever `run` is
# stopped, what is there can be read. Steps' output is in OUT/logs.
#
# Over tests/ptx in place of a GPU: LD_LIBRARY_PATH=build/gpu/tests/ptx QDQ_TEST_THIN=512 FOLDER/gpu_lease.sh run
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
most_megabytes=60
seconds=${QDQ_LEASE_SECONDS:-540}

programs="tests/device/device.calls tests/device/device.every_kernel tests/device/device.cuda_faults
    tests/kernel/kernel.quantize tests/kernel/kernel.dequantize tests/kernel/kernel.unsupported tests/kernel/kernel.consistency
    bench/qdq_gpu_bench cli/qdq"

pack() {
    local folder=$1 build=${QDQ_LEASE_BUILD:-$here/../build/gpu} program
    set -e
    if [ -z "${QDQ_LEASE_BUILD:-}" ]; then
        local cmake=$here/../.venv/bin/cmake
        "$cmake" --preset gpu -S "$here/.." --log-level=WARNING
        # shellcheck disable=SC2046
        "$cmake" --build "$build" --target $(basename -a $programs | sed 's/^qdq$/qdq_cli/')
    fi
    mkdir -p "$folder"
    local stripped
    stripped=$(mktemp -d)
    for program in $programs; do
        strip -o "$stripped/$(basename "$program")" "$build/$program"
    done
    tar czf "$folder/programs.tar.gz" -C "$stripped" .
    rm -r "$stripped"
    cp "${BASH_SOURCE[0]}" "$folder/gpu_lease.sh"
    local megabytes
    megabytes=$(du -sm "$folder" | cut -f1)
    echo "$folder: $megabytes MB"
    [ "$megabytes" -le $most_megabytes ] || { echo "at most $most_megabytes MB can be carried" >&2; exit 1; }
}

said() { echo "$SECONDS s: $*" | tee -a "$out/summary.txt"; }

# step NAME SECONDS COMMAND...: no longer than that, nor than what is left of the time.
step() {
    local name=$1 limit=$2 left=$((seconds - SECONDS)) status result
    shift 2
    if [ "$left" -le 5 ]; then
        said "$name: no time left"
        return
    fi
    timeout -k 5 $((limit < left ? limit : left)) "$@" >"$out/logs/$name.log" 2>&1
    status=$?
    result=$(grep -aE '^\[  (PASSED|FAILED)  \]|ERROR SUMMARY|as published|differ|^qdq: ' "$out/logs/$name.log" | head -5 | tr '\n' ' ')
    case $status in
    0) said "$name: passed $result" ;;
    124 | 137) said "$name: stopped after its time $result" ;;
    *) said "$name: FAILED ($status) $result" ;;
    esac
}

# The tests of all kernels, in parts that run side by side: a GPU is shared, and the processor prepares the inputs.
all_kernels() {
    local parts=$1 test part
    for test in quantize dequantize; do
        for ((part = 0; part < parts; part++)); do
            GTEST_TOTAL_SHARDS=$parts GTEST_SHARD_INDEX=$part step "$test.$part" 200 "$bin/kernel.$test" --gtest_brief=1 &
        done
    done
    step unsupported 100 "$bin/kernel.unsupported" --gtest_brief=1 &
    step consistency 200 "$bin/kernel.consistency" --gtest_brief=1 --gtest_filter='*device_target/*' &
    wait
}

sanitizers() {
    local tool
    for tool in memcheck racecheck initcheck; do
        step "sanitizer.$tool" 100 compute-sanitizer --tool $tool --error-exitcode 9 "$bin/device.every_kernel" \
            --gtest_brief=1 --gtest_filter='*cuda*' &
    done
    wait
}

bench() {  # a line a row, as it is measured
    timeout -k 5 "$1" "$bin/qdq_gpu_bench" cuda ${QDQ_LEASE_ELEMENTS:-16777216 268435456} >"$out/bench.json" 2>"$out/logs/bench.log"
    said "bench: exit $?, $(grep -c '"ratio"' "$out/bench.json") rows"
}

run() {
    out=${1:-qdq-gpu}
    mkdir -p "$out/logs"
    out=$(cd "$out" && pwd)
    : >"$out/summary.txt"
    bin=$out/programs
    mkdir -p "$bin" && tar xzf "$here/programs.tar.gz" -C "$bin" || return
    trap 'said "stopped"; trap - TERM INT; kill 0' TERM INT
    export CUDA_CACHE_PATH=${CUDA_CACHE_PATH:-/tmp/qdq-jit} CUDA_CACHE_MAXSIZE=4294967296 GTEST_FILTER='*cuda*:Cuda*'
    said "$(nvidia-smi --query-gpu=name,driver_version,compute_cap,clocks.max.sm,clocks.max.mem,memory.total --format=csv,noheader \
        2>/dev/null || echo 'no nvidia-smi')"
    step calls 60 "$bin/device.calls" --gtest_brief=1
    step faults 30 "$bin/device.cuda_faults" --gtest_brief=1
    step every_kernel 120 "$bin/device.every_kernel" --gtest_brief=1
    [ -n "${QDQ_LEASE_SHORT:-}" ] || step verify 150 "$bin/qdq" verify --target cuda
    all_kernels "${QDQ_LEASE_PARTS:-6}"
    bench $((seconds - SECONDS > 200 ? seconds - SECONDS - 120 : 60))
    if command -v compute-sanitizer >/dev/null; then
        sanitizers
    else
        said "sanitizers: compute-sanitizer is not here"
    fi
    if python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null && python3 -c 'import qdq' 2>/dev/null; then
        step torch 60 python3 -c 'import torch, qdq; x = torch.randn(1024, 1024, device="cuda"); s = torch.tensor(0.05, device="cuda")
y = qdq.quantize(x, s, dtype="int8"); assert torch.equal(y.cpu(), qdq.quantize(x.cpu(), s.cpu(), dtype="int8")); print("as published")'
    else
        said "torch: no CUDA for it here, or no qdq"
    fi
    said "done: $(grep -c ': passed' "$out/summary.txt") steps passed, $(grep -c 'FAILED' "$out/summary.txt") failed"
    ! grep -q FAILED "$out/summary.txt"
}

case "${1:-} ${2:-}" in
"pack "?*) pack "$2" ;;
"run "*) run "${2:-}" ;;
*) sed -n '2,11s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" && exit 2 ;;
esac
