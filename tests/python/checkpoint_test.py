"""qdq.checkpoint beside the command line: the same bytes, also after it was stopped."""

import html
import json
import os
import pathlib
import re
import subprocess
import sys

import numpy
import pytest
import safetensors.numpy

import qdq.checkpoint

RECIPE = {"default": {"dtype": "i4", "block_size": 32}, "rules": [{"match": "*.down_proj.weight", "dtype": "f8e4m3"}]}


def make_model(folder, shards=3, rows=64):
    """A model of as many layers as shards, with an index."""
    folder.mkdir()
    random, weight_map = numpy.random.default_rng(0), {}
    for shard in range(shards):
        name, prefix = f"model-{shard + 1:05}-of-{shards:05}.safetensors", f"model.layers.{shard}"
        tensors = {
            f"{prefix}.mlp.up_proj.weight": random.normal(size=(rows, 128)).astype("f4"),
            f"{prefix}.mlp.down_proj.weight": random.normal(size=(128, rows)).astype("f4"),
            f"{prefix}.input_layernorm.weight": numpy.ones(128, "f4"),
        }
        safetensors.numpy.save_file(tensors, folder / name)
        weight_map |= dict.fromkeys(tensors, name)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": weight_map}))
    (folder / "config.json").write_text(json.dumps({"architectures": ["LlamaForCausalLM"], "vocab_size": 1000}))
    return folder


def contents(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes() for path in pathlib.Path(folder).rglob("*") if path.is_file()
    }


@pytest.fixture
def model(tmp_path):
    return make_model(tmp_path / "model")


@pytest.fixture
def by_command_line(model, tmp_path):
    recipe, out = tmp_path / "recipe.json", tmp_path / "by-command-line"
    recipe.write_text(json.dumps(RECIPE))
    subprocess.run(
        [os.environ["QDQ_CLI"], "quantize", model, "-o", out, "--recipe", recipe], check=True, stdout=subprocess.DEVNULL
    )
    return contents(out)


def test_gives_the_bytes_of_the_command_line(model, tmp_path, by_command_line):
    summary = qdq.checkpoint.quantize(model, tmp_path / "dict", recipe=RECIPE)
    assert contents(tmp_path / "dict") == by_command_line
    qdq.checkpoint.quantize(str(model), str(tmp_path / "file"), recipe=tmp_path / "recipe.json", threads=1)
    assert contents(tmp_path / "file") == by_command_line
    assert (summary["shards"], summary["tensors"], summary["quantized"]) == (3, 9, 6)
    assert (
        summary["bytes_before"] == 3 * 4 * (2 * 64 * 128 + 128) and summary["bytes_after"] < summary["bytes_before"] / 4
    )


def test_a_profile_and_a_recipe_with_comments_are_those_of_the_command_line(model, tmp_path):
    recipe = tmp_path / "recipe.json"
    recipe.write_text('{"default": {"dtype": "i16"}}  // comment')
    for profile in ("onnx", "torch"):
        options = ["--recipe", recipe, "--profile", profile]
        command = [os.environ["QDQ_CLI"], "quantize", model, "-o", tmp_path / f"{profile}-cli", *options]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        qdq.checkpoint.quantize(model, tmp_path / profile, recipe=recipe, profile=profile)
        assert contents(tmp_path / profile) == contents(tmp_path / f"{profile}-cli")
    assert contents(tmp_path / "onnx") != contents(tmp_path / "torch")
    with pytest.raises(ValueError, match='"caffe" is none of onnx'):
        qdq.checkpoint.quantize(model, tmp_path / "out", profile="caffe")


def test_a_report_replaces_no_other_file(model, tmp_path):
    config = model / "config.json"
    before = config.read_bytes()
    with pytest.raises(RuntimeError, match="exists already, and is no report"):
        qdq.checkpoint.quantize(model, tmp_path / "out", report=config)
    with pytest.raises(RuntimeError, match="exists already, and is no report"):
        qdq.checkpoint.compare(model, model, report=config)
    assert config.read_bytes() == before
    assert not (tmp_path / "out").exists()


def test_tells_its_progress_and_writes_a_report(model, tmp_path):
    told = []
    qdq.checkpoint.quantize(
        model,
        tmp_path / "out",
        recipe=RECIPE,
        threads=1,
        progress=lambda *bytes: told.append(bytes),
        report=tmp_path / "report.html",
    )
    total = 3 * 4 * (2 * 64 * 128 + 128)
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert told[-1] == (total, total)
    page = (tmp_path / "report.html").read_text()
    assert "down_proj" in page
    recipe = json.loads(html.unescape(re.search(r'<pre id="recipe">(.*?)</pre>', page, re.DOTALL)[1]))
    qdq.checkpoint.quantize(model, tmp_path / "again", recipe=recipe)
    assert contents(tmp_path / "again") == contents(tmp_path / "out")


