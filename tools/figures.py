"""Writes the figures of README.md and docs/ from result files, and says which are older than the code they measure.

usage: tools/figures.py [--check] [--ages]

A page has `<!-- figures: NAME -->` and `<!-- end -->` around what this writes; NAME is a function below. --check fails where a
page has something else, and where a section with other times does not say when, and of which commit, they were measured. --ages prints what changed since a result file, or a line "Measured DATE, commit COMMIT, of `PATH`".
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench"))
import report  # noqa: E402

SPEEDS = "bench/results/amd-epyc-x86-avx512-bf16.json"
GPUS = ["bench/results/nvidia-h100.json", "bench/results/nvidia-h200.json"]
GPU = GPUS[-1]  # whose speeds are shown
ANSWERS = "docs/answers.json"
KERNELS = ["kernels", "generators", "schedules", "runtime/src"]  # whose results, and times, figures are
MEASURES = {SPEEDS: KERNELS, **dict.fromkeys(GPUS, ["kernels", "generators", "schedules", "runtime/src/device"]), ANSWERS: [*KERNELS, "python/src"]}
BLOCK = re.compile(r"(<!-- figures: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
MEASURED = re.compile(r"Measured (\d{4}-\d\d-\d\d), commit `?([0-9a-f]{7,40})`?, of\s((?:`[\w./]+`(?:,\s)?)+)")
TIMES = re.compile(r"\d[\d.]* (?:ns|us|ms|s|GB/s|dB)\b|times as (?:fast|long)|of the time\b")
# Written by other commands, or, of devices, under way.
OTHER_FIGURES = {"docs/size.md", "docs/status.md", "docs/mutants.md", "docs/gpu.md"}
PICTURE = ROOT / "docs/speed.svg"

# What a reader asks the cost of: the row of the results, and how it is said.
COSTS = {
    "quantize_f32_i8/tensor/divide": "f32 to i8, one scale",
    "quantize_f32_i8/tensor/multiply": "the same, by multiplication",
    "quantize_f32_u8/tensor/divide_zp": "f32 to u8, one scale, zero point",
    "quantize_f32_i8/channel_axis0/divide": "f32 to i8, per channel, axis 0",
    "quantize_f32_i8/channel_last/divide": "f32 to i8, per channel, last axis",
    "quantize_f32_i8/block32/divide": "f32 to i8, blocks of 32",
    "quantize_f32_i4/block32/divide": "f32 to i4, blocks of 32",
    "quantize_f32_f8e4m3/tensor/divide": "f32 to e4m3fn, one scale",
    "quantize_bf16_i8/tensor/divide": "bf16 to i8, one scale",
    "quantize_bf16_i8/channel_axis0/divide": "bf16 to i8, per channel, axis 0",
    "quantize_bf16_f8e4m3/tensor/divide": "bf16 to e4m3fn, one scale",
    "quantize_bf16_f4e2m1/block32/divide": "bf16 to e2m1, blocks of 32",
    "dequantize_i8_f32/tensor/multiply": "i8 to f32, one scale",
    "dequantize_i8_f32/channel_axis0/multiply": "i8 to f32, per channel, axis 0",
    "dequantize_i8_f32/block32/multiply": "i8 to f32, blocks of 32",
    "dequantize_i8_bf16/tensor/multiply": "i8 to bf16, one scale",
    "dequantize_i4_f32/block32/multiply": "i4 to f32, blocks of 32",
    "dequantize_i4_bf16/block32/multiply": "i4 to bf16, blocks of 32",
    "dequantize_f8e4m3_bf16/tensor/multiply": "e4m3fn to bf16, one scale",
    "dequantize_f4e2m1_bf16/block32/multiply": "e2m1 to bf16, blocks of 32",
}
# What an option costs: the mode that has it, over the one that has not.
OPTIONS = {
    "exact division, instead of multiplication": ("tensor/divide", "tensor/multiply"),
    "a zero point": ("tensor/multiply_zp", "tensor/multiply"),
    "a scale for each channel of axis 0": ("channel_axis0/multiply", "tensor/multiply"),
    "a scale for each channel of the last axis": ("channel_last/multiply", "tensor/multiply"),
    "a scale for each block of 32": ("block32/multiply", "tensor/multiply"),
}


def load(name):
    return json.loads((ROOT / name).read_text())


def speeds():
    return report.Figures(load(SPEEDS))


def table(header, rows, numbers=True):
    """In Markdown; columns but the first are numbers."""
    line = [":--", *(["--:" if numbers else ":--"] * (len(header) - 1))]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (header, line, *rows))


def time_text(ns):
    for unit, name in ((1e6, "ms"), (1e3, "us"), (1, "ns")):
        if ns >= unit:
            return f"{ns / unit:.3g} {name}"
    return f"{ns:.2g} ns"


def source_of(results):
    return f"{results['cpu']}, {results['date']}, commit `{results['commit']}`, {results['compiler']}"


def machine():
    return f"Measured on one machine ({source_of(load(SPEEDS))}) by `make bench`, a virtual machine of two cores.\n"


def costs():
    figures = speeds()
    rows = [[name, *(time_text(figures.entry(row, size)["ns"]) for size in figures.sizes),
             time_text(figures.entry(row, figures.sizes[-1], 2)["ns"])] for row, name in COSTS.items()]
    header = ["one run of a plan, one thread", *map(report.size_name, figures.sizes), f"{report.size_name(figures.sizes[-1])}, two threads"]
    return table(header, rows)


def limits():
    """Times, and how many times as fast as the best hand loop."""
    figures = speeds()
    sizes = figures.sizes[1:]

    def cell(row, size):
        entry = figures.entry(row, size)
        ratio = figures.speed_to_hand(entry)
        return f"{time_text(entry['ns'])}{f' ({ratio:.2f})' if ratio else ''}"

    return table(["one thread", *map(report.size_name, sizes)],
                 [[name, *(cell(row, size) for size in sizes)] for row, name in COSTS.items()])


def options():
    figures = speeds()
    types = sorted({entry["row"].split("/")[0] for entry in figures.entries})
    rows = []
    for name, (with_it, without) in OPTIONS.items():
        pairs = [(f"{each}/{with_it}", f"{each}/{without}") for each in types]
        cells = []
        for size in figures.sizes:
            both = [[figures.entry(row, size) for row in pair] for pair in pairs]
            cells.append(report.with_count(a["ns"] / b["ns"] for a, b in both if a and b))
        rows.append([name, *cells])
    return table(["times as long, geometric mean (pairs of types)", *map(report.size_name, figures.sizes)], rows)


def peers():
    part = report.peer_summary(speeds())
    return table(part.header, part.rows)


def means():
    part = report.summary(speeds())
    return table(part.header, part.rows)


def losses():
    part = report.faster_peers(speeds())
    return table(part.header, part.rows[:12]) + f"\n{len(part.rows)} of {sum(map(len, speeds().peer_speeds().values()))} pairs; the first 12.\n"


def gpu():
    """What was measured there, and of which commits."""
    names = [f"an {each['gpu']}, commit {each['commit']}, {each['date']}" for each in map(load, GPUS)]
    return f"Measured by `tools/gpu_lease.sh` on {'; on '.join(names)}.\n"


def gpu_steps():
    """What passed on each; a test that ran in parts counts where all of them ran to their end."""
    cells = {}
    for column, results in enumerate(map(load, GPUS)):
        parts = {}
        for name, said in results["steps"].items():
            if name not in ("bench", "peers"):
                parts.setdefault(re.sub(r"\.\d+$", "", name), []).append(said)
        for name, all_said in parts.items():
            passed = all(said.startswith("passed") for said in all_said)
            tests = [re.search(r"(\d+) (?:tests?\.|passed)", said) for said in all_said]
            count = sum(int(each[1]) for each in tests) if all(tests) else 0
            text = ("stopped by the clock" if "stopped" in all_said[0] else all_said[0].partition(" E ")[0] if not passed else
                    f"{count} test{'s' * (count > 1)}" if count else all_said[0].removeprefix("passed "))  # fmt: skip
            cells.setdefault(name, ["", ""])[column] = text or "passed"
    return table(["step", *(load(name)["gpu"] for name in GPUS)], [[f"`{name}`", *of_gpus] for name, of_gpus in cells.items()], numbers=False)


def largest_rows():
    rows = load(GPU)["rows"]
    return [row for row in rows if row["elements"] == max(each["elements"] for each in rows)]


def gpu_dynamic():
    """Of a copy's bandwidth, where scales are computed."""
    names = {"row": "a row", "tensor": "one scale", "block_of_128": "blocks of 128", "block_of_32": "blocks of 32"}
    return table(["scales computed", "of a copy"], [[f"{row['from']} to {row['to']}, {names[row['granularity']]}", f"{row['ratio']:.2f}"]
                                         for row in largest_rows() if row["op"] == "quantize_dynamic"])  # fmt: skip


