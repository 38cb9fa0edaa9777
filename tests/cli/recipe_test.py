"""`qdq recipe`: types by measured errors, within the bits that are asked for."""

import json
import unittest

import ml_dtypes
import numpy as np

from support import FolderTest, load_folder, random, run, save_folder, save_model

LEAST = 4.125  # i4 in blocks of 128 with a scale of 16 bits


def heavy(shape, seed):
    """With a few large values in each row, which blocks of 4 bits lose more of."""
    x = random(shape, seed)
    x[:, ::64] *= 30
    return x


def rounded(shape):
    return random(shape, 3).astype(ml_dtypes.bfloat16)


def exact(shape):
    """Whole numbers that i4 in blocks of 128 holds: the largest magnitude of each makes a scale of 1."""
    x = np.random.default_rng(1).integers(-7, 8, shape).astype(np.float32)
    x[:, ::128] = -7.5
    return x.astype(ml_dtypes.bfloat16)


class Recipe(FolderTest):
    def setUp(self):
        super().setUp()
        self.file = self.dir / "recipe.json"
        self.weights = {f"model.layers.{i}.{name}_proj.weight": (heavy if name == "down" else random)((64, 256), i + 7)
                        for i in range(3) for name in ("up", "down")}  # fmt: skip
        self.weights = {name: x.astype(ml_dtypes.bfloat16) for name, x in self.weights.items()}
        save_folder(self.model, [self.weights | {"model.embed_tokens.weight": random((320, 64)).astype(ml_dtypes.bfloat16)}])

    def recipe(self, bits, *options):
        return json.loads(self.succeed("recipe", self.model, "--bits", bits, "-o", self.file, "--force", "--json", *options,
                                       force=False))  # fmt: skip

    def quantized_bits(self):
        """What the quantized weights take, for each of them."""
        self.succeed("quantize", self.model, "-o", self.out, "--recipe", self.file, "--force", force=False)
        tensors = {name: x for name, x in load_folder(self.out).items() if "embed" not in name}
        return 8 * sum(x.nbytes for x in tensors.values()) / sum(x.size for x in self.weights.values())

    def sqnr(self):
        report = json.loads(self.succeed("compare", self.model, self.out, "--json", force=False))
        return {each["name"]: each["sqnr_db"] for each in report["tensors"] if not each["unchanged"]}

    def test_what_it_promises_is_what_quantize_gives(self):
        for bits in (4.3, 4.75, 6):
            made = self.recipe(bits)
            self.assertLessEqual(made["bits"], bits)
            self.assertGreater(made["bits"], bits - 0.7)
            self.assertAlmostEqual(self.quantized_bits(), made["bits"], delta=0.01)
            for name, found in self.sqnr().items():
                promised = next(each["sqnr_db"] for each in made["tensors"] if each["name"] == name)
                self.assertAlmostEqual(found, promised, delta=0.05, msg=name)

    def test_bits_go_where_they_gain_most(self):
        """None where i4 loses nothing."""
        save_folder(self.dir / "two", [{"a.up_proj.weight": exact((64, 256)), "a.down_proj.weight": rounded((64, 256))}])
        self.model = self.dir / "two"
        made = {each["name"]: each["scheme"] for each in self.recipe(6.3)["tensors"]}
        self.assertEqual(made, {"a.up_proj.weight": "i4 in blocks of 128", "a.down_proj.weight": "i8 per channel"})

    def test_it_does_not_replace_the_model(self):
        for path in (shard for shard in self.model.iterdir() if shard.suffix == ".safetensors"):
            self.fail_with("the output would replace an input", "recipe", self.model, "--bits", 5, "-o", path, "--force",
                           code=2, force=False)  # fmt: skip

    def test_more_bits_lose_less(self):
        noise = []
        for bits in (4.2, 4.6, 5, 6, 7, 8.2):
            self.recipe(bits)
            self.quantized_bits()
            noise.append(sum(10 ** (-db / 10) for db in self.sqnr().values()))
        self.assertEqual(noise, sorted(noise, reverse=True))
        self.assertLessEqual({each["scheme"] for each in self.recipe(8.2)["tensors"]}, {"i8 per channel", "f8e4m3 per channel"})

    def test_is_the_same_with_any_number_of_threads(self):
        shapes = {"a": (4096, 1024), "b": (2048, 1024), "c": (8, 128)}  # of which the last is done first
        save_folder(self.dir / "three", [{f"{name}.proj.weight": (exact if name == "a" else rounded)(shape)
                                          for name, shape in shapes.items()}])  # fmt: skip
        self.model = self.dir / "three"
        texts = []
        for threads in (1, 3):
            self.recipe(6.5, "--threads", threads)
            texts.append(self.file.read_text())
        self.assertEqual([rule["match"] for rule in json.loads(texts[0])["rules"]], ["b.proj.weight", "c.proj.weight"])
        self.assertEqual(texts[0], texts[1])

    def test_too_few_bits(self):
        self.fail_with("its weights take at least 4.1", "recipe", self.model, "--bits", 4, "-o", self.file, force=False)
        for bits in ("0", "-1", "nan", "inf", "x"):
            result = run("recipe", self.model, "--bits", bits, "-o", self.file, force=False)
            self.assertEqual(result.returncode, 2, bits)
        self.assertFalse(self.file.exists())

    def test_an_old_recipe_stays_without_force(self):
        self.file.write_text("old")
        self.fail_with("recipe.json", "recipe", self.model, "--bits", 6, "-o", self.file, force=False)
        self.assertEqual(self.file.read_text(), "old")

    def test_names_are_not_patterns(self):
        odd = ["a[0]*?.proj.weight", "a0x.proj.weight", "a\\.proj.weight", "[]"]
        save_model(self.dir / "odd.safetensors", {name: rounded((8, 128)) for name in odd} | {"all": exact((256, 128))})
        made = json.loads(self.succeed("recipe", self.dir / "odd.safetensors", "--bits", 5, "-o", self.file, "--json",
                                       force=False))  # fmt: skip
        plan = json.loads(self.succeed("quantize", self.dir / "odd.safetensors", "--dry-run", "--json", "--recipe", self.file,
                                       force=False))  # fmt: skip
        expected = dict.fromkeys(odd, "i8 per channel") | {"all": "i4 in blocks of 128"}
        for found in (made, plan):
            self.assertEqual({each["name"]: each["scheme"] for each in found["tensors"]}, expected)

    def test_columns_that_are_no_whole_blocks_get_types_without(self):
        save_folder(self.dir / "short", [{"a.proj.weight": random((8, 40))}])
        self.fail_with("its weights take at least 8.8", "recipe", self.dir / "short", "--bits", 6, "-o", self.file,
                       force=False)  # fmt: skip
        made = json.loads(self.succeed("recipe", self.dir / "short", "--bits", 10, "-o", self.file, "--json", force=False))
        self.assertEqual(made["tensors"][0]["scheme"], "i8 per channel")
        self.succeed("quantize", self.dir / "short", "-o", self.out, "--recipe", self.file, force=False)

    def test_arrays_have_no_names(self):
        np.save(self.dir / "x.npy", random((8, 32)))
        self.fail_with("a recipe chooses by names", "recipe", self.dir / "x.npy", "--bits", 5, "-o", self.file, code=2,
                       force=False)  # fmt: skip


if __name__ == "__main__":
    unittest.main()
