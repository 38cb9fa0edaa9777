"""What the tests of the command line share: running it, building files byte by byte, and how scales are chosen."""

import contextlib
import ctypes
import hashlib
import json
import os
import platform
import random as random_numbers
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import ml_dtypes
import numpy as np
import safetensors

sys.path.append(str(Path(__file__).resolve().parents[1] / "python"))
import oracle  # noqa: E402

QDQ = os.environ["QDQ_CLI"]
EPSILON = np.float32(2.0**-23)
RANGES = {
    "i8": (np.int8, -128, 127),
    "u8": (np.uint8, 0, 255),
    "i16": (np.int16, -(2**15), 2**15 - 1),
    "u16": (np.uint16, 0, 2**16 - 1),
    "i32": (np.int32, -(2**31), 2**31 - 1),
    "i4": (np.int8, -8, 7),
    "u4": (np.uint8, 0, 15),
    "f8e4m3": (ml_dtypes.float8_e4m3fn, -448, 448),
    "f8e5m2": (ml_dtypes.float8_e5m2, -57344, 57344),
    "f8e4m3fnuz": (ml_dtypes.float8_e4m3fnuz, -240, 240),
    "f8e5m2fnuz": (ml_dtypes.float8_e5m2fnuz, -57344, 57344),
    "f4e2m1": (ml_dtypes.float4_e2m1fn, -6, 6),
}
INTEGERS = [code for code in RANGES if not code.startswith("f")]
NUMPY_NAMES = {code: np.dtype(dtype).name for code, (dtype, _, _) in RANGES.items()} | {"i4": "int4", "u4": "uint4"}


def run(*arguments, force=True, program=QDQ, **options):
    """Most tests write one file again and again: they replace it without a word about it."""
    forced = ["--force"] if force and arguments and arguments[0] in ("quantize", "dequantize") else []
    return subprocess.run([program, *map(str, arguments), *forced], capture_output=True, text=True, **options)


def usage(*arguments, **options):
    """The exit status of a run, the most memory it held, in bytes, and the processor's time it took, in seconds. A
    process inherits the peak of the one that starts it, so a small one does, not this one."""
    program = ("import os, subprocess, sys; p = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL); "
               "_, status, used = os.wait4(p.pid, 0); p.returncode = status; "
               "print(os.waitstatus_to_exitcode(status), used.ru_maxrss, used.ru_utime + used.ru_stime)")
    result = subprocess.run([sys.executable, "-c", program, QDQ, *map(str, arguments)], capture_output=True, text=True,
                            **options)  # fmt: skip
    status, kilobytes, seconds = result.stdout.split()
    return int(status), int(kilobytes) * 1024, float(seconds)


def peak_memory(*arguments):
    status, memory, _ = usage(*arguments)
    assert status == 0
    return memory


def counting_in(folder):
    """The environment in which a build that counts lines keeps a run's counts apart: those of a run that may be killed
    while it adds them to the others', or must not write there."""
    return {**os.environ, "GCOV_PREFIX": str(folder)}


def start(*arguments, **options):
    command = [QDQ, *map(str, arguments)]
    return subprocess.Popen(command, text=True, **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options})


def killed_at(number, argument=None, wanted=0):
    """For preexec_fn: the kernel kills the process where it calls the system by this number, or where that argument has
    this value, too."""
    load, equal, give = 0x20, 0x15, 0x06
    kill, allow = 0x80000000, 0x7FFF0000
    program = [(load, 0, 0, 0), (equal, 0, 1 if argument is None else 3, number)]
    if argument is not None:
        program += [(load, 0, 0, 16 + 8 * argument), (equal, 0, 1, wanted)]
    program += [(give, 0, 0, kill), (give, 0, 0, allow)]
    code = b"".join(struct.pack("HBBI", *instruction) for instruction in program)

    def install():
        no_new_privileges, set_filter, filter_mode = 38, 22, 2
        library = ctypes.CDLL(None, use_errno=True)
        buffer = ctypes.create_string_buffer(code)
        of_program = struct.pack("HxxxxxxQ", len(program), ctypes.addressof(buffer))
        if library.prctl(no_new_privileges, 1, 0, 0, 0) or library.prctl(set_filter, filter_mode, of_program):
            raise OSError(ctypes.get_errno(), "no seccomp")

    return install


