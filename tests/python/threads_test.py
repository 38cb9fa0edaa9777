"""Threads of Python's that call at once. With the interpreter's lock they take turns, in a free-threaded one they do not."""

import subprocess
import sys
import sysconfig
import threading

import ml_dtypes
import numpy
import oracle
import pytest

import qdq

THREADS = 8
X = numpy.random.default_rng(0).normal(size=(64, 256)).astype("float32")


def at_once(*works):
    """What each returns, called by a thread of its own; all begin together."""
    begin, results = threading.Barrier(len(works)), [None] * len(works)

    def run(place):
        begin.wait()
        results[place] = works[place]()

    threads = [threading.Thread(target=run, args=(place,)) for place in range(len(works))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_import_leaves_a_free_threaded_interpreter_without_the_lock():
    if not sysconfig.get_config_var("Py_GIL_DISABLED"):
        pytest.skip("this interpreter has the lock")
    command = "import qdq, sys; sys.exit(sys._is_gil_enabled())"
    subprocess.run([sys.executable, "-W", "error", "-c", command], check=True, env={})


# Types, NumPy's interface and the modules that differ by library are looked up at a process's first call.
FIRST_CALLS = """
import threading, ml_dtypes, numpy, qdq
types = [numpy.dtype("int8"), "uint8", "int4", ml_dtypes.float8_e4m3fn, "float4_e2m1fn", "bfloat16"]
x = [numpy.ones((4, 8), kind) for kind in ("float32", "float16", ml_dtypes.bfloat16)]
begin, done = threading.Barrier(24), []
def run(place):
    begin.wait()
    given = x[place % 3]
    dtype = types[place % 5]
    codes = qdq.quantize(given, [1.0] * 4, dtype=dtype, axis=0)
    done.append((qdq.dequantize(codes, [1.0] * 4, axis=0, dtype=types[5]) == 1).all())
threads = [threading.Thread(target=run, args=(place,)) for place in range(24)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
assert len(done) == 24 and all(done), done
"""


def test_first_calls_may_come_at_once():
    for _ in range(10):  # Under an emulator, on a busy machine, one has taken a minute. The limit is for threads that never end.
        subprocess.run([sys.executable, "-c", FIRST_CALLS], check=True, timeout=600)


def test_each_thread_has_the_results_of_its_own_call():
    scales = [0.01 * (1 + place) for place in range(THREADS)]

    def work(scale):
        return lambda: [qdq.quantize(X, scale, dtype="int8") for _ in range(50)]

    for scale, results in zip(scales, at_once(*map(work, scales)), strict=True):
        expected = oracle.quantize(X, scale, None, "int8")
        assert all(oracle.same_bits(codes, expected) for codes in results)


def test_threads_share_a_plan():
    inputs = [X * (1 + place) for place in range(THREADS)]
    plan = qdq.plan(qdq.quantize, X, 0.1, dtype="int8")
    for x, results in zip(inputs, at_once(*[lambda x=x: [plan(x) for _ in range(50)] for x in inputs]), strict=True):
        expected = qdq.quantize(x, 0.1, dtype="int8")
        assert all(oracle.same_bits(codes, expected) for codes in results)


def test_numbers_of_a_shared_dynamic_plan_are_of_the_call():
    inputs = [numpy.tile(X, (8, 1)) * (1 + place) for place in range(THREADS)]  # whose codes take a while to be unpacked
    plan = qdq.plan(qdq.quantize_dynamic, inputs[0], dtype="int4", axis=0, diagnostics=True)
    for x, results in zip(inputs, at_once(*[lambda x=x: [plan(x) for _ in range(10)] for x in inputs]), strict=True):
        codes, scale, met = qdq.quantize_dynamic(x, dtype="int4", axis=0, diagnostics=True)
        assert met["amax"] == abs(x).max()
        for result in results:
            assert oracle.same_bits(result[0], codes) and oracle.same_bits(result[1], scale) and result[2] == met


class Exporter:
    """An array that comes by DLPack. Each class of them is one that was not met before."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **keywords):
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_classes_that_are_new_may_come_at_once():
    expected = qdq.quantize(X, 0.1, dtype="int8")

    def work():
        classes = [type("another", (Exporter,), {}) for _ in range(20)]
        return [numpy.asarray(qdq.quantize(each(X), 0.1, dtype="int8")) for each in classes]

    for results in at_once(*[work] * THREADS):
        assert all(oracle.same_bits(codes, expected) for codes in results)


def test_a_name_of_a_type_may_be_met_at_once():
    expected = oracle.same_bits(qdq.quantize(X, 0.1, dtype="float8_e4m3fn"), qdq.quantize(X, 0.1, dtype=ml_dtypes.float8_e4m3fn))
    assert expected

    def work():
        names = ["".join(("float8_", "e4m3fn")) for _ in range(50)]  # strings of their own
        return [qdq.quantize(X[:1, :8], 0.1, dtype=name).dtype for name in names]

    for dtypes in at_once(*[work] * THREADS):
        assert set(dtypes) == {numpy.dtype(ml_dtypes.float8_e4m3fn)}
