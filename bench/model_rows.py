"""The rows that language models use most, which the report draws and peers.py computes with other libraries: a name as of
kernels_bench.cpp without its mode, and whether there is a zero point."""

MODEL_ROWS = [
    ("quantize_f32_i8/tensor", False), ("quantize_f32_u8/tensor", True), ("quantize_f32_i8/channel_axis0", False),
    ("quantize_f32_i8/block32", False), ("quantize_f32_i4/block32", False), ("quantize_f32_f8e4m3/tensor", False),
    ("quantize_f32_f8e5m2/tensor", False), ("quantize_f16_i8/tensor", False), ("quantize_bf16_i8/tensor", False),
    ("quantize_bf16_i8/channel_axis0", False), ("quantize_bf16_f8e4m3/tensor", False),
    ("quantize_bf16_f8e4m3/block32", False), ("quantize_bf16_f4e2m1/block32", False),
    ("dequantize_i8_f32/tensor", False), ("dequantize_u8_f32/tensor", True), ("dequantize_i8_f32/channel_axis0", False),
    ("dequantize_i8_f32/block32", False), ("dequantize_i8_bf16/tensor", False), ("dequantize_i8_bf16/block32", False),
    ("dequantize_f8e4m3_f32/tensor", False), ("dequantize_f8e4m3_bf16/tensor", False),
    ("dequantize_f8e5m2_f32/tensor", False), ("dequantize_i4_f32/block32", False), ("dequantize_i4_bf16/block32", False),
    ("dequantize_f4e2m1_f32/block32", False), ("dequantize_f4e2m1_bf16/block32", False),
]


def row_name(name, zero_point, mode):
    return f"{name}/{mode}{'_zp' if zero_point else ''}"


def modes_of(name):
    return ("divide", "multiply") if name.startswith("quantize") else ("multiply",)


def model_row_names():
    return [row_name(name, zero_point, mode) for name, zero_point in MODEL_ROWS for mode in modes_of(name)]
