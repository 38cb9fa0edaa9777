#!/bin/sh
# Makes FOLDER/usr/bin/python3: a free-threaded CPython 3.13 with its headers, of this processor or another. No package of Debian's has one,
# so it is compiled from the sources that Debian 13 has, with zlib and libffi inside.
# usage: tools/free_threaded_python.sh PROCESSOR FOLDER     x86_64 or aarch64, which is compiled by that of x86_64
set -eu
processor=$1
root=$(mkdir -p "$2" && cd "$2" && pwd)
here=$PWD
of_x86_64=build/pythons/x86_64-free-threaded
case $processor in
x86_64) architecture=amd64 of_another= ;;
aarch64)
    tools/free_threaded_python.sh x86_64 $of_x86_64
    architecture=arm64 of_another="--with-build-python=$here/$of_x86_64/usr/bin/python3 ac_cv_file__dev_ptmx=yes ac_cv_file__dev_ptc=no"
    ;;
esac

# Of Debian 13, whatever this machine has: its lists are in FOLDER.
apt() {
    apt-get --quiet=2 -o APT::Architecture=$architecture -o Dir::State="$root/apt" -o Dir::State::status=/dev/null -o Dir::Cache="$root/apt" \
        -o Dir::Etc::sourcelist="$root/apt/sources.list" -o Dir::Etc::sourceparts=- -o APT::Sandbox::User=root "$@"
}

if [ ! -e "$root/made" ]; then
    echo "Compiling a free-threaded CPython of $processor in $root"
    rm -rf "$root"
    mkdir -p "$root/apt/lists/partial" "$root/apt/archives/partial" "$root/sources"
    for type in deb deb-src; do
        echo "$type [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian trixie main"
    done >"$root/apt/sources.list"
    cd "$root/sources"
    apt update
    apt source --tar-only python3.13
    apt download zlib1g zlib1g-dev libffi-dev
    for package in zlib1g_*.deb zlib1g-dev_*.deb libffi-dev_*.deb; do
        dpkg-deb --extract "$package" libraries
    done
    headers=$PWD/libraries/usr/include
    archives=$PWD/libraries/usr/lib/$processor-linux-gnu
    tar --extract --strip-components=1 --file python3.13_*.orig.tar.xz
    # It is for tests: optimizing it more would take minutes. Libraries of this machine that it could have are not for another.
    # shellcheck disable=SC2086
    PKG_CONFIG_LIBDIR=/nonexistent ./configure --quiet OPT="-DNDEBUG -O1" --build=x86_64-linux-gnu --host="$processor-linux-gnu" --prefix="$root/usr" --disable-gil --without-ensurepip \
        --disable-test-modules --disable-ipv6 MODULE_BUILDTYPE=static $of_another \
        ZLIB_CFLAGS="-I$headers" ZLIB_LIBS="$archives/libz.a" LIBFFI_CFLAGS="-I$headers/$processor-linux-gnu" LIBFFI_LIBS="$archives/libffi.a" >../log 2>&1 &&
        make --silent -j "$(nproc)" >>../log 2>&1 && make --silent install >>../log 2>&1 || { tail -n 20 ../log; exit 1; }
    cp libraries/usr/lib/"$processor"-linux-gnu/libz.so.1* "$root/usr/lib"  # which NumPy's libraries expect of a system
    cd "$here"
    rm -rf "$root/sources" "$root/apt"
    if [ "$processor" != x86_64 ]; then
        python=$root/usr/bin/$(readlink "$root/usr/bin/python3")
        mv "$python" "$python.elf"
        printf '#!/bin/sh\nQEMU_LD_PREFIX=/usr/%s-linux-gnu exec qemu-%s -E LD_LIBRARY_PATH=%s/usr/lib -0 "$0" %s "$@"\n' "$processor" "$processor" "$root" "$python.elf" >"$python"
        chmod +x "$python"
    fi
    touch "$root/made"
fi
"$root/usr/bin/python3" --version
