#!/bin/bash
# Proof and speed of CUDA's kernels on a machine with a GPU that is lent for minutes and reaches no registry.
#
# usage: gpu_lease.sh pack FOLDER [WHEEL]  here: builds what runs there, and puts it into a folder of at most 60 MB; the
#                                          programs of another build by QDQ_LEASE_BUILD; WHEEL is tried over the PyTorch there
#        FOLDER/gpu_lease.sh run [OUT]     there: all of it within 9 minutes, most important first, into OUT (qdq-gpu)
#
# OUT/summary.txt has a line for each step, written as it ends, and OUT/bench.json and peers.json a line for each row:
# whenever `run` is stopped, what is there can be read. Steps' output is in OUT/logs.
#
# tests/ptx/lease_test.py runs it over the interpreter in place of a GPU, with QDQ_LEASE_SHORT, and less by the others.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
most_megabytes=60
seconds=${QDQ_LEASE_SECONDS:-540}

programs="tests/device/device.calls tests/device/device.dynamic tests/device/device.every_kernel tests/device/device.cuda_faults
    tests/kernel/kernel.quantize tests/kernel/kernel.dequantize tests/kernel/kernel.unsupported tests/kernel/kernel.consistency
    bench/qdq_gpu_bench cli/qdq"

pack() {
    local folder=$1 wheel=${2:-} build=${QDQ_LEASE_BUILD:-$here/../build/gpu-lease} program
    set -e
    if [ -z "${QDQ_LEASE_BUILD:-}" ]; then
        local cmake=$here/../.venv/bin/cmake
        "$cmake" --preset release -S "$here/.." -B "$build" -DQDQ_DEVICE_TARGETS=cuda -DQDQ_TARGETS=x86_avx2 --log-level=WARNING
        # shellcheck disable=SC2046
        "$cmake" --build "$build" --target $(basename -a $programs | sed 's/^qdq$/qdq_cli/')
    fi
    mkdir -p "$folder"
    local stripped
    stripped=$(mktemp -d)
    for program in $programs; do
        strip -o "$stripped/$(basename "$program")" "$build/$program"
    done
    # All of them have the kernels: what one repeats of another is found within so many bytes, and packed once.
    tar c -C "$stripped" . | xz --lzma2=preset=3,dict=64MiB >"$folder/programs.tar.xz"
    rm -r "$stripped"
    cp "${BASH_SOURCE[0]}" "$folder/gpu_lease.sh"
    if [ -n "$wheel" ]; then
        cp "$wheel" "$here/../tests/python/gpu_frameworks_test.py" "$here/../bench/gpu_peers.py" "$folder"
    fi
    local megabytes
    megabytes=$(du -sm "$folder" | cut -f1)
    echo "$folder: $megabytes MB"
    if [ "$megabytes" -gt $most_megabytes ]; then
        echo "at most $most_megabytes MB can be carried" >&2
        exit 1
    fi
}

# By xz, or where that is not installed by Python.
unpack() {
    local packed=$here/programs.tar.xz
    if command -v xz >/dev/null; then
        xz -dc "$packed" | tar x -C "$1"
    else
        python3 -c 'import sys, tarfile; tarfile.open(sys.argv[1]).extractall(sys.argv[2])' "$packed" "$1"
    fi
}

