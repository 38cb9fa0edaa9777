#!/usr/bin/env python3
"""The benchmarks' report: Markdown, pictures and one HTML page from the figures that run.py measured.

    bench/report.py bench/results/<cpu>.json        writes .md, pictures and .html beside it

The limit of a row is the fastest hand-written loop for it on the same instruction set; where there is none, the fastest
copy of as many bytes. README.md says what each is.
"""

import argparse
import base64
import collections
import html
import io
import json
import pathlib
import re
import statistics

import model_rows

GOAL = 0.9  # of the limit
CALL_ELEMENTS = 1 << 10  # below, the call is most of the time: loops and copies have none
DRAWN_CURVES = ["quantize_f32_i8/tensor/divide", "quantize_f32_i8/tensor/multiply", "quantize_f32_u8/tensor/multiply_zp",
                "quantize_bf16_f8e4m3/tensor/multiply", "dequantize_i8_f32/block32/multiply",
                "dequantize_i4_bf16/block32/multiply", "dequantize_f4e2m1_bf16/block32/multiply",
                "dequantize_f8e4m3_bf16/tensor/multiply"]

PICTURES = {"limits": "rows against their limits", "sizes": "speed by size", "peers": "rows beside peers",
            "calls": "drawn calls beside dense ones"}

# What a report is made of; a table's cells are text.
Heading = collections.namedtuple("Heading", "level text")
Text = collections.namedtuple("Text", "text")
Table = collections.namedtuple("Table", "header rows")


def size_name(elements):
    for unit, name in ((1 << 20, "Mi"), (1 << 10, "Ki")):
        if elements >= unit and elements % unit == 0:
            return f"{elements // unit} {name}"
    return str(elements)


def bits_of(dtype):
    """In memory: the number in the type's name, f6e2m3 being one to a byte."""
    return 1 << (int(re.search(r"\d+", dtype)[0]) - 1).bit_length()


def mean(values):
    values = list(values)
    return statistics.geometric_mean(values) if values else None


def shown(ratio):
    return "" if ratio is None else f"{ratio:.2f}" if ratio < 10 else f"{ratio:.1f}" if ratio < 100 else f"{ratio:.0f}"


def with_count(ratios):
    ratios = list(ratios)
    return f"{shown(mean(ratios))} ({len(ratios)})" if ratios else ""


class Figures:
    """What is derived from the measured times. A speed of 0.9 is 0.9 times as fast as what it is compared with."""

    def __init__(self, results):
        self.results = results
        self.entries = results["entries"]
        self.sizes = sorted({e["elements"] for e in self.entries})
        self.threads = sorted({e["threads"] for e in self.entries})
        self.targets = list(dict.fromkeys(e["target"] for e in self.entries))
        self._copies = {(c["elements"], c["threads"], c["bits"]): c["ns"] for c in results["copies"]}
        self._by_key = {(e["row"], e["elements"], e["threads"], e["target"]): e for e in self.entries}

    def entry(self, row, elements, threads=1, target=None):
        return self._by_key.get((row, elements, threads, target or self.targets[0]))

    def of(self, elements, threads=1):
        return [e for e in self.entries if e["elements"] == elements and e["threads"] == threads]

    def copy_ns(self, entry, name):
        """Of "memcpy", or of "stream" the faster of its variants."""
        x, y = types_of(entry)
        copies = self._copies.get((entry["elements"], entry["threads"], f"{bits_of(x)}:{bits_of(y)}"), {})
        return min((ns for copy, ns in copies.items() if copy.startswith(name)), default=None)

    def limit(self, entry):
        """Its name and its time, or None."""
        contenders = entry["hand_ns"] or {name: self.copy_ns(entry, name) for name in ("memcpy", "stream")}
        contenders = {name: ns for name, ns in contenders.items() if ns}
        return min(contenders.items(), key=lambda item: item[1], default=None)

    def speed_to_limit(self, entry):
        limit = self.limit(entry)
        return limit[1] / entry["ns"] if limit else None

    def speed_to_hand(self, entry):
        return min(entry["hand_ns"].values()) / entry["ns"] if entry["hand_ns"] else None

    def speed_to_copy(self, entry, name):
        ns = self.copy_ns(entry, name)
        return ns / entry["ns"] if ns else None

    def scaling(self, entry):
        """Of two or more threads over one."""
        single = self.entry(entry["row"], entry["elements"], 1, entry["target"])
        return single["ns"] / entry["ns"] if single else None

    def copy_scaling(self, entry):
        """The same of copies of as many bytes."""
        def fastest(of):
            return min(present(self.copy_ns(of, name) for name in ("memcpy", "stream")), default=None)

        single = self.entry(entry["row"], entry["elements"], 1, entry["target"])
        one, more = fastest(single) if single else None, fastest(entry)
        return one / more if one and more else None

    def peer_speeds(self, elements=None):
        """By peer, the times as fast as it that qdq is, in each row it has."""
        speeds = {}
        for row in self.results["peers"]["rows"]:
            if elements in (None, row["elements"]):
                for name in row["peers"]:
                    speeds.setdefault(name, []).append(peer_speed(row, name))
        return speeds

    def fastest_peer_speeds(self, elements=None, rows=""):
        """Of rows whose name has a match."""
        return [min(peer_speed(row, name) for name in row["peers"]) for row in self.results["peers"]["rows"]
                if row["peers"] and elements in (None, row["elements"]) and re.search(rows, row["row"])]


