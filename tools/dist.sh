#!/bin/sh
# Makes build/dist/qdq-<version>-<name>.tar.gz for each name, a processor or a processor and a device: x86_64, aarch64-cuda. That
# of x86_64-static or aarch64-static has the command line alone, in one file for any Linux.
# The same sources and compilers give the same bytes; files have the time SOURCE_DATE_EPOCH, by default the last commit's.
# usage: tools/dist.sh CMAKE GENERATORS NAME...
set -eu
umask 022
cmake=$1
generators=$2
shift 2
export SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}"

# BUILD FOLDER: of all that is inside one file, the C and C++ libraries among it.
add_licenses() {
    zig=$(echo .venv/lib/python3*/site-packages/ziglang/lib)
    mkdir -p "$2/licenses"
    cp LICENSE "$2"
    cp "$1"/licenses/*.txt "$2/licenses"
    cp "$zig/libc/musl/COPYRIGHT" "$2/licenses/musl.txt"
    cp "$zig/libcxx/LICENSE.TXT" "$2/licenses/libcxx.txt"
}

for name; do
    processor=${name%%-*}
    device=${name#"$processor"}
    build=build/dist/$name
    case $name in
    *-static) set -- dist-static -DQDQ_MUSL_PROCESSOR="$processor"; what="qdq_cli qdq_generated_files"; installed="--component tools" ;;
    *) set -- "dist-$processor" -DQDQ_DEVICE_TARGETS="${device#-}"; what=all; installed=--strip ;;
    esac
    "$cmake" --preset "$@" -B "$build" -DQDQ_GENERATORS="$generators" --log-level=WARNING
    "$cmake" --build "$build" --target $what
    archive=qdq-$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' "$build/CMakeCache.txt")-$name
    rm -rf "build/dist/$archive"
    "$cmake" --install "$build" --prefix "build/dist/$archive" $installed >/dev/null
    case $name in *-static) add_licenses "$build" "build/dist/$archive/share/doc/qdq" ;; esac
    tar --create --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --format=ustar \
        --directory build/dist "$archive" | gzip --best --no-name >"build/dist/$archive.tar.gz"
done
cd build/dist
sha256sum ./*.tar.gz | tee SHA256SUMS