def test_goes_on_after_it_was_stopped_to_the_same_bytes(model, tmp_path, by_command_line):
    class Stop(Exception):
        pass

    def stop(done, total):
        if done > total / 2:
            raise Stop

    with pytest.raises(Stop):
        qdq.checkpoint.quantize(model, tmp_path / "out", recipe=RECIPE, threads=1, progress=stop)
    assert not (tmp_path / "out").exists()
    qdq.checkpoint.quantize(model, tmp_path / "out", recipe=RECIPE)
    assert contents(tmp_path / "out") == by_command_line


def test_errors_are_those_of_the_command_line(model, tmp_path):
    (tmp_path / "taken").mkdir()
    with pytest.raises(RuntimeError, match="taken: exists already; replace=True replaces it"):
        qdq.checkpoint.quantize(model, tmp_path / "taken")
    qdq.checkpoint.quantize(model, tmp_path / "taken", replace=True)
    with pytest.raises(ValueError, match="one inside the other"):
        qdq.checkpoint.quantize(model, model / "inside")
    with pytest.raises(ValueError, match="it is no folder of a model"):
        qdq.checkpoint.quantize(model / "config.json", tmp_path / "out")
    with pytest.raises(RuntimeError, match="bad"):
        qdq.checkpoint.quantize(model, tmp_path / "out", recipe={"bad": 1})
    with pytest.raises(RuntimeError, match="none.json"):
        qdq.checkpoint.quantize(model, tmp_path / "out", recipe=tmp_path / "none.json")


def test_a_folder_may_have_any_name_that_a_file_system_takes(model, tmp_path, by_command_line):
    for name in (b"not \xff UTF-8", "caf\u00e9".encode(), b"two\nlines"):
        source, out = os.fsencode(tmp_path) + b"/" + name, os.fsencode(tmp_path) + b"/out of " + name
        model.rename(os.fsdecode(source))
        qdq.checkpoint.quantize(source, out, recipe=RECIPE, report=out + b".html")  # of bytes
        assert contents(os.fsdecode(out)) == by_command_line and os.path.exists(out + b".html")
        with pytest.raises(RuntimeError, match="exists already"):
            qdq.checkpoint.quantize(os.fsdecode(source), os.fsdecode(out), recipe=RECIPE)
        os.rename(source, model)


def test_arguments_of_no_use_are_named_and_nothing_is_written(model, tmp_path):
    there = set(tmp_path.iterdir())
    huge = 10**400
    for name, value, error in (
        ("directory", 3, TypeError),
        ("directory", None, TypeError),
        ("directory", f"{model}\0", ValueError),
        ("directory", "\ud800", ValueError),
        ("out", ["out"], TypeError),
        ("out", f"{tmp_path}/out\0", ValueError),
        ("profile", "onnx\0", ValueError),
        ("profile", "\ud800", ValueError),
        ("profile", 3, TypeError),
        ("profile", b"onnx", TypeError),
        ("threads", huge, ValueError),
        ("threads", -1, ValueError),
        ("threads", "two", TypeError),
        ("threads", 1.5, TypeError),
        ("progress", 3, TypeError),
        ("report", 3, TypeError),
        ("recipe", f"{tmp_path}/recipe\0", ValueError),
        ("recipe", "\ud800", ValueError),
        ("recipe", 3, TypeError),
    ):
        arguments = {"directory": model, "out": tmp_path / "out", name: value}
        with pytest.raises(error, match=name) as caught:
            qdq.checkpoint.quantize(**arguments)
        assert type(caught.value) is error and "\n" not in str(caught.value)
    assert set(tmp_path.iterdir()) == there


def test_a_shard_is_one_of_the_models(model, tmp_path):
    checkpoint = qdq.checkpoint._checkpoint.Checkpoint(model, tmp_path / "out", None, None, False)
    assert checkpoint.shard_count == 3
    for shard in (-1, 3, 2**62):
        with pytest.raises(ValueError, match=rf"shard {shard} is not in \[0, 3\)"):
            checkpoint.write_shard(shard)
        with pytest.raises(ValueError, match=rf"shard {shard} is not in \[0, 3\)"):
            checkpoint.shard_bytes(shard)


