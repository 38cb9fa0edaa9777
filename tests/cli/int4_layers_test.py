"""Folders of GPTQ and AWQ: packed here as their libraries pack them, against a decoder of plain NumPy."""

import json
import unittest

import numpy as np

from support import FolderTest, content, load_folder, load_model, random, save_folder, save_model, shard_name

AWQ_ORDER = [0, 2, 4, 6, 1, 3, 5, 7]
GPTQ = {"quant_method": "gptq", "bits": 4, "group_size": 32, "desc_act": False, "sym": False}
AWQ = {"quant_method": "awq", "bits": 4, "group_size": 32, "zero_point": True, "version": "gemm"}


def words(nibbles, order=range(8)):
    """Eight of the last dimension in an int32."""
    eights = nibbles.astype(np.uint32).reshape(*nibbles.shape[:-1], -1, 8)[..., list(order)]
    return (eights << (4 * np.arange(8, dtype=np.uint32))).sum(-1, dtype=np.uint32).view(np.int32)


class Layer:
    """Codes [in, out] of a layer, and the scale and zero point of each group and output."""

    def __init__(self, inputs, outputs, group, seed=1, symmetric=False, scales=np.float16):
        drawn = np.random.default_rng(seed)
        groups = -(-inputs // group)
        self.codes = drawn.integers(0, 16, (inputs, outputs))
        self.zero_points = np.full((groups, outputs), 8) if symmetric else drawn.integers(0, 16, (groups, outputs))
        self.scales = (drawn.random((groups, outputs)) + 0.01).astype(scales)
        self.groups = np.arange(inputs) // group

    def values(self):
        """What both libraries compute, before it is rounded: [out, in]."""
        steps = (self.codes - self.zero_points[self.groups]).astype(np.float32)
        return np.ascontiguousarray((steps * self.scales[self.groups].astype(np.float32)).T)

    def gptq(self, name, less=1, g_idx=True):
        tensors = {"qweight": np.ascontiguousarray(words(self.codes.T).T), "qzeros": words((self.zero_points - less) % 16),
                   "scales": self.scales}  # fmt: skip
        tensors |= {"g_idx": self.groups.astype(np.int32)} if g_idx else {}
        return {f"{name}.{part}": each for part, each in tensors.items()}

    def awq(self, name):
        tensors = {"qweight": words(self.codes, AWQ_ORDER), "qzeros": words(self.zero_points, AWQ_ORDER), "scales": self.scales}
        return {f"{name}.{part}": each for part, each in tensors.items()}


LAYERS = {"model.layers.0.q_proj": Layer(64, 24, 32), "model.layers.0.up_proj": Layer(96, 16, 32, 2),
          "model.layers.1.q_proj": Layer(64, 24, 32, 3, symmetric=True)}  # fmt: skip
OTHERS = {"model.norm.weight": random(64), "model.layers.0.q_proj.bias": random(24, 2)}


class Int4Layers(FolderTest):
    def save(self, tensors, config, others=OTHERS):
        """A folder of two shards, which part a layer's tensors."""
        tensors = list((tensors | others).items())
        save_folder(self.model, [dict(tensors[:2]), dict(tensors[2:])], config and {"quantization_config": config})

    def save_gptq(self, config=GPTQ, layers=LAYERS, **how):
        self.save({key: each for name, layer in layers.items() for key, each in layer.gptq(name, **how).items()}, config)

    def save_awq(self, config=AWQ):
        self.save({key: each for name, layer in LAYERS.items() for key, each in layer.awq(name).items()}, config)

    def assert_values(self, folder, layers=LAYERS):
        tensors = load_folder(folder)
        self.assertEqual(set(tensors), {f"{name}.weight" for name in layers} | set(OTHERS))
        for name, layer in layers.items():
            self.assert_same(tensors[f"{name}.weight"], layer.values())
        for name, each in OTHERS.items():
            self.assert_same(tensors[name], each)

    def assert_restored(self, layers=LAYERS):
        self.succeed("dequantize", self.model, "-o", self.out, "--dtype", "f32")
        self.assert_values(self.out, layers)
        self.assertNotIn("quantization_config", json.loads((self.out / "config.json").read_text()))

    def test_gptq_is_restored(self):
        self.save_gptq()
        self.assert_restored()

    def test_gptq_v2_has_zero_points_as_they_are(self):
        for key in ("checkpoint_format", "format"):
            self.save_gptq(GPTQ | {key: "gptq_v2"}, less=0)
            self.assert_restored()
            self.setUp()

    def test_gptq_without_g_idx_is_restored(self):
        self.save_gptq(g_idx=False)
        self.assert_restored()

    def test_awq_is_restored(self):
        self.save_awq()
        self.assert_restored()

    def test_all_codes_and_zero_points_of_awq(self):
        layer = Layer(16, 16, 16)
        layer.codes = np.arange(256).reshape(16, 16) % 16
        layer.zero_points = np.arange(16).reshape(1, 16)
        self.save(layer.awq("x"), AWQ)
        self.assert_restored({"x": layer})

    def test_scales_of_other_types(self):
        import ml_dtypes

        for scales in (np.float32, ml_dtypes.bfloat16):
            self.save_gptq(layers={"x": Layer(64, 24, 32, scales=scales)})
            self.assert_restored({"x": Layer(64, 24, 32, scales=scales)})
            self.setUp()

    def test_older_models_say_so_in_a_file_of_their_own(self):
        self.save_gptq(None)
        (self.model / "quantize_config.json").write_text(json.dumps({"bits": 4, "group_size": 32, "desc_act": False}))
        self.assert_restored()
        self.assertFalse((self.out / "quantize_config.json").exists())
        self.setUp()
        self.save_awq(None)
        (self.model / "quant_config.json").write_text(json.dumps({"w_bit": 4, "q_group_size": 32, "version": "GEMM"}))
        self.assert_restored()

    def test_a_folder_that_does_not_say_so_keeps_its_tensors(self):
        self.save_gptq({"quant_method": "other", "bits": 4})
        self.fail_with("no quantized tensor", "dequantize", self.model, "-o", self.out)

    def test_groups_in_another_order_are_restored(self):
        layer = Layer(64, 24, 16)
        layer.groups = np.random.default_rng(5).permutation(layer.groups)
        ragged = Layer(40, 8, 32)
        self.save_gptq(layers={"x": layer, "y": ragged})
        self.assert_restored({"x": layer, "y": ragged})
        self.fail_with("have no codes with one scale each", "convert", self.model, "-o", self.dir / "ct", "--method",
                       "compressed-tensors")  # fmt: skip

    def test_many_rows_are_read_piece_by_piece(self):
        layers = {"x": Layer(4096, 520, 128), "y": Layer(4096, 520, 128, 2)}
        layers["y"].groups = layers["y"].groups[::-1]
        self.save_gptq(layers=layers)
        self.assert_restored(layers)
        self.setUp()
        self.save(layers["x"].awq("x"), AWQ)
        self.assert_restored({"x": layers["x"]})

    def test_bf16_is_rounded_from_these_values(self):
        import ml_dtypes

        self.save_awq()
        self.succeed("dequantize", self.model, "-o", self.out, "--dtype", "bf16")
        for name, layer in LAYERS.items():
            self.assert_same(load_folder(self.out)[f"{name}.weight"], layer.values().astype(ml_dtypes.bfloat16))

    def test_they_become_compressed_tensors(self):
        for save in (self.save_gptq, self.save_awq):
            save()
            (self.model / "quantize_config.json").write_text("{}")
            self.succeed("convert", self.model, "-o", self.out, "--method", "compressed-tensors")
            tensors = load_folder(self.out)
            q = "model.layers.0.q_proj"
            self.assert_same(tensors[f"{q}.weight_packed"], words(LAYERS[q].codes.T))
            self.assert_same(tensors[f"{q}.weight_scale"], np.ascontiguousarray(LAYERS[q].scales.T))
            self.assert_same(tensors[f"{q}.weight_zero_point"], np.ascontiguousarray(words(LAYERS[q].zero_points).T))
            self.assert_same(tensors[f"{q}.weight_shape"], np.array([24, 64]))
            self.assertNotIn("model.layers.1.q_proj.weight_zero_point", tensors)  # which are all 8
            self.assertFalse((self.out / "quantize_config.json").exists())
            self.assertTrue((self.out / "sub/tokenizer.json").exists())
            config = json.loads((self.out / "config.json").read_text())["quantization_config"]
            groups = sorted(json.dumps([each["format"], each["weights"]["symmetric"], each["weights"]["group_size"]])
                            for each in config["config_groups"].values())  # fmt: skip
            self.assertEqual(groups, ['["pack-quantized", false, 32]', '["pack-quantized", true, 32]'])
            self.succeed("compare", self.model, self.out)
            self.succeed("dequantize", self.out, "-o", self.dir / "restored", "--dtype", "f32")
            self.assert_values(self.dir / "restored")
            self.setUp()

    def test_one_group_is_a_scale_for_each_output(self):
        self.save_gptq(GPTQ | {"group_size": -1}, {"x": Layer(64, 24, 64, symmetric=True)})
        self.succeed("convert", self.model, "-o", self.out, "--method", "compressed-tensors")
        config = json.loads((self.out / "config.json").read_text())["quantization_config"]
        self.assertEqual(config["config_groups"]["group_0"]["weights"]["strategy"], "channel")

    def test_the_index_has_the_new_names(self):
        self.save_gptq()
        self.succeed("convert", self.model, "-o", self.out, "--method", "compressed-tensors")
        index = json.loads((self.out / "model.safetensors.index.json").read_text())
        for name, file in index["weight_map"].items():
            self.assertIn(name, load_model(self.out / file))

    def test_they_become_onnx(self):
        self.save_gptq()
        self.succeed("convert", self.model, "-o", self.dir / "x.onnx")
        self.succeed("dequantize", self.dir / "x.onnx", "-o", self.dir / "restored.safetensors", "--dtype", "f32")
        restored = load_model(self.dir / "restored.safetensors")
        for name, layer in LAYERS.items():
            self.assert_same(restored[f"{name}.weight"], layer.values())

    def test_inspect_lists_the_layers(self):
        layer = Layer(64, 24, 16)
        layer.groups = layer.groups[::-1].copy()
        self.save_gptq(layers=LAYERS | {"act": layer})
        tensors = {each["name"]: each for each in json.loads(self.succeed("inspect", self.model, "--json"))["tensors"]}
        self.assertEqual((tensors["act.weight"]["dtype"], tensors["act.weight"]["bytes"]), ("I4", 64 * 24 // 2))
        found = tensors["model.layers.0.q_proj.weight"]
        self.assertEqual((found["dtype"], found["shape"], found["scale_shape"]), ("I4", [24, 64], [24, 2]))

    def refused(self, message, tensors, config=GPTQ):
        self.save(tensors, config)
        before = content(self.model)
        for command in (["dequantize"], ["convert", "--method", "compressed-tensors"], ["quantize"]):
            self.fail_with(message, *command, self.model, "-o", self.out)
        self.fail_with(message, "inspect", self.model)
        self.assertEqual(content(self.model), before)
        self.setUp()

    def test_parts_that_do_not_fit_are_refused(self):
        good = Layer(64, 24, 32).gptq("x")
        awq = Layer(64, 24, 32).awq("x")

        def without(part):
            return {name: each for name, each in good.items() if name != f"x.{part}"}

        def changed(part, to, of=good):
            return of | {f"x.{part}": to}

        i32, f16 = np.int32, np.float16
        self.refused("there is no x.scales beside x.qweight", without("scales"))
        self.refused("there is no x.qzeros beside x.qweight", without("qzeros"))
        self.refused("x.qweight (I64 [8, 24]) is no matrix of I32", changed("qweight", np.zeros((8, 24), np.int64)))
        self.refused("x.qweight (I32 [192]) is no matrix of I32", changed("qweight", np.zeros(192, i32)))
        self.refused("x.qweight (I32 [0, 24]) is no matrix of I32", changed("qweight", np.zeros((0, 24), i32)))
        self.refused("x.qweight (I32 [8, 16]) is not I32 [8, 24]", changed("qweight", np.zeros((8, 16), i32)))
        self.refused("x.scales (I32 [2, 24]) is no matrix of F16, BF16 or F32", changed("scales", np.zeros((2, 24), i32)))
        self.refused("x.scales (F16 [0, 24]) is no matrix", changed("scales", np.zeros((0, 24), f16)))
        self.refused("x.scales (F16 [2, 20]) has no whole number of words", changed("scales", np.zeros((2, 20), f16)))
        self.refused("x.qzeros (I32 [2, 3]) is not I32 [3, 3]", changed("scales", np.zeros((3, 24), f16)))
        self.refused("x.qzeros (F16 [2, 3]) is not I32 [2, 3]", changed("qzeros", np.zeros((2, 3), f16)))
        self.refused("x.g_idx (I32 [63]) is not I32 [64]", changed("g_idx", np.zeros(63, i32)))
        self.refused("x.g_idx (I32 [64]) has group 2 for input 9, of 2", changed("g_idx", np.eye(1, 64, 9, dtype=i32)[0] * 2))
        self.refused("x.g_idx (I32 [64]) has group -1 for input 0", changed("g_idx", np.full(64, -1, i32)))
        self.refused("x.qweight (I32 [64, 4]) is not I32 [64, 3]", changed("qweight", np.zeros((64, 4), i32), awq), AWQ)
        self.refused("x.qweight (I32 [60, 3]) has no whole number of eight", changed("qweight", np.zeros((60, 3), i32), awq), AWQ)
        ragged = {"x.scales": np.zeros((3, 24), f16), "x.qzeros": np.zeros((3, 3), i32)}
        self.refused("x.scales (F16 [3, 24]) has groups that do not divide 64 inputs", awq | ragged, AWQ)
        self.refused("x.weight_scale", good | {"x.weight_scale": random(3)})
        self.refused("both x.weight and x.weight_packed", good | {"x.weight": random((3, 3))})

    def test_other_layouts_are_refused(self):
        tensors = Layer(64, 24, 32).gptq("x")
        self.refused('its "bits" is 8, of which qdq reads 4', tensors, GPTQ | {"bits": 8})
        self.refused('its "bits" is missing, of which qdq reads 4', tensors, {"quant_method": "gptq"})
        self.refused('its "bits" is "4"', tensors, GPTQ | {"bits": "4"})
        self.refused('its "checkpoint_format" is marlin, of which qdq reads gptq, gptq_v2', tensors,
                     GPTQ | {"checkpoint_format": "marlin"})  # fmt: skip
        self.refused('its "version" is gemv, of which qdq reads gemm', tensors, AWQ | {"version": "GEMV"})

    def test_a_file_that_was_cut_off_is_refused(self):
        self.save_gptq()
        shard = self.model / shard_name(1, 2)
        shard.write_bytes(shard.read_bytes()[:-4])
        self.fail_with("out of the file's", "dequantize", self.model, "-o", self.out)

    def test_a_folder_without_shards_is_read(self):
        self.model.mkdir()
        (self.model / "config.json").write_text(json.dumps({"quantization_config": AWQ}))
        save_model(self.model / "model.safetensors", LAYERS["model.layers.0.q_proj"].awq("model.layers.0.q_proj") | OTHERS)
        self.assert_restored({"model.layers.0.q_proj": LAYERS["model.layers.0.q_proj"]})


if __name__ == "__main__":
    unittest.main()
