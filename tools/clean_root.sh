#!/bin/sh
# Installs the .deb packages of a folder into a Debian 12 of their own, made by debootstrap with a C compiler and pkg-config
# in it and nothing of a build, and compiles and runs examples/quantize.c there. As root.
# usage: tools/clean_root.sh FOLDER
set -eu
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
echo "Making a Debian in $root"
debootstrap --variant=minbase --include=gcc,libc6-dev,pkgconf bookworm "$root" >"$root.log" || { cat "$root.log"; exit 1; }
rm "$root.log"
cp "$1"/*.deb examples/quantize.c "$root/root"
chroot "$root" sh -euxc '
    apt-get install --yes --quiet --no-install-recommends /root/*.deb >/root/log || { cat /root/log; exit 1; }
    qdq targets --why
    test -e "/usr/lib/$(gcc -print-multiarch)/libqdq.so.0"
    test "$(echo $(pkg-config --cflags --libs qdq))" = -lqdq
    cc /root/quantize.c -o /root/shared $(pkg-config --cflags --libs qdq)
    cc -static /root/quantize.c -o /root/static $(pkg-config --static --cflags --libs qdq)
    /root/shared
    /root/static'
