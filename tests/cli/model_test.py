import contextlib
import fnmatch
import html
import json
import os
import re
import shutil
import signal
import unittest

import ml_dtypes
import numpy as np

from support import (VOCABULARY, FolderTest, RandomKills, content, encode, in_blocks, load_folder, load_model, pack_bytes,
                     per_channel, per_tensor, proceed, random, run, save_folder, save_model, shard_name, start, stop_when)  # fmt: skip

HIDDEN, INNER = 64, 96
READS_YAML = os.environ["QDQ_READS_YAML"] == "1"  # no build for another processor does


def layer(i, seed):
    shapes = {"self_attn.q_proj": (HIDDEN, HIDDEN), "mlp.gate_proj": (INNER, HIDDEN), "mlp.down_proj": (HIDDEN, INNER)}
    tensors = {f"model.layers.{i}.{name}.weight": random(shape, seed + k) for k, (name, shape) in enumerate(shapes.items())}
    return tensors | {f"model.layers.{i}.input_layernorm.weight": np.ones(HIDDEN, np.float32),
                      f"model.layers.{i}.mlp.gate.weight": random((4, HIDDEN), seed + 7)}


class ModelFolderTest(FolderTest):
    def save(self, *, config=None, extra=None):
        shards = [layer(0, 10) | {"model.embed_tokens.weight": random((VOCABULARY, HIDDEN))}, layer(1, 20) | (extra or {})]
        save_folder(self.model, shards, config)
        return shards

    def quantize(self, *options):
        self.succeed("quantize", self.model, "-o", self.out, *options)
        return load_folder(self.out)

    def config(self):
        return json.loads((self.out / "config.json").read_text())["quantization_config"]


