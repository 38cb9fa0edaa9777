"""What tuned files call this machine's processor."""

import pathlib
import platform

import archspec.cpu

VENDORS = {"GenuineIntel": "intel", "AuthenticAMD": "amd"}
ABILITIES = ["avx512_fp16", "avx512_bf16", "avx512_vbmi", "avx512f", "avx2"]  # the newest first
FLAGS = {"avx512_vbmi": "avx512vbmi"}  # Linux has no underscore there


def described():
    """The processor's fields of /proc/cpuinfo."""
    lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    return {key.strip(): value.strip() for key, _, value in reversed([line.partition(":") for line in lines])}


def model():
    """As the system names it."""
    return described().get("model name", platform.processor())


def name(fields):
    """On x86 vendor and newest ability: amd_avx512_bf16. A virtual machine may hide some of a processor's abilities, so that
    names of microarchitectures mislead: one with AVX512-FP16 and without AMX passes for an older one, icelake."""
    flags = fields.get("flags", "").split()
    for ability in ABILITIES:
        if fields.get("vendor_id") in VENDORS and FLAGS.get(ability, ability) in flags:
            return f"{VENDORS[fields['vendor_id']]}_{ability}"
    return archspec.cpu.host().name
