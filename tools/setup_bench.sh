#!/bin/sh
# Installs the libraries that bench/peers.py runs beside qdq. One that cannot be had is left out: the report says so.
# usage: tools/setup_bench.sh VENV
set -eu
venv=$1
echo "Installing PyTorch, ONNX Runtime and other libraries into $venv"
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"

# install REQUIREMENTS OPTION...
install() {
    requirements=$1
    shift
    grep -v '^#' "$requirements" | while read -r package; do
        "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "$@" "$package" ||
            echo "Not installed: $package" >&2
    done
}
install requirements/bench.txt -c requirements/base.txt -c requirements/peers.txt
install requirements/bench-libraries.txt --no-deps