def peer_speed(row, name):
    """The peer's time over qdq's by the same road."""
    peer = row["peers"][name]
    return peer["ns"] / row["python_ns" if peer["python"] else "ns"]


def multiplies(row, name):
    """A mark where qdq divides and the peer multiplies by the reciprocal."""
    return "*" if row["row"].split("/")[-1].startswith("divide") and row["peers"][name]["arithmetic"] == "multiply" else ""


def gb_per_s(entry):
    return bytes_of(entry) / entry["ns"]


def present(ratios):
    return [ratio for ratio in ratios if ratio is not None]


def summary(figures):
    """Geometric means by size."""
    lines = {"GB/s": lambda es: with_count(map(gb_per_s, es)),
             "of the best hand loop": lambda es: with_count(present(map(figures.speed_to_hand, es))),
             "of memcpy": lambda es: with_count(present(figures.speed_to_copy(e, "memcpy") for e in es)),
             "of streaming": lambda es: with_count(present(figures.speed_to_copy(e, "stream") for e in es))}
    rows = [[name, *(line(figures.of(size)) for size in figures.sizes)] for name, line in lines.items()]
    for threads in figures.threads[1:]:
        for name, scaling in (("", figures.scaling), (", copies", figures.copy_scaling)):
            rows.append([f"{threads} threads over one{name}",
                         *(with_count(present(map(scaling, figures.of(size, threads)))) for size in figures.sizes)])
    return Table(["one thread, geometric mean (rows)", *map(size_name, figures.sizes)], rows)


def peer_summary(figures):
    """How many times as fast as each peer qdq is."""
    sizes = sorted({row["elements"] for row in figures.results["peers"]["rows"]})
    by_size = {size: figures.peer_speeds(size) for size in sizes}
    rows = [[name, *(with_count(by_size[size].get(name, [])) for size in sizes), with_count(speeds)]
            for name, speeds in sorted(figures.peer_speeds().items(), key=lambda item: mean(item[1]))]
    kinds = {"": "", ", multiplying": "/multiply", ", dividing": "/divide"}
    fastest = [[f"the fastest of each row{kind}",
                *(with_count(figures.fastest_peer_speeds(size, rows)) for size in (*sizes, None))] for kind, rows in kinds.items()]
    return Table(["times as fast as (rows)", *map(size_name, sizes), "all"], fastest + rows)


def faster_peers(figures):
    """Where a peer is faster."""
    found = [(peer_speed(row, name), row, name) for row in figures.results["peers"]["rows"] for name in row["peers"]
             if peer_speed(row, name) < 1]
    found.sort(key=lambda item: item[0])
    return Table(["row", "elements", "peer", "times as fast as it"],
                 [[row["row"], size_name(row["elements"]), name + multiplies(row, name), shown(speed)]
                  for speed, row, name in found])


