#!/bin/sh
# Makes FOLDER/usr/bin/python3: CPython of a Debian, of this processor or another, with its headers. Packages are unpacked there, and none
# is installed. What it starts is of this machine.
# usage: tools/debian_python.sh PROCESSOR SUITE FOLDER     x86_64 or aarch64; bookworm has 3.11, trixie 3.13, sid 3.14
set -eu
processor=$1
suite=$2
root=$(mkdir -p "$3" && cd "$3" && pwd)
# By the C library of that Debian; on aarch64 by QEMU.
case $processor in
x86_64) architecture=amd64 start="exec $root/lib64/ld-linux-x86-64.so.2 --library-path $root/usr/lib/x86_64-linux-gnu --argv0" ;;
aarch64) architecture=arm64 start="QEMU_LD_PREFIX=$root exec qemu-aarch64 -0" ;;
esac
if [ ! -e "$root/made" ]; then
    echo "Unpacking a Debian $suite of $processor in $root"
    rm -rf "$root"
    mkdir -p "$root"
    debootstrap --foreign --variant=minbase --arch=$architecture --include=python3-venv,libpython3-dev "$suite" "$root" >"$root.log" ||
        { cat "$root.log"; exit 1; }
    for package in "$root"/var/cache/apt/archives/*.deb; do
        dpkg-deb --extract "$package" "$root"
    done
    # It finds its modules from where the program lies that it was called by.
    python=$root/usr/bin/$(readlink "$root/usr/bin/python3")
    mv "$python" "$python.elf"
    printf '#!/bin/sh\n%s "$0" %s "$@"\n' "$start" "$python.elf" >"$python"
    chmod +x "$python"
    # What its headers include by their folder in /usr/include, which is not theirs to be searched.
    ln -s "../$processor-linux-gnu" "$(echo "$root"/usr/include/python3.*[0-9])"
    touch "$root/made"
fi
"$root/usr/bin/python3" --version
