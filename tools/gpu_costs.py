"""What CUDA's kernels cost on paper: the table of docs/gpu.md, by the interpreter of tests/ptx and ptxas.

usage: gpu_costs.py BUILD [--check]     BUILD has qdq_ptx_costs and qdq_ptx_driver; --check: whether the table is that

An instruction of PTX is counted as one of the GPU's; what the budgets are is said above the table.
"""

import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests/device"), str(ROOT / "tools")]

from kernel_text import compressed_text, decompressed_text  # noqa: E402

PAGE = ROOT / "docs/gpu.md"
BEGIN, END = "<!-- tools/gpu_costs.py -->\n", "<!-- end -->\n"
# Multiprocessors, GHz and GB/s of the SXM models, by NVIDIA's data sheets; four warps of 32 issue an instruction a cycle.
GPUS = {"A100": (108, 1.41, 2039), "H100": (132, 1.98, 3350), "B200": (148, 1.965, 8000)}
STORED = ("i8", "f8e4m3", "i4", "f4e2m1")
GRANULARITIES = {"tensor": "tensor, row, block", "column": "column", "row, transposed": "row, transposed"}


def budget(gpu):
    """Instructions of a thread in the time in which a byte moves."""
    processors, clock, bandwidth = GPUS[gpu]
    return processors * 128 * clock / bandwidth


def registers(build, kernel):
    try:
        from ptx_test import assemble

        text = decompressed_text(compressed_text(build / f"generators/kernels/cuda/qdq_cuda_{kernel}.o"))
        first = re.search(r"\.entry (\w+)", text)[1]  # the plain kernel, where there is one
        return re.search(rf"Compiling entry function '{first}'.*?Used (\d+) registers", assemble(text, "sm_90")[1], re.S)[1]
    except ImportError:
        return "?"


def measured(build):
    environment = os.environ | {"LD_LIBRARY_PATH": str(build / "tests/ptx")}
    return json.loads(subprocess.run([build / "tests/ptx/qdq_ptx_costs"], env=environment, check=True,
                                     stdout=subprocess.PIPE).stdout)  # fmt: skip


def table(build):
    lines = ["| row | scales | bytes | instructions | of the budget of A100 | H100 | B200 | registers | sectors wanted |",
             "|---|---|---|---|---|---|---|---|---|"]  # fmt: skip
    for quantizes, real, stored, scales, form, bits, instructions, wanted in measured(build)["rows"]:
        if stored not in STORED or scales not in GRANULARITIES:
            continue
        source, target = (real, stored) if quantizes else (stored, real)
        kernel = f"{'quantize' if quantizes else 'dequantize'}_{source}_{target}_{form}"
        shares = [f"{instructions / (bits / 8 * budget(gpu)):.2f}" for gpu in GPUS]
        cells = [f"{source} to {target}", GRANULARITIES[scales], f"{bits / 8:g}", f"{instructions:.0f}", *shares,
                 registers(build, kernel), f"{wanted:.2f}"]  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    text = PAGE.read_text()
    before, rest = text.split(BEGIN)
    made = before + BEGIN + table(build) + END + rest.split(END)[1]
    if sys.argv[2:] != ["--check"]:
        PAGE.write_text(made)
    elif made != text:
        sys.exit(f"{PAGE} is not what {sys.argv[0]} {build} writes")


if __name__ == "__main__":
    main()
