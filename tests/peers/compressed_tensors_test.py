"""The files of `qdq quantize` against those of compressed-tensors, which vLLM loads: names, types, shapes and bytes."""

import json
import logging
import os
import subprocess
import sys
import tempfile
import unittest
import warnings
from pathlib import Path

logging.disable(logging.WARNING)
warnings.filterwarnings("ignore")

try:
    import compressed_tensors
    import torch
    from compressed_tensors.compressors.base import BaseCompressor
    from compressed_tensors.compressors.format import infer_module_format
    from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme
    from compressed_tensors.quantization.utils import calculate_qparams
    from compressed_tensors.quantization.utils.helpers import generate_gparam
    from safetensors.torch import load_file, save_file
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

INT4, INT8 = {"num_bits": 4, "type": "int"}, {"num_bits": 8, "type": "int"}
FP4, FP8 = {"num_bits": 4, "type": "float"}, {"num_bits": 8, "type": "float"}
ASYMMETRIC = {"symmetric": False}
CHANNEL, TENSOR, GROUP = {"strategy": "channel"}, {"strategy": "tensor"}, {"strategy": "group", "group_size": 32}
EXPONENTS = {"scale_dtype": torch.uint8, "zp_dtype": torch.uint8}
NVFP4 = {"strategy": "tensor_group", "group_size": 16, "scale_dtype": torch.float8_e4m3fn,
         "zp_dtype": torch.float8_e4m3fn}  # fmt: skip
BLOCKS = ["--block-size", "32"]

# The options of qdq, the format of compressed-tensors, and its arguments.
CASES = [
    (["--dtype", "i8"], "int-quantized", INT8 | CHANNEL),
    (["--dtype", "i8", "--asymmetric"], "int-quantized", INT8 | CHANNEL | ASYMMETRIC),
    (["--dtype", "i8", "--per-tensor"], "int-quantized", INT8 | TENSOR),
    (["--dtype", "i8", *BLOCKS], "int-quantized", INT8 | GROUP),
    (["--dtype", "i4"], "pack-quantized", INT4 | CHANNEL),
    (["--dtype", "i4", "--asymmetric"], "pack-quantized", INT4 | CHANNEL | ASYMMETRIC),
    (["--dtype", "i4", *BLOCKS], "pack-quantized", INT4 | GROUP),
    (["--dtype", "i4", *BLOCKS, "--asymmetric"], "pack-quantized", INT4 | GROUP | ASYMMETRIC),
    (["--dtype", "u4", *BLOCKS, "--asymmetric"], "pack-quantized", INT4 | GROUP | ASYMMETRIC),
    (["--dtype", "f8e4m3"], "float-quantized", FP8 | CHANNEL),
    (["--dtype", "f8e4m3", "--per-tensor"], "float-quantized", FP8 | TENSOR),
    (["--dtype", "nvfp4"], "nvfp4-pack-quantized", FP4 | NVFP4),
    (["--dtype", "mxfp4"], "mxfp4-pack-quantized", FP4 | GROUP | EXPONENTS),
    (["--dtype", "mxfp8"], "mxfp8-quantized", FP8 | GROUP | EXPONENTS),
]


def grouped(x, args):
    """x with the elements of a scale in its last dimension."""
    if args.strategy == "tensor":
        return x.reshape(1, -1)
    return x.unflatten(-1, (-1, args.group_size)) if args.group_size else x.unsqueeze(1)


def compress(x, form, args):
    """What compressed-tensors stores of a weight."""
    args = QuantizationArgs(**args)
    state = {"weight": x}
    if args.strategy == "tensor_group":
        state["weight_global_scale"] = generate_gparam(x.min(), x.max())
    values = grouped(x, args)
    scale, zero_point = calculate_qparams(
        values.amin(-1), values.amax(-1), args, global_scale=state.get("weight_global_scale")
    )
    state |= {"weight_scale": scale} | ({} if args.symmetric else {"weight_zero_point": zero_point})
    compressor = BaseCompressor.get_value_from_registry(form)
    return compressor.compress(state, QuantizationScheme(targets=["Linear"], weights=args))


