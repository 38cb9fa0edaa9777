"""ONNX models: what is written runs in ONNX Runtime, and means the same bits there as to qdq."""

import re
import unittest
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from support import CliTest, load_model, random, save_model, usage

F32 = TensorProto.FLOAT


def tensor(name, values, dtype=F32):
    return helper.make_tensor(name, dtype, values.shape, values.astype(helper.tensor_dtype_to_np_dtype(dtype)).tobytes(),
                              raw=True)


def value(name, shape, dtype=F32):
    return helper.make_tensor_value_info(name, dtype, shape)


def layers(opset=21, ir_version=10, dtype=F32):
    """An embedding, a linear layer as MatMul and one as Gemm, and a convolution, with what is left alone beside them."""
    weights = {"word_embeddings": random((20, 64), 1), "onnx::MatMul_7": random((64, 48), 2),
               "fc.weight": random((40, 48), 3), "conv.weight": random((6, 1, 3, 3), 4), "fc.bias": random(40, 5),
               "router": random((64, 4), 6)}  # fmt: skip
    nodes = [
        helper.make_node("Gather", ["word_embeddings", "ids"], ["e"], "/embed"),
        helper.make_node("MatMul", ["e", "onnx::MatMul_7"], ["h"], "/layers.0/query/MatMul"),
        helper.make_node("Gemm", ["h", "fc.weight", "fc.bias"], ["g"], "/fc/Gemm", transB=1),
        helper.make_node("MatMul", ["e", "router"], ["r"], "/layers.0/mlp/gate/MatMul"),
        helper.make_node("Reshape", ["g", "shape"], ["image"]),
        helper.make_node("Conv", ["image", "conv.weight"], ["y"], "/conv"),
    ]
    initializers = [tensor(name, values, dtype) for name, values in weights.items()]
    initializers.append(numpy_helper.from_array(np.array([1, 1, 5, 40]), "shape"))
    graph = helper.make_graph(nodes, "layers", [value("ids", [5], TensorProto.INT64)],
                              [value("y", [1, 6, 3, 38], dtype), value("r", [5, 4], dtype)], initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir_version)


WEIGHTS = ["onnx::MatMul_7", "fc.weight", "conv.weight"]
IDS = {"ids": np.arange(5)}


def initializers(model):
    return {each.name: each for each in model.graph.initializer}


def dequantize_nodes(model):
    return {node.output[0]: node for node in model.graph.node if node.op_type == "DequantizeLinear"}


def run_model(model, inputs):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    # Otherwise it computes layers of 4-bit weights with activations of 8 bits.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    source = model if isinstance(model, (str, bytes)) else model.SerializeToString()
    return onnxruntime.InferenceSession(source, options, ["CPUExecutionProvider"]).run(None, inputs)


def values_in_onnxruntime(model, names, inputs):
    """What values inside a model are there."""
    model = onnx.ModelProto.FromString(model.SerializeToString())
    shapes = {**{each.name: each for each in model.graph.initializer}}
    for name in names:
        node = dequantize_nodes(model)[name]
        dtype = shapes[node.input[1]].data_type
        model.graph.output.append(value(name, list(shapes[node.input[0]].dims), dtype))
    return run_model(model, inputs)[-len(names):]


def varint(value):
    digits = []
    while value > 127:
        digits.append(value & 127 | 128)
        value >>= 7
    return bytes([*digits, value])


def number(field, value):
    return varint(field << 3) + varint(value)


def message(field, payload):
    """A field of a protobuf message that has a length."""
    payload = payload.encode() if isinstance(payload, str) else payload
    return varint(field << 3 | 2) + varint(len(payload)) + payload


tiny_tensor = message(5, number(2, F32) + message(8, "w") + message(9, bytes(4)))


