#!/bin/sh
# Builds rows of i8, the command line and the examples by GCC 14, and runs `qdq verify`. GCC 14 is Debian 13's, of which debootstrap
# makes a root in build/gcc14, once. As root.
# usage: tools/gcc14.sh GENERATORS     build/release/generators/qdq_generators, by its whole path
set -eu
here=$PWD
generators=$1
root=$here/build/gcc14/root
packages=g++,git,libbenchmark-dev,libcli11-dev,libprotozero-dev,libxxhash-dev,ninja-build,nlohmann-json3-dev,python3
if [ ! -e "$root/made" ]; then
    rm -rf "$root"
    mkdir -p "$root"
    echo "Making a Debian 13 in $root"
    debootstrap --variant=minbase --include="$packages" trixie "$root" >"$root.log" || { cat "$root.log"; exit 1; }
    touch "$root/made"
fi
mkdir -p "$root$here"
# The sources and CMake lie where they lie here; nothing stays mounted.
# shellcheck disable=SC2016
exec unshare --mount sh -euc '
    mount --make-rprivate /
    mount --bind "$1" "$2$1"
    mount --bind /proc "$2/proc"
    exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot "$2" sh -euc "cd $1
        cmake=\$(echo $1/.venv/lib/python3*/site-packages/cmake/data/bin/cmake)
        g++ --version | head -n 1
        \$cmake -S . -B build/gcc14/build -G Ninja -DCMAKE_BUILD_TYPE=Release -DQDQ_BUILD_TESTS=OFF -DQDQ_BUILD_BENCH=OFF \
            -DQDQ_STORED_TYPES=i8 -DQDQ_GENERATORS=$3 --log-level=WARNING
        \$cmake --build build/gcc14/build
        build/gcc14/build/cli/qdq verify"' _ "$here" "$root" "$generators"
