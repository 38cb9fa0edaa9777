"""Whole models: what the command line does with them, on one machine or on many::

    qdq.checkpoint.quantize("llama", "llama-int4", recipe={"default": {"dtype": "i4", "block_size": 128}})
    qdq.checkpoint.compare("llama", "llama-int4")["total"]["sqnr_db"]
    python -m qdq.checkpoint llama llama-int4 --recipe recipe.json

A folder in, a folder out: it is there whole or not at all. What a run that was killed has finished is kept. The next
run with the same arguments goes on from there, to the same bytes. docs/command_line.md says what a model's folder and a
recipe are.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pathlib
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from typing import Any, Literal, NotRequired, TypeAlias, TypedDict, cast

from qdq._core import checkpoint as _checkpoint

__all__ = ["compare", "convert", "dequantize", "inspect", "quantize"]

Path: TypeAlias = str | bytes | os.PathLike[str] | os.PathLike[bytes]
Progress: TypeAlias = Callable[[int, int], object]


class Quantized(TypedDict):
    shards: int
    tensors: int
    quantized: int
    bytes_before: int
    bytes_after: int


class Converted(TypedDict):
    tensors: int
    changed: int
    bytes_before: int
    bytes_after: int
    warnings: list[str]


class Total(TypedDict):
    bytes_before: int
    bytes_after: int
    unchanged: bool
    sqnr_db: float | None
    max_error: float
    max_error_steps: float | None
    clipped: int | None


class Compared(Total):
    name: str
    shape: list[int]


class Comparison(TypedDict):
    tensors: list[Compared]
    total: Total
    warnings: list[str]


class Inspected(TypedDict):
    name: str
    dtype: str
    shape: list[int]
    bytes: int
    unsupported: NotRequired[bool]
    min: NotRequired[float | None]
    max: NotRequired[float | None]
    zeros: NotRequired[int]
    nans: NotRequired[int]
    scale_shape: NotRequired[list[int]]
    scale_min: NotRequired[float | None]
    scale_max: NotRequired[float | None]


class Inspection(TypedDict):
    tensors: list[Inspected]
    warnings: list[str]


@contextlib.contextmanager
def _recipe_file(recipe: str | pathlib.Path | None) -> Iterator[str | pathlib.Path | None]:
    """The path of a recipe, or None; of its text a temporary file's."""
    if not isinstance(recipe, str):
        yield recipe
        return
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(recipe)
        file.flush()
        yield file.name


def _open(
    directory: Path, out: Path, recipe: str | pathlib.Path | None, profile: str | None, replace: bool
) -> _checkpoint.Checkpoint:
    with _recipe_file(recipe) as file:
        return _checkpoint.Checkpoint(directory, out, file, profile, bool(replace))


def _check_progress(progress: object) -> None:
    if progress is not None and not callable(progress):
        raise TypeError(f"qdq.checkpoint: progress: {type(progress).__name__} cannot be called")


def _warn(texts: list[str]) -> None:
    for text in texts:
        warnings.warn(f"qdq.checkpoint: {text}", stacklevel=3)