MACHINE = platform.machine()


def killed_at_renaming(replacing):
    """Where it would rename a file over another, or to a name that no file has: by the flags of renameat2()."""
    return killed_at({"x86_64": 316}.get(MACHINE, 276), argument=4, wanted=0 if replacing else 1)


def killed_at_unlinking():
    return killed_at({"x86_64": 87}.get(MACHINE, 35))


def seccomp_works():
    try:
        return subprocess.run(["true"], preexec_fn=killed_at_unlinking()).returncode == 0
    except subprocess.SubprocessError:
        return False


def processor_time(process):
    """In seconds; 0 once it has ended."""
    try:
        with open(f"/proc/{process.pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except OSError:
        return 0


def stop_when(process, condition):
    """Stops a process once the condition holds, and so that it still holds."""
    while process.poll() is None:
        if condition():
            process.send_signal(signal.SIGSTOP)
            os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
            if condition():
                return process
            process.send_signal(signal.SIGCONT)
    raise AssertionError(f"it ended before it could be stopped: {process.communicate()}")


def proceed(process):
    """Lets a stopped process run to its end; its exit code, and what it wrote."""
    process.send_signal(signal.SIGCONT)
    output, error = process.communicate(timeout=600)
    return process.returncode, output, error


class RandomKills:
    """Kills processes at random moments of a run. The shortest run so far says how long one takes: on a busy machine the
    first may take ten times as long as the others."""

    def __init__(self, seed):
        self.numbers, self.whole_run, self.killed = random_numbers.Random(seed), float("inf"), 0

    def time(self, run, *arguments, **options):
        begin = time.monotonic()
        run(*arguments, **options)
        self.whole_run = min(self.whole_run, time.monotonic() - begin)

    def kill(self, process):
        begin = time.monotonic()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=self.numbers.uniform(0, 1.2 * self.whole_run))
            if process.returncode == 0:
                self.whole_run = min(self.whole_run, time.monotonic() - begin)
        process.kill()
        process.communicate()
        self.killed += process.returncode == -signal.SIGKILL


