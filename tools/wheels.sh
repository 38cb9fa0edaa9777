#!/bin/sh
# Makes the wheels of processors over their builds in build/dist, and tries them: that of CPython 3.11, that of 3.12 and later, and that of
# a free-threaded 3.13. Each version's interpreter is a Debian's or compiled from its sources, and that of aarch64 is emulated.
# usage: tools/wheels.sh PROCESSOR...     x86_64 or aarch64
set -eu
python=.venv/bin/python
# Those that take minutes under an emulator. PyPI has not what checkpoint and package need for a free-threaded 3.13.
tests="arguments dynamic front_ends grouped hostile quantize threads"
more_tests="checkpoint package"
for processor; do
    interpreter() { echo "$PWD/build/pythons/$processor-$1/usr/bin/python3"; }
    for suite in bookworm trixie sid; do
        tools/debian_python.sh "$processor" $suite "build/pythons/$processor-$suite"
    done
    tools/free_threaded_python.sh "$processor" "build/pythons/$processor-free-threaded"
    for suite in bookworm trixie free-threaded; do
        CC="$processor-linux-gnu-gcc" CXX="$processor-linux-gnu-g++" \
            $python tools/wheels.py "build/dist/$processor" build/wheels "$(interpreter $suite)"
    done
    for suite in bookworm trixie sid; do
        tools/emulated.sh $python tools/try_wheel.py build/wheels "$(interpreter $suite)" $tests $more_tests
    done
    tools/emulated.sh $python tools/try_wheel.py build/wheels "$(interpreter free-threaded)" $tests
done
