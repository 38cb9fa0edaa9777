"""qdq convert: the same codes in another format, the same values before and after."""

import json
import unittest

import gguf
import ml_dtypes
import numpy as np
import onnx
from gguf import GGMLQuantizationType
from onnx import helper

from onnx_test import layers, run_model
from support import CliTest, load_model, random, save_model


class Convert(CliTest):
    def dequantized(self, path):
        """What is restored in F32."""
        output = self.dir / "values.safetensors"
        self.succeed("dequantize", path, "-o", output, "--dtype", "f32", warned="negative")  # scales of GGUF's
        return load_model(output)

    def convert(self, source, target, *options):
        path = self.dir / target
        self.succeed("convert", source, "-o", path, *options, "--force")
        return path

    def assert_same_values(self, source, target):
        before, after = self.dequantized(source), self.dequantized(target)
        self.assertEqual(set(before), set(after))
        for name in before:
            self.assert_same(after[name], before[name])

    def gguf(self):
        path = self.dir / "in.gguf"
        writer = gguf.GGUFWriter(path, "llama")
        for name, kind in (("a.weight", GGMLQuantizationType.Q8_0), ("b.weight", GGMLQuantizationType.Q4_0)):
            writer.add_tensor(name, gguf.quants.quantize(random((6, 96)), kind), raw_dtype=kind)
        writer.add_tensor("norm", random(96))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        return path

    def quantized(self, *options):
        save_model(self.dir / "in.safetensors", {"a.weight": random((6, 48)), "b.weight": random((5, 33), 2),
                                                 "norm": random(7)})  # fmt: skip
        path = self.dir / "codes.safetensors"
        self.succeed("quantize", self.dir / "in.safetensors", "-o", path, *options)
        return path

    def test_gguf_becomes_safetensors(self):
        source = self.gguf()
        target = self.convert(source, "out.safetensors")
        tensors = load_model(target)
        self.assertEqual({name: (each.dtype, each.shape) for name, each in tensors.items()},
                         {"a.weight": (np.int8, (6, 96)), "a.weight_scale": (np.float16, (6, 3)),
                          "b.weight_packed": (np.int32, (6, 12)), "b.weight_scale": (np.float16, (6, 3)),
                          "b.weight_shape": (np.int64, (2,)), "norm": (np.float32, (96,))})  # fmt: skip
        self.assert_same_values(source, target)

    def test_gguf_becomes_onnx(self):
        source = self.gguf()
        self.assert_same_values(source, self.convert(source, "out.onnx"))

    def test_safetensors_become_onnx_and_back(self):
        for options in (["--dtype", "i8"], ["--dtype", "u8"], ["--dtype", "i4", "--block-size", "16"], ["--dtype", "i4"],
                        ["--dtype", "i4", "--block-size", "16", "--asymmetric"], ["--dtype", "u4"], ["--dtype", "nvfp4"],
                        ["--dtype", "i8", "--per-tensor", "--asymmetric"], ["--dtype", "mxfp4"], ["--dtype", "f8e4m3"],
                        ["--dtype", "i16"], ["--dtype", "f4e2m1"], ["--dtype", "mxfp8"]):  # fmt: skip
            with self.subTest(options=options):
                source = self.quantized(*options)
                graph = self.convert(source, "out.onnx")
                onnx.checker.check_model(onnx.load(graph), full_check=True)
                self.assert_same_values(source, graph)
                self.assert_same_values(source, self.convert(graph, "back.safetensors"))

    def test_the_graph_gives_the_weights_in_onnxruntime(self):
        source = self.quantized("--dtype", "i4", "--block-size", "16")
        model = onnx.load(self.convert(source, "out.onnx"))
        names = [each.name for each in model.graph.output]
        expected = self.dequantized(source)
        for name, actual in zip(names, run_model(model, {})):
            self.assert_same(actual, expected[name])

    def test_onnx_becomes_safetensors(self):
        onnx.save_model(layers(), self.dir / "in.onnx")
        for options in ([], ["--dtype", "u4", "--block-size", "16", "--asymmetric"], ["--dtype", "f8e4m3"]):
            with self.subTest(options=options):
                source = self.dir / "codes.onnx"
                self.succeed("quantize", self.dir / "in.onnx", "-o", source, *options)
                self.assert_same_values(source, self.convert(source, "out.safetensors"))

    def folder(self, *options, dtype=np.float32):
        source = self.dir / "model"
        source.mkdir()
        (source / "config.json").write_text('{"model_type": "any", "vocab_size": 9}')
        save_model(source / "model.safetensors", {"layers.0.up.weight": random((300, 200)).astype(dtype),
                                                  "norm.weight": random(7)})  # fmt: skip
        self.succeed("quantize", source, "-o", self.dir / "codes", *options)
        return self.dir / "codes"

    def test_fp8_in_blocks_becomes_compressed_tensors_and_back(self):
        source = self.folder("--dtype", "f8e4m3", "--block-size", "128x128")
        target = self.convert(source, "ct", "--method", "compressed-tensors")
        self.assertEqual(load_model(target / "model.safetensors")["layers.0.up.weight_scale"].shape, (3, 2))
        config = json.loads((target / "config.json").read_text())["quantization_config"]
        self.assertEqual(config["quant_method"], "compressed-tensors")
        weights = config["config_groups"]["group_0"]["weights"]
        self.assertEqual((weights["strategy"], weights["block_structure"], config["format"]),
                         ("block", [128, 128], "float-quantized"))  # fmt: skip
        self.succeed("compare", source, target)
        back = self.convert(target, "back", "--method", "fp8")
        for name in ("model.safetensors", "config.json"):
            self.assertEqual((back / name).read_bytes(), (source / name).read_bytes())

    def test_a_converted_folder_remembers_the_type_it_had(self):
        source = self.folder("--dtype", "f8e4m3", "--block-size", "128x128", dtype=ml_dtypes.bfloat16)
        for target, method in (("ct", "compressed-tensors"), ("back", "fp8")):
            source = self.convert(source, target, "--method", method)
            self.succeed("dequantize", source, "-o", self.dir / f"{target}-restored")
            restored = load_model(self.dir / f"{target}-restored" / "model.safetensors")
            self.assertEqual(restored["layers.0.up.weight"].dtype, ml_dtypes.bfloat16)

    def test_blocks_of_two_sizes_have_their_rows_first(self):
        source = self.folder("--dtype", "f8e4m3", "--block-size", "64x128")
        target = self.convert(source, "ct", "--method", "compressed-tensors")
        config = json.loads((target / "config.json").read_text())["quantization_config"]
        self.assertEqual(config["config_groups"]["group_0"]["weights"]["block_structure"], [64, 128])
        self.assert_same_values(source / "model.safetensors", target / "model.safetensors")
        back = self.convert(target, "back", "--method", "fp8")
        config = json.loads((back / "config.json").read_text())["quantization_config"]
        self.assertEqual(config["weight_block_size"], [64, 128])

    def test_fp8_in_blocks_of_another_program_is_converted(self):
        source = self.folder("--dtype", "f8e4m3", "--block-size", "128x128")
        tensors = load_model(source / "model.safetensors")
        save_model(source / "model.safetensors", tensors)  # without qdq's metadata
        target = self.convert(source, "ct", "--method", "compressed-tensors")
        self.assert_same(load_model(target / "model.safetensors")["layers.0.up.weight_scale"],
                         tensors["layers.0.up.weight_scale_inv"])
        self.assert_same_values(source / "model.safetensors", target / "model.safetensors")

    def test_blocks_of_one_row_do_not_become_fp8(self):
        source = self.folder("--dtype", "f8e4m3", "--block-size", "40")
        self.fail_with("is not f8e4m3 in blocks of 128x128", "convert", source, "-o", self.dir / "x", "--method", "fp8")

    def test_scales_of_16_bits_under_a_global_one_become_f32(self):
        source = self.dir / "x.safetensors"
        save_model(source, {"x.weight_packed": np.arange(8, dtype=np.uint8).reshape(2, 4) * 17,
                            "x.weight_scale": np.array([[0.5], [2]], np.float16),
                            "x.weight_global_scale": np.array([3], np.float32)})  # fmt: skip
        self.assert_same_values(source, self.convert(source, "x.onnx"))

    def test_one_zero_point_of_several_scales_has_no_node(self):
        source = self.dir / "x.safetensors"
        save_model(source, {"x": np.ones((4, 6), np.int8), "x_scale": np.ones((4, 1), np.float32),
                            "x_zero_point": np.array([5], np.int8)})  # fmt: skip
        self.fail_with("DequantizeLinear wants one shape", "convert", source, "-o", self.dir / "x.onnx")

    def test_a_folder_becomes_onnx(self):
        source = self.folder("--dtype", "i8")
        shards = {"a.safetensors": {"layers.0.up.weight": random((30, 20))},
                  "b.safetensors": {"layers.1.up.weight": random((30, 20), 2)}}  # fmt: skip
        model = self.dir / "sharded"
        model.mkdir()
        (model / "config.json").write_text("{}")
        for name, tensors in shards.items():
            save_model(model / name, tensors)
        weight_map = {tensor: name for name, tensors in shards.items() for tensor in tensors}
        (model / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))
        self.succeed("quantize", model, "-o", self.dir / "sharded-codes")
        for folder, names in ((source, ["layers.0.up.weight"]), (self.dir / "sharded-codes", sorted(weight_map))):
            path = self.convert(folder, "out.onnx")
            self.assertEqual([node.output[0] for node in onnx.load(path).graph.node], names)
            self.succeed("compare", folder, path)

    def test_tensors_without_elements_become_onnx_and_back(self):
        path = self.dir / "codes.safetensors"
        for shape in ((2, 0), (0, 2), (0, 0), (0,), (3, 0, 2)):
            with self.subTest(shape=shape):
                save_model(path, {"a": np.zeros(shape, np.int8), "a_scale": np.zeros(shape, np.float16)})
                target = self.convert(path, "out.onnx")
                self.assert_same_values(path, target)
                self.assert_same_values(path, self.convert(target, "back.safetensors"))
                onnx.checker.check_model(onnx.load(target), full_check=True)

    def test_what_onnx_has_no_name_for_is_refused(self):
        path = self.dir / "codes.safetensors"
        save_model(path, {"": np.zeros((2, 2), np.int8), "_scale": np.ones((2, 1), np.float32)})
        self.fail_with("a tensor has no name", "convert", path, "-o", self.dir / "out.onnx")

    def test_what_cannot_be_is_refused(self):
        i8, cases = self.quantized(), []
        blocks = self.dir / "blocks.safetensors"
        self.succeed("quantize", self.dir / "in.safetensors", "-o", blocks, "--dtype", "f8e4m3", "--block-size", "2x2")
        cases.append(("one scale for a tensor, for each index of an axis, or for each block of one axis", blocks,
                      "x.onnx", [], 1))
        cases.append(("no quantized tensor", self.dir / "in.safetensors", "x.onnx", [], 1))
        cases.append(("is not f8e4m3 in blocks of 128x128", self.folder(), "x", ["--method", "fp8"], 1))
        cases.append(("--method compressed-tensors or --method fp8", self.dir / "codes", "x", [], 2))
        cases.append(("--method is of the config.json", i8, "x.onnx", ["--method", "fp8"], 2))
        cases.append(("to an .npy file", i8, "x.npy", [], 2))
        for message, source, target, options, code in cases:
            with self.subTest(message=message):
                self.fail_with(message, "convert", source, "-o", self.dir / target, *options, code=code)

    def test_unsigned_codes_without_zero_points_are_refused(self):
        codes = helper.make_tensor("q", onnx.TensorProto.UINT4, [2, 2], b"\x10\x32", raw=True)
        scale = helper.make_tensor("s", onnx.TensorProto.FLOAT, [], [2.0])
        node = helper.make_node("DequantizeLinear", ["q", "s"], ["w"])
        graph = helper.make_graph([node], "g", [], [helper.make_tensor_value_info("w", 1, [2, 2])], [codes, scale])
        onnx.save_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)]), self.dir / "x.onnx")
        self.fail_with("compressed-tensors has none", "convert", self.dir / "x.onnx", "-o", self.dir / "x.safetensors")

    def test_f4e2m1_with_zero_points_is_refused(self):
        codes, zero = (helper.make_tensor(name, onnx.TensorProto.FLOAT4E2M1, shape, raw, raw=True)
                       for name, shape, raw in (("q", [2, 2], b"\x10\x32"), ("z", [], b"\0")))
        scale = helper.make_tensor("s", onnx.TensorProto.FLOAT, [], [2.0])
        node = helper.make_node("DequantizeLinear", ["q", "s", "z"], ["w"])
        graph = helper.make_graph([node], "g", [], [helper.make_tensor_value_info("w", 1, [2, 2])], [codes, scale, zero])
        onnx.save_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)]), self.dir / "x.onnx")
        self.fail_with("has zero points: compressed-tensors", "convert", self.dir / "x.onnx", "-o", self.dir / "x.safetensors")

    def test_verbose_lists_what_is_made(self):
        source = self.quantized()
        self.assertIn("a.weight_scale", self.succeed("convert", source, "-o", self.dir / "a.onnx", "--verbose"))
        restored = self.dir / "restored.safetensors"
        self.assertRegex(self.succeed("dequantize", source, "-o", restored, "--verbose"), r"b.weight +\[5, 33\] +F32")
        self.assertNotIn("norm", self.succeed("compare", self.dir / "in.safetensors", source))
        self.assertIn("norm", self.succeed("compare", self.dir / "in.safetensors", source, "--verbose"))

    def test_json_and_quiet(self):
        source = self.quantized()
        self.assertEqual(json.loads(self.succeed("convert", source, "-o", self.dir / "a.onnx", "--json")),
                         {"tensors": 5, "converted": 2, "warnings": []})
        self.assertEqual(self.succeed("convert", source, "-o", self.dir / "b.onnx", "--quiet"), "")


if __name__ == "__main__":
    unittest.main()