class Folder(ModelFolderTest):
    def test_linear_weights_alone_are_quantized(self):
        first, second = self.save(extra={"lm_head.weight": random((VOCABULARY, HIDDEN), 3),
                                          "model.tokens.weight": random((VOCABULARY, HIDDEN), 4)})  # fmt: skip
        result = self.quantize()
        for name, tensor in (first | second).items():
            if name.endswith("_proj.weight"):
                codes, scales, _ = per_channel(tensor)
                self.assert_same(result[name + "_packed"], pack_bytes(codes))
                self.assert_same(result[name + "_scale"], scales)
            else:
                self.assert_same(result[name], tensor)
                self.assertNotIn(name + "_scale", result)

    def test_the_vocabulary_may_be_that_of_the_text_part(self):
        self.save(config={"vocab_size": None, "text_config": {"vocab_size": VOCABULARY}},
                  extra={"model.tokens.weight": random((VOCABULARY, HIDDEN))})  # fmt: skip
        self.assertNotIn("model.tokens.weight_scale", self.quantize())

    def test_shards_index_and_other_files_stay_as_they_are(self):
        self.save()
        self.quantize()
        names = [shard_name(i, 2) for i in range(2)]
        self.assertEqual(sorted(content(self.out)),
                         sorted([*names, "config.json", "model.safetensors.index.json", "sub/tokenizer.json"]))
        index = json.loads((self.out / "model.safetensors.index.json").read_text())
        self.assertEqual(index["metadata"]["kept"], "yes")
        sizes = 0
        for name in names:
            tensors = load_model(self.out / name)
            self.assertEqual({tensor for tensor, file in index["weight_map"].items() if file == name}, set(tensors))
            sizes += sum(tensor.nbytes for tensor in tensors.values())
        self.assertEqual(index["metadata"]["total_size"], sizes)
        self.assertEqual(self.files(), ["model", "out"])

    def test_one_file_without_an_index(self):
        self.model.mkdir()
        (self.model / "config.json").write_text("{}")
        save_model(self.model / "model.safetensors", layer(0, 1))
        self.quantize()
        self.assertEqual(sorted(content(self.out)), ["config.json", "model.safetensors"])

    def test_what_was_dequantized_has_the_old_names_types_and_config(self):
        first, second = self.save()
        tensors = self.quantize("--dtype", "f8e4m3")
        back = self.dir / "back"
        self.succeed("dequantize", self.out, "-o", back, "--dtype", "bf16")
        restored = load_folder(back)
        self.assertEqual(set(restored), set(first | second))
        name = "model.layers.1.mlp.down_proj.weight"
        expected = tensors[name].astype(np.float32) * tensors[name + "_scale"].astype(np.float32)
        self.assert_same(restored[name], expected.astype(ml_dtypes.bfloat16))
        config = json.loads((back / "config.json").read_text())
        self.assertNotIn("quantization_config", config)
        self.assertEqual(config["dtype"], "bfloat16")
        rows = json.loads(self.succeed("compare", self.model, back, "--json"))
        self.assertGreater(rows["total"]["sqnr_db"], 30)

    def test_scales_have_the_type_of_the_weights(self):
        x = random((HIDDEN, HIDDEN))
        for dtype in (ml_dtypes.bfloat16, np.float16):
            with self.subTest(dtype=dtype):
                save_folder(self.dir / dtype.__name__, [{"a.weight": x.astype(dtype)}])
                out = self.dir / (dtype.__name__ + "-out")
                self.succeed("quantize", self.dir / dtype.__name__, "-o", out)
                result = load_folder(out)
                scale = (np.abs(x.astype(dtype).astype(np.float32)).max(1, keepdims=True) / np.float32(127.5)).astype(dtype)
                self.assert_same(result["a.weight_scale"], scale)
                self.assert_same(result["a.weight_packed"], pack_bytes(encode(x.astype(dtype), scale, 0, "i8")))

    def test_subnormal_weights_have_scales_above_0(self):
        """A scale that its type rounds to 0 makes every code infinite, or 0 / 0."""
        for dtype, least in ((ml_dtypes.bfloat16, 2.0**-133), (np.float16, 2.0**-24)):
            x = np.zeros((HIDDEN, HIDDEN), dtype)
            x[0, ::2], x[1, 1::2] = least, -least
            save_folder(self.dir / dtype.__name__, [{"a.weight": x}])
            for options in ([], ["--asymmetric"], ["--dtype", "i4", "--asymmetric"]):
                with self.subTest(dtype=dtype, options=options):
                    self.succeed("quantize", self.dir / dtype.__name__, "-o", self.out, "--force", *options)
                    scale = load_folder(self.out)["a.weight_scale"].astype(np.float64)
                    self.assertEqual((scale[:2].min(), scale[:2].max()), (least, least))
                    self.succeed("dequantize", self.out, "-o", self.dir / "back", "--force")
                    self.assert_same(load_folder(self.dir / "back")["a.weight"][:2], x[:2])

    def test_experts_are_left_alone_where_they_would_not_be_loaded(self):
        experts = {f"model.layers.1.mlp.experts.{i}.up_proj.weight": random((INNER, HIDDEN), i) for i in range(3)}
        stack = {"model.layers.1.mlp.experts.down_proj": random((3, HIDDEN, INNER))}
        self.save(extra=experts | stack)
        for dtype, options, quantized in (("i8", [], True), ("i8", ["--asymmetric"], False),
                                          ("i8", ["--activations", "dynamic"], False), ("nvfp4", [], False),
                                          ("f8e4m3", [], True), ("f8e4m3", ["--activations", "dynamic"], True),
                                          ("mxfp4", [], True), ("i4", [], True), ("i4", ["--asymmetric"], False)):
            with self.subTest(dtype=dtype, options=options):
                text = self.succeed("quantize", self.model, "-o", self.out, "--force", "--dtype", dtype, *options)
                result = load_folder(self.out)
                for name in experts:
                    self.assertEqual(name + "_scale" in result, quantized)
                self.assertNotIn("model.layers.1.mlp.experts.down_proj_scale", result)
                self.assertIn(f"{1 if quantized else 4} weights of experts are left alone", text)

    def test_experts_that_are_left_alone_are_so_in_config(self):
        self.save(extra={"model.layers.1.mlp.experts.0.up_proj.weight": random((INNER, HIDDEN))})
        for dtype, alone in (("mxfp8", True), ("f8e4m3", False)):
            self.quantize("--dtype", dtype, "--force")
            config = self.config()
            self.assertEqual("experts_left_alone" in config["config_groups"], alone)
            self.assertEqual("re:.*\\.experts$" in config["ignore"], alone)

    def test_stacked_experts_are_quantized_each(self):
        x = random((3, HIDDEN, INNER)) * np.array([0.01, 1, 100], np.float32)[:, None, None]
        self.save(extra={"model.layers.1.mlp.experts.down_proj": x})
        name = "model.layers.1.mlp.experts.down_proj"
        result = self.quantize("--include", "*experts*")
        for i in range(3):
            codes, scales, _ = per_channel(x[i])
            self.assert_same(result[name + "_packed"][i], pack_bytes(codes))
            self.assert_same(result[name + "_scale"][i], scales)
        result = self.quantize("--include", "*experts*", "--per-tensor", "--force")
        self.assertEqual(result[name + "_scale"].shape, (3, 1, 1))
        self.assert_same(result[name + "_scale"].ravel(), np.abs(x).max((1, 2)) / np.float32(127.5))

    def test_include_and_exclude_by_glob(self):
        self.save()
        result = self.quantize("--exclude", "*.down_proj.*", "--include", "*embed_tokens*", "--include", "*.down_proj.weight")
        quantized = {name[:-6] for name in result if name.endswith("_scale")}
        wanted = {name for name in result if fnmatch.fnmatch(name, "*_proj.weight_packed") and "down_proj" not in name}
        self.assertEqual(quantized, {name.removesuffix("_packed") for name in wanted} | {"model.embed_tokens.weight"})

    def test_a_recipe_decides_by_its_first_matching_rule(self):
        self.save()
        recipe = self.dir / "recipe.json"
        recipe.write_text("""{"default": {"dtype": "i4", "block_size": 32},  // a comment
            "rules": [{"match": "model.layers.0.*", "dtype": "keep"},
                      {"match": "*.down_proj.weight", "dtype": "f8e4m3", "per_tensor": true}]}""")
        result = self.quantize("--recipe", recipe)
        self.assertFalse([name for name in result if "layers.0" in name and "scale" in name])
        self.assertEqual(result["model.layers.1.mlp.down_proj.weight_scale"].shape, (1,))
        self.assertEqual(result["model.layers.1.self_attn.q_proj.weight_packed"].shape, (HIDDEN, HIDDEN // 8))
        config = self.config()
        self.assertEqual(config["format"], "mixed-precision")
        groups = {group["format"]: group for group in config["config_groups"].values()}
        self.assertEqual(groups["float-quantized"]["targets"], ["re:(.*\\.)?layers\\.1\\.mlp\\.down_proj$"])
        self.assertEqual(groups["pack-quantized"]["weights"]["group_size"], 32)

    def test_a_rule_takes_the_type_of_the_default(self):
        self.save()
        recipe = self.dir / "recipe.json"
        recipe.write_text('{"default": {"dtype": "i4"}, "rules": [{"match": "*.down_proj.weight", "block_size": 32}]}')
        result = self.quantize("--recipe", recipe)
        self.assertEqual(result["model.layers.1.mlp.down_proj.weight_packed"].shape, (HIDDEN, INNER // 8))
        self.assertEqual(result["model.layers.1.mlp.down_proj.weight_scale"].shape, (HIDDEN, INNER // 32))

    def test_a_rule_that_matches_all_leaves_vectors_alone(self):
        first, second = self.save()
        recipe = self.dir / "recipe.json"
        recipe.write_text('{"rules": [{"match": "*", "dtype": "i8"}]}')
        result = self.quantize("--recipe", recipe)
        for name, tensor in (first | second).items():
            self.assertEqual(name + "_scale" in result, tensor.ndim == 2, name)

    def test_a_star_matches_slashes_too(self):
        self.save(extra={"enc/0/up.weight": random((8, 8)), "enc/1.up.weight": random((8, 8))})
        result = self.quantize("--exclude", "enc*up.weight")
        self.assertFalse([name for name in result if name.startswith("enc") and name.endswith("_scale")])

    def test_a_recipe_has_the_rows_of_blocks_of_two_sizes_first(self):
        save_folder(self.model, [{"a.proj.weight": random((300, 200))}])
        recipe = self.dir / "recipe.json"
        recipe.write_text('{"default": {"dtype": "f8e4m3", "block_size": [64, 128]}}')
        self.assertEqual(self.quantize("--recipe", recipe)["a.proj.weight_scale_inv"].shape, (5, 2))
        self.assertEqual(self.config()["weight_block_size"], [64, 128])
        of_recipe = content(self.out)
        self.quantize("--dtype", "f8e4m3", "--block-size", "64x128", "--force")
        self.assertEqual(content(self.out), of_recipe)

    def test_other_layers_are_left_alone_by_the_words_of_their_names(self):
        left_alone = ("h.0.embed_positions", "h.0.q_norm", "h.0.relative_attention_bias", "wte", "h.0.router_proj",
                      "h.0.mlp.shared_expert_gate", "h.0.mlp.gate", "output_layer")  # fmt: skip
        quantized = ("h.0.mlp.gate_proj", "h.0.up", "h.0.wte_like")
        save_folder(self.model, [{f"{module}.weight": random((8, 8)) for module in (*left_alone, *quantized)}])
        result = self.quantize()
        self.assertEqual({name for name in result if name.endswith("_scale")},
                         {f"{module}.weight_scale" for module in quantized})

    def test_a_pattern_matches_no_module_of_another_group(self):
        save_folder(self.model, [{f"{module}.weight": random((8, 32)) for module in (
            "layer.0.output.dense", "layer.1.output.dense", "pooler.dense", "layer.0.up")}], {})  # fmt: skip
        recipe = self.dir / "recipe.json"
        recipe.write_text('{"rules": [{"match": "layer.0.*", "dtype": "i4", "block_size": 32}]}')
        self.quantize("--recipe", recipe, "--dtype", "f8e4m3")
        targets = {group["format"]: group["targets"] for group in self.config()["config_groups"].values()}
        self.assertEqual(targets["float-quantized"], ["re:(.*\\.)?1\\.output\\.dense$", "re:(.*\\.)?pooler\\.dense$"])
        self.assertEqual(targets["pack-quantized"], ["re:(.*\\.)?0\\.output\\.dense$", "re:(.*\\.)?\\d+\\.up$"])

    def test_a_module_between_two_of_another_group_has_a_pattern_of_its_own(self):
        modules = [f"model.layers.{i}.up" for i in range(3)]
        save_folder(self.model, [{f"{module}.weight": random((8, 32)) for module in modules}])
        recipe = self.dir / "recipe.json"
        recipe.write_text('{"rules": [{"match": "*.1.*", "dtype": "i4", "block_size": 32}]}')
        self.quantize("--recipe", recipe, "--dtype", "f8e4m3")
        for group in self.config()["config_groups"].values():
            expected = modules[1:2] if group["format"] == "pack-quantized" else modules[::2]
            matched = [module for module in modules
                       if any(re.match(target.removeprefix("re:"), module) for target in group["targets"])]
            self.assertEqual(matched, expected)

    @unittest.skipUnless(READS_YAML, "this build reads no YAML")
    def test_a_recipe_in_yaml_says_the_same(self):
        self.save()
        json_recipe, recipe = self.dir / "recipe.json", self.dir / "recipe.yaml"
        json_recipe.write_text("""{"default": {"dtype": "i4", "block_size": 32},
                                   "rules": [{"match": "*.down_proj.weight", "dtype": "f8e4m3", "per_tensor": true,
                                              "clip": 0.75},
                                             {"match": "model.layers.0.*", "dtype": "keep"}]}""")
        recipe.write_text("""# a comment
default: {dtype: i4, block_size: 32}
rules:
  - &down
    match: "*.down_proj.weight"
    dtype: f8e4m3
    per_tensor: true
    clip: 0.75
  - match: model.layers.0.*
    dtype: 'keep'
""")
        plans = [self.succeed("quantize", self.model, "--dry-run", "--recipe", path, force=False)
                 for path in (json_recipe, recipe)]
        self.assertEqual(plans[0], plans[1])
        self.assertIn("f8e4m3 per tensor, clipped to 0.75", plans[1])
        recipe.write_text("default: {dtype: i4, per_tensor: false, asymmetric: false}")
        plan = self.succeed("quantize", self.model, "--dry-run", "--recipe", recipe, force=False)
        self.assertIn("i4 per channel", plan)

    @unittest.skipIf(READS_YAML, "this build reads YAML")
    def test_a_build_without_yaml_says_so(self):
        self.save()
        recipe = self.dir / "recipe.yaml"
        recipe.write_text("default: {dtype: i4}")
        self.fail_with("recipe.yaml: this build of qdq reads recipes in JSON alone",
                       "quantize", self.model, "-o", self.out, "--recipe", recipe, force=False)

    @unittest.skipUnless(READS_YAML, "this build reads no YAML")
    def test_a_bad_recipe_in_yaml_is_a_failure_that_says_why(self):
        self.save()
        recipe = self.dir / "recipe.yml"
        laughs = "a: &a [1,1,1,1,1,1,1,1,1]\n"
        for level in "bcdefgh":
            laughs += f"{level}: &{level} [{','.join(['*' + chr(ord(level) - 1)] * 9)}]\n"
        for text, message in {
            "default: {dtype: i4": "recipe.yml: it is not valid YAML, in its line 1",
            "": "null is not an object",
            "rules: [1]": "1 is not an object",
            "default: {dtype: '8'}": "\"dtype\" is 8",
            "default: {dtype: 8}": "\"dtype\" is 8, which it cannot be",
            "default: {block_size: '32'}": "\"block_size\" is",
            "default: {block_size: 32x}": "\"block_size\" is \"32x\"",
            "rules: []\nrules: []": "it has \"rules\" twice",
            "default: !!str i8": "the tag",
            "[a]: 1": "it has a key that is no text",
            "? ? ? 1": "it has a key that is no text",
            "a: &a [*a]": "levels",
            laughs: "aliases written out",
        }.items():
            with self.subTest(text=text):
                recipe.write_text(text)
                self.fail_with(message, "quantize", self.model, "-o", self.out, "--recipe", recipe, force=False)

    def test_a_bad_recipe_is_a_failure_that_says_why(self):
        self.save()
        recipe = self.dir / "recipe.json"
        for text, message in (("{", "not valid JSON"), ("[]", "not an object"), ('{"rule": []}', '"rule" is not a key'),
                              ('{"rules": [{"dtype": "i8"}]}', 'no "match"'),
                              ('{"rules": 5}', '"rules" is 5, which it cannot be'),
                              ('{"rules": {"match": "*"}}', '"rules" is {"match":"*"}, which it cannot be'),
                              ('{"rules": [{"match": "*", "dtype": "i7"}]}', "i7"),
                              ('{"default": {"dtype": "f8e4m3", "asymmetric": true}}', "no zero points"),
                              ('{"default": {"block_size": 0}}', "not a positive integer"),
                              ('{"default": {"dtype": "f8e4m3", "block_size": [8, 8, 8]}}', "not a positive integer"),
                              ('{"default": {"dtype": "keep"}}', '"default" cannot be "keep"'),
                              ('{"default": {"axis": 1.5}}', '"axis" is 1.5, which is no integer of 64 bits'),
                              ('{"default": {"axis": 18446744073709551615}}', "18446744073709551615, which is no integer"),
                              ('{"default": {"block_size": [2, 1e300]}}', '"block_size" is [2,1e+300], which is no integer'),
                              ('{"default": {"axis": "x"}}', '"axis" is "x"')):
            recipe.write_text(text)
            self.fail_with(message, "quantize", self.model, "-o", self.out, "--recipe", recipe, force=False)

    def test_a_recipe_is_refused_in_its_own_words(self):
        self.save()
        recipe = self.dir / "recipe.json"
        for scheme, message in (
            ({"dtype": "mxfp4", "per_tensor": True}, "dtype mxfp4 has blocks of 32 along the last axis; it takes no axis "
                                                     "or per_tensor, and no other block_size than ROWSx32"),
            ({"dtype": "f8e4m3", "asymmetric": True}, "recipe.json: asymmetric: f8e4m3 has no zero points"),
        ):  # fmt: skip
            recipe.write_text(json.dumps({"default": scheme}))
            self.fail_with(message, "quantize", self.model, "-o", self.out, "--recipe", recipe, force=False)

    def test_dry_run_writes_nothing_and_tells_the_sizes(self):
        self.save()
        text = self.succeed("quantize", self.model, "--dry-run", "--dtype", "mxfp4", force=False)
        self.assertEqual(self.files(), ["model"])
        self.assertRegex(text, r"model.layers.0.mlp.down_proj.weight +\[64, 96\] +F32 +mxfp4 in blocks of 32 +24576 +3264")
        self.assertRegex(text, r"model.embed_tokens.weight .*left alone")
        plan = json.loads(self.succeed("quantize", self.model, "--dry-run", "--dtype", "mxfp4", "--json", force=False))
        result = self.quantize("--dtype", "mxfp4")
        self.assertEqual(plan["total"]["bytes_after"], sum(tensor.nbytes for tensor in result.values()))

    def test_config_of_each_format(self):
        self.save()
        for dtype, form, weights in (
            ("i8", "pack-quantized", {"num_bits": 8, "type": "int", "strategy": "channel"}),
            ("f8e4m3", "float-quantized", {"num_bits": 8, "type": "float", "strategy": "channel"}),
            ("mxfp8", "mxfp8-quantized", {"strategy": "group", "group_size": 32, "scale_dtype": "torch.uint8"}),
            ("mxfp4", "mxfp4-pack-quantized", {"num_bits": 4, "type": "float", "scale_dtype": "torch.uint8"}),
            ("nvfp4", "nvfp4-pack-quantized", {"strategy": "tensor_group", "group_size": 16}),
        ):
            with self.subTest(dtype=dtype):
                self.quantize("--dtype", dtype, "--force")
                config = self.config()
                self.assertEqual((config["quant_method"], config["format"]), ("compressed-tensors", form))
                group = config["config_groups"]["group_0"]
                self.assertEqual((group["targets"], group["format"]), (["Linear"], form))
                self.assertIsNone(group["input_activations"])
                self.assertEqual(group["weights"], group["weights"] | weights)
                self.assertEqual(config["ignore"], ["re:(.*\\.)?embed_tokens$", "re:(.*\\.)?layers\\.\\d+\\.mlp\\.gate$",
                                                    "lm_head"])  # fmt: skip

    def test_int8_is_packed_and_read_again(self):
        """Four codes to an int32, 128 added; rows of 4 codes or fewer fill as many words as those of 4 bits."""
        for columns in (1, 2, 3, 4, 5, 8, 33, 64):
            x = random((9, columns)) * np.linspace(-3, 9, 9, dtype=np.float32)[:, None]
            for options, expected in (
                ([], per_channel(x)),
                (["--per-tensor"], per_tensor(x)),
                (["--block-size", columns], in_blocks(x, columns)),
            ):
                with self.subTest(columns=columns, options=options):
                    shutil.rmtree(self.model, ignore_errors=True)
                    save_folder(self.model, [{"a.weight": x}])
                    result = self.quantize("--force", *options)
                    codes, scale, zero_point = expected
                    tensors = {"a.weight_packed": pack_bytes(codes), "a.weight_scale": scale,
                               "a.weight_shape": np.array(x.shape)}  # fmt: skip
                    self.assertEqual(set(result), set(tensors))
                    for name, tensor in tensors.items():
                        self.assert_same(result[name], tensor)
                    self.assert_read(self.out, x, codes.astype(np.float32) * scale)
                    if columns > 4:  # others pack zero points, too, four of a column to an int32
                        zero_points = np.arange(-120, 120, 27, dtype=np.int8).reshape(9, 1) * np.ones_like(scale, np.int8)
                        zero_points = zero_points if scale.ndim == 2 else zero_points[:1, 0]
                        packed = pack_bytes(np.ascontiguousarray(zero_points.T)).T if scale.ndim == 2 else zero_points
                        foreign = self.dir / "foreign"
                        shutil.rmtree(foreign, ignore_errors=True)
                        save_folder(foreign, [tensors | {"a.weight_zero_point": np.ascontiguousarray(packed)}])
                        self.assert_read(foreign, x, (codes.astype(np.float32) - zero_points.astype(np.float32)) * scale)

    def assert_read(self, codes, x, restored):
        """Every command reads a.weight of a quantized folder."""
        self.succeed("dequantize", codes, "-o", self.dir / "back", "--force")
        self.assert_same(load_folder(self.dir / "back")["a.weight"], restored)
        (row,) = json.loads(self.succeed("inspect", codes, "--json"))["tensors"]
        self.assertEqual((row["dtype"], row["shape"]), ("I8", list(x.shape)))
        (row,) = json.loads(self.succeed("compare", self.dir / "back", codes, "--json"))["tensors"]
        self.assertIsNone(row["sqnr_db"])
        self.succeed("convert", codes, "-o", self.dir / "a.onnx", "--force")
        self.succeed("dequantize", self.dir / "a.onnx", "-o", self.dir / "a.safetensors", "--force")

    def test_int8_that_no_loader_packs_is_not_packed(self):
        self.save()
        for options in (["--axis", 1], ["--activations", "dynamic"], ["--asymmetric"]):
            result = self.quantize("--force", *options)
            self.assertEqual(result["model.layers.0.mlp.down_proj.weight"].dtype, np.int8)

    def test_other_programs_packed_codes(self):
        """Rows of one word are of 4 bits where nothing tells."""
        codes = np.arange(-6, 6, dtype=np.int8).reshape(2, 6) * 20
        save_model(self.dir / "a.safetensors", {
            "a.weight_packed": pack_bytes(codes), "a.weight_shape": np.array([2, 6]),
            "a.weight_scale": np.ones((2, 1), np.float32), "b.weight_packed": np.full((2, 1), 0x21, np.int32),
            "b.weight_shape": np.array([2, 2]), "b.weight_scale": np.ones((2, 1), np.float32)})  # fmt: skip
        self.succeed("dequantize", self.dir / "a.safetensors", "-o", self.dir / "b.safetensors")
        result = load_model(self.dir / "b.safetensors")
        self.assert_same(result["a.weight"], codes.astype(np.float32))
        self.assert_same(result["b.weight"], np.array([[-7, -6]] * 2, np.float32))

    def test_dynamic_activations_are_in_config(self):
        self.save()
        recipe = self.dir / "recipe.json"
        recipe.write_text('{"rules": [{"match": "*", "dtype": "i8", "activations": "dynamic"}]}')
        for options, form, type_ in ((["i8"], "int-quantized", "int"), (["f8e4m3"], "float-quantized", "float"),
                                     (["i8", "--per-tensor"], "int-quantized", "int"),
                                     (["i4", "--recipe", recipe], "int-quantized", "int")):  # fmt: skip
            with self.subTest(options=options):
                more = [] if recipe in options else ["--activations", "dynamic"]
                text = self.succeed("quantize", self.model, "-o", self.out, "--force", "--verbose", "--dtype",
                                    *options, *more)  # fmt: skip
                self.assertIn(", dynamic activations", text)
                group = self.config()["config_groups"]["group_0"]
                self.assertEqual((self.config()["format"], group["format"]), (form, form))
                self.assertEqual(group["input_activations"], {
                    "num_bits": 8, "type": type_, "symmetric": True, "dynamic": True, "strategy": "token"})  # fmt: skip

    def test_dynamic_activations_where_there_are_none(self):
        self.save()
        for options in (["--dtype", "i4"], ["--dtype", "mxfp8"], ["--dtype", "f8e5m2"], ["--asymmetric"], ["--axis", 0],
                        ["--block-size", 32], ["--dtype", "f8e4m3", "--block-size", "32x32"]):  # fmt: skip
            with self.subTest(options=options):
                self.fail_with("--activations dynamic: they are quantized beside weights of i8 or f8e4m3, symmetric",
                               "quantize", self.model, "-o", self.out, "--activations", "dynamic", *options, code=2)
        recipe = self.dir / "recipe.json"
        recipe.write_text('{"rules": [{"match": "*", "activations": "static"}]}')
        self.fail_with('"activations" is "static", not "dynamic"', "quantize", self.model, "-o", self.out,
                       "--recipe", recipe)  # fmt: skip
        file = self.model / shard_name(0, 2)
        recipe.write_text('{"rules": [{"match": "*", "activations": "dynamic"}]}')
        for options in (["--activations", "dynamic"], ["--recipe", recipe]):
            self.fail_with("--activations is of a model's folder", "quantize", file, "-o", self.dir / "x.safetensors",
                           *options, code=2)  # fmt: skip

    def named_types(self, folder):
        config = json.loads((folder / "config.json").read_text())
        return {key: config[key] for key in ("dtype", "torch_dtype") if key in config}

    def test_a_model_whose_weights_are_restored_to_bf16_is_of_that_type(self):
        """compressed-tensors restores to bf16 what has no F32 scales, and a product takes factors of one type."""
        tensors = {f"{name}.weight": random((HIDDEN, HIDDEN)) for name in ("a", "b")}
        recipe = self.dir / "recipe.json"
        recipe.write_text('{"rules": [{"match": "a.*", "dtype": "i16"}]}')
        for source, name in ((np.float32, "float32"), (np.float16, "float16"), (ml_dtypes.bfloat16, "bfloat16")):
            for keys in ({}, {"dtype": name}, {"torch_dtype": name}, {"dtype": name, "torch_dtype": name}):
                shutil.rmtree(self.model, ignore_errors=True)
                save_folder(self.model, [{key: x.astype(source) for key, x in tensors.items()}], keys)
                for options, bf16 in ((["mxfp4"], True), (["mxfp8"], True), (["nvfp4"], True), (["i8"], False),
                                      (["f8e4m3"], False), (["mxfp4", "--recipe", recipe], False)):  # fmt: skip
                    with self.subTest(source=name, keys=keys, options=options):
                        self.quantize("--force", "--dtype", *options)
                        expected = dict.fromkeys(keys or ["dtype"], "bfloat16") if bf16 else keys
                        self.assertEqual(self.named_types(self.out), expected)
                        self.succeed("dequantize", self.out, "-o", self.dir / "back", "--force")
                        restored = dict.fromkeys(expected, name)
                        self.assertEqual(self.named_types(self.dir / "back"), restored)
                        self.assertEqual(load_folder(self.dir / "back")["a.weight"].dtype, source)

    def test_scales_beside_weights_that_are_restored_to_bf16_are_bf16(self):
        self.save()
        recipe = self.dir / "recipe.json"
        recipe.write_text('{"default": {"dtype": "i8"}, "rules": [{"match": "*.layers.0.*", "dtype": "mxfp4"}]}')
        name = "model.layers.1.mlp.down_proj.weight_scale"
        rounded = self.quantize("--recipe", recipe)[name]
        self.assertEqual(rounded.dtype, ml_dtypes.bfloat16)
        exact = self.quantize("--dtype", "i8", "--force")[name]
        self.assert_same(rounded, exact.astype(ml_dtypes.bfloat16))

    def test_weights_of_another_type_than_the_model_restore_none(self):
        """Of two types there is none to name; and what others have quantized does not tell its own."""
        self.save(extra={"b.weight": random((HIDDEN, HIDDEN)).astype(np.float16)})
        self.quantize("--dtype", "mxfp4")
        self.succeed("dequantize", self.out, "-o", self.dir / "back")
        self.assertEqual(self.named_types(self.dir / "back"), {"dtype": "bfloat16"})
        foreign = self.dir / "foreign"
        save_folder(foreign, [{key: x for key, x in load_folder(self.out).items() if not key.startswith("b.")}],
                    {"dtype": "bfloat16"})  # fmt: skip
        self.succeed("dequantize", foreign, "-o", self.dir / "back", "--force")
        self.assertEqual(self.named_types(self.dir / "back"), {"dtype": "bfloat16"})

    def test_a_type_that_no_loader_has_is_refused_by_them(self):
        self.save()
        recipe = self.dir / "recipe.json"
        recipe.write_text('{"rules": [{"match": "*.1.*", "dtype": "f8e4m3", "block_size": [32, 32]}]}')
        for options in (["--dtype", "i16"], ["--axis", 1], ["--recipe", recipe]):
            self.quantize(*options, "--force")
            self.assertEqual(self.config(), {"quant_method": "qdq"}, options)

    def test_codes_with_zero_points_in_config_are_not_symmetric(self):
        self.save()
        for options, symmetric in ((["--dtype", "i8"], True), (["--dtype", "i8", "--asymmetric"], False),
                                   (["--dtype", "i4"], True), (["--dtype", "u4"], False)):  # fmt: skip
            self.quantize(*options, "--force")
            self.assertEqual(self.config()["config_groups"]["group_0"]["weights"]["symmetric"], symmetric, options)

    def test_an_output_head_is_named_once(self):
        self.save(extra={"lm_head.weight": random((VOCABULARY, HIDDEN), 3)})
        for options in ([], ["--dtype", "f8e4m3", "--block-size", "32x32"]):
            self.quantize(*options, "--force")
            config = self.config()
            self.assertEqual((config.get("ignore") or config["modules_to_not_convert"]).count("lm_head"), 1)

    def test_a_name_of_very_many_parts_is_refused(self):
        """The patterns of all ends of it would be of many GB."""
        for parts in (100, 101, 80000):
            name = "a." * (parts - 1) + "weight"
            self.save(extra={name: random((HIDDEN, HIDDEN))})
            if parts <= 100:
                self.quantize("--force")
            else:
                self.fail_with("has more than 100 parts", "quantize", self.model, "-o", self.out)
            shutil.rmtree(self.model)

    def test_groups_are_whole(self):
        self.save()
        self.fail_with("down_proj.weight [64, 96]: its 96 columns are no whole number of blocks of 64", "quantize",
                       self.model, "-o", self.out, "--dtype", "i4", "--block-size", 64, force=False)

    def test_blocks_of_rows_and_columns_as_deepseek_has_them(self):
        x = random((300, 200)) * np.linspace(0.1, 9, 300, dtype=np.float32)[:, None]
        save_folder(self.model, [{"a.proj.weight": x.astype(ml_dtypes.bfloat16), "gate.weight": random((4, 8))}])
        result = self.quantize("--dtype", "f8e4m3", "--block-size", "128x128")
        self.assertEqual(self.config(), {"quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic",
                                         "weight_block_size": [128, 128],
                                         "modules_to_not_convert": ["gate", "lm_head"]})  # fmt: skip
        scales = result["a.proj.weight_scale_inv"]
        self.assertEqual((scales.dtype, scales.shape), (np.float32, (3, 2)))
        wide = np.kron(scales, np.ones((128, 128), np.float32))[:300, :200]
        values = x.astype(ml_dtypes.bfloat16).astype(np.float32)
        self.assert_same(result["a.proj.weight"], encode(values, wide, 0, "f8e4m3"))
        for i, j in np.ndindex(3, 2):
            part = values[128 * i : 128 * i + 128, 128 * j : 128 * j + 128]
            self.assertEqual(scales[i, j], np.abs(part).max() / np.float32(448))
        # As others write it, without qdq's metadata.
        foreign = self.dir / "foreign"
        save_folder(foreign, [result])
        self.succeed("dequantize", foreign, "-o", self.dir / "back")
        self.assert_same(load_folder(self.dir / "back")["a.proj.weight"], result["a.proj.weight"].astype(np.float32) * wide)

    def test_an_index_that_lies_is_refused(self):
        self.save()
        path = self.model / "model.safetensors.index.json"
        good = json.loads(path.read_text())
        name = "model.layers.0.mlp.gate.weight"
        for weight_map, message in (
            ({**good["weight_map"], name: shard_name(1, 2)}, "is not in model-00002"),
            ({**good["weight_map"], "x": shard_name(1, 2)}, "x is not in model-00002"),
            ({key: file for key, file in good["weight_map"].items() if key != name}, "have 11 tensors"),
            ({**good["weight_map"], name: "../model-00001-of-00002.safetensors"}, "not a file of the folder"),
            ({**good["weight_map"], name: "sub/model-00001-of-00002.safetensors"}, "not a file of the folder"),
            ({**good["weight_map"], name: ".hidden.safetensors"}, "not a file of the folder"),
            ({**good["weight_map"], name: ".."}, "not a file of the folder"),
            ({**good["weight_map"], name: shard_name(0, 2) + "\0b"}, "not a file of the folder"),
            ({**good["weight_map"], name: "other.safetensors"}, "cannot open"),
            ({}, "not a map"),
        ):
            path.write_text(json.dumps({"weight_map": weight_map}))
            self.fail_with(message, "quantize", self.model, "-o", self.out, force=False)
        for metadata in ([], "x", 3):
            path.write_text(json.dumps(good | {"metadata": metadata}))
            self.fail_with('index.json: its "metadata" is not an object', "quantize", self.model, "-o", self.out, force=False)

    def test_a_config_that_is_no_object_is_refused(self):
        self.save()
        for name in ("config.json", "model.safetensors.index.json"):
            kept = (self.model / name).read_text()
            for text, message in (("[]", "a JSON object"), ("3", "a JSON object"), ("{", "valid JSON, at its byte 2")):
                (self.model / name).write_text(text)
                self.fail_with(f"{name}: it is not {message}", "quantize", self.model, "-o", self.out, force=False)
            (self.model / name).write_text(kept)

    def test_a_folder_without_a_config_is_refused(self):
        self.save()
        (self.model / "config.json").unlink()
        self.fail_with("it has no config.json", "quantize", self.model, "-o", self.out, force=False)

    def test_a_restored_model_names_its_type_as_torch_dtype_where_it_did(self):
        for key in ("torch_dtype", "dtype"):
            for dtype, name in (("f16", "float16"), ("bf16", "bfloat16"), ("f32", "float32")):
                with self.subTest(key=key, dtype=dtype):
                    shutil.rmtree(self.model, ignore_errors=True)
                    self.save(config={key: "float64"})
                    self.quantize("--force")
                    self.succeed("dequantize", self.out, "-o", self.dir / "back", "--dtype", dtype)
                    config = json.loads((self.dir / "back" / "config.json").read_text())
                    self.assertEqual({each: config.get(each) for each in ("torch_dtype", "dtype")},
                                     {"torch_dtype": None, "dtype": None, key: name})  # fmt: skip

    def test_large_files_are_copied_whole(self):
        self.save()
        large = np.random.default_rng(1).bytes(3_000_000)
        (self.model / "sub" / "large.bin").write_bytes(large)
        self.quantize()
        self.assertEqual((self.out / "sub" / "large.bin").read_bytes(), large)

    def test_an_output_with_a_slash_is_the_same_place(self):
        self.save()
        self.succeed("quantize", self.model, "-o", f"{self.out}/", force=False)
        self.assertEqual(self.files(), ["model", "out"])
        self.assertIn("config.json", content(self.out))
        self.fail_with("exists already; --force", "quantize", self.model, "-o", f"{self.out}/", force=False)

    def test_the_place_of_the_output(self):
        self.save()
        self.fail_with("one inside the other", "quantize", self.model, "-o", self.model / "out", code=2)
        self.fail_with("one inside the other", "quantize", self.model, "-o", self.dir, code=2)
        self.out.mkdir()
        self.fail_with("exists already; --force", "quantize", self.model, "-o", self.out, force=False)
        (self.out / "letter.txt").write_text("dear")
        self.fail_with("--force would lose what no model has: letter.txt", "quantize", self.model, "-o", self.out)
        (self.out / "letter.txt").unlink()
        self.quantize("--force")
        self.quantize("--force", "--dtype", "mxfp4")
        self.assertEqual(self.config()["format"], "mxfp4-pack-quantized")
        self.assertEqual(self.files(), ["model", "out"])

    def test_a_failure_leaves_nothing(self):
        self.save(extra={"bad.weight": np.full((4, 4), np.nan, np.float32)})
        before = self.files()
        result = run("quantize", self.model, "-o", self.out, "--threads", 1)
        self.assertEqual(result.returncode, 1)
        self.assertIn("bad.weight", result.stderr)
        self.assertFalse(self.out.exists())
        self.assertIn(self.files(), (before, sorted([*before, ".out.qdq-partial"])))  # a shard that is whole is kept

    def test_a_run_that_has_finished_nothing_leaves_nothing(self):
        save_folder(self.model, [{"bad.weight": np.full((4, 4), np.nan, np.float32)}])
        self.fail_with("bad.weight", "quantize", self.model, "-o", self.out, force=False)

    def test_report_is_one_page(self):
        self.save()
        self.quantize("--report", self.dir / "report.html")
        page = (self.dir / "report.html").read_text()
        for part in ("SQNR by layer", "<svg", "Tensors", "Size by type", "model.layers.1.mlp.down_proj.weight", "Origin"):
            self.assertIn(part, page)
        self.assertNotIn("http", page)

    def test_report_replaces_no_file_of_a_model(self):
        self.save()
        for name in ("config.json", "model.safetensors.index.json"):
            path = self.model / name
            before = path.read_bytes()
            self.fail_with("exists already, and is no report", "quantize", self.model, "-o", self.out, "--report", path)
            self.assertEqual(path.read_bytes(), before)

    def test_report_has_the_recipe(self):
        self.save()
        self.quantize("--dtype", "i4", "--exclude", "*.0.*", "--report", self.dir / "report.html")
        page = (self.dir / "report.html").read_text()
        recipe = self.dir / "recipe.json"
        recipe.write_text(html.unescape(re.search(r'<pre id="recipe">(.*?)</pre>', page, re.DOTALL)[1]))
        first = load_folder(self.out)
        again = self.quantize("--recipe", recipe)
        self.assertEqual(first.keys(), again.keys())
        self.assertTrue(all(np.array_equal(first[name], again[name]) for name in first))

    def test_inspect_tells_scales_zeros_and_nans(self):
        x = random((HIDDEN, HIDDEN))
        x[0, :5] = 0
        save_folder(self.model, [{"a.weight": x, "b": np.array([np.nan, 1], np.float32)}])
        rows = {row["name"]: row for row in json.loads(self.succeed("inspect", self.model, "--json"))["tensors"]}
        self.assertEqual((rows["a.weight"]["zeros"], rows["b"]["nans"], rows["b"]["max"]), (5, 1, 1))
        result = self.quantize()
        row = json.loads(self.succeed("inspect", self.out, "--json"))["tensors"][0]
        self.assertEqual((row["dtype"], row["scale_shape"]), ("I8", [HIDDEN, 1]))
        self.assertAlmostEqual(row["scale_max"], float(result["a.weight_scale"].max()), 6)
        self.assertIn("I8", self.succeed("inspect", self.out))


class Resumption(FolderTest):
    """Runs that are killed, and the next one."""

    def save_large(self, shards=4, seed=0):
        """Sizes and times of modification are the same for every seed, as those of reproducible archives."""
        shutil.rmtree(self.model, ignore_errors=True)
        shape = (1024, 1024)
        save_folder(self.model, [{f"model.layers.{i}.q_proj.weight": random(shape, seed + i),
                                  f"model.layers.{i}.k_proj.weight": random(shape, seed + i + 50)} for i in range(shards)])
        for file in self.model.rglob("*"):
            os.utime(file, (0, 0))
        self.partial = self.dir / ".out.qdq-partial"

    def expected(self):
        self.succeed("quantize", self.model, "-o", self.dir / "undisturbed", "--dtype", "nvfp4")
        return content(self.dir / "undisturbed")

    def test_a_killed_run_goes_on_to_the_same_bytes(self):
        self.save_large()
        kills = RandomKills(1)
        kills.time(self.expected)
        expected = content(self.dir / "undisturbed")
        for _ in range(20):
            kills.kill(start("quantize", self.model, "-o", self.out, "--dtype", "nvfp4"))
            if not self.out.exists():  # whole or absent
                self.succeed("quantize", self.model, "-o", self.out, "--dtype", "nvfp4", force=False, warned="of an earlier run")
            self.assertEqual(content(self.out), expected)
            for path in sorted(self.out.rglob("*"), reverse=True):
                path.unlink() if path.is_file() else path.rmdir()
            self.out.rmdir()

    def notes(self):
        """Those of finished shards; the process that writes them may remove their folder meanwhile."""
        with contextlib.suppress(FileNotFoundError):
            folder = self.partial / "digests"
            return sorted(folder / name for name in os.listdir(folder) if name.endswith(".json"))
        return []

    def make_partial(self):
        """What a run leaves that ends after two shards or more, and before the last."""
        while True:
            process = start("quantize", self.model, "-o", self.out, "--dtype", "nvfp4", "--threads", 1)
            while process.poll() is None and len(self.notes()) < 2:
                pass
            process.kill()
            process.communicate()
            if not self.out.exists():
                return self.notes()
            shutil.rmtree(self.out)  # it was faster than this process

    def test_finished_shards_are_not_written_again(self):
        self.save_large()
        expected = self.expected()
        shards = [self.partial / "model" / note.name[:-5] for note in self.make_partial()]
        before = [os.stat(shard).st_ino for shard in shards]
        result = run("quantize", self.model, "-o", self.out, "--dtype", "nvfp4", force=False)
        self.assertEqual(result.returncode, 0)
        self.assertEqual(result.stderr, f"qdq: {len(shards)} of 4 shards are those of an earlier run\n")
        self.assertEqual([os.stat(self.out / shard.name).st_ino for shard in shards], before)
        self.assertEqual(content(self.out), expected)
        self.assertEqual(self.files(), ["model", "out", "undisturbed"])

    def test_a_finished_shard_that_was_damaged_is_written_again(self):
        self.save_large()
        expected = self.expected()
        shard = self.partial / "model" / self.make_partial()[0].name[:-5]
        raw = bytearray(shard.read_bytes())
        raw[-1] ^= 1
        shard.write_bytes(raw)
        self.succeed("quantize", self.model, "-o", self.out, "--dtype", "nvfp4", force=False, warned="of an earlier run")
        self.assertEqual(content(self.out), expected)

    def test_another_input_keeps_nothing(self):
        for shards in (4, 3):
            with self.subTest(shards=shards):
                self.save_large()
                self.make_partial()
                self.save_large(shards, seed=100)
                self.succeed("quantize", self.model, "-o", self.out, "--dtype", "nvfp4", force=False, warned="of an earlier run")
                self.assertEqual(content(self.out), self.expected())
                shutil.rmtree(self.out)
                shutil.rmtree(self.dir / "undisturbed")

    def test_another_first_shard_keeps_nothing(self):
        self.save_large()
        self.make_partial()
        name = "model.layers.0.q_proj.weight"
        shard = self.model / shard_name(0, 4)
        save_model(shard, load_model(shard) | {name: random((1024, 1024), 99)})
        self.succeed("quantize", self.model, "-o", self.out, "--dtype", "nvfp4", force=False, warned="of an earlier run")
        self.assertEqual(content(self.out), self.expected())

    def test_another_version_keeps_nothing(self):
        self.save_large()
        notes = self.make_partial()
        shards = [self.partial / "model" / note.name[:-5] for note in notes]
        for note, shard in zip(notes, shards):
            note.write_text(json.dumps(json.loads(note.read_text()) | {"version": "0.0.1 old"}))
            os.utime(shard, (1, 1))
        self.succeed("quantize", self.model, "-o", self.out, "--dtype", "nvfp4", force=False, warned="of an earlier run")
        self.assertFalse([shard.name for shard in shards if os.stat(self.out / shard.name).st_mtime == 1])

    def test_two_runs_do_not_write_one_model(self):
        self.save_large()
        command = ("quantize", self.model, "-o", self.out, "--dtype", "nvfp4")
        first = stop_when(start(*command), lambda: any(self.partial.glob("model/.qdq-*")))
        self.fail_with("another process is writing it", *command, force=False)
        self.assertEqual(proceed(first)[0], 0)
        self.assertEqual(content(self.out), self.expected())

    def test_another_type_keeps_nothing(self):
        self.save_large()
        self.make_partial()
        self.succeed("quantize", self.model, "-o", self.out, "--dtype", "mxfp4", force=False)
        self.succeed("quantize", self.model, "-o", self.dir / "other", "--dtype", "mxfp4")
        self.assertEqual(content(self.out), content(self.dir / "other"))

    def test_an_interrupted_run_ends_by_the_signal_and_keeps_what_is_finished(self):
        self.save_large()
        for number in (signal.SIGINT, signal.SIGTERM):
            command = ("quantize", self.model, "-o", self.out, "--dtype", "nvfp4", "--threads", 1, "--force")
            process = stop_when(start(*command), lambda: len(self.notes()) in (1, 2, 3))
            process.send_signal(number)
            code, _, told = proceed(process)
            kept = len(self.notes())
            self.assertEqual(code, -number)
            self.assertEqual(told, f"qdq: interrupted: {kept} of 4 shards are finished, and kept beside {self.out}: "
                                   "the same command goes on from there\n")  # fmt: skip
            self.assertFalse(self.out.exists())
            told = run(*command).stderr
            self.assertEqual(told, f"qdq: {kept} of 4 shards are those of an earlier run\n")
            shutil.rmtree(self.out)


if __name__ == "__main__":
    unittest.main()
