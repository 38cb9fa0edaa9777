"""qdq.checkpoint beside the command line: the same bytes, also after it was stopped."""

import json
import os
import pathlib
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
    assert "down_proj" in (tmp_path / "report.html").read_text()


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