def quantize(
    directory: Path,
    out: Path,
    *,
    recipe: dict[str, Any] | Path | None = None,
    profile: str | None = None,
    replace: bool = False,
    threads: int = 0,
    progress: Progress | None = None,
    report: Path | None = None,
    ray: str | None = None,
) -> Quantized:
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
        report: where to write a page of HTML on what the weights have lost. It replaces such a page alone.
        ray: the address of a Ray cluster, as ray.init takes it: "auto", "ray://host:port", or "local" for a new one on
            this machine. One task a shard; one whose worker dies is run again. `threads` is not looked at.

    Returns:
        A dict: the numbers of "shards", "tensors" and "quantized" ones, and the tensors' "bytes_before" and
        "bytes_after".

    Raises:
        ValueError: an argument asks for something meaningless.
        RuntimeError: the model or the recipe cannot be read, `out` is there already or another process is writing it.

    Warns of rules of the recipe whose globs match no tensor.
    """
    _check_progress(progress)
    for name, path in (("report", report), ("recipe", None if isinstance(recipe, dict) else recipe)):
        if path is not None and not isinstance(path, (str, bytes, os.PathLike)):
            raise TypeError(f"qdq.checkpoint: {name}: {type(path).__name__} is no path")
    rules: str | pathlib.Path | None = None
    if recipe is not None:
        rules = json.dumps(recipe) if isinstance(recipe, dict) else pathlib.Path(os.fsdecode(recipe))
    model = _open(directory, out, rules, profile, replace)
    if unmatched := model.unmatched():
        _warn([f"recipe: no tensor matches {unmatched}"])
    if report is not None:
        model.check_report(report)
    total, done = model.summary()["bytes_before"], 0

    def advance(amount: int) -> None:
        nonlocal done
        done += amount
        if progress is not None:
            progress(done, total)

    if ray is None:
        model.write(threads, advance)
    else:
        rules = rules.read_text() if isinstance(rules, pathlib.Path) else rules  # other machines lack the file
        arguments = (os.path.abspath(directory), os.path.abspath(out), rules, profile, replace)
        _write_on_ray(model, arguments, ray, advance)
    if report is not None:
        model.write_report(report)
    return cast(Quantized, model.summary())


def _running(progress: Progress | None, total: Callable[[], int]) -> Callable[[int], None] | None:
    """Told of each piece, `progress` with what is done of all."""
    _check_progress(progress)
    if progress is None:
        return None
    done, all_bytes = 0, total()

    def advance(amount: int) -> None:
        nonlocal done
        done += amount
        progress(done, all_bytes)

    return advance


def _total(*sources: Path) -> Callable[[], int]:
    return lambda: sum(_checkpoint.total_bytes(source) for source in sources)


def dequantize(
    source: Path,
    out: Path,
    *,
    dtype: Literal["float32", "float16", "bfloat16"] | None = None,
    profile: str | None = None,
    replace: bool = False,
    threads: int = 0,
    progress: Progress | None = None,
) -> Converted:
    """Restores a quantized model, a folder into a folder or a file into a file: `qdq dequantize`.

    Args:
        source: a model's folder, or a .safetensors, .onnx, .gguf or .npy file.
        out: what to make.
        dtype: the type to restore to; None: as the file records it, or float32.
        profile, replace, threads, progress: as of quantize.

    Returns:
        A dict: the numbers of "tensors" and of those that are restored ("changed"), "bytes_before", "bytes_after", and
        "warnings". These are of scales of 0, negative, NaN or infinite, which are warned of, too.

    Raises:
        As quantize.
    """
    advance = _running(progress, _total(source))
    said = _checkpoint.dequantize(source, out, dtype, profile, bool(replace), threads, advance)
    result = cast(Converted, json.loads(said))
    _warn(result["warnings"])
    return result


def convert(
    source: Path,
    out: Path,
    *,
    method: Literal["compressed-tensors", "fp8"] | None = None,
    replace: bool = False,
    progress: Progress | None = None,
) -> Converted:
    """Keeps codes, scales and zero points in another format: `qdq convert`.

    Args:
        source: a quantized model's folder, or a .safetensors, .onnx or .gguf file.
        out: an .onnx or .safetensors file, or a folder.
        method: of a folder that becomes a folder, the quant_method of its config.json.
        replace, progress: as of quantize.

    Returns, raises:
        As dequantize.
    """
    said = _checkpoint.convert(source, out, method, bool(replace), _running(progress, _total(source)))
    result = cast(Converted, json.loads(said))
    _warn(result["warnings"])
    return result


def compare(original: Path, other: Path, *, report: Path | None = None, progress: Progress | None = None) -> Comparison:
    """What quantization has changed, tensor by tensor: `qdq compare --json`.

    Args:
        original, other: folders or files with the same tensors, either of which may be quantized.
        report: where to write a page of HTML.
        progress: as of quantize, of the bytes of `original`.

    Returns:
        A dict: for each of the "tensors", and for all in "total", the bytes, "sqnr_db" (None of those that are equal),
        "max_error", "max_error_steps" and "clipped".

    Raises:
        As quantize.
    """
    said = _checkpoint.compare(original, other, report, _running(progress, _total(original)))
    result = cast(Comparison, json.loads(said))
    _warn(result["warnings"])
    return result


def inspect(source: Path, *, progress: Progress | None = None) -> Inspection:
    """The tensors of a model or an array, and what they hold: `qdq inspect --json`.

    Args:
        source: a model's folder, or a .safetensors, .onnx, .gguf or .npy file.
        progress: as of quantize.

    Returns:
        A dict, whose "tensors" have "name", "dtype", "shape", "bytes", and where they are numbers "min", "max", "zeros"
        and "nans"; where they are quantized "scale_shape", "scale_min" and "scale_max".

    Raises:
        As quantize.
    """
    said = _checkpoint.inspect(source, _running(progress, _total(source)))
    result = cast(Inspection, json.loads(said))
    _warn(result["warnings"])
    return result


_Arguments: TypeAlias = tuple[str | bytes, str | bytes, str | None, str | None, bool]


def _write_shard(arguments: _Arguments, shard: int) -> int:
    _open(*arguments).write_shard(shard)
    return shard


def _write_on_ray(
    model: _checkpoint.Checkpoint, arguments: Any, address: str, advance: Callable[[int], None]
) -> None:
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


def main() -> None:
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

    def print_progress(done_now: int, _: int) -> None:
        nonlocal done
        print(done_now - done, flush=True)
        done = done_now

    prints_progress = options.pop("print_progress")
    progress = print_progress if prints_progress else None
    if prints_progress:  # for the command line, which has warned already
        warnings.simplefilter("ignore")
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
