#!/bin/sh
# Makes build/dist/qdq-<version>-<name>.tar.gz for each name, a processor or a processor and a device: x86_64, aarch64-cuda.
# The same sources and compilers give the same bytes; files have the time SOURCE_DATE_EPOCH, by default the last commit's.
# usage: tools/dist.sh CMAKE GENERATORS NAME...
set -eu
umask 022
cmake=$1
generators=$2
shift 2
export SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}"

for name; do
    processor=${name%%-*}
    device=${name#"$processor"}
    build=build/dist/$name
    "$cmake" --preset "dist-$processor" -B "$build" -DQDQ_DEVICE_TARGETS="${device#-}" -DQDQ_GENERATORS="$generators" \
        --log-level=WARNING
    "$cmake" --build "$build"
    archive=qdq-$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' "$build/CMakeCache.txt")-$name
    rm -rf "build/dist/$archive"
    "$cmake" --install "$build" --prefix "build/dist/$archive" --strip >/dev/null
    tar --create --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --format=ustar \
        --directory build/dist "$archive" | gzip --best --no-name >"build/dist/$archive.tar.gz"
done
cd build/dist
sha256sum ./*.tar.gz | tee SHA256SUMS
