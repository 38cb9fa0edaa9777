"""The search for the parameters of one kernel: the default with one parameter changed, then what Optuna proposes
(tree-structured Parzen estimator); successive halving drops what is behind after few rounds, and only what a second,
separate measurement confirms is taken."""

import concurrent.futures
import itertools
import math
import time

import optuna

from tuning import kernels, timing

optuna.logging.set_verbosity(optuna.logging.WARNING)

# Rungs of successive halving: rounds, and how many of the sizes are measured.
RUNGS = [(6, 1), (12, 3), (36, 3)]
SIZES = [4096, 65536, 1 << 20]
# The dispatcher's parameters count where results leave the caches. How work is split over threads is not looked for: times
# of several threads say more of a machine's other guests than of qdq.
SIZES_OF_DISPATCH = [1 << 26, 1 << 24, 1 << 21]
SEARCHED_OF_DISPATCH = ["nontemporal_bytes", "piece_bytes", "piece_elements", "prefetch_bytes"]
CONFIRMATION = 30    # rounds
CONFIRMATIONS = 3    # processes: pages lie elsewhere in each
LEAST_GAIN = 0.01    # smaller ones are not worth a difference between kernels


def objective(rungs):
    """What Optuna minimizes; what is wrong or refused, and has no rung, is as bad as can be."""
    return math.log(rungs[-1]) if rungs else math.log(10)