def bytes_of(entry):
    """Read and written."""
    x, y = types_of(entry)
    return entry["elements"] * (bits_of(x) + bits_of(y)) // 8


def types_of(entry):
    return entry["row"].split("/")[0].split("_")[1:]


def rows_below(figures):
    """What misses the goal, the slowest first, with its speeds: beside a hand loop at every size, beside copies at the
    largest."""
    beside_loops, beside_copies = {}, []
    for entry in figures.entries:
        speed = figures.speed_to_limit(entry)
        if entry["threads"] != 1 or entry["elements"] < CALL_ELEMENTS or speed is None or speed >= GOAL:
            continue
        if entry["hand_ns"]:
            beside_loops.setdefault((entry["row"], entry["target"]), {})[entry["elements"]] = speed
        elif entry["elements"] == figures.sizes[-1]:
            beside_copies.append((speed, entry))
    slowest = sorted(beside_loops.items(), key=lambda item: min(item[1].values()))
    beside_copies.sort(key=lambda item: item[0])
    sizes = [size for size in figures.sizes if size >= CALL_ELEMENTS]
    return (Table(["beside hand loops", *map(size_name, sizes)],
                  [[row, *(shown(speeds.get(size)) for size in sizes)] for (row, _), speeds in slowest]),
            Table(["beside copies", size_name(figures.sizes[-1]), "GB/s", "copy"],
                  [[e["row"], shown(speed), shown(gb_per_s(e)), figures.limit(e)[0]] for speed, e in beside_copies]))


def calls(figures):
    """What a plan's run takes above the fastest hand loop, in ns."""
    rows = []
    for entry in figures.entries:
        if entry["threads"] == 1 and entry["elements"] < CALL_ELEMENTS and entry["hand_ns"]:
            hand = min(entry["hand_ns"].values())
            times = entry["ns"], hand, entry["ns"] - hand
            rows.append([entry["row"], str(entry["elements"]), *(f"{ns:.1f}" for ns in times)])
    return Table(["row", "elements", "ns", "hand loop", "above it"], rows)


def peers_table(figures, elements):
    peers = list(figures.peer_speeds(elements))
    rows = []
    for row in figures.results["peers"]["rows"]:
        if row["elements"] == elements:
            cells = [shown(peer_speed(row, p)) + multiplies(row, p) if p in row["peers"] else "" for p in peers]
            rows.append([row["row"], f"{row['ns']:.0f}", f"{row['python_ns']:.0f}", *cells])
    return Table(["row", "ns", "ns from Python", *peers], rows)


# Of calls that qdq_cliffs_bench draws by a flag, the words for them, and what each is timed beside.
DRAWN = {"large": "Calls past the caches, some of which compute their scales, beside dense ones.",
         "dynamic": "Calls that compute their scales, beside a dense one that computes one.",
         "transcode": "Codes of codes, beside dense ones with one scale each.",
         "pair": "Two dynamic outputs at once, beside a call for each.",
         "groups": "Rows in groups, beside a dense call of as many groups with a scale each.",
         "blocks": "ggml's blocks, beside dense ones."}  # fmt: skip


def percentiles(results):
    """The ratios of drawn calls of 4 Ki elements and more, which qdq_cliffs_bench prints last: of 0 to 100 %."""
    lines = results.get("cliffs", {}).get("drawn", [])
    found = [line.split()[1:] for line in lines if line.startswith("percentiles:")]
    return list(map(float, found[-1])) if found else []


def cliffs(lines):
    """Of what qdq_cliffs_bench prints: its sentences, and its columns as a table."""
    rows = [line.split(maxsplit=6) for line in lines]
    rows = [row for row in rows if len(row) == 7 and re.fullmatch(r"[\d.]+", row[0])]
    sentences = [line for line in lines if "median" in line]
    return [*map(Text, sentences), Table(["ratio", "ns", "beside, ns", "copy, ns", "lines, ns", "elements", "call"], rows)]