def in_a_folder(x, options):
    """What a model's folder has of a weight, and the config's format and scheme of it."""
    with tempfile.TemporaryDirectory(prefix="qdq-test-") as folder:
        model, output = Path(folder, "in"), Path(folder, "out")
        model.mkdir()
        Path(model, "config.json").write_text("{}")
        save_file({"x.weight": x}, Path(model, "model.safetensors"))
        subprocess.run([os.environ["QDQ_CLI"], "quantize", model, "-o", output, *options], check=True,
                       stdout=subprocess.DEVNULL)  # fmt: skip
        config = json.loads(Path(output, "config.json").read_text())["quantization_config"]
        tensors = load_file(Path(output, "model.safetensors"))
        scheme = QuantizationScheme.model_validate(config["config_groups"]["group_0"])
        return {name.removeprefix("x."): tensor for name, tensor in tensors.items()}, config["format"], scheme


class AgainstCompressedTensors(unittest.TestCase):
    def quantize(self, x, options):
        with tempfile.TemporaryDirectory(prefix="qdq-test-") as folder:
            model, output = Path(folder, "in.safetensors"), Path(folder, "out.safetensors")
            save_file({"weight": x}, model)
            subprocess.run([os.environ["QDQ_CLI"], "quantize", model, "-o", output, *options], check=True,
                           stdout=subprocess.DEVNULL)  # fmt: skip
            return load_file(output)

    def assert_same_tensors(self, actual, expected):
        self.assertEqual(set(actual), set(expected))
        for name in expected:
            theirs, ours = expected[name], actual[name]
            self.assertEqual((ours.dtype, ours.shape), (theirs.dtype, theirs.shape), name)
            theirs, ours = (each.reshape(-1).view(torch.uint8) for each in (theirs, ours))
            self.assertTrue(torch.equal(ours, theirs), name)

    def test_every_format(self):
        torch.manual_seed(1)
        for options, form, args in CASES:
            for columns in (64, 2048) if "group_size" in args else (64, 36, 2049):
                with self.subTest(options=options, columns=columns):
                    x = torch.randn(37, columns) * torch.linspace(0.1, 5, 37)[:, None]
                    self.assert_same_tensors(self.quantize(x, options), compress(x, form, args))

    def test_every_format_in_a_folder(self):
        """With the format that compressed-tensors infers from the scheme in config.json."""
        torch.manual_seed(1)
        dynamic = [([*options, "--activations", "dynamic"], form, args) for options, form, args in CASES
                   if options[1:] in (["i8"], ["i8", "--per-tensor"], ["f8e4m3"], ["f8e4m3", "--per-tensor"])]  # fmt: skip
        for options, form, args in [*CASES, *dynamic]:
            is_inferred = "--asymmetric" not in options  # transformers expects no packed zero points
            is_packed = form == "int-quantized" and (options, form, args) not in dynamic
            form = "pack-quantized" if is_packed and is_inferred else form
            for columns in (64, 2048) if "group_size" in args else (64, 3, 38, 2049):
                with self.subTest(options=options, columns=columns):
                    x = torch.randn(37, columns) * torch.linspace(0.1, 5, 37)[:, None]
                    actual, named, scheme = in_a_folder(x, options)
                    self.assertEqual((named, scheme.format), (form, form))
                    inferred = infer_module_format(torch.nn.Linear, scheme).value
                    if is_inferred:
                        self.assertIn(inferred, (form, "naive-quantized"))  # float-quantized without activations
                    self.assert_same_tensors(actual, compress(x, form, args))


if __name__ == "__main__":
    print(f"qdq and compressed-tensors {compressed_tensors.__version__}: {len(CASES)} formats and granularities")
    unittest.main()
