"""Times of several builds of one kernel, interleaved, and what they are worth as evidence."""

import json
import math
import subprocess

import numpy

SECONDS_AT_MOST = 60  # of one measurement, which takes one or two


class Timing:
    """Of builds of a kernel, the first of which is what others are compared with."""

    def __init__(self, result):
        self.differences, self.rows = result["differences"], result["rows"]

    def log_ratios(self, build):
        """For each round the mean over rows of log(time / the first build's): each pair was measured within milliseconds."""
        rounds = [numpy.log(numpy.array(row["ns"][build]) / numpy.array(row["ns"][0])) for row in self.rows]
        return numpy.mean(rounds, axis=0)

    def minima(self, build):
        """The shortest time of each row in ns: everything else a machine does can only add to it."""
        return {f"{row['row']}/{row['elements']}": min(row["ns"][build]) for row in self.rows}


def measure(build, kernel, libraries, elements, rounds, options=()):
    """The timing, or None where a library brought the process down, or never came back."""
    name = f"{kernel.name}_row" if kernel.kind == "dispatch" else kernel.name
    try:
        done = subprocess.run([str(build.folder / "bench/qdq_measure_kernel"), name, kernel.target, "--elements",
                               *map(str, elements), "--rounds", str(rounds), *options, *map(str, libraries)],
                              stdout=subprocess.PIPE, text=True, timeout=SECONDS_AT_MOST)
    except subprocess.TimeoutExpired:
        return None
    if done.returncode < 0:
        return None
    if done.returncode != 0:
        raise SystemExit(done.returncode)
    return Timing(json.loads(done.stdout))


def median(log_ratios):
    return math.exp(float(numpy.median(log_ratios)))


def interval(log_ratios, confidence=0.95, samples=2000):
    """Of the median ratio, by the bootstrap's percentiles (Efron 1979)."""
    draw = numpy.random.default_rng(0)
    drawn = draw.choice(log_ratios, size=(samples, len(log_ratios)))
    tail = (1 - confidence) / 2
    low, high = numpy.quantile(numpy.median(drawn, axis=1), [tail, 1 - tail])
    return [math.exp(float(low)), math.exp(float(high))]
