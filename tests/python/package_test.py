"""The package around the functions: what it imports, its stubs, its documents."""

import ast
import doctest
import importlib.metadata
import importlib.resources
import inspect
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import numpy
import page
import pytest
import qdq

ROOT = pathlib.Path(__file__).parents[2]


def run(program):
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout


def test_import_qdq_imports_no_other_package():
    loaded = run("import sys; before = set(sys.modules); import qdq; print(*(set(sys.modules) - before))").split()
    assert {name.partition(".")[0] for name in loaded} <= {"qdq"} | set(sys.stdlib_module_names)
    assert "qdq._frameworks" not in loaded
    assert "typing" not in loaded  # which takes as long as qdq itself


def test_qdq_may_be_imported_again():
    program = """
import sys, numpy, qdq
from qdq.compat import nvtripy
x, quantize = numpy.ones(3, "f4"), qdq.quantize
for name in [name for name in sys.modules if name.partition(".")[0] == "qdq"]:
    del sys.modules[name]
import qdq as again
import qdq.checkpoint
from qdq.compat import aclnn, nvtripy as tp, pypto, tensorrt, torch_npu
print(again.quantize is quantize, quantize(x, 0.5, dtype="int8"), again.plan(again.quantize, x, 0.5, dtype="int4")(x))
print(tp is nvtripy, tp.quantize(tp.Tensor(x), 0.5, tp.int8).dtype is tp.int8)
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("True [2 2 2] [2 2 2]\nFalse True\n", "")


def test_another_interpreter_of_the_process_is_told_that_it_cannot_import_qdq():
    interpreters = pytest.importorskip("_xxsubinterpreters" if sys.version_info < (3, 13) else "_interpreters")
    program = f"""
import {interpreters.__name__} as interpreters, qdq
run = getattr(interpreters, "run_string", None) or interpreters.exec
try:
    print(run(interpreters.create(), "import qdq"))
except Exception as error:
    print(error)
"""
    assert re.search(r"ImportError.*(another interpreter of this process|subinterpreters)", run(program))


def test_the_wheel_has_stubs_for_every_function():
    files = importlib.resources.files(qdq)
    assert files.joinpath("py.typed").is_file()
    stub = ast.parse(files.joinpath("_core", "__init__.pyi").read_text())
    functions = {node.name: node for node in reversed(stub.body) if isinstance(node, ast.FunctionDef)}
    for name in ("quantize", "dequantize", "targets", "current_target", "force_target", "set_num_threads"):
        assert name in functions and ast.get_docstring(functions[name])
    arguments = functions["quantize"].args
    assert [argument.arg for argument in arguments.args] == ["x", "scale", "zero_point"]
    defaults = {a.arg: d and ast.literal_eval(d) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults)}
    assert defaults == {
        "dtype": None, "axis": None, "block_size": None, "scale_mode": "divide", "zero_point_mode": "after_rounding",
        "rounding": "nearest_even", "saturate": True, "nan": "lowest", "profile": None, "out": None, "packed": False,
        "seed": 0, "offset": 0, "scale_layout": None, "scale_dtype": None, "global_sense": None, "global_scale": None,
        "packing": None,
    }  # fmt: skip


def test_the_wheel_has_the_licenses_of_what_the_extension_contains():
    files = importlib.resources.files(qdq).joinpath("licenses")
    for name in ("Halide", "nanobind", "nlohmann_json", "protozero", "xxHash"):
        assert "Copyright" in files.joinpath(f"{name}.txt").read_text(), name


def test_everything_public_has_a_docstring():
    for name in qdq.__all__:
        assert inspect.getdoc(getattr(qdq, name)), name


def test_inspect_reads_every_signature():
    for name in qdq.__all__:
        if not inspect.isclass(getattr(qdq, name)):
            assert inspect.signature(getattr(qdq, name)), name
    assert str(inspect.signature(qdq.quantize)) == (
        "(x, scale, zero_point=None, *, dtype, axis=None, block_size=None, scale_mode='divide', "
        "zero_point_mode='after_rounding', rounding='nearest_even', saturate=True, nan='lowest', profile=None, out=None, "
        "packed=False, seed=0, offset=0, scale_layout=None, scale_dtype=None, global_sense=None, global_scale=None, "
        "packing=None)"
    )
    assert list(inspect.signature(qdq.force_target).parameters) == ["name"]
    assert qdq.quantize.__doc__.startswith("y = saturate") and qdq.quantize.__module__ == "qdq._core"


def test_the_version_is_the_projects():
    header = (ROOT / "runtime/include/qdq/qdq.h").read_text()
    assert qdq.__version__ == ".".join(re.findall(r"#define QDQ_VERSION_[A-Z]+ (\d+)", header))
    assert importlib.metadata.version("qdq") == qdq.__version__


def test_the_examples_of_docstrings_hold():
    assert doctest.testmod(qdq).failed == 0
    assert doctest.testmod(qdq).attempted > 3


def test_the_examples_of_the_page_hold():
    assert page.run(lambda title: title != "PyTorch") > 50
    for name in ("start", "quick_reference"):
        assert page.run(lambda title: True, ROOT / f"docs/{name}.md") > 3


def test_the_wheel_has_the_command_line(tmp_path):
    """`qdq`, and `python -m qdq`: the program that the build has made."""
    expected = subprocess.run([os.environ["QDQ_CLI"], "--version"], capture_output=True, text=True, check=True).stdout
    installed = [pathlib.Path(sys.executable).parent / "qdq"]
    for program in (installed, [sys.executable, "-m", "qdq"]):
        done = subprocess.run([*program, "--version"], capture_output=True, text=True, check=True)
        assert done.stdout == expected
        failed = subprocess.run([*program, "quantise"], capture_output=True, text=True)
        assert (failed.returncode, failed.stdout) == (2, "") and "is `qdq quantize` meant?" in failed.stderr
    numpy.save(tmp_path / "x.npy", numpy.ones((2, 3), "f4"))
    subprocess.run([*installed, "quantize", "x.npy", "-o", "q.npy"], cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    assert numpy.load(tmp_path / "q.npy").dtype == numpy.int8


def test_the_command_line_is_ended_by_the_signals_that_end_qdq():
    """It takes Python's place: nothing of Python's is between."""
    program = pathlib.Path(sys.executable).parent / "qdq"
    hears = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)  # noqa: E731: a shell's background jobs ignore it
    running = subprocess.Popen([program, "verify"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=hears)
    its = pathlib.Path(f"/proc/{running.pid}")
    # Of another processor's program the emulator is the file that runs, and the program's name its first argument.
    while "-packages/qdq/bin/qdq" not in os.readlink(its / "exe") + (its / "cmdline").read_text():
        assert running.poll() is None
        time.sleep(0.01)
    time.sleep(0.3)
    running.send_signal(signal.SIGINT)
    assert running.communicate(timeout=600)[1] == "" and running.returncode == -signal.SIGINT
