#!/bin/sh
# Makes the wheels of processors over their builds in build/dist, and tries them: that of CPython 3.11, and that of 3.12 and later.
# Each version's interpreter is a Debian's, and that of aarch64 is emulated.
# usage: tools/wheels.sh PROCESSOR...     x86_64 or aarch64
set -eu
python=.venv/bin/python
# Those that take minutes under an emulator.
tests="arguments checkpoint dynamic front_ends grouped hostile package quantize"
for processor; do
    interpreter() { echo "$PWD/build/pythons/$processor-$1/usr/bin/python3"; }
    for suite in bookworm trixie sid; do
        tools/debian_python.sh "$processor" $suite "build/pythons/$processor-$suite"
    done
    for suite in bookworm trixie; do
        CC="$processor-linux-gnu-gcc" CXX="$processor-linux-gnu-g++" \
            $python tools/wheels.py "build/dist/$processor" build/wheels "$(interpreter $suite)"
    done
    for suite in bookworm trixie sid; do
        tools/emulated.sh $python tools/try_wheel.py build/wheels "$(interpreter $suite)" $tests
    done
done