class CliTest(unittest.TestCase):
    """Each test has an empty folder, self.dir."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="qdq-test-")
        self.addCleanup(folder.cleanup)
        self.dir = Path(folder.name)

    def files(self):
        return sorted(os.listdir(self.dir))

    def temporary_files(self):
        return [name for name in self.files() if name.startswith(".qdq-")]

    def stop_while_writing(self, *arguments, **options):
        """Starts qdq, and stops it at a time when its temporary file is there and holds something: it is locked then. One
        that is not yet locked may be removed by another run, and is made again."""
        before = set(self.temporary_files())

        def writes():
            with contextlib.suppress(FileNotFoundError):  # renamed meanwhile
                return any((self.dir / name).stat().st_size > 0 for name in self.temporary_files() if name not in before)

        return stop_when(start(*arguments, **options), writes)

    def succeed(self, *arguments, warned="", **options):
        """What it prints; on standard error nothing, or warnings with this text."""
        result = run(*arguments, **options)
        lines = [line for line in result.stderr.splitlines() if warned == "" or warned not in line]
        self.assertEqual((result.returncode, lines), (0, []), result.stdout)
        return result.stdout

    def fail_with(self, message, *arguments, code=1, **options):
        """The command fails with this exit code and message, in one line, and leaves the folder as it was."""
        before = self.files()
        result = run(*arguments, **options)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertIn(message, result.stderr)
        self.assertTrue(result.stderr.startswith("qdq: "), result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        self.assertEqual(result.stdout, "")
        self.assertEqual(self.files(), before)

    def assert_same(self, actual, expected):
        """Equal in type, shape and every bit."""
        expected = np.asarray(expected)
        self.assertEqual((actual.dtype, actual.shape), (expected.dtype, expected.shape))
        self.assertEqual(actual.tobytes(), expected.tobytes())


class ModelTest(CliTest):
    """One with the names of a model, of its codes and of what is restored from them."""

    def setUp(self):
        super().setUp()
        self.input = self.dir / "in.safetensors"
        self.codes = self.dir / "codes.safetensors"
        self.output = self.dir / "out.safetensors"


def random(shape, seed=1):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def safetensors_bytes(header, data=b""):
    """`header` is JSON text, bytes, or something to turn into JSON."""
    if not isinstance(header, (str, bytes)):
        header = json.dumps(header)
    if isinstance(header, str):
        header = header.encode()
    return struct.pack("<Q", len(header)) + header + data


def entry(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def read_header(path):
    raw = Path(path).read_bytes()
    length = struct.unpack("<Q", raw[:8])[0]
    return json.loads(raw[8 : 8 + length]), length


SAFETENSORS_TYPES = {
    "BF16": ml_dtypes.bfloat16, "F8_E4M3": ml_dtypes.float8_e4m3fn, "F8_E5M2": ml_dtypes.float8_e5m2,
    "F8_E4M3FNUZ": ml_dtypes.float8_e4m3fnuz, "F8_E5M2FNUZ": ml_dtypes.float8_e5m2fnuz, "F32": np.float32,
    "F16": np.float16, "I8": np.int8, "U8": np.uint8, "I16": np.int16, "U16": np.uint16, "I32": np.int32,
    "I64": np.int64, "F8_E8M0": ml_dtypes.float8_e8m0fnu, "F6_E2M3": ml_dtypes.float6_e2m3fn,
    "F6_E3M2": ml_dtypes.float6_e3m2fn,
}  # fmt: skip


def pack_sixes(codes):
    bits = np.unpackbits(np.ascontiguousarray(codes).view(np.uint8).ravel(), bitorder="little").reshape(-1, 8)[:, :6]
    return np.packbits(bits.ravel(), bitorder="little").tobytes()


def unpack_sixes(raw):
    bits = np.unpackbits(np.frombuffer(raw, np.uint8), bitorder="little")
    return np.packbits(bits[: bits.size // 6 * 6].reshape(-1, 6), axis=1, bitorder="little").tobytes()


def load_model(path):
    """What safetensors' own reader finds in a file, in the types of NumPy and ml_dtypes."""
    tensors = safetensors.deserialize(Path(path).read_bytes())
    found = {}
    for name, each in tensors:
        data = bytes(each["data"])
        data = unpack_sixes(data) if each["dtype"].startswith("F6") else data
        found[name] = np.frombuffer(data, SAFETENSORS_TYPES[each["dtype"]]).reshape(each["shape"])
    return found


def save_model(path, tensors):
    """Writes arrays of the types of NumPy and ml_dtypes."""
    names = {np.dtype(dtype): name for name, dtype in SAFETENSORS_TYPES.items()}
    header, data = {}, b""
    for name, tensor in tensors.items():
        is_f6 = tensor.dtype in (ml_dtypes.float6_e2m3fn, ml_dtypes.float6_e3m2fn)
        raw = pack_sixes(tensor) if is_f6 else np.ascontiguousarray(tensor).tobytes()
        header[name] = entry(names[tensor.dtype], list(tensor.shape), len(data), len(data) + len(raw))
        data += raw
    Path(path).write_bytes(safetensors_bytes(header, data))


VOCABULARY = 320


def shard_name(i, count):
    return f"model-{i + 1:05}-of-{count:05}.safetensors"


def save_folder(path, shards, config=None):
    """A model's folder of several shards, with a tokenizer in a folder of its own, and a hidden folder."""
    for other in ("sub/tokenizer.json", ".cache/huggingface/download.json"):
        (path / other).parent.mkdir(parents=True)
        (path / other).write_text("{}")
    (path / "config.json").write_text(json.dumps({"model_type": "llama", "vocab_size": VOCABULARY} | (config or {})))
    weight_map = {}
    for i, tensors in enumerate(shards):
        save_model(path / shard_name(i, len(shards)), tensors)
        weight_map |= {name: shard_name(i, len(shards)) for name in tensors}
    index = {"metadata": {"kept": "yes"}, "weight_map": weight_map}
    (path / "model.safetensors.index.json").write_text(json.dumps(index))


