#!/usr/bin/env bash
# Quantizes every weight of a model to int8 per channel, restores it, and shows what that changed; then what every other
# type makes of it.
# usage: cli/demo.sh BUILD_DIR MODEL.safetensors
set -euo pipefail

if [[ $# -ne 2 ]]; then
    echo "usage: $0 BUILD_DIR MODEL.safetensors" >&2
    exit 2
fi
build_dir=$1
model=$2
qdq=$build_dir/cli/qdq

work=$(mktemp -d "$build_dir/demo.XXXXXX")
trap 'rm -rf "$work"' EXIT

show() {
    echo "\$ qdq $*" | sed "s|$work/||g"
    "$qdq" "$@"
    echo
}

show targets
show quantize "$model" -o "$work/quantized.safetensors" --dtype i8 --axis 0
show dequantize "$work/quantized.safetensors" -o "$work/restored.safetensors"
show compare "$model" "$work/quantized.safetensors"
python3 "$(dirname "$0")/demo_formats.py" "$qdq" "$model" "$work"
