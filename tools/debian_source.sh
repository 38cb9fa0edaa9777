#!/bin/sh
# Makes Debian's source package of the last commit in build/debian: qdq_<version>.orig.tar.xz, what packaging/debian adds to it, and the
# .dsc that names both.
set -eu
version=$(dpkg-parsechangelog -l packaging/debian/changelog -S Version)
upstream=${version%-*}
folder=build/debian
rm -rf $folder
mkdir -p "$folder/qdq-$upstream"
git archive --prefix="qdq-$upstream/" HEAD | tee "$folder/orig.tar" | tar --extract --directory "$folder"
xz --threads=2 "$folder/orig.tar"
mv "$folder/orig.tar.xz" "$folder/qdq_$upstream.orig.tar.xz"
cp -r packaging/debian "$folder/qdq-$upstream/debian"
cd "$folder"
dpkg-source --build "qdq-$upstream"
rm -r "qdq-$upstream"