def every_row(figures, target, threads, rows=None):
    """GB/s, and in parentheses the ratio to the limit or, with more threads, to one thread and that of copies."""
    def cell(row, size):
        entry = figures.entry(row, size, threads, target)
        if not entry:
            return ""
        if threads == 1:
            return f"{shown(gb_per_s(entry))} ({shown(figures.speed_to_limit(entry))}{'h' if entry['hand_ns'] else ''})"
        return f"{shown(gb_per_s(entry))} ({shown(figures.scaling(entry))}, {shown(figures.copy_scaling(entry))})"

    names = {e["row"] for e in figures.entries if (e["threads"], e["target"]) == (threads, target)}
    kept = sorted(names) if rows is None else [row for row in rows if row in names]
    return Table(["row", *map(size_name, figures.sizes)], [[row, *(cell(row, size) for size in figures.sizes)] for row in kept])


def parts_of(results):
    figures = Figures(results)
    peers, measured = results["peers"]["peers"], results["peers"]["rows"]
    model = model_rows.model_row_names()
    load = ", ".join(f"{value:.1f}" for value in results["benchmark_context"].get("load_avg", []))
    parts = [Heading(1, f"qdq on {results['cpu']}"),
             Text(f"{results['date']}, commit {results['commit']}, {results['compiler']}, {results['system']}, load {load}. "
                  f"`{results['command']}`; the method is in bench/README.md."),
             Heading(2, "Summary"), summary(figures)]
    if measured:
        parts += [Text("Beside other libraries, one thread each, in the rows that language models use:"), peer_summary(figures)]
    if peers:
        parts.append(Table(["peer", "version"], [[name, what.get("version") or f"not measured: {what['missing']}"]
                                                  for name, what in peers.items()]))
    parts += [Heading(2, f"Below {GOAL} of the limit"),
              Text(f"The speed over the limit's where it is below {GOAL}, in rows with a hand loop, and at "
                   f"{size_name(figures.sizes[-1])} elements in the others."), *rows_below(figures)]
    if calls(figures).rows:
        parts += [Heading(2, "Small calls"), Text("A run of a plan, in ns, and what it takes above the fastest hand loop."),
                  calls(figures)]
    if results.get("cliffs"):
        parts += [Heading(2, "Beside dense calls"),
                  Text("Calls of a plan, and how many times what a dense call with one scale takes they take, element by element "
                       "(n, channels and calls without a plan: whole calls). Drawn ones: the worst."),
                  *cliffs(results["cliffs"]["table"]), *cliffs(results["cliffs"]["drawn"])]
        for kind in [kind for kind in DRAWN if kind in results["cliffs"]]:
            parts += [Text(DRAWN[kind]), *cliffs(results["cliffs"][kind])]
    if measured:
        parts += [Heading(2, "Where a peer is faster"), faster_peers(figures),
                  Text("* multiplies by the reciprocal where qdq divides.")]
    parts += [Heading(2, "Rows that language models use"),
              Text("GB/s, and in parentheses the speed over that of the limit: the fastest hand loop (h), or the fastest copy "
                   "of as many bytes."), every_row(figures, figures.targets[0], 1, model)]
    for threads in figures.threads[1:]:
        parts += [Heading(2, f"The same rows, {threads} threads"),
                  Text("GB/s, and in parentheses the speed over one thread's, and the same of copies of as many bytes."),
                  every_row(figures, figures.targets[0], threads, model)]
    if measured:
        empty = results["peers"]["empty_call_ns"]
        parts += [Heading(2, "Beside peers"),
                  Text("How many times as fast as each peer qdq is. A call that does nothing takes "
                       f"{empty['C']:.0f} ns from C and {empty['Python']:.0f} ns from Python: a peer that is called in C stands "
                       "beside a plan that is run from C, the others beside qdq's call through ctypes. * multiplies by the "
                       "reciprocal where qdq divides.")]
        for size in sorted({row["elements"] for row in measured}):
            parts += [Heading(3, f"{size_name(size)} elements"), peers_table(figures, size)]
    for target in figures.targets:
        for threads in figures.threads:
            parts += [Heading(2, f"Every row: {target}, {threads} thread{'s' if threads > 1 else ''}"),
                      every_row(figures, target, threads)]
    return parts


