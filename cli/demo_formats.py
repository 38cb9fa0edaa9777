"""One line for each value of --dtype: what it makes of a model, and of the sentence embeddings of a sentence encoder.

usage: cli/demo_formats.py QDQ MODEL FOLDER [PLOT.svg]     MODEL: a folder, or a .safetensors file
"""

import json
import math
import subprocess
import sys
from pathlib import Path

from demo_embeddings import SentenceEncoder, sentences

OPTIONS = [
    "i32", "i16", "u16", "i8", "u8", "f8e4m3", "f8e5m2", "f8e4m3fnuz", "f8e5m2fnuz", "f8e4m3 --block-size 128x128", "mxfp8", "mxfp6e2m3", "mxfp6e3m2",
    "i4 --block-size 32", "u4 --block-size 32", "f4e2m1 --block-size 32", "nvfp4", "mxfp4",
]  # fmt: skip
EMBEDDED = ["i8", "f8e4m3", "mxfp8", "mxfp6e2m3", "mxfp6e3m2", "i4 --block-size 32", "nvfp4", "mxfp4"]  # each takes seconds


def run(*command):
    return subprocess.run([str(part) for part in command], check=True, capture_output=True).stdout


def measure(qdq, model, codes, options):
    """The bytes of the quantized tensors with their scales, of a weight in bits, and the SQNR in dB."""
    run(qdq, "quantize", model, "--force", "-o", codes, "--dtype", *options.split())
    report = json.loads(run(qdq, "compare", model, codes, "--json"))
    quantized = [tensor for tensor in report["tensors"] if not tensor["unchanged"]]
    size = sum(tensor["bytes_after"] for tensor in quantized)
    weights = sum(math.prod(tensor["shape"]) for tensor in quantized)
    return size, 8 * size / weights, report["total"]["sqnr_db"]


def cosines(qdq, codes, restored, original):
    """Those of the embeddings by the restored weights with the original ones: of all sentences, in rising order."""
    run(qdq, "dequantize", codes, "--force", "-o", restored)
    return sorted((SentenceEncoder(restored).embed(sentences()) * original).sum(axis=1))


def plot(path, rows):
    """The mean angle of each type, the best at the top."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    matplotlib.rcParams["svg.hashsalt"] = "qdq"
    figure, axes = pyplot.subplots(figsize=(8, 3.5), layout="constrained")
    lines = sorted(((1 - cosine, f"{name}, {bits:.2f} bits") for name, bits, cosine in rows), reverse=True)
    axes.plot([angle for angle, _ in lines], [name for _, name in lines], "o", markersize=9, color="#3b6ea5")
    for angle, name in lines:
        axes.annotate(f"{angle:.4f}", (angle, name), xytext=(9, 0), textcoords="offset points", va="center", fontsize=10)
    axes.set(xscale="log", xlim=(2e-4, 0.1))
    axes.set_title("1 - mean cosine of embeddings with those by f32: less is better", loc="left", fontsize=12)
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, metadata={"Date": None})


def main(qdq, model, folder, picture=None):
    suffix = "" if Path(model).is_dir() else ".safetensors"
    codes, restored = (Path(folder, name + suffix) for name in ("formats", "formats-restored"))
    encoder = SentenceEncoder(model) if SentenceEncoder.is_one(model) else None
    original = encoder.embed(sentences()) if encoder else None
    heading = f"  cosine of {len(sentences())} sentences' embeddings: mean, least" if encoder else ""
    print(f"weights quantized per channel, or in blocks          bytes  bits each  SQNR dB{heading}")
    rows = []
    for options in OPTIONS:
        size, bits, sqnr = measure(qdq, model, codes, options)
        line = f"qdq quantize --dtype {options:<27}  {size:9}  {bits:9.2f}  {sqnr:7.2f}"
        if encoder and options in EMBEDDED:
            found = cosines(qdq, codes, restored, original)
            mean = sum(found) / len(found)
            rows.append((options.replace("--block-size", "in blocks of"), bits, mean))
            line += f"  {mean:.7f}  {found[0]:.7f}"
        print(line, flush=True)
    if picture:
        plot(picture, rows)


if __name__ == "__main__":
    main(*sys.argv[1:])