def gpu_speeds():
    """Of a copy's bandwidth: the least and the largest of the types of models, by operation and by how scales meet x."""
    columns = {"tensor": "one scale", "row": "a row", "block_of_32": "blocks of 32", "column": "a column",
               "row_of_transposed_x": "a row, x transposed"}  # fmt: skip
    rows = largest_rows()

    def cell(to, granularity):
        found = [row["ratio"] for row in rows if row["op"] in ("quantize", "dequantize") and to in (row["to"], row["from"])
                 and row["granularity"] == granularity]  # fmt: skip
        return f"{min(found):.2f} to {max(found):.2f}" if found else ""

    stored = {"i8": "i8", "f8e4m3": "e4m3", "i4": "i4", "f4e2m1": "e2m1"}
    return table(["f16 and bf16, to and from", *columns.values()],
                 [[name, *(cell(code, each) for each in columns)] for code, name in stored.items()])  # fmt: skip


def gpu_peers():
    """Beside torch.compile, of the larger size."""
    rows = load(GPU)["peers"]
    largest = max(row["elements"] for row in rows)
    return table(["of 256 Mi elements", "of a copy", "torch.compile takes", "its results"],
                 [[row["row"], f"{row['of a copy']:.2f}", f"{row['compiled']:.2f}",
                   "the same" if row["same results"] else "others"] for row in rows if row["elements"] == largest])  # fmt: skip


