#!/usr/bin/env python3
"""Reports what tuning won: text, a picture and one HTML page in build/tune, for a tuned file of schedules/tuned.

    tools/tune_report.py --target x86_avx512 --tuned schedules/tuned/x86_avx512.amd_avx512_bf16.json

By kernel: the time with the build's parameters, with the tuned ones, as Halide's best autoscheduler maps it
(bench/autoschedulers.py, if it was run), and the limit: the fastest hand-written loop of the row, or memcpy of as many bytes
where there is none. Then what each parameter was worth, from the tuner's record. All of a kernel is measured here, interleaved;
the geometric mean over its sizes and modes counts.
"""

import argparse
import base64
import html
import io
import json
import pathlib
import statistics
import sys

import matplotlib
import tqdm

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from tuning import record as records  # noqa: E402
from tuning import search, timing  # noqa: E402
from tuning.kernels import ROOT, Build  # noqa: E402

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

COLUMNS = ["default", "tuned", "autoscheduler", "limit"]
BELOW_LIMIT = 0.8  # a kernel with room: the limit takes less than this part of its time


def limit_of(row):
    """The shortest time of what no kernel can beat: of hand loops where there are any."""
    hand = [min(ns) for name, ns in row["limits"].items() if name.startswith("hand:")]
    return min(hand) if hand else min(row["limits"]["memcpy"])


def figures_of(build, kernel, tuned, autoscheduled):
    """The time of each column over the default's, and GB/s of the default."""
    library = build.link([build.compile(kernel, {**kernel.tuned, **tuned}, "report")], build.work / "report/libqdq.so")
    timed = timing.measure(build, kernel, [build.library, library], search.SIZES, 20, ["--limits"])
    limit = statistics.geometric_mean([limit_of(row) / min(row["ns"][0]) for row in timed.rows])
    best = [r for r in autoscheduled.values() if isinstance(r, float)]
    return {"default": 1.0, "tuned": timing.median(timed.log_ratios(1)), "autoscheduler": min(best, default=None),
            "limit": limit, "interval": timing.interval(timed.log_ratios(1)),
            "GB/s": statistics.geometric_mean([row["bytes"] / min(row["ns"][0]) for row in timed.rows])}


def worth_of_parameters(build, record, kernels):
    """For each parameter, over kernels: the best time with the default's value over the best time of all."""
    worth = {}
    for kernel in kernels:
        measured = [(e["parameters"], e["rungs"][-1]) for e in record.of("trial", kernel) if e.get("rungs")]
        measured.append((kernel.tuned, 1.0))
        best = min(ratio for _, ratio in measured)
        for parameter in build.parameters_of(kernel):
            kept = [ratio for chosen, ratio in measured if chosen[parameter.name] == kernel.tuned[parameter.name]]
            worth.setdefault(parameter.name, []).append(min(kept) / best)
    return {name: (statistics.geometric_mean(ratios), max(ratios)) for name, ratios in worth.items()}


def summary(rows):
    """The means that say whether tuning was worth it."""
    def mean(values):
        values = list(values)
        return f"{statistics.geometric_mean(values):.3f} over {len(values)}" if values else "none"
    room = [r for r in rows.values() if r["limit"] < BELOW_LIMIT]
    return [f"speed of tuned over default, all kernels: {mean(1 / r['tuned'] for r in rows.values())}",
            f"the same, kernels below {BELOW_LIMIT} of the limit: {mean(1 / r['tuned'] for r in room)}",
            "speed of tuned over the best autoscheduler: "
            f"{mean(r['autoscheduler'] / r['tuned'] for r in rows.values() if r['autoscheduler'])}"]


def text_of(rows, worth):
    """The report as lines."""
    lines = [f"{'kernel':36} {'GB/s':>7} {'tuned':>7} {'95 %':>15} {'auto':>7} {'limit':>7}   (time over the default's)"]
    for name, row in sorted(rows.items(), key=lambda item: item[1]["tuned"]):
        low, high = row["interval"]
        auto = f"{row['autoscheduler']:7.2f}" if row["autoscheduler"] else f"{'-':>7}"
        lines.append(f"{name:36} {row['GB/s']:7.1f} {row['tuned']:7.3f} {low:7.3f}..{high:.3f} {auto} {row['limit']:7.3f}")
    lines += ["", *summary(rows), "", f"{'parameter':20} {'worth':>7} {'at most':>8}   (time without it over the best)"]
    lines += [f"{name:20} {mean:7.3f} {most:8.3f}" for name, (mean, most) in sorted(worth.items(), key=lambda w: -w[1][0])]
    return "\n".join(lines) + "\n"


def picture_of(rows, title):
    """A PNG: a bar for each kernel and column."""
    names = sorted(rows, key=lambda name: rows[name]["tuned"], reverse=True)
    figure, axes = pyplot.subplots(figsize=(9, 1.5 + 0.32 * len(names)))
    for offset, column in enumerate(COLUMNS):
        axes.barh([y + 0.2 * offset for y in range(len(names))], [min(rows[n][column] or 0, 4) for n in names], 0.2,
                  label=column)
    axes.set_yticks([y + 0.3 for y in range(len(names))], names, fontsize=7)
    axes.margins(y=0.01)
    axes.axvline(1, color="black", linewidth=0.5)
    axes.set_xlabel("time over the default's (cut off at 4)")
    axes.set_title(title)
    axes.legend()
    figure.tight_layout()
    png = io.BytesIO()
    figure.savefig(png, format="png", dpi=120)
    return png.getvalue()


def page_of(title, text, png):
    """The same as one page that needs nothing beside it."""
    image = base64.b64encode(png).decode()
    return (f"<!doctype html>\n<meta charset=utf-8>\n<title>{html.escape(title)}</title>\n<h1>{html.escape(title)}</h1>\n"
            f'<img alt="times by kernel" src="data:image/png;base64,{image}">\n<pre>{html.escape(text)}</pre>\n')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", required=True)
    parser.add_argument("--tuned", type=pathlib.Path, required=True)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build/tune")
    options = parser.parse_args()

    build = Build(options.build, options.work / options.target)
    record = records.Record(options.work / f"{options.target}.jsonl", build.version())
    tuned = json.loads(options.tuned.read_text())["kernels"]
    compared = options.work / f"{options.target}.autoschedulers.json"
    autoscheduled = json.loads(compared.read_text()) if compared.exists() else {}
    tried = {entry["kernel"] for entry in record.entries}
    kernels = [k for k in build.kernels if k.target == options.target and (k.symbol in tried or k.name in tuned)]
    rows = {k.name: figures_of(build, k, tuned.get(k.name, {}), autoscheduled.get(k.name, {}))
            for k in tqdm.tqdm(kernels, unit="kernel", dynamic_ncols=True)}

    title = f"Tuned schedules of {options.target}"
    text, png = text_of(rows, worth_of_parameters(build, record, kernels)), picture_of(rows, title)
    print(text, end="")
    for suffix, data in (("txt", text.encode()), ("png", png), ("html", page_of(title, text, png).encode())):
        (options.work / f"{options.target}.{suffix}").write_bytes(data)
    print(f"{options.work}/{options.target}.txt, .png, .html")


if __name__ == "__main__":
    main()