class Onnx(CliTest):
    def setUp(self):
        super().setUp()
        self.input, self.codes, self.output = (self.dir / f"{name}.onnx" for name in ("in", "codes", "out"))

    def quantize(self, model, *options):
        onnx.save_model(model, self.input)
        self.succeed("quantize", self.input, "-o", self.codes, *options)
        result = onnx.load(self.codes)
        onnx.checker.check_model(result, full_check=True)
        return result

    def restore(self):
        self.succeed("dequantize", self.codes, "-o", self.output)
        result = onnx.load(self.output)
        onnx.checker.check_model(result, full_check=True)
        return result

    def assert_same_bits(self, quantized, names=WEIGHTS, inputs=IDS):
        """The weights of onnxruntime are those that qdq restores; the restored model."""
        restored = self.restore()
        for name, actual in zip(names, values_in_onnxruntime(quantized, names, inputs)):
            expected = numpy_helper.to_array(initializers(restored)[name])
            self.assertEqual((actual.dtype, actual.tobytes()), (expected.dtype, expected.tobytes()), name)
        return restored

    def test_weights_become_dequantize_linear_nodes_and_the_rest_stays(self):
        model = layers()
        quantized = self.quantize(model)
        self.assertEqual(set(dequantize_nodes(quantized)), set(WEIGHTS))
        self.assertEqual([node for node in quantized.graph.node if node.op_type != "DequantizeLinear"],
                         list(model.graph.node))
        kept = {"word_embeddings", "fc.bias", "router", "shape"}
        for name in kept:
            self.assertEqual(initializers(quantized)[name].raw_data, initializers(model)[name].raw_data)
        self.assertEqual(set(initializers(quantized)),
                         kept | {name + suffix for name in WEIGHTS for suffix in ("_quantized", "_scale")})
        self.assertEqual((quantized.graph.input, quantized.graph.output), (model.graph.input, model.graph.output))

    def test_each_output_of_a_layer_has_its_scale(self):
        nodes = dequantize_nodes(self.quantize(layers()))
        axes = {name: helper.get_node_attr_value(node, "axis") for name, node in nodes.items()}
        self.assertEqual(axes, {"onnx::MatMul_7": 1, "fc.weight": 0, "conv.weight": 0})

    def test_each_output_of_a_conv_transpose_has_its_scale(self):
        node = helper.make_node("ConvTranspose", ["x", "w"], ["y"])
        graph = helper.make_graph([node], "up", [value("x", [1, 6, 5, 5])], [value("y", [1, 4, 7, 7])],
                                  [tensor("w", random((6, 4, 3, 3)))])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
        quantized = self.quantize(model)
        self.assertEqual(helper.get_node_attr_value(dequantize_nodes(quantized)["w"], "axis"), 1)
        self.assert_same_bits(quantized, ["w"], {"x": random((1, 6, 5, 5), 2)})

    def test_other_layers_are_left_alone_by_the_names_of_nodes(self):
        model = layers()
        initializers(model)["router"].name = model.graph.node[3].input[1] = "onnx::MatMul_9"
        self.assertEqual(set(dequantize_nodes(self.quantize(model))), set(WEIGHTS))

    def test_a_node_without_an_axis_has_scales_along_the_second(self):
        codes = random((3, 3)).round().astype(np.int8)
        scale = np.array([1, 10, 100], np.float32)
        nodes = [helper.make_node("DequantizeLinear", ["q", "s"], ["w"]), helper.make_node("MatMul", ["x", "w"], ["y"])]
        graph = helper.make_graph(nodes, "g", [value("x", [1, 3])], [value("y", [1, 3])],
                                  [tensor("q", codes, TensorProto.INT8), tensor("s", scale)])
        onnx.save_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=7), self.codes)
        self.assert_same(numpy_helper.to_array(initializers(self.restore())["w"]), codes.astype(np.float32) * scale)

    def test_a_node_whose_scale_does_not_fit_stays(self):
        codes = tensor("q", np.ones((2, 3)), TensorProto.INT8)
        nodes = [helper.make_node("DequantizeLinear", ["q", "s"], ["w"], axis=0)]
        graph = helper.make_graph(nodes, "g", [], [value("w", [2, 3])], [codes, tensor("s", np.ones(3, np.float32))])
        onnx.save_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=7), self.codes)
        self.fail_with("no quantized tensor", "dequantize", self.codes, "-o", self.output)

    def test_a_weight_may_be_the_first_input(self):
        node = helper.make_node("MatMul", ["w", "x"], ["y"])
        graph = helper.make_graph([node], "one", [value("x", [64, 5])], [value("y", [48, 5])],
                                  [tensor("w", random((48, 64)))])  # fmt: skip
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
        for options, axis, shape in (([], 0, [48]), (["--block-size", "16"], 1, [48, 4])):
            quantized = self.quantize(model, *options)
            [node] = dequantize_nodes(quantized).values()
            self.assertEqual(helper.get_node_attr_value(node, "axis"), axis)
            self.assertEqual(list(initializers(quantized)["w_scale"].dims), shape)
            self.assert_same_bits(quantized, ["w"], {"x": random((64, 5))})

    def test_a_weight_that_is_used_in_two_ways_stays(self):
        def uses(*nodes):
            model = layers()
            model.graph.node.extend(nodes)
            return set(dequantize_nodes(self.quantize(model)))

        others = set(WEIGHTS) - {"onnx::MatMul_7"}
        self.assertEqual(uses(helper.make_node("MatMul", ["e", "onnx::MatMul_7"], ["again"])), set(WEIGHTS))
        self.assertEqual(uses(helper.make_node("Gather", ["onnx::MatMul_7", "ids"], ["again"])), others)
        self.assertEqual(uses(helper.make_node("Transpose", ["h"], ["t"]),
                              helper.make_node("MatMul", ["onnx::MatMul_7", "t"], ["again"])), others)  # fmt: skip
        self.assertEqual(uses(helper.make_node("MatMul", ["e", "onnx::MatMul_7"], ["again"], "/lm_head/MatMul")), others)

    def test_blocks_are_of_what_a_layer_sums(self):
        nodes = dequantize_nodes(self.quantize(layers(), "--dtype", "i4", "--block-size", 16))
        axes = {name: helper.get_node_attr_value(node, "axis") for name, node in nodes.items()}
        self.assertEqual((axes["onnx::MatMul_7"], axes["fc.weight"]), (0, 1))
        self.assertEqual(helper.get_node_attr_value(nodes["fc.weight"], "block_size"), 16)

    def test_onnxruntime_has_the_bits_that_qdq_restores(self):
        for options in (["--dtype", "i8"], ["--dtype", "u8"], ["--dtype", "i8", "--per-tensor"],
                        ["--dtype", "u8", "--asymmetric"], ["--dtype", "i8", "--block-size", "20"],
                        ["--dtype", "i16"], ["--dtype", "u16", "--asymmetric"], ["--dtype", "i4"],
                        ["--dtype", "u4", "--block-size", "16", "--asymmetric"],
                        ["--dtype", "i4", "--block-size", "16", "--asymmetric"], ["--dtype", "f8e4m3"],
                        ["--dtype", "f8e5m2", "--per-tensor"]):  # fmt: skip
            with self.subTest(options=options):
                quantized = self.quantize(layers(), *options)
                restored = self.assert_same_bits(quantized)
                for actual, expected in zip(run_model(quantized, IDS), run_model(restored, IDS)):
                    np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-4)

    def test_zero_points_of_4_bits_are_those_of_their_scales(self):
        """The columns are positive and negative by turns, with the zero point at either end of the codes."""
        weights = np.abs(random((64, 48))) * np.where(np.arange(48) % 2, -1, 1).astype(np.float32)
        node = helper.make_node("MatMul", ["x", "w"], ["y"])
        graph = helper.make_graph([node], "one", [value("x", [5, 64])], [value("y", [5, 48])], [tensor("w", weights)])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
        for dtype in ("u4", "i4"):
            quantized = self.quantize(model, "--dtype", dtype, "--asymmetric")
            scale = numpy_helper.to_array(initializers(quantized)["w_scale"])
            restored = numpy_helper.to_array(initializers(self.restore())["w"])
            self.assertLess(np.max(np.abs(restored - weights) / scale), 0.51)

    def test_formats_of_e2m1_are_what_onnx_says_they_are(self):
        from onnx.reference import ReferenceEvaluator

        for options in (["--dtype", "f4e2m1", "--block-size", "16"], ["--dtype", "mxfp4"], ["--dtype", "mxfp8"]):
            with self.subTest(options=options):
                quantized = self.quantize(layers(), *options)
                restored = self.restore()
                node = dequantize_nodes(quantized)["onnx::MatMul_7"]
                inputs = [initializers(quantized)[name] for name in node.input]
                graph = helper.make_graph([node], "one", [], [value(node.output[0], [64, 48])], inputs)
                model = helper.make_model(graph, opset_imports=quantized.opset_import, ir_version=11)
                actual = ReferenceEvaluator(model).run(None, {})[0]
                self.assert_same(actual, numpy_helper.to_array(initializers(restored)["onnx::MatMul_7"]))

    def test_f16_weights_have_f16_scales(self):
        quantized = self.quantize(layers(dtype=TensorProto.FLOAT16), "--dtype", "i8")
        self.assertEqual(initializers(quantized)["fc.weight_scale"].data_type, TensorProto.FLOAT16)
        self.assert_same_bits(quantized)

    def test_versions_are_raised_as_the_nodes_need_it(self):
        for options, opset, ir_version in ((["--per-tensor"], 11, 6), ([], 13, 7), (["--dtype", "f8e4m3"], 19, 9),
                                           (["--dtype", "i4"], 21, 10), (["--block-size", "16"], 21, 10),
                                           (["--dtype", "f4e2m1"], 23, 11)):  # fmt: skip
            with self.subTest(options=options):
                quantized = self.quantize(layers(opset=11, ir_version=6), *options)
                self.assertEqual((quantized.opset_import[0].version, quantized.ir_version), (opset, ir_version))

    def test_a_raise_that_would_change_a_node_is_refused(self):
        model = layers(opset=17, ir_version=8)
        model.graph.node.append(helper.make_node("ReduceMean", ["g"], ["m"], axes=[1]))
        onnx.save_model(model, self.input)
        self.fail_with("ReduceMean nodes of its opset 17 mean something else from opset 18 on", "quantize", self.input,
                       "-o", self.codes, "--dtype", "i4")
        self.succeed("quantize", self.input, "-o", self.codes)

    def test_operators_that_change_are_those_of_the_schemas(self):
        """Every operator whose schema loses an attribute, changes a default, or takes fewer results, after opset 9."""
        text = (Path(__file__).parents[2] / "model/files/onnx_writer.cpp").read_text()
        listed = {(int(opset), name) for opset, name in re.findall(r'\{(\d+), "(\w+)", "\w*"\}', text)}
        versions = {}
        for schema in onnx.defs.get_all_schemas_with_history():
            if schema.domain == "":
                versions.setdefault(schema.name, []).append(schema)
        def default(attribute):
            return attribute.default_value.SerializeToString()
        for name, schemas in versions.items():
            schemas.sort(key=lambda schema: schema.since_version)
            for old, new in zip(schemas, schemas[1:]):
                if not 10 <= new.since_version <= 23:
                    continue
                shared = set(old.attributes) & set(new.attributes)
                changed = (new.deprecated or set(old.attributes) - set(new.attributes)
                           or any(default(old.attributes[key]) != default(new.attributes[key]) for key in shared)
                           or new.min_input > old.min_input or new.max_output < old.max_output)  # fmt: skip
                if changed:
                    self.assertIn((new.since_version, name), listed)

    def test_include_exclude_and_recipes_decide_by_name(self):
        quantized = self.quantize(layers(), "--include", "word_*", "--exclude", "conv*")
        self.assertEqual(set(dequantize_nodes(quantized)), {"word_embeddings", "onnx::MatMul_7", "fc.weight"})
        recipe = self.dir / "recipe.json"
        recipe.write_text('{"rules": [{"match": "fc*", "dtype": "i4", "block_size": 24}]}')
        quantized = self.quantize(layers(), "--recipe", recipe)
        types = {name: initializers(quantized)[name + "_quantized"].data_type for name in WEIGHTS}
        self.assertEqual(types["fc.weight"], TensorProto.INT4)
        self.assertEqual(types["conv.weight"], TensorProto.INT8)
        self.assert_same_bits(quantized)

    def test_weights_without_elements_are_quantized_and_restored(self):
        for shape in ((0, 32), (32, 0)):
            for options in ([], ["--block-size", 16], ["--per-tensor"], ["--dtype", "u4", "--asymmetric"]):
                with self.subTest(shape=shape, options=options):
                    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
                    graph = helper.make_graph(nodes, "g", [value("x", [2, shape[0]])], [value("y", [2, shape[1]])],
                                              [tensor("w", np.zeros(shape))])
                    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
                    self.quantize(model, *options)
                    self.succeed("compare", self.input, self.codes)
                    self.assertEqual(list(initializers(self.restore())["w"].dims), list(shape))

    def test_what_has_no_form_is_refused(self):
        onnx.save_model(layers(), self.input)
        for options in (["--dtype", "nvfp4"], ["--dtype", "f8e4m3", "--block-size", "16x16"]):
            self.fail_with("DequantizeLinear has no", "quantize", self.input, "-o", self.codes, *options)

    def test_a_name_that_is_taken_is_refused(self):
        model = layers()
        model.graph.node[0].output[0] = model.graph.node[1].input[0] = "fc.weight_quantized"
        del model.graph.node[3]
        del model.graph.output[1]
        onnx.save_model(model, self.input)
        self.fail_with("already has a value named fc.weight_quantized", "quantize", self.input, "-o", self.codes)

    def test_so_is_one_that_is_taken_in_a_subgraph(self):
        branch = helper.make_graph([helper.make_node("Identity", ["g"], ["b"])], "branch", [], [value("b", [5, 40])],
                                   [tensor("conv.weight_quantized", random(1))])  # fmt: skip
        model = layers()
        model.graph.initializer.append(numpy_helper.from_array(np.array(True), "c"))
        model.graph.node.append(helper.make_node("If", ["c"], ["z"], then_branch=branch, else_branch=branch))
        onnx.save_model(model, self.input)
        self.fail_with("already has a value named conv.weight_quantized", "quantize", self.input, "-o", self.codes)

    def test_so_is_that_of_an_output_that_nothing_makes(self):
        model = layers()
        model.graph.output.append(value("conv.weight_scale", [6]))
        onnx.save_model(model, self.input)
        self.fail_with("already has a value named conv.weight_scale", "quantize", self.input, "-o", self.codes)

    def test_so_is_that_of_a_result_that_nothing_reads(self):
        model = layers()
        model.graph.node.append(helper.make_node("Identity", ["g"], ["conv.weight_scale"]))
        onnx.save_model(model, self.input)
        self.fail_with("already has a value named conv.weight_scale", "quantize", self.input, "-o", self.codes)

    def test_two_tensors_of_one_name_are_refused(self):
        model = self.quantize(layers())
        twice = dequantize_nodes(model)["fc.weight"]
        twice.output[0] = "conv.weight"
        onnx.save_model(model, self.input)
        self.fail_with("two tensors are named conv.weight", "dequantize", self.input, "-o", self.output)

    def test_restored_twice_quantized_is_the_same(self):
        self.quantize(layers(), "--dtype", "i4", "--block-size", "16")
        self.restore()
        self.succeed("compare", self.input, self.codes)
        self.succeed("inspect", self.codes)
        self.succeed("quantize", self.output, "-o", self.dir / "again.onnx", "--dtype", "i4", "--block-size", "16")

    def test_a_quantized_model_is_quantized_further(self):
        model = self.quantize(layers(), "--dtype", "i4", "--block-size", "20", "--exclude", "fc*")
        quantized = self.quantize(model)
        self.assertEqual(set(dequantize_nodes(quantized)), set(WEIGHTS))
        self.assertEqual(helper.get_node_attr_value(dequantize_nodes(quantized)["onnx::MatMul_7"], "block_size"), 20)
        self.assert_same_bits(quantized)

    def test_nodes_of_activations_and_shared_scales_stay(self):
        model = layers()
        model.graph.initializer.extend([tensor("s", np.array(0.1, np.float32)),
                                        tensor("codes", np.array([[1, 2]]), TensorProto.INT8)])  # fmt: skip
        model.graph.node.extend([helper.make_node("QuantizeLinear", ["h", "s"], ["q"]),
                                 helper.make_node("DequantizeLinear", ["q", "s"], ["d"]),
                                 helper.make_node("DequantizeLinear", ["codes", "s"], ["w"])])  # fmt: skip
        quantized = self.quantize(model)
        self.assertEqual(set(dequantize_nodes(quantized)), {"d", "w", *WEIGHTS})
        self.assertEqual(set(dequantize_nodes(self.restore())), {"d", "w"})

    def test_activations_are_quantized_as_the_model_runs(self):
        model = layers()
        quantized = self.quantize(model, "--activations", "dynamic")
        nodes = {node.output[0]: node for node in quantized.graph.node}
        for layer, activation in {"h": "e", "g": "h", "y": "image"}.items():
            self.assertEqual(nodes[layer].input[0], f"{activation}_dequantized")
            parts = [f"{activation}_{part}" for part in ("quantized", "scale", "zero_point")]
            self.assertEqual(list(nodes[f"{activation}_dequantized"].input), parts)
            self.assertEqual((nodes[parts[0]].op_type, list(nodes[parts[0]].input)),
                             ("DynamicQuantizeLinear", [activation]))
        self.assertEqual(list(nodes["r"].input), ["e", "router"])
        changed = onnx.NodeProto.FromString(nodes["g"].SerializeToString())
        changed.input[0] = "h"
        self.assertEqual(changed, model.graph.node[2])
        self.assertIn("DynamicQuantizeLinear", [node.op_type for node in self.restore().graph.node])

    def test_activations_have_the_bits_of_onnxs_reference(self):
        from onnx.reference import ReferenceEvaluator

        quantized = self.quantize(layers(), "--activations", "dynamic")
        names = [f"{name}_{part}" for name in ("e", "h", "image") for part in ("quantized", "scale", "zero_point")]
        for name in names:
            dtype = F32 if name.endswith("scale") else TensorProto.UINT8
            quantized.graph.output.append(helper.make_tensor_value_info(name, dtype, None))
        in_onnxruntime = run_model(quantized, IDS)
        expected = ReferenceEvaluator(quantized).run(None, IDS)
        for name, actual, other in list(zip(["y", "r", *names], in_onnxruntime, expected))[2:5]:  # of the same e
            self.assertEqual((actual.dtype, actual.tobytes()), (other.dtype, np.asarray(other).tobytes()), name)
        np.testing.assert_allclose(in_onnxruntime[0], run_model(layers(), IDS)[0], atol=0.1 * np.abs(expected[0]).max())

    def test_an_activation_of_several_layers_is_quantized_once(self):
        model = layers()
        model.graph.node.append(helper.make_node("MatMul", ["fc.weight", "turned"], ["z"], "/turned/MatMul"))
        model.graph.node.append(helper.make_node("MatMul", ["e", "onnx::MatMul_7"], ["again"], "/layers.1/query/MatMul"))
        model.graph.initializer.append(tensor("turned", random((48, 2), 9)))
        nodes = self.quantize(model, "--activations", "dynamic", "--exclude", "turned").graph.node
        self.assertEqual([node.input[0] for node in nodes if node.op_type == "DynamicQuantizeLinear"],
                         ["e", "h", "image"])
        self.assertEqual([list(node.input) for node in nodes if node.output[0] in ("z", "again")],
                         [["fc.weight", "turned"], ["e_dequantized", "onnx::MatMul_7"]])

    def test_activations_need_opset_11(self):
        quantized = self.quantize(layers(opset=10, ir_version=5), "--per-tensor", "--activations", "dynamic")
        self.assertEqual(quantized.opset_import[0].version, 11)

    def test_activations_that_cannot_be_quantized_are_refused(self):
        onnx.save_model(layers(dtype=TensorProto.FLOAT16), self.input)
        self.fail_with("--activations dynamic: ONNX's DynamicQuantizeLinear takes F32, and the inputs beside",
                       "quantize", self.input, "-o", self.codes, "--activations", "dynamic")
        model = layers()
        model.graph.node[0].output[0] = model.graph.node[1].input[0] = model.graph.node[3].input[0] = "fc.weight_scale"
        onnx.save_model(model, self.input)
        self.fail_with("the model already has a value named", "quantize", self.input, "-o", self.codes, "--activations",
                       "dynamic")

    def test_codes_that_are_used_otherwise_stay_with_all_whose_part_they_are(self):
        """Each node's zero point is the codes of the next one, whose own are an output of the graph."""
        model = layers()
        for i in range(4):
            model.graph.initializer.extend([tensor(f"c{i}", np.array(i), TensorProto.INT8),
                                            tensor(f"s{i}", np.array(0.5))])  # fmt: skip
        model.graph.node.extend(helper.make_node("DequantizeLinear", [f"c{i}", f"s{i}", f"c{i + 1}"], [f"d{i}"])
                                for i in range(3))  # fmt: skip
        restored = set(dequantize_nodes(self.quantize(model)))
        self.assertEqual(set(dequantize_nodes(self.restore())), set())
        self.assertGreaterEqual(restored, {"d0", "d1", "d2"})
        model.graph.output.append(value("c3", [], TensorProto.INT8))
        self.quantize(model)
        self.assertEqual(set(dequantize_nodes(self.restore())), {"d0", "d1", "d2"})

    def test_initializers_that_are_inputs_too_are_so_no_more(self):
        model = layers(opset=11, ir_version=3)
        model.graph.input.extend(value(each.name, list(each.dims), each.data_type) for each in model.graph.initializer)
        quantized = self.quantize(model)
        self.assertTrue({each.name for each in quantized.graph.input}.isdisjoint(WEIGHTS))
        self.assert_same_bits(quantized)
        self.assertTrue({each.name for each in onnx.load(self.output).graph.input}.isdisjoint(
            name + "_quantized" for name in WEIGHTS))

    def test_numbers_in_fields_of_their_own_are_read(self):
        model = layers()
        for each in model.graph.initializer:
            if each.name in WEIGHTS:
                each.float_data.extend(np.frombuffer(each.raw_data, np.float32))
                each.ClearField("raw_data")
        self.assertEqual(self.quantize(model), self.quantize(layers()))
        halves = layers(dtype=TensorProto.FLOAT16)
        for each in halves.graph.initializer:
            if each.name in WEIGHTS:
                each.int32_data.extend(np.frombuffer(each.raw_data, np.uint16).astype(int))
                each.ClearField("raw_data")
        self.assertEqual(self.quantize(halves), self.quantize(layers(dtype=TensorProto.FLOAT16)))

    def test_external_data_are_read_and_written(self):
        inline = self.quantize(layers())
        onnx.save_model(layers(), self.input, save_as_external_data=True, location="weights.bin", size_threshold=0)
        self.succeed("quantize", self.input, "-o", self.codes)
        self.assertEqual(self.files(), ["codes.onnx", "codes.onnx.data", "in.onnx", "weights.bin"])
        places = [{each.key: each.value for each in entry.external_data}
                  for entry in onnx.load(self.codes, load_external_data=False).graph.initializer if entry.external_data]
        self.assertGreater(len(places), 1)
        self.assertFalse([place for place in places if int(place["offset"]) % 4096 != 0])  # pages, for who maps them
        quantized = onnx.load(self.codes)  # with its data
        for name, each in initializers(inline).items():
            actual = initializers(quantized)[name]
            self.assertEqual(numpy_helper.to_array(actual).tobytes(), numpy_helper.to_array(each).tobytes(), name)
        onnx.checker.check_model(str(self.codes))
        for actual, expected in zip(run_model(str(self.codes), IDS), run_model(inline, IDS)):
            self.assert_same(actual, expected)

    def test_external_data_outside_the_folder_are_refused(self):
        for location in ("../x.bin", "/etc/passwd", "", "a/../../x"):
            with self.subTest(location=location):
                model = layers()
                each = model.graph.initializer[1]
                each.ClearField("raw_data")
                each.data_location = TensorProto.EXTERNAL
                each.external_data.add(key="location", value=location)
                self.input.write_bytes(model.SerializeToString())
                self.fail_with("outside the model's folder", "quantize", self.input, "-o", self.codes)

    def test_malformed_external_data_are_refused(self):
        (self.dir / "x.bin").write_bytes(bytes(100))
        for entries, message in (({"offset": "-1"}, "not a natural number"), ({"length": "1"}, "it has 1 bytes"),
                                 ({"offset": "1"}, "its external data would be"),
                                 ({"offset": str(2**64 - 1)}, "its external data would be")):  # fmt: skip
            with self.subTest(entries=entries):
                model = layers()
                each = model.graph.initializer[1]
                each.ClearField("raw_data")
                each.data_location = TensorProto.EXTERNAL
                for key, text in {"location": "x.bin", **entries}.items():
                    each.external_data.add(key=key, value=text)
                self.input.write_bytes(model.SerializeToString())
                self.fail_with(message, "quantize", self.input, "-o", self.codes)

    def test_every_truncation_is_refused_or_a_model(self):
        model = layers()
        for each in model.graph.initializer:
            if each.name != "shape":
                del each.dims[:]
                each.dims.extend([2, 2])
                each.raw_data = each.raw_data[:16]
        whole = model.SerializeToString()
        for length in range(0, len(whole), 7):
            self.input.write_bytes(whole[:length])
            self.fail_with("in.onnx: ", "quantize", self.input, "-o", self.codes)

    def test_a_field_past_the_end_of_its_message_is_refused(self):
        graph = tiny_tensor + message(1, message(4, "Op"))
        tail = message(2, "producer")  # of the model, behind the graph
        self.input.write_bytes(message(7, graph) + tail)
        self.succeed("inspect", self.input)
        for field in (varint(1 << 3 | 2) + varint(9), varint(1 << 3 | 2) + varint(2**63), varint(99 << 3 | 5) + bytes(3),
                      varint(99 << 3 | 1) + bytes(7), varint(99 << 3 | 2) + b"\x80", varint(99 << 3) + b"\xff",
                      b"\xff", varint(99 << 3 | 3), varint(99 << 3 | 7), b"\0", b"\x80" * 11):  # fmt: skip
            with self.subTest(field=field.hex()):
                self.input.write_bytes(message(7, graph + field) + tail)
                self.fail_with("not a valid protobuf message, at its byte", "inspect", self.input)

    def test_a_message_or_a_name_that_is_a_number_is_refused(self):
        for content in (number(8, 1), number(7, 1), number(25, 1)):
            self.input.write_bytes(content + message(7, tiny_tensor))
            self.fail_with("in.onnx: ", "inspect", self.input)
        for field in (number(1, 1), number(5, 1), number(11, 1), message(1, number(4, 1)), message(1, number(5, 1)),
                      message(5, number(8, 1)), message(5, number(9, 1)), message(5, number(13, 1))):  # fmt: skip
            self.input.write_bytes(message(7, tiny_tensor + field))
            self.fail_with("in.onnx: ", "inspect", self.input)

    def test_messages_are_nested_as_deep_as_protobuf_has_them(self):
        def nested(depth):
            graph = b""
            for _ in range(depth):
                graph = message(1, message(4, "If") + message(5, message(1, "then_branch") + message(6, graph)))
            return graph

        self.input.write_bytes(message(7, tiny_tensor + nested(30)))
        self.succeed("inspect", self.input)
        for depth in (34, 100, 20000):
            self.input.write_bytes(message(7, tiny_tensor + nested(depth)))
            self.fail_with("more than 100 messages are one in another", "inspect", self.input)

    def test_a_node_without_an_operator_is_refused(self):
        self.input.write_bytes(message(7, tiny_tensor + message(1, message(3, "name"))))
        self.fail_with("a node has no operator", "inspect", self.input)

    def test_memory_does_not_grow_with_the_model(self):
        def peak(layer_count):
            weights = [tensor(f"w{i}", random((512, 512), i)) for i in range(layer_count)]
            nodes = [helper.make_node("MatMul", [f"h{i}", f"w{i}"], [f"h{i + 1}"]) for i in range(layer_count)]
            graph = helper.make_graph(nodes, "deep", [value("h0", [1, 512])], [value(f"h{layer_count}", [1, 512])],
                                      weights)
            onnx.save_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)]), self.input)
            status, memory, _ = usage("quantize", self.input, "-o", self.codes, "--force", "--threads", 1)
            self.assertEqual(status, 0)
            return memory

        self.assertLess(peak(40) - peak(4), 8 << 20)  # of 36 MB more

    def test_outputs_are_whole_and_not_replaced_unasked(self):
        onnx.save_model(layers(), self.input)
        self.codes.write_text("taken")
        self.fail_with("exists already; --force replaces it", "quantize", self.input, "-o", self.codes, force=False)
        self.fail_with("the output would replace an input", "quantize", self.input, "-o", self.input, code=2)

    def test_a_restored_model_has_the_types_of_its_nodes(self):
        self.quantize(layers())
        self.fail_with("--dtype", "dequantize", self.codes, "-o", self.output, "--dtype", "bf16", code=2)
        self.succeed("dequantize", self.codes, "-o", self.dir / "out.safetensors", "--dtype", "bf16")
        self.assertEqual(load_model(self.dir / "out.safetensors")["fc.weight"].dtype, ml_dtypes.bfloat16)

    def test_types_that_safetensors_lacks_are_refused_there(self):
        """A uint4 initializer is copied from .onnx to .onnx. Written to .safetensors, qdq itself could not read it."""
        model = layers()
        model.graph.initializer.append(helper.make_tensor("table", TensorProto.UINT4, [2], b"\x21", raw=True))
        self.quantize(model)
        restored = self.dir / "restored.safetensors"
        self.fail_with("table is of type U4, which a .safetensors file cannot have", "dequantize", self.codes, "-o",
                       restored)
        self.assertFalse(restored.exists())

    def test_models_of_other_kinds_do_not_become_onnx(self):
        save_model(self.dir / "x.safetensors", {"w": random((4, 4))})
        self.fail_with("qdq convert", "quantize", self.dir / "x.safetensors", "-o", self.codes, code=2)


if __name__ == "__main__":
    unittest.main()