def as_markdown(parts, name, pictures):
    """Of pictures the names of the files beside it."""
    lines = []
    for part in parts:
        if isinstance(part, Heading):
            lines += [f"{'#' * part.level} {part.text}", ""]
        elif isinstance(part, Text):
            lines += [part.text, ""]
        else:
            lines.append(f"| {' | '.join(part.header)} |")
            lines.append(f"|---|{'---:|' * (len(part.header) - 1)}")
            lines += [f"| {' | '.join(row)} |" for row in part.rows]
            lines.append("")
        if part is parts[1]:
            lines += [line for each in pictures for line in (f"![{PICTURES[each]}]({name}-{each}.png)", "")]
    return "\n".join(lines)


def as_html(parts, pictures):
    """One page that needs nothing beside it."""
    def cells(tag, row):
        return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in row) + "</tr>"

    title = html.escape(parts[0].text)
    lines = ["<!doctype html>", "<meta charset=utf-8>", f"<title>{title}</title>",
             "<style>body{font:15px sans-serif;margin:2em auto;max-width:90em}table{border-collapse:collapse}"
             "td,th{border:1px solid #ccc;padding:2px 8px;text-align:right}td:first-child,th:first-child{text-align:left}"
             "img{max-width:100%}</style>"]
    for part in parts:
        if isinstance(part, Heading):
            lines.append(f"<h{part.level}>{html.escape(part.text)}</h{part.level}>")
        elif isinstance(part, Text):
            lines.append(f"<p>{html.escape(part.text)}</p>")
        else:
            lines += ["<table>", cells("th", part.header), *(cells("td", row) for row in part.rows), "</table>"]
        if part is parts[1]:
            lines += [f'<img alt="{PICTURES[name]}" src="data:image/png;base64,{base64.b64encode(png).decode()}">'
                      for name, png in pictures.items()]  # fmt: skip
    return "\n".join(lines) + "\n"


def as_text(results):
    """The summary, for a terminal."""
    figures = Figures(results)
    tables = [summary(figures), *rows_below(figures)]
    if results["peers"]["rows"]:
        tables.insert(1, peer_summary(figures))
    lines = []
    for table in tables:
        widths = [max(map(len, column)) for column in zip(table.header, *table.rows)]
        lines += ["  ".join([row[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:]))])
                  for row in [table.header, *table.rows]] + [""]
    return "\n".join(lines)


def draw_bars(axes, figures, rows):
    """Each row's speed over its limit's, a bar for each size."""
    sizes = [size for size in figures.sizes if size >= CALL_ELEMENTS]
    height = 0.8 / max(len(sizes), 1)
    for i, size in enumerate(sizes):
        entries = [figures.entry(row, size) for row in rows]
        axes.barh([y + height * i for y in range(len(rows))], [figures.speed_to_limit(e) or 0 if e else 0 for e in entries],
                  height, label=size_name(size))
    axes.axvline(1, color="black", linewidth=1, label="limit")
    axes.axvline(GOAL, color="black", linewidth=0.5, linestyle="--")
    axes.set_yticks([y + 0.4 for y in range(len(rows))], rows, fontsize=8)
    axes.invert_yaxis()
    axes.margins(y=0.01)
    axes.set_xlim(0, 1.5)
    axes.set_title("speed over the limit's, one thread")
    axes.legend(fontsize=9)


def draw_curves(axes, figures, rows):
    """GB/s by size, with the copies of f32 to 8 bits."""
    for row in rows:
        entries = present(figures.entry(row, size) for size in figures.sizes)
        axes.plot([e["elements"] for e in entries], [gb_per_s(e) for e in entries], marker="o", label=row)
    for name in ("memcpy", "stream"):
        like = present(figures.entry(DRAWN_CURVES[0], size) for size in figures.sizes)
        copies = [(e["elements"], bytes_of(e) / figures.copy_ns(e, name)) for e in like if figures.copy_ns(e, name)]
        axes.plot([c[0] for c in copies], [c[1] for c in copies], color="black", linestyle="--" if name == "memcpy" else ":",
                  label=f"{name}, f32 to 8 bits")
    axes.set_xscale("log", base=2)
    axes.set_xticks(figures.sizes, map(size_name, figures.sizes))
    axes.set_yscale("log", subs=())
    axes.yaxis.get_major_locator().set_params(subs=(1, 2, 5))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter("")
    axes.set_title("GB/s by elements, one thread")
    axes.legend(fontsize=8)