# For the Python that is there, with its packages. `site` is empty where there is no wheel.
install_wheel() {
    site=
    if compgen -G "$here/*.whl" >/dev/null; then
        site=$out/site
        python3 -m pip install --quiet --no-index --no-deps --target "$site" "$here"/*.whl >"$out/logs/wheel.log" 2>&1 ||
            said "wheel: FAILED"
        export PYTHONPATH=$site
    fi
}

said() {
    local line="$SECONDS s: $*"
    echo "$line" >>"$out/summary.txt"
    echo "$line"
}

# step NAME SECONDS COMMAND...: no longer than that, nor than what is left of the time but for what is kept for speed.
step() {
    local name=$1 limit=$2 left=$((seconds - kept - SECONDS)) status result
    shift 2
    if [ "$left" -le 1 ]; then
        said "$name: no time left"
        return
    fi
    timeout -k 5 $((limit < left ? limit : left)) "$@" >"$out/logs/$name.log" 2>&1
    status=$?
    result=$(grep -aE '^\[  (PASSED|FAILED)  \]|ERROR SUMMARY|as published|differ|^qdq: |"ratio"|[0-9]+ (passed|failed)' "$out/logs/$name.log" | head -5 | tr '\n' ' ')
    case $status in
    0)
        # A filter that finds no test is no proof.
        if [[ $result == *"PASSED  ] 0 tests"* ]]; then
            said "$name: FAILED (no test ran)"
        else
            said "$name: passed $result"
        fi
        ;;
    124 | 137) said "$name: stopped after its time $result" ;;
    *) said "$name: FAILED ($status) $result" ;;
    esac
}

# All tests side by side: a GPU is shared, and the processor prepares the inputs. Those of all kernels run in parts.
tests() {
    local parts=$1 test part
    step calls 60 "$bin/device.calls" --gtest_brief=1 &
    step dynamic 60 "$bin/device.dynamic" --gtest_brief=1 &
    step faults 30 "$bin/device.cuda_faults" --gtest_brief=1 &
    step every_kernel 120 "$bin/device.every_kernel" --gtest_brief=1 &
    [ -n "${QDQ_LEASE_SHORT:-}" ] || step verify 150 "$bin/qdq" verify --target cuda &
    [ -z "$site" ] || step frameworks 120 python3 -m pytest -q -p no:cacheprovider "$here/gpu_frameworks_test.py" &
    for test in quantize dequantize; do
        for ((part = 0; part < parts; part++)); do
            GTEST_TOTAL_SHARDS=$parts GTEST_SHARD_INDEX=$part step "$test.$part" $((seconds / 2)) "$bin/kernel.$test" --gtest_brief=1 &
        done
    done
    step unsupported 100 "$bin/kernel.unsupported" --gtest_brief=1 &
    step consistency $((seconds / 2)) "$bin/kernel.consistency" --gtest_brief=1 &
    wait
}

sanitizers() {
    local tool
    for tool in memcheck racecheck initcheck; do
        step "sanitizer.$tool" 60 compute-sanitizer --tool $tool --error-exitcode 9 "$bin/device.every_kernel" \
            --gtest_brief=1 --gtest_filter='*cuda*' &
        step "sanitizer.$tool.dynamic" 60 compute-sanitizer --tool $tool --error-exitcode 9 "$bin/device.dynamic" \
            --gtest_brief=1 --gtest_filter='*layouts*cuda*' &
    done
    wait
}

# A line a row, as it is measured.
bench() {
    local left=$((seconds - SECONDS)) status
    # shellcheck disable=SC2086
    timeout -k 5 $((left > 1 ? left : 1)) "$bin/qdq_gpu_bench" cuda --models ${QDQ_LEASE_ELEMENTS:-16777216 268435456} \
        >"$out/bench.json" 2>"$out/logs/bench.log"
    status=$?
    case $status in
    0) said "bench: passed, $(grep -c '"ratio"' "$out/bench.json") rows" ;;
    124 | 137) said "bench: stopped after its time, $(grep -c '"ratio"' "$out/bench.json") rows" ;;
    *) said "bench: FAILED ($status), $(grep -c '"ratio"' "$out/bench.json") rows" ;;
    esac
}

run() {
    out=${1:-qdq-gpu}
    mkdir -p "$out/logs"
    out=$(cd "$out" && pwd)
    : >"$out/summary.txt"
    bin=$out/programs
    mkdir -p "$bin" && unpack "$bin" || return
    trap 'said "stopped"; trap - TERM INT; kill 0' TERM INT
    export CUDA_CACHE_PATH=${CUDA_CACHE_PATH:-/tmp/qdq-jit} CUDA_CACHE_MAXSIZE=4294967296 GTEST_FILTER=${QDQ_LEASE_FILTER:-*cuda*:Cuda*:*device_target/*}
    said "$(nvidia-smi --query-gpu=name,driver_version,compute_cap,clocks.max.sm,clocks.max.mem,memory.total --format=csv,noheader \
        2>/dev/null || echo 'no nvidia-smi')"
    kept=$((seconds / 4))
    install_wheel
    tests "${QDQ_LEASE_PARTS:-6}"
    if command -v compute-sanitizer >/dev/null; then
        sanitizers
    else
        said "sanitizers: compute-sanitizer is not here"
    fi
    kept=0
    bench
    [ -z "$site" ] || step peers 200 sh -c 'exec python3 "$1" >"$2"' - "$here/gpu_peers.py" "$out/peers.json"
    said "done: $(grep -c ': passed' "$out/summary.txt") steps passed, $(grep -c 'FAILED' "$out/summary.txt") failed"
    ! grep -q FAILED "$out/summary.txt"
}

case "${1:-} ${2:-}" in
"pack "?*) pack "$2" "${3:-}" ;;
"run "*) run "${2:-}" ;;
*) sed -n '2,12s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" && exit 2 ;;
esac