def load_folder(path):
    tensors = {}
    for file in sorted(path.glob("*.safetensors")):
        tensors |= load_model(file)
    return tensors


def content(path):
    """Every file of a folder, by its digest: unittest takes minutes to show how megabytes differ."""
    return {str(file.relative_to(path)): hashlib.sha256(file.read_bytes()).hexdigest()
            for file in path.rglob("*") if file.is_file()}


class FolderTest(CliTest):
    """One with the places of a model's folder and of what becomes of it."""

    def setUp(self):
        super().setUp()
        self.model, self.out = self.dir / "model", self.dir / "out"


def pack_bytes(codes):
    """Rows of int8 codes as compressed-tensors packs them: four to an int32, with 128 added."""
    padding = [(0, 0)] * (codes.ndim - 1) + [(0, -codes.shape[-1] % 4)]
    return np.ascontiguousarray(np.pad(codes.view(np.uint8) ^ 128, padding)).view(np.int32)


def sparse_model(path, tensors, side):
    """A model of `tensors` F32 tensors, all zero, of `side` x `side`, that takes no space on the disk."""
    size = side * side * 4
    header = {f"t{i:03}.weight": entry("F32", [side, side], i * size, (i + 1) * size) for i in range(tensors)}
    raw = safetensors_bytes(header)
    Path(path).write_bytes(raw)
    os.truncate(path, len(raw) + tensors * size)


def blocks_of(x, scale_shape, block):
    """For each scale index, the slice of x it covers; `block` is the block size of each dimension."""
    for index in np.ndindex(*scale_shape):
        yield index, tuple(slice(i * b, (i + 1) * b) for i, b in zip(index, block))


def parameters(values, code, asymmetric):
    """Scale and zero point of one block, in f32 as the command's help states."""
    _, low, high = RANGES[code]
    least = min(values.min(), np.float32(0))
    most = max(values.max(), np.float32(0))
    if not asymmetric:
        scale = max(-least, most) / np.float32((high - low) / 2)
        return (scale or EPSILON), ((low + high + 1) // 2 if code in INTEGERS else 0)
    scale = ((most - least) / np.float32(high - low)) or EPSILON
    return scale, int(np.clip(np.float64(np.rint(np.float32(low) - least / scale)), low, high))


def encode(values, scale, zero_point, code):
    zero_point = zero_point if code in INTEGERS else None
    return oracle.quantize(values, scale, zero_point, NUMPY_NAMES[code]).astype(RANGES[code][0])


def quantize(x, scale_shape, block, code="i8", asymmetric=False):
    """Codes, scale and zero point of x, whose scale has the rank of x. The codes of 4 bits are one to a byte."""
    dtype, low, high = RANGES[code]
    codes = np.zeros(x.shape, dtype)
    scales = np.zeros(scale_shape, np.float32)
    zero_points = np.zeros(scale_shape, dtype if code in INTEGERS else np.int8)
    for index, part in blocks_of(x, scale_shape, block):
        scales[index], zero_points[index] = parameters(x[part], code, asymmetric)
        codes[part] = encode(x[part], scales[index], int(zero_points[index]), code)
    return codes, scales, zero_points


def per_channel(x, axis=0, **options):
    scale_shape = [1] * x.ndim
    scale_shape[axis] = x.shape[axis]
    block = list(x.shape)
    block[axis] = 1
    return quantize(x, scale_shape, block, **options)


def per_tensor(x, **options):
    codes, scales, zero_points = quantize(x, [1] * x.ndim, x.shape, **options)
    return codes, scales.reshape(1), zero_points.reshape(1)


def in_blocks(x, size, axis=-1, **options):
    scale_shape = list(x.shape)
    scale_shape[axis] = -(-x.shape[axis] // size)
    block = [1] * x.ndim
    block[axis] = size
    return quantize(x, scale_shape, block, **options)
