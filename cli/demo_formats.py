"""One line for each value of --dtype: what it makes of a model. usage: cli/demo_formats.py QDQ MODEL.safetensors FOLDER"""

import json
import math
import subprocess
import sys

OPTIONS = [
    "i32", "i16", "u16", "i8", "u8", "f8e4m3", "f8e5m2", "f8e4m3fnuz", "f8e5m2fnuz", "mxfp8",
    "i4 --block-size 32", "u4 --block-size 32", "f4e2m1 --block-size 32", "nvfp4", "mxfp4",
]  # fmt: skip


def measure(qdq, model, codes, options):
    """The bytes of the quantized tensors with their scales, of a weight in bits, and the SQNR in dB."""
    subprocess.run([qdq, "quantize", model, "--force", "-o", codes, "--dtype", *options.split()], check=True, capture_output=True)
    compare = subprocess.run([qdq, "compare", model, codes, "--json"], check=True, capture_output=True)
    report = json.loads(compare.stdout)
    quantized = [tensor for tensor in report["tensors"] if not tensor["unchanged"]]
    size = sum(tensor["bytes_after"] for tensor in quantized)
    weights = sum(math.prod(tensor["shape"]) for tensor in quantized)
    return size, 8 * size / weights, report["total"]["sqnr_db"]


def main(qdq, model, folder):
    print("weights quantized per channel, or in blocks          bytes  bits each  SQNR dB")
    for options in OPTIONS:
        size, bits, sqnr = measure(qdq, model, f"{folder}/formats.safetensors", options)
        print(f"qdq quantize --dtype {options:<23}  {size:12}  {bits:9.2f}  {sqnr:7.2f}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
