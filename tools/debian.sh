#!/bin/sh
# Builds the packages of build/debian's source package in a Debian unstable, which has Halide 21, and looks at them by lintian. Then
# runs their autopkgtest in another that has nothing of a build: it installs them, and compiles and runs the examples. As root.
# Halide of another version cannot compile the kernels, so no stable Debian has been enough: 13 has 19.
set -eu
here=$PWD/build/debian
work=$(mktemp -d "$here/XXXXXX")
trap 'rm -rf "$work"' EXIT

# ROOT COMMAND: as in a Debian of its own, in build/debian of the machine. Nothing stays mounted.
within() {
    # shellcheck disable=SC2016
    unshare --mount --pid --fork sh -euc '
        mount --make-rprivate /
        mkdir -p "$2/packages"
        mount --bind "$1" "$2/packages"
        mount -t proc proc "$2/proc"
        exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive DEB_BUILD_OPTIONS="$4" chroot "$2" sh -euc "cd /packages; $3"' \
        _ "$here" "$1" "$2" "parallel=$(nproc)"
}

echo "Making a Debian in $work"
debootstrap --variant=minbase sid "$work/clean" >"$work/log" || { cat "$work/log"; exit 1; }
cp -a "$work/clean" "$work/build"
within "$work/build" '
    apt-get install --yes --quiet --no-install-recommends build-essential fakeroot lintian >/root/log || { cat /root/log; exit 1; }
    apt-get build-dep --yes --quiet --no-install-recommends ./*.dsc >/root/log || { cat /root/log; exit 1; }
    dpkg-source --extract *.dsc /root/qdq
    (cd /root/qdq && dpkg-buildpackage --no-sign --build=binary)
    cp /root/*.deb /root/*.changes /root/*.buildinfo .
    # No bug of Debian asks for the package: whoever uploads it first files one.
    useradd lintian
    su lintian -c "lintian --info --display-info --fail-on info,warning,error --suppress-tags initial-upload-closes-no-bugs *.dsc *.changes"'
rm -r "$work/build"
within "$work/clean" '
    apt-get install --yes --quiet --no-install-recommends autopkgtest >/root/log || { cat /root/log; exit 1; }
    # It reads the lists of packages again, and a mirror may be weeks old.
    echo "Acquire::Check-Valid-Until false;" >/etc/apt/apt.conf.d/mirror
    autopkgtest *.dsc *.deb -- null'
