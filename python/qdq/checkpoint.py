"""Whole models: the command line's `qdq quantize`, on one machine or on many.

    qdq.checkpoint.quantize("llama", "llama-int4", recipe={"default": {"dtype": "i4", "block_size": 128}})
    python -m qdq.checkpoint llama llama-int4 --recipe recipe.json

A folder in, a folder out: it is there whole or not at all. What a run that was killed has finished is kept, and the
next run with the same arguments goes on from there, to the same bytes. docs/command_line.md says what a model's folder
and a recipe are.
"""

import argparse
import contextlib
import json
import os
import pathlib
import sys
import tempfile

from qdq._core import checkpoint as _checkpoint

__all__ = ["quantize"]


@contextlib.contextmanager
def _recipe_file(recipe):
    """The path of a recipe, or None; of its text a temporary file's."""
    if not isinstance(recipe, str):
        yield recipe
        return
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(recipe)
        file.flush()
        yield file.name


def _open(directory, out, recipe, profile, replace):
    with _recipe_file(recipe) as file:
        return _checkpoint.Checkpoint(directory, out, file, profile, replace)


def quantize(
    directory, out, *, recipe=None, profile=None, replace=False, threads=0, progress=None, report=None, ray=None
):
    """Quantizes the model in a folder into a new folder.

    Args:
        directory: a model's folder: config.json and safetensors files.
        out: the folder to make. With `ray` every machine has both at these paths.
        recipe: a dict or the path of a JSON file: which tensors become which type, with which scales. None: the weights
            of linear layers become int8 with a scale for each row.
        profile: the system whose rules are followed, as of qdq.quantize.
        replace: whether a model that is at `out` is replaced.
        threads: how many shards, and tensors, are worked on at once; 0: as many as there are processors.
        progress: called as progress(bytes_done, bytes_of_all), of the input; on one machine from any thread. What it
            raises ends the work.
        report: where to write a page of HTML on what the weights have lost.
        ray: the address of a Ray cluster, as ray.init takes it: "auto", "ray://host:port", or "local" for a new one on
            this machine. One task a shard; one whose worker dies is run again. `threads` is not looked at.

    Returns:
        A dict: the numbers of "shards", "tensors" and "quantized" ones, and the tensors' "bytes_before" and
        "bytes_after".

    Raises:
        ValueError: an argument asks for something meaningless.
        RuntimeError: the model or the recipe cannot be read, `out` is there already or another process is writing it.
    """
    if progress is not None and not callable(progress):
        raise TypeError(f"qdq.checkpoint: progress: {type(progress).__name__} cannot be called")
    for name, path in (("report", report), ("recipe", None if isinstance(recipe, dict) else recipe)):
        if path is not None and not isinstance(path, (str, bytes, os.PathLike)):
            raise TypeError(f"qdq.checkpoint: {name}: {type(path).__name__} is no path")
    if recipe is not None:
        recipe = json.dumps(recipe) if isinstance(recipe, dict) else pathlib.Path(os.fsdecode(recipe))
    model = _open(directory, out, recipe, profile, replace)
    total, done = model.summary()["bytes_before"], 0

    def advance(amount):
        nonlocal done
        done += amount
        if progress is not None:
            progress(done, total)

    if ray is None:
        model.write(threads, advance)
    else:
        recipe = recipe.read_text() if isinstance(recipe, pathlib.Path) else recipe  # other machines lack the file
        arguments = (os.path.abspath(directory), os.path.abspath(out), recipe, profile, replace)
        _write_on_ray(model, arguments, ray, advance)
    if report is not None:
        _checkpoint.write_report(report, directory, out)
    return model.summary()


def _write_shard(arguments, shard):
    _open(*arguments).write_shard(shard)
    return shard


def _write_on_ray(model, arguments, address, advance):
    import ray

    if not ray.is_initialized():
        ray.init(address=address, log_to_driver=False, configure_logging=False)
    model.begin()  # the folder's lock is this process's, until it has finished or died
    task = ray.remote(max_retries=-1, retry_exceptions=False)(_write_shard)
    waiting = [task.remote(arguments, shard) for shard in range(model.shard_count)]
    while waiting:
        (ready,), waiting = ray.wait(waiting)
        advance(model.shard_bytes(ray.get(ready)))
    model.finish()


def main():
    parser = argparse.ArgumentParser(prog="python -m qdq.checkpoint", description="Quantizes a model's folder.")
    parser.add_argument("directory")
    parser.add_argument("out")
    parser.add_argument("--recipe", help="a JSON file: which tensors become which type, with which scales")
    parser.add_argument("--profile", help="compute as another system does: onnx, torch, ...")
    parser.add_argument("--replace", action="store_true", help="replace a model that is at OUT")
    parser.add_argument("--report", help="where to write a page of HTML on what the weights have lost")
    parser.add_argument("--ray", metavar="ADDRESS", help="the address of a Ray cluster, auto, or local for a new one")
    parser.add_argument(
        "--print-progress",
        action="store_true",
        help="print, as it is done, how many more bytes of the input are, instead of a summary",
    )
    options = vars(parser.parse_args())
    done = 0

    def print_progress(done_now, _):
        nonlocal done
        print(done_now - done, flush=True)
        done = done_now

    prints_progress = options.pop("print_progress")
    progress = print_progress if prints_progress else None
    try:
        summary = quantize(options.pop("directory"), options.pop("out"), progress=progress, **options)
    except (ValueError, RuntimeError, OSError) as error:
        sys.exit(f"{parser.prog}: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
    if not prints_progress:
        print(json.dumps(summary))


if __name__ == "__main__":
    main()