def readme():
    figures = speeds()
    ratios = figures.fastest_peer_speeds()
    rows = {row["row"] for row in figures.results["peers"]["rows"] if row["peers"]}
    hand = [report.mean(report.present(map(figures.speed_to_hand, figures.of(size)))) for size in figures.sizes[1:]]
    lost = report.mean(figures.peer_speeds()["XNNPACK"])
    return (f"- {report.mean(ratios):.2f} times as fast as the fastest of {len(figures.peer_speeds())} libraries, geometric mean of {len(rows)} rows of language models.\n"
            f"- {lost:.2f} times as fast as XNNPACK, which multiplies by the reciprocal where qdq divides exactly.\n"
            f"- {min(hand):.2f} to {max(hand):.2f} of the speed of the best loop that we wrote by hand, from 4096 elements on.\n\n"
            f"One thread, {source_of(figures.results)}, `make bench`.\n")


def answers():
    results = load(ANSWERS)
    groups = {}  # by the first peer: a table for those that answer like calls
    for call, answers in results["answers"]:
        groups.setdefault(list(answers)[1], []).append((call, answers))
    tables = []
    for group in groups.values():
        names = max((list(answers) for _, answers in group), key=len)
        tables.append(table(["call", *names], [[call, *(shown_answer(answers, name) for name in names)] for call, answers in group], numbers=False))
    versions = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    return "\n".join(tables) + f"\n{versions}, run on {results['date']} by `{results['command']}`. Bold answers are not qdq's.\n"


def shown_answer(answers, name):
    same = answers.get(name, "") in ("", answers["qdq"])
    return answers.get(name, "") if same else f"**{answers[name]}**"


def refused():
    return table(["call", "message"], [[what, f"`{said}`"] for what, said in load(ANSWERS)["refused"]], numbers=False)