class KernelSearch:
    """What was tried of a kernel, from the record, and the next thing to try."""

    def __init__(self, build, kernel, record, trials):
        self.build, self.kernel, self.record, self.trials = build, kernel, record, trials
        self.sizes = SIZES_OF_DISPATCH if kernel.kind == "dispatch" else SIZES
        self.space = {p.name: optuna.distributions.CategoricalDistribution(self.choices(p))
                      for p in build.parameters_of(kernel)}
        self.study = optuna.create_study(
            sampler=optuna.samplers.TPESampler(seed=len(record.of("trial", kernel)), multivariate=True),
            pruner=optuna.pruners.SuccessiveHalvingPruner(min_resource=1, reduction_factor=3))
        self.tried = {self.key(kernel.tuned): {"rungs": [1.0] * len(RUNGS)}}
        self.tell(kernel.tuned, [1.0] * len(RUNGS))
        for entry in record.of("trial", kernel):
            self.tried[self.key(entry["parameters"])] = entry
            self.tell(entry["parameters"], entry.get("rungs", []))
        for parameters in self.neighbours():
            if self.key(parameters) not in self.tried:
                self.study.enqueue_trial(parameters)
        self.codes = {e["code"]: e for e in self.tried.values() if "code" in e}
        self.sets = math.prod(len(d.choices) for d in self.space.values())

    def choices(self, parameter):
        default = self.kernel.tuned[parameter.name]
        searched = self.kernel.kind != "dispatch" or parameter.name in SEARCHED_OF_DISPATCH
        if not searched:
            return [default]
        given = {default, *parameter.choices}
        return sorted(given, key=int) if default.isdecimal() else sorted(given)

    def neighbours(self):
        """The default with one parameter changed, what is tried first: of each parameter in turn, and of sizes the nearest."""
        by_parameter = []
        for name, distribution in self.space.items():
            choices, default = distribution.choices, distribution.choices.index(self.kernel.tuned[name])
            nearest = sorted(range(len(choices)), key=lambda i: abs(i - default))
            by_parameter.append([{**self.kernel.tuned, name: choices[i]} for i in nearest if i != default])
        return [changed for turn in itertools.zip_longest(*by_parameter) for changed in turn if changed]

    @staticmethod
    def key(parameters):
        return tuple(sorted(parameters.items()))

    def tell(self, parameters, rungs):
        """Optuna learns of all that was measured."""
        self.study.add_trial(optuna.trial.create_trial(
            params=dict(parameters), distributions=self.space, value=objective(rungs),
            intermediate_values={i: math.log(r) for i, r in enumerate(rungs)}))

    def propose(self):
        """Parameters that were not tried; None where none are left, or as much code was timed as is to be."""
        for _ in range(50):
            if len(self.codes) >= self.trials or len(self.tried) >= min(self.sets, 8 * self.trials):
                return None
            trial = self.study.ask(self.space)
            if self.key(trial.params) not in self.tried:
                self.tried[self.key(trial.params)] = {}
                return trial
            self.study.tell(trial, state=optuna.trial.TrialState.FAIL)
        return None

    def run(self, until, done):
        """Tries what is left, compiling the next candidate while one is timed, and decides in a last third of the time."""
        now = time.monotonic()
        until = now + (until - now) * 2 / 3
        with concurrent.futures.ThreadPoolExecutor(1) as compiler:
            def begin():
                trial = self.propose() if time.monotonic() < until else None
                return trial and (trial, compiler.submit(self.candidate, trial))
            coming = begin()
            while coming:
                (trial, future), coming = coming, None
                candidate = future.result()
                coming = begin()
                self.try_candidate(trial, candidate)
                done()
        self.decide()

    def candidate(self, trial):
        """The library with the kernel so compiled, and what its code is; or why there is none."""
        name = f"{self.kernel.symbol}-{trial.number}"
        try:
            compiled = self.build.compile(self.kernel, trial.params, name)
        except kernels.Refused as refusal:
            return {"refused": str(refusal)}
        return {"code": kernels.code_of(compiled),
                "library": self.build.link([compiled], self.build.work / name / "libqdq.so")}

    def try_candidate(self, trial, candidate):
        if "library" in candidate:
            library, same = candidate.pop("library"), self.codes.get(candidate["code"])
            candidate["timed"] = same is None
            candidate["rungs"] = same["rungs"] if same else self.climb(trial, library, candidate)
        self.build.remove(f"{self.kernel.symbol}-{trial.number}")
        self.study.tell(trial, objective(candidate.get("rungs", [])))
        entry = {"kernel": self.kernel.symbol, "parameters": trial.params, **candidate}
        self.record.append(what="trial", **entry)
        self.tried[self.key(trial.params)] = entry
        if "code" in entry:
            self.codes[entry["code"]] = entry

    def climb(self, trial, library, candidate):
        """The median ratio to the default at each rung, as far as successive halving lets it come."""
        rungs = []
        for step, (rounds, sizes) in enumerate(RUNGS):
            timed = timing.measure(self.build, self.kernel, [self.build.library, library], self.sizes[:sizes], rounds)
            if timed is None or timed.differences[1]:
                candidate["wrong"] = timed.differences[1] if timed else "it brings the process down"
                return []
            rungs.append(timing.median(timed.log_ratios(1)))
            trial.report(math.log(rungs[-1]), step)
            if trial.should_prune():
                break
        return rungs

    def decide(self):
        """The best that a separate measurement confirms, if any: recorded as the kernel's choice."""
        finalists = sorted((e for e in self.tried.values() if len(e.get("rungs", [])) == len(RUNGS) and "parameters" in e),
                           key=lambda e: e["rungs"][-1])
        refuted = [e["parameters"] for e in self.record.of("refuted", self.kernel)]
        confirmed = self.record.of("confirmed", self.kernel)
        for entry in finalists[:3]:
            if entry["rungs"][-1] > 1 - LEAST_GAIN or entry["parameters"] in refuted:
                continue
            if confirmed and confirmed[-1]["parameters"] == entry["parameters"]:
                break
            if self.confirm(entry["parameters"]):
                break

    def confirm(self, parameters):
        name = f"{self.kernel.symbol}-confirmed"
        library = self.build.link([self.build.compile(self.kernel, parameters, name)],
                                  self.build.work / name / "libqdq.so")
        timings = [timing.measure(self.build, self.kernel, [self.build.library, library], self.sizes, CONFIRMATION)
                   for _ in range(CONFIRMATIONS)]
        self.build.remove(name)
        ratios = [t.log_ratios(1) for t in timings]
        pooled = [r for each in ratios for r in each]
        low, high = timing.interval(pooled)
        holds = high < 1 - LEAST_GAIN and all(timing.median(each) < 1 for each in ratios)
        times = {row: [min(t.minima(i)[row] for t in timings) for i in (0, 1)] for row in timings[0].minima(0)}
        self.record.append(what="confirmed" if holds else "refuted", kernel=self.kernel.symbol, parameters=parameters,
                           ratio=timing.median(pooled), interval=[low, high], ns=times)
        return holds
