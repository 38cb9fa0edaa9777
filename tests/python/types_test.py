"""What type checkers see: the examples of the documents pass mypy --strict, and what they say of results is true."""

import doctest
import importlib.util
import pathlib
import re
import subprocess
import sys

import page
import pytest

ROOT = pathlib.Path(__file__).parents[2]
HAS_TORCH = importlib.util.find_spec("torch") is not None


@pytest.fixture(scope="session")
def mypy(tmp_path_factory):
    """What mypy says of a program, by the installed package."""
    folder = tmp_path_factory.mktemp("types")
    options = ["--strict", "--allow-redefinition", "--cache-dir", folder / "cache", "--no-error-summary"]

    def check(program):
        source = folder / "program.py"
        source.write_text(program)
        run = subprocess.run(
            [sys.executable, "-m", "mypy", *options, source], cwd=folder, capture_output=True, text=True
        )
        assert run.stderr == ""
        return run.stdout

    return check


def examples(text):
    """The sources of a page's examples, without those that show an error."""
    found = doctest.DocTestParser().get_examples(text.replace("```", ""))
    return "".join(example.source for example in found if example.exc_msg is None)


def test_the_readmes_example_and_the_shape_of_its_result(mypy):
    (example,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    said = mypy(example + "print(codes.shape)\nreveal_type(codes)\n")
    assert re.fullmatch(r'.*: note: Revealed type is "numpy.ndarray\[.*\n', said), said


def test_the_examples_of_the_page(mypy):
    sections = page.PAGE.read_text().split("\n## ")
    text = "".join(each for each in sections if HAS_TORCH or not each.startswith("PyTorch"))
    source = examples(text)
    assert source.count("qdq.") > 20
    assert mypy(source) == ""


@pytest.mark.skipif(not HAS_TORCH, reason="PyTorch is not installed")
def test_tensors_give_tensors(mypy):
    said = mypy(
        "import numpy, torch, qdq\n"
        "x, out = torch.ones(4), numpy.empty(4, numpy.int8)\n"
        "reveal_type(qdq.quantize(x, 0.5, dtype=torch.int8))\n"
        "reveal_type(qdq.quantize(x, 0.5, dtype='int8', out=out))\n"
        "reveal_type(qdq.plan(qdq.quantize, x, 0.5, dtype='int8')(x))\n",
    )
    assert re.findall(r'Revealed type is "(\w+)\.', said) == ["torch", "numpy", "torch"]


def test_models_have_types(mypy):
    said = mypy(
        "import qdq.checkpoint as checkpoint\n"
        "reveal_type(checkpoint.quantize('a', 'b', recipe={'default': {'dtype': 'i4'}})['quantized'])\n"
        "reveal_type(checkpoint.dequantize('a', b'b', dtype='float16')['warnings'])\n"
        "reveal_type(checkpoint.convert('a', 'b', method='fp8')['changed'])\n"
        "reveal_type(checkpoint.compare('a', 'b')['total']['sqnr_db'])\n"
        "reveal_type(checkpoint.inspect('a')['tensors'][0]['shape'])\n"
        "checkpoint.quantize('a', 'b', progress=lambda done, total: print(done / total))\n"
    )
    assert [text.replace("builtins.", "") for text in re.findall(r'Revealed type is "(.*)"', said)] == [
        "int", "list[str]", "int", "float | None", "list[int]",
    ]  # fmt: skip
    assert "error" not in said, said


WRONG = """
qdq.checkpoint.quantize("a")
qdq.checkpoint.dequantize("a", "b", dtype="f32")
qdq.checkpoint.convert("a", "b", method="awq")
qdq.checkpoint.compare("a", "b")["totals"]
qdq.checkpoint.inspect(3)
qdq.quantize(x, 0.5)
qdq.quantize(x, 0.5, dtype="int8", axes=0)
qdq.quantize(x, 0.5, dtype="int8", rounding="upwards")
qdq.quantize(x, 0.5, dtype="int8", profile="caffe")
qdq.quantize(x, 0.5, dtype=8)
qdq.quantize(3, 0.5, dtype="int8")
qdq.dequantize(x, 0.5, packed=True)
qdq.force_target(3)
tp.quantize(tp.Tensor([1.0]), None, tp.int8)
tp.float64
pypto.dequantize(x, x, "float32", -1)
trt.Builder(trt.Logger()).create_network().add_input("x", "float32", (1,))
""".strip().splitlines()


def test_wrong_calls_are_found(mypy):
    head = ["import numpy, qdq, qdq.checkpoint", "from qdq.compat import nvtripy as tp, pypto, tensorrt as trt",
            "x = numpy.ones(4, numpy.float32)"]  # fmt: skip
    said = mypy("\n".join(head + WRONG))
    found = {int(line) for line in re.findall(r"program.py:(\d+): error: ", said)}
    assert found == {number + len(head) + 1 for number in range(len(WRONG))}, said