def draw():
    """The picture of README.md: how many times as fast as each library."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as pyplot

    pyplot.rcParams.update({"svg.hashsalt": "qdq", "font.size": 12, "font.family": "DejaVu Sans"})
    means = sorted(((report.mean(speeds), name) for name, speeds in speeds().peer_speeds().items()), reverse=True)
    figure, axes = pyplot.subplots(figsize=(8, 4), layout="constrained")
    bars = axes.barh([name for _, name in means], [ratio for ratio, _ in means], color="#3b6ea5")
    axes.bar_label(bars, [f"{ratio:.1f}" if ratio >= 1.95 else f"{ratio:.2f}" for ratio, _ in means], padding=4)
    axes.axvline(1, color="#c44e52", linewidth=1.5)
    axes.set_xscale("log")
    axes.set_xlim(0.5, 40)
    axes.set_xticks([0.5, 1, 2, 5, 10, 20], ["0.5", "1", "2", "5", "10", "20"])
    axes.minorticks_off()
    axes.set_title("How many times as fast as each library qdq is, one thread", loc="left", fontsize=13)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(PICTURE, metadata={"Date": None, "Description": load(SPEEDS)["commit"]})


BLOCKS = {"answers": answers, "costs": costs, "gpu": gpu, "gpu_dynamic": gpu_dynamic, "gpu_peers": gpu_peers, "gpu_speeds": gpu_speeds,
          "gpu_steps": gpu_steps, "limits": limits, "losses": losses, "machine": machine, "means": means,
          "options": options, "peers": peers, "readme": readme, "refused": refused}  # fmt: skip


def pages():
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def written(text):
    return BLOCK.sub(lambda found: found[1] + BLOCKS[found[2]]() + found[3], text)


def undated(page):
    """Sections with times that neither they nor the page's first lines date."""
    text = re.sub(r"```.*?```|!\[.*?\]", "", BLOCK.sub("", page.read_text()), flags=re.DOTALL)
    first, *sections = text.split("\n## ")
    if MEASURED.search(first) or str(page.relative_to(ROOT)) in OTHER_FIGURES:
        return []
    return [section.splitlines()[0] for section in (first, *sections) if TIMES.search(section) and not MEASURED.search(section)]


def changes_since(date, commit, paths):
    """How many commits changed the paths since: where git does not know the commit, since its date."""
    for since in ([f"{commit}..HEAD"], ["HEAD", f"--since={date}T23:59"]):
        done = subprocess.run(["git", "rev-list", "--count", *since, "--", *paths], cwd=ROOT, capture_output=True, text=True)
        if done.returncode == 0:
            return int(done.stdout)
    return 0


def dated():
    """Where a figure is from: a name, its date, commit, and the paths it measures."""
    for name, paths in MEASURES.items():
        results = load(name)
        yield name, results["date"], results["commit"], paths
    for page in pages():
        for date, commit, paths in MEASURED.findall(page.read_text()):
            yield str(page.relative_to(ROOT)), date, commit, re.findall(r"`([^`]+)`", paths)


def ages():
    for name, date, commit, paths in dated():
        if count := changes_since(date, commit, paths):
            yield f"older than its code: {name}, {date}, commit {commit}: {count} commits since changed {', '.join(paths)}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--ages", action="store_true")
    options = parser.parse_args()
    if options.ages:
        return print(*ages(), sep="\n")
    stale = [page for page in pages() if written(page.read_text()) != page.read_text()]
    if f">{load(SPEEDS)['commit']}<" not in (PICTURE.read_text() if PICTURE.exists() else ""):
        stale.append(PICTURE)
    if options.check:
        wrong = [f"{page.relative_to(ROOT)}: {section}" for page in pages() for section in undated(page)]
        if wrong:
            sys.exit("say when, and of which commit, times were measured: " + "; ".join(wrong))
        sys.exit("run tools/figures.py: " + ", ".join(str(page.relative_to(ROOT)) for page in stale) if stale else 0)
    draw()
    for page in stale:
        if page != PICTURE:
            page.write_text(written(page.read_text()))
    return None


if __name__ == "__main__":
    main()
