#!/usr/bin/env bash
# Quantizes a model to int8, restores it, and shows what that changed; then what every other type makes of it. Of the
# folder of a sentence encoder it also shows what becomes of its sentence embeddings.
# usage: cli/demo.sh PYTHON BUILD_DIR MODEL      a folder or a .safetensors file
set -euo pipefail

if [[ $# -ne 3 ]]; then
    echo "usage: $0 PYTHON BUILD_DIR MODEL" >&2
    exit 2
fi
python=$1
build_dir=$2
model=$3
qdq=$build_dir/cli/qdq

work=$(mktemp -d "$build_dir/demo.XXXXXX")
trap 'rm -rf "$work"' EXIT
suffix=
[[ -d $model ]] || suffix=.safetensors

show() {
    echo "\$ qdq $*" | sed "s|$work/||g"
    "$qdq" "$@"
    echo
}

show targets
show quantize "$model" -o "$work/quantized$suffix" --dtype i8
show dequantize "$work/quantized$suffix" -o "$work/restored$suffix"
show compare "$model" "$work/quantized$suffix"
"$python" -B "$(dirname "$0")/demo_formats.py" "$qdq" "$model" "$work"