def test_recipes_are_bounded_as_the_command_line_bounds_them(model, tmp_path):
    recipe = tmp_path / "recipe.json"
    for depth in (21, 100_000):
        recipe.write_text("[" * depth + "]" * depth)
        for given in (recipe, {"rules": [json.loads("[" * 20 + "]" * 20)]}):
            with pytest.raises(RuntimeError, match="more than 20 levels of lists and objects"):
                qdq.checkpoint.quantize(model, tmp_path / "out", recipe=given)
    os.truncate(recipe, 100_000_001)
    with pytest.raises(RuntimeError, match="recipe.json: it has more than 100000000 bytes"):
        qdq.checkpoint.quantize(model, tmp_path / "out", recipe=recipe)


def test_no_error_steers_a_terminal(model, tmp_path):
    evil, shown = "\x1b[31m\n\u009b", "\\x1b[31m\\x0a\\xc2\\x9b"
    with pytest.raises(RuntimeError, match="too long") as of_the_system:
        qdq.checkpoint.quantize(model, tmp_path / (evil + "x" * 300))
    with pytest.raises(ValueError, match="no folder") as usage:
        qdq.checkpoint.quantize(tmp_path / evil, tmp_path / "out")
    (model / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"x": evil}}))
    with pytest.raises(RuntimeError, match="cannot open") as missing:
        qdq.checkpoint.quantize(model, tmp_path / "out")
    for raised in (missing, usage, of_the_system):
        assert shown in str(raised.value) and evil not in str(raised.value)


def test_as_a_program_it_prints_what_it_has_done(model, tmp_path, by_command_line):
    command = [sys.executable, "-m", "qdq.checkpoint", model, tmp_path / "out", "--recipe", tmp_path / "recipe.json"]
    assert json.loads(subprocess.check_output(command, text=True))["quantized"] == 6
    assert contents(tmp_path / "out") == by_command_line
    assert "exists already" in subprocess.run(command, capture_output=True, text=True, check=False).stderr


def by_cli(*arguments):
    return subprocess.run([os.environ["QDQ_CLI"], *map(str, arguments)], check=True, capture_output=True, text=True)


def test_dequantize_convert_compare_and_inspect_are_those_of_the_command_line(model, tmp_path):
    recipe = {"default": {"dtype": "f8e4m3", "block_size": [32, 32]}}
    qdq.checkpoint.quantize(model, tmp_path / "codes", recipe=recipe)
    for command, options, given in (
        ("dequantize", ["--dtype", "bf16"], {"dtype": "bfloat16"}),
        ("dequantize", ["--profile", "torch"], {"profile": "torch", "threads": 1}),
        ("convert", ["--method", "compressed-tensors"], {"method": "compressed-tensors"}),
    ):
        ours, theirs = tmp_path / f"ours-{len(options)}{options[0]}", tmp_path / f"theirs-{len(options)}{options[0]}"
        by_cli(command, tmp_path / "codes", "-o", theirs, *options)
        told = []
        result = getattr(qdq.checkpoint, command)(
            tmp_path / "codes", ours, progress=lambda done, total: told.append((done, total)), **given
        )
        assert contents(ours) == contents(theirs)
        assert (result["changed"], result["warnings"]) == (6, [])
        assert told[-1][0] == told[-1][1] > 0 and told == sorted(told)
    qdq.checkpoint.quantize(model, tmp_path / "i8")
    result = qdq.checkpoint.convert(tmp_path / "i8", tmp_path / "model.onnx")
    assert result["bytes_after"] < (tmp_path / "model.onnx").stat().st_size  # of three shards in one file
    by_cli("convert", tmp_path / "i8", "-o", tmp_path / "theirs.onnx")
    assert (tmp_path / "model.onnx").stat().st_size == (tmp_path / "theirs.onnx").stat().st_size
    pair = (model, tmp_path / "codes")
    assert qdq.checkpoint.compare(*pair, report=tmp_path / "r.html") == json.loads(by_cli("compare", *pair, "--json").stdout)
    assert "down_proj" in (tmp_path / "r.html").read_text()
    for each in (*pair, tmp_path / "model.onnx"):
        assert qdq.checkpoint.inspect(each) == json.loads(by_cli("inspect", each, "--json").stdout)


