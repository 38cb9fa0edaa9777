#!/bin/sh
# Runs a command that may start programs of aarch64: the kernel (6.7 or later) gives them to QEMU there, and nowhere else.
# usage: tools/emulated.sh COMMAND...

# Programs of Debian 13 sign their return addresses. What a processor computes for that takes QEMU long: tests of quantize took
# more than 280 s, and take 36 s with what QEMU computes instead.
export QEMU_CPU=max,pauth-impdef=on
exec unshare --user --map-root-user --mount sh -euc '
    mount -t binfmt_misc none /proc/sys/fs/binfmt_misc
    # What begins as a program or a shared object of 64-bit Arm does.
    printf %s ":qemu-aarch64:M::\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00:\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff:/usr/bin/qemu-aarch64:P" \
        >/proc/sys/fs/binfmt_misc/register
    exec "$@"' _ "$@"