def draw_peers(axes, figures, rows):
    """By row, how many times as fast as each peer qdq is in the caches: the geometric mean of the sizes that fit there."""
    for name in figures.results["peers"]["peers"]:
        speeds = {}
        for row in figures.results["peers"]["rows"]:
            if name in row["peers"] and row["elements"] <= 1 << 20:
                speeds.setdefault(row["row"], []).append(peer_speed(row, name))
        kept = [(mean(speeds[row]), y) for y, row in enumerate(rows) if row in speeds]
        if kept:
            axes.plot([k[0] for k in kept], [k[1] for k in kept], "o", markersize=6, label=name)
    axes.axvline(1, color="black", linewidth=1)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_yticks(range(len(rows)), rows, fontsize=8)
    axes.invert_yaxis()
    axes.grid(axis="y", linewidth=0.3)
    axes.margins(y=0.01)
    axes.set_title("times as fast as each peer, 4 Ki to 1 Mi elements")
    axes.figure.legend(loc="outside lower center", ncols=5, fontsize=9)  # dots are everywhere inside


def draw_percentiles(axes, ratios):
    """What part of drawn calls takes at most so many times what a dense call takes."""
    axes.plot(ratios, range(len(ratios)))
    for part in (50, 90, 99):
        axes.annotate(f"{part} %: {ratios[part]:.1f}", (ratios[part], part), xytext=(6, -10), textcoords="offset points")
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("times a dense call's time")
    axes.set_ylabel("% of calls")
    axes.grid(linewidth=0.3)
    axes.set_title("drawn calls of 4 Ki elements and more")


def picture(draw, height, *arguments):
    """A PNG of 800 pixels' width with one message."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, height), layout="constrained")
    draw(axes, *arguments)
    png = io.BytesIO()
    figure.savefig(png, format="png", dpi=100)
    pyplot.close(figure)
    return png.getvalue()


def pictures_of(results):
    """PNGs by name."""
    figures = Figures(results)
    known = {e["row"] for e in figures.entries}
    rows = [row for row in model_rows.model_row_names() if row in known] or sorted(known)
    with_peers = [row for row in model_rows.model_row_names() if any(r["row"] == row for r in results["peers"]["rows"])]
    drawn = percentiles(results)
    found = {"limits": picture(draw_bars, 2 + 0.35 * len(rows), figures, rows),
             "sizes": picture(draw_curves, 6, figures, [row for row in DRAWN_CURVES if row in known] or rows[:8])}
    if with_peers:
        found["peers"] = picture(draw_peers, 2 + 0.25 * len(with_peers), figures, with_peers)
    if drawn:
        found["calls"] = picture(draw_percentiles, 5, drawn)
    return found


def as_json(results):
    """A line for each measurement, which shows well in a difference of two runs."""
    def value_of(value):
        if isinstance(value, list) and value and isinstance(value[0], dict):
            return "[\n" + ",\n".join(json.dumps(item, separators=(",", ":")) for item in value) + "\n]"
        return json.dumps(value)

    return "{\n" + ",\n".join(f"{json.dumps(key)}: {value_of(value)}" for key, value in results.items()) + "\n}\n"


def write(results, stem):
    """<stem>.json, .md, .html, and a .png for each picture."""
    parts, pictures = parts_of(results), pictures_of(results)
    stem.parent.mkdir(parents=True, exist_ok=True)
    written = {".json": as_json(results).encode(), ".md": as_markdown(parts, stem.name, pictures).encode(),
               ".html": as_html(parts, pictures).encode(), **{f"-{name}.png": png for name, png in pictures.items()}}
    for ending, data in written.items():
        stem.with_name(stem.name + ending).write_bytes(data)
    print(f"{stem}{', '.join(written)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=pathlib.Path, help="a JSON file of bench/run.py")
    options = parser.parse_args()
    write(json.loads(options.results.read_text()), options.results.with_suffix(""))


if __name__ == "__main__":
    main()