def test_globs_that_match_nothing_and_odd_scales_are_warned_of(model, tmp_path):
    with pytest.warns(UserWarning, match=r'^qdq.checkpoint: recipe: no tensor matches \*.dwon.\*$'):
        qdq.checkpoint.quantize(model, tmp_path / "out", recipe={"rules": [{"match": "*.dwon.*", "dtype": "keep"}]})
    file = tmp_path / "x.safetensors"
    tensors = {"x": numpy.ones((2, 2), "i1"), "x_scale": numpy.array([[-1], [1]], "f4")}
    safetensors.numpy.save_file(tensors, file)
    for call in (
        lambda: qdq.checkpoint.inspect(file),
        lambda: qdq.checkpoint.dequantize(file, tmp_path / "y.safetensors"),
        lambda: qdq.checkpoint.convert(file, tmp_path / "y.onnx"),
        lambda: qdq.checkpoint.compare(file, file),
    ):
        with pytest.warns(UserWarning, match="1 of 2 scales is negative"):
            assert call()["warnings"]


def test_messages_have_the_words_of_python_and_of_recipes(model, tmp_path):
    def said(error, call, *arguments, **keywords):
        with pytest.raises(error) as caught:
            call(*arguments, **keywords)
        return str(caught.value)

    quantize, out = qdq.checkpoint.quantize, tmp_path / "out"
    taken = tmp_path / "a --force of --nothing-else"
    taken.mkdir()
    (taken / "mine.txt").touch()
    assert said(RuntimeError, quantize, model, taken) == f"{taken}: exists already; replace=True replaces it"
    assert said(RuntimeError, quantize, model, taken, replace=True).startswith(
        f"{taken}: exists, and replace=True would lose what no model has: mine.txt"
    )
    uneven = {"default": {"dtype": "i4", "block_size": 48}}
    assert said(RuntimeError, quantize, model, out, recipe=uneven).endswith(
        'as compressed-tensors wants them; a rule of the recipe with "dtype": "keep" leaves it alone'
    )
    for scheme, words in (
        ({"dtype": "mxfp4", "axis": 0}, "dtype mxfp4 has blocks of 32 along the last axis; it takes no axis or per_tensor, and "
                                        "no other block_size than ROWSx32"),
        ({"dtype": "f8e4m3", "asymmetric": True}, "asymmetric: f8e4m3 has no zero points"),
        ({"dtype": "i8", "block_size": [2, 2], "axis": 0}, "block_size 2x2: blocks of rows and columns take no axis"),
        ({"dtype": "i8", "scale_rule": "max"}, '"scale_rule" is max, which is no rule of docs/dynamic.md, as absmax'),
        ({"dtype": "u8", "scale_rule": "absmax"}, "scale_rule absmax: u8 has no codes for negative values, and this rule no "
                                                  "zero points"),
    ):  # fmt: skip
        assert said(RuntimeError, quantize, model, out, recipe={"default": scheme}).endswith(words)
    assert said(ValueError, quantize, model, out, recipe={"default": {"dtype": "q8_0"}}).endswith("q8_0 is of .gguf files alone")
    assert said(ValueError, quantize, model, out, profile="caffe").startswith("profile caffe: ")
    convert, dequantize = qdq.checkpoint.convert, qdq.checkpoint.dequantize
    assert said(ValueError, convert, model, out) == "a folder becomes a folder with method compressed-tensors or method fp8"
    assert said(ValueError, convert, model, tmp_path / "x.gguf") == f"{tmp_path}/x.gguf: a model's folder becomes a folder, and no GGUF file"
    assert said(ValueError, convert, model, out, method="awq").endswith("method: 'awq' is neither compressed-tensors nor fp8")
    assert said(ValueError, dequantize, model, out, dtype="f32").endswith("'f32' is none of float32, float16 and bfloat16")
    assert "progress: int cannot be called" in said(TypeError, qdq.checkpoint.inspect, model, progress=3)
    for call in (qdq.checkpoint.inspect, qdq.checkpoint.compare, convert, dequantize):
        given = [3] if call is qdq.checkpoint.inspect else [3, out]
        assert "int" in said(TypeError, call, *given)
    assert not out.exists()


def test_ctrl_c_ends_each(model, tmp_path):
    class Stop(Exception):
        pass

    def stop(done, total):
        raise Stop

    qdq.checkpoint.quantize(model, tmp_path / "codes")
    for call in (
        lambda: qdq.checkpoint.inspect(model, progress=stop),
        lambda: qdq.checkpoint.compare(model, model, progress=stop),
        lambda: qdq.checkpoint.dequantize(tmp_path / "codes", tmp_path / "out", progress=stop),
        lambda: qdq.checkpoint.convert(tmp_path / "codes", tmp_path / "out.onnx", progress=stop),
    ):
        with pytest.raises(Stop):
            call()
    assert not (tmp_path / "out").exists() and not (tmp_path / "out.onnx").exists()
