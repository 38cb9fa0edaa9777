"""docs/conformance.md, followed in Python: inputs by its formulas, results by NumPy's f32 arithmetic and rounding, and
the digests that come of them, for kernels of each kind of input and each form. It reads nothing of qdq but the digests.
"""

import pathlib
import sys
import unittest

import numpy as np

DIGESTS = pathlib.Path(__file__).parents[2] / "docs" / "conformance_digests.txt"
np.seterr(all="ignore")  # overflow and NaN are among what is checked

SPECIAL_SCALES = """
    3f800000 00000000 80000000 7f800000 ff800000 7fc00000 ff800001 00000001 80000001
    007fffff 00800000 21800000 5d800000 5e000000 7e800001 7f7fffff bf800000 be99999a"""
SPECIAL_ZERO_POINTS = """
    00000000 80000000 3f000000 befffffe 3effffff 4b000000 4affffff 497423f0
    c9800000 4f000000 cf000000 7149f2ca 7f800000 ff800000 7fc00000 00000001"""
SPECIAL_X = """
    00000000 00000001 00000002 007fffff 00800000 00800001 33800000 3effffff 3f000000 3f000001
    3f7fffff 3f800000 3f800001 4affffff 4b000000 4b000001 4b7fffff 4b800000 4effffff 4f000000
    4f000001 4f800000 5f000000 7f000000 7f7fffff 7f800000 7f800001 7fbfffff 7fc00000 7fffffff"""

TENTH, TEN, SUBNORMAL, NEGATIVE, HUGE, SPECIAL = 0x3DCCCCCD, 0x41200000, 0x00080000, 0xBE99999A, 0x71800000, "special"
RANGES = {f"i{bits}": (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits in (2, 4, 8, 16, 32)}
RANGES |= {f"u{bits}": (0, 2**bits - 1) for bits in (2, 4, 8, 16)}

# First scale, options, rule of zero points.
QUANTIZE = [
    (TENTH, {}, None), (TEN, {"multiply"}, None), (TENTH, {"reciprocal"}, None), (SUBNORMAL, {}, None),
    (SPECIAL, {}, None), (SPECIAL, {"multiply"}, None), (TENTH, {}, "small"), (TEN, {"multiply"}, "small"),
    (TENTH, {"before"}, "halves"), (TEN, {"multiply", "before"}, "halves"), (TENTH, {"away"}, "large"),
    (TENTH, {"before", "toward zero"}, "special"), (NEGATIVE, {"down"}, None), (TEN, {"multiply", "up"}, None),
    (TENTH, {"narrow"}, None),
]  # fmt: skip
DEQUANTIZE = [
    (TENTH, {}, None), (SUBNORMAL, {}, None), (HUGE, {}, None), (SPECIAL, {}, None), (TENTH, {}, "small"),
    (TENTH, {"add"}, "small"), (TENTH, {}, "large"), (TENTH, {"add"}, "halves"), (TENTH, {}, "special"),
]  # fmt: skip


def bits(text):
    return np.array([int(word, 16) for word in text.split()], np.uint32)


def fnv1a(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return value


def mixed(i):
    z = (i + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def drawn(count):
    z = mixed(np.arange(count, dtype=np.uint64))
    return (z >> np.uint64(32)).astype(np.uint32), z.astype(np.uint32)


def f32_elements(scale, multiplies):
    high, low = drawn(scale.size)
    mantissa = high & np.uint32(0x7FFFFF) & ~((np.uint32(1) << (np.uint32(23) - low % 24)) - np.uint32(1))
    exponent = np.uint32(113) + (low >> 8) % 48
    t = (high & np.uint32(0x80000000) | exponent << 23 | mantissa).view(np.float32)
    x = np.where(np.isfinite(scale) & (scale != 0), t / scale if multiplies else t * scale, t)
    near_tie = x.view(np.uint32) + (low >> 16) % 5 - np.uint32(2)
    codes = np.where(np.arange(scale.size) % 2 == 0, high, near_tie)
    special = bits(SPECIAL_X)
    codes[:60] = np.stack([special, special | np.uint32(0x80000000)], axis=1).reshape(-1)
    return codes.view(np.float32)


def i32_elements(count):
    high, low = drawn(count)
    any_code = high.view(np.int32)
    return np.where(np.arange(count) % 2 == 0, any_code, any_code >> (low % 32).astype(np.int32))


def codes(count, width):
    return np.arange(count, dtype=np.int64) * 40503 % 65536 >> (16 - width)


def elements(dtype, scale, multiplies):
    """x as f32, or as wide integers."""
    if dtype == "f32":
        return f32_elements(scale, multiplies)
    if dtype == "i32":
        return i32_elements(scale.size).astype(np.int64)
    if dtype == "f16":
        return codes(scale.size, 16).astype(np.uint16).view(np.float16).astype(np.float32)
    if dtype == "bf16":
        return (codes(scale.size, 16).astype(np.uint32) << 16).view(np.float32)
    width = int(dtype[1:])
    unsigned = codes(scale.size, width)
    return np.where(unsigned > RANGES[dtype][1], unsigned - (1 << width), unsigned)


def scales(first, count):
    if first == SPECIAL:
        return np.resize(bits(SPECIAL_SCALES), count).view(np.float32)
    steps = np.arange(count, dtype=np.int64) * 2654435 % 2**24
    return (np.uint32(first) + steps.astype(np.uint32)).view(np.float32)


def zero_points(rule, count):
    """As f32, or as wide integers."""
    small = np.arange(count, dtype=np.int64) * 37 % 64 - 16
    return {"small": small, "large": 2147483647 - np.arange(count, dtype=np.int64),
            "halves": (small / 2).astype(np.float32), None: np.zeros(count, np.int64),
            "special": np.resize(bits(SPECIAL_ZERO_POINTS), count).view(np.float32)}[rule]  # fmt: skip


def operand_of_each(form, rows, columns, block):
    """Which scale each element takes, and how many there are."""
    row, column = np.divmod(np.arange(rows * columns), columns)
    if form == "row":
        return row, rows
    if form == "column":
        return column, columns
    return row * (columns // block) + column // block, rows * columns // block


def philox(block, seed):
    """Philox 4x32-10: [blocks, 4] words of 32 bits."""
    low = np.uint64(0xFFFFFFFF)
    x = [block & low, block >> np.uint64(32), np.zeros_like(block), np.zeros_like(block)]
    key = [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        one, other = x[0] * np.uint64(0xD2511F53), x[2] * np.uint64(0xCD9E8D57)
        x = [other >> np.uint64(32) ^ x[1] ^ np.uint64(key[0]), other & low,
             one >> np.uint64(32) ^ x[3] ^ np.uint64(key[1]), one & low]  # fmt: skip
        key = [key[0] + 0x9E3779B9 & 0xFFFFFFFF, key[1] + 0xBB67AE85 & 0xFFFFFFFF]
    return np.stack(x, axis=1)


def random_bits(count, offset, seed=0x0123456789ABCDEF):
    n = np.arange(count, dtype=np.uint64) + np.uint64(offset)
    word = n // np.uint64(32) * np.uint64(16) + n % np.uint64(16)
    first = int(word[0]) // 8
    blocks = philox(np.arange(first, int(word[-1]) // 8 + 1, dtype=np.uint64), seed)
    halves = np.stack([blocks & np.uint64(0xFFFF), blocks >> np.uint64(16)], axis=2).reshape(-1)
    bits = halves[(word - np.uint64(first * 8)).astype(np.int64)].astype(np.int64)
    return np.where(n % np.uint64(32) < np.uint64(16), bits, bits >> 8 | (bits & 255) << 8)


def by_chance(t, offset):
    """Of integers: up with a probability in 65536ths."""
    size = np.abs(t.astype(np.float64))
    whole = np.floor(size)
    up = np.rint((size - whole) * 65536) + random_bits(t.size, offset).reshape(t.shape) >= 65536
    return np.copysign(np.where(np.isfinite(t), whole + up, size), t)


def rounded(t, options):
    if "chance" in options:
        return by_chance(t, options["chance"])
    if "away" in options:
        wide = t.astype(np.float64)
        return np.sign(wide) * np.floor(np.abs(wide) + 0.5)
    by_name = {"toward zero": np.trunc, "down": np.floor, "up": np.ceil}
    return next((by_name[name] for name in options if name in by_name), np.rint)(t)


def quantized(x, scale, zero_point, options, y):
    one = np.float32(1)
    t = x * scale if "multiply" in options else x * (one / scale) if "reciprocal" in options else x / scale
    if "before" in options:
        t, zero_point = t + zero_point.astype(np.float32), np.zeros_like(zero_point, np.int64)
    whole = rounded(t, options).astype(np.float64)
    lowest, highest = RANGES[y]
    if "narrow" in options:
        lowest, highest = lowest + 1, highest // 2
    far = float(2**40)
    total = np.clip(np.nan_to_num(whole, nan=0.0), -far, far).astype(np.int64) + zero_point
    return np.where(np.isnan(whole), lowest, np.clip(total, lowest, highest))


def dequantized(x, scale, zero_point, options, y):
    if zero_point.dtype == np.float32:
        q = x.astype(np.float32)
        value = q + zero_point if "add" in options else q - zero_point
    else:
        value = (x + zero_point if "add" in options else x - zero_point).astype(np.float32)
    value = (value * scale).astype({"f32": np.float32, "f16": np.float16}[y])
    return np.where(np.isnan(value), np.array(np.nan, value.dtype), value)


def bytes_of(values, dtype):
    width = int(dtype[1:]) if dtype in RANGES else 0
    if 0 < width < 8:
        packed = (values & (1 << width) - 1).reshape(-1, 8 // width) << np.arange(0, 8, width)
        return packed.sum(axis=1).astype(np.uint8).tobytes()
    if width:
        return (values & 0xFFFFFFFF).astype(np.uint32).astype(f"<u{width // 8}").tobytes()
    return values.tobytes()


def digest_of(operation, x_type, y_type, form):
    rows, columns = 257 if x_type in ("f32", "i32") else 65, 1024 if form == "block" else 1020
    operand, operands = operand_of_each(form, rows, columns, 32)
    digests = b""
    for first, options, rule in QUANTIZE if operation == "quantize" else DEQUANTIZE:
        scale, zero_point = scales(first, operands)[operand], zero_points(rule, operands)[operand]
        x = elements(x_type, scale, "multiply" in options)
        result = (quantized if operation == "quantize" else dequantized)(x, scale, zero_point, options, y_type)
        digests += fnv1a(bytes_of(result, y_type)).to_bytes(8, "little")
    return fnv1a(digests)


ROWS, COLUMNS = 1 << 16, 4


def dynamic_elements(dtype):
    """[ROWS, COLUMNS], as f32."""
    row = np.arange(ROWS, dtype=np.uint64)
    sign = np.uint64(1) << np.uint64(31 if dtype == "f32" else 15)
    first = row if dtype != "f32" else mixed(row) >> np.uint64(32)
    if dtype == "f32":
        special = bits(SPECIAL_X)
        first[:60] = np.stack([special, special | np.uint32(0x80000000)], axis=1).reshape(-1)
    of_element = mixed(np.arange(ROWS * COLUMNS, dtype=np.uint64)).reshape(ROWS, COLUMNS)
    magnitude = (first & (sign - np.uint64(1)))[:, None] * (of_element & np.uint64(255)) // np.uint64(256)
    codes = np.where(of_element >> np.uint64(63), magnitude | sign, magnitude)
    codes[:, 0] = first
    if dtype == "f16":
        return codes.astype(np.uint16).view(np.float16).astype(np.float32)
    return (codes.astype(np.uint32) << np.uint32(0 if dtype == "f32" else 16)).view(np.float32)


def as_bf16(values):
    raw = values.view(np.uint32).astype(np.uint64)
    return np.where(np.isnan(values), 0x7FC0, raw + 0x7FFF + (raw >> 16 & 1) >> 16).astype(np.uint16)


def as_e4m3(values):
    """Of numbers that are not negative; ties go to the even code."""
    code = np.arange(127)
    exact = np.where(code < 8, code / 512, (8 + code % 8) / 8 * 2.0 ** (code // 8 - 7))
    above = np.clip(np.searchsorted(exact, np.nan_to_num(values)), 1, 126)
    middle = (exact[above - 1] + exact[above]) / 2
    nearest = np.where((values > middle) | (values == middle) & (above % 2 == 0), above, above - 1)
    return np.where(np.isnan(values), 127, np.where(values > 448, 126, nearest)).astype(np.uint8)


def stored(scale, dtype):
    """The codes of scales, and their values."""
    if dtype == "f32":
        return np.where(np.isnan(scale), np.float32(np.nan), scale), scale
    if dtype == "f16":
        narrow = scale.astype(np.float16)
        return np.where(np.isnan(narrow), np.float16(np.nan), narrow), narrow.astype(np.float32)
    if dtype == "bf16":
        return as_bf16(scale), (as_bf16(scale).astype(np.uint32) << 16).view(np.float32)
    code = as_e4m3(scale)
    value = np.where(code < 8, code / 512, (8 + code % 8) / 8 * 2.0 ** (code // 8 - 7.0)).astype(np.float32)
    return code, np.where(code == 127, np.float32(np.nan), value)


def power_of_two(amax, code, rule):
    """E8M0's code of each."""
    largest = np.float32(RANGES[code][1])
    mantissa, exponent = np.frexp(np.where(np.isfinite(amax) & (amax > 0), amax, 1))
    exponent = np.where(np.isinf(amax), 128, exponent - 1)
    if rule == "power_ceil":
        exponent = exponent + ((mantissa > 0.5) & np.isfinite(amax))
    clamped = np.clip(exponent - (np.frexp(largest)[1] - 1), -127, 127) + 127
    return np.where(np.isnan(amax), 255, np.where(amax == 0, 0, clamped)).astype(np.uint8)


def dynamic_digest(x_type, code, rule):
    """Of minmax, power_floor and power_ceil, to integers of a byte or two."""
    x = dynamic_elements(x_type)
    power = rule.startswith("power")
    scale_types = ["e8m0", "f32", "bf16"] if power else ["f32", "f16", "bf16", "f8e4m3"]
    width, digests = f"<i{int(code[1:]) // 8}", b""
    scenarios = [(each, 1, RANGES[code]) for each in scale_types]
    scenarios += [(scale_types[0], 0.75, RANGES[code]), (scale_types[0], 1, (RANGES[code][0] + 1, RANGES[code][1] // 2))]
    for scale_type, clip, (lowest, highest) in scenarios:
        RANGES["narrowed"] = lowest, highest
        clip = np.float32(clip)
        parts = []
        if power:
            exponent = power_of_two(np.abs(x).max(1) * clip, "narrowed", rule)
            scale = np.where(exponent == 255, np.float32(np.nan), np.ldexp(np.float32(1), exponent.astype(np.int32) - 127))
            parts.append(exponent if scale_type == "e8m0" else stored(scale, scale_type)[0])
            zero_point = np.zeros(ROWS, np.int64)
        else:
            least = np.float32(0 if clip == 1 else 2.0**-20)
            low, high = np.minimum(x.min(1), 0) * clip, np.maximum(x.max(1), 0) * clip
            exact = (high - low) / np.float32(highest - lowest)
            raw, scale = stored(np.where(exact < least, least, exact), scale_type)
            one, _ = stored(np.ones(1, np.float32), scale_type)
            raw, scale = np.where(scale == 0, one, raw), np.where(scale == 0, np.float32(1), scale)
            shift = np.rint(np.float32(lowest) - low / scale)
            zero_point = np.clip(np.nan_to_num(shift, nan=lowest), lowest, highest).astype(np.int64)
            parts += [raw, zero_point.astype(width)]
        y = quantized(x, scale[:, None], zero_point[:, None], {}, "narrowed")
        parts.append(y.astype(width))
        digests += fnv1a(b"".join(fnv1a(part.tobytes()).to_bytes(8, "little") for part in parts)).to_bytes(8, "little")
    return fnv1a(digests)


def joined(parts):
    return fnv1a(b"".join(fnv1a(part).to_bytes(8, "little") for part in parts))


def digest_of_digests(digests):
    return fnv1a(b"".join(digest.to_bytes(8, "little") for digest in digests))


STOCHASTIC = [
    (TENTH, {"chance": 0}, None, "row"), (TEN, {"multiply": 1, "chance": 2**33 + 5}, None, "column"),
    (TENTH, {"chance": 0}, None, "block"), (TENTH, {"chance": 0}, "small", "row"),
    (TENTH, {"before": 1, "chance": 0}, "halves", "column"),
]  # fmt: skip


def stochastic_digest(x_type, y_type):
    """Of integers."""
    parts = []
    for first, options, rule, form in STOCHASTIC:
        rows, columns = 257 if x_type == "f32" else 65, 1024 if form == "block" else 1020
        operand, operands = operand_of_each(form, rows, columns, 32)
        scale, zero_point = scales(first, operands)[operand], zero_points(rule, operands)[operand]
        x = elements(x_type, scale, "multiply" in options)
        parts.append(bytes_of(quantized(x, scale, zero_point, options, y_type), y_type))
    return digest_of_digests(fnv1a(fnv1a(part).to_bytes(8, "little")) for part in parts)


def offsets(rows):
    return [0, *(k * k for k in range(rows) if k * k < rows), rows]


def grouped_digest(operation, x_type, y_type):
    """Of integers."""
    rows, columns = 257 if x_type in ("f32", "i32") else 65, 1024
    bounds = offsets(rows)
    group = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))[:, None]
    column = np.arange(columns)[None]
    digests = []
    for operand, count, rule in ((group + 0 * column, 1, None), (group * columns + column, columns, None),
                                 (group * 32 + column // 32, 32, None), (group + 0 * column, 1, "small")):  # fmt: skip
        operand, count = operand.reshape(-1), count * (len(bounds) - 1)
        scale, zero_point = scales(TENTH, count)[operand], zero_points(rule, count)[operand]
        x = elements(x_type, scale, False)
        y = (quantized if operation == "quantize" else dequantized)(x, scale, zero_point, {}, y_type)
        digests.append(joined([bytes_of(y, y_type)]))
    return digest_of_digests(digests)


def dynamic_square(x_type):
    return dynamic_elements(x_type).reshape(512, 512)


def dynamic_parts(x, rule, rows, columns, options, code):
    """So many scales of 512 x 512 elements, zero points, and codes: integers that are signed and have a byte or more."""
    lowest, highest = RANGES[code]
    blocks = x.reshape(rows, 512 // rows, columns, 512 // columns)
    amax = np.abs(blocks).max((1, 3))
    zero_point = np.zeros(amax.shape, np.int64)
    parts = []
    if rule == "power_floor":
        power = power_of_two(amax, code, rule)
        scale = np.where(power == 255, np.float32(np.nan), np.ldexp(np.float32(1), power.astype(np.int32) - 127))
        parts.append(power.tobytes())
    else:
        low, high = np.minimum(blocks.min((1, 3)), 0), np.maximum(blocks.max((1, 3)), 0)
        exact = amax / np.float32(highest) if rule == "absmax" else (high - low) / np.float32(highest - lowest)
        scale = np.where(np.isnan(exact), np.float32(np.nan), np.where(exact == 0, np.float32(1), exact))
        parts.append(scale.tobytes())
    if rule == "minmax":
        shift = np.rint(np.float32(lowest) - low / scale)
        zero_point = np.clip(np.nan_to_num(shift, nan=lowest), lowest, highest).astype(np.int64)
        parts.append(zero_point.astype("<i4").tobytes())
    wide = (slice(None), None, slice(None), None)
    parts.append(bytes_of(quantized(blocks, scale[wide], zero_point[wide], options, code), code))
    return parts


def pair_digest(x_type, code):
    x, digests = dynamic_square(x_type), []
    for rule, shapes in (("power_floor", ((512, 16), (16, 512))), ("absmax", ((512, 1), (1, 512))),
                         ("minmax", ((512, 16), (16, 512)))):  # fmt: skip
        digests.append(joined([part for shape in shapes for part in dynamic_parts(x, rule, *shape, {}, code)]))
    return digest_of_digests(digests)


def dynamic_stochastic_digest(x_type, code):
    x = dynamic_square(x_type)
    calls = (("absmax", 512, 1, 0), ("power_floor", 512, 16, 2**33 + 5), ("minmax", 512, 16, 0))
    return digest_of_digests(
        joined(dynamic_parts(x, rule, rows, columns, {"chance": offset}, code)) for rule, rows, columns, offset in calls
    )


def q8_0_digest():
    """Of blocks of f32."""
    digests = []
    for x in (dynamic_square("f32"), f32_elements(np.ones(512 * 512, np.float32), False)):
        x = x.reshape(-1, 32)
        scale = np.abs(x).max(1) / np.float32(127)
        inverse = np.float32(1) / scale
        inverse[~np.isfinite(inverse)] = 0
        product = (x * inverse[:, None]).astype(np.float64)
        code = np.where(np.isfinite(scale)[:, None], np.trunc(product + np.copysign(0.5, product)), 0)
        stored = np.where(np.isnan(scale), np.float16(np.nan), scale.astype(np.float16))
        block = np.concatenate([stored[:, None].view(np.uint8), code.astype(np.int8).view(np.uint8)], axis=1)
        digests.append(joined([block.tobytes()]))
    return digest_of_digests(digests)


def values_of_blocks_digest(form):
    """Of q4_0, or q4_1, to f32."""
    head = 2 if form == "q4_0" else 4
    block = (mixed(np.arange(512 * 16 * (head + 16), dtype=np.uint64)) & np.uint64(255)).astype(np.uint8)
    block = block.reshape(-1, head + 16)
    operands = np.ascontiguousarray(block[:, :head]).view(np.float16).astype(np.float32)
    code = np.concatenate([block[:, head:] % 16, block[:, head:] // 16], axis=1).astype(np.float32)
    y = (code - np.float32(8)) * operands[:, :1] if form == "q4_0" else code * operands[:, :1] + operands[:, 1:]
    return digest_of_digests([joined([np.where(np.isnan(y), np.float32(np.nan), y).tobytes()])])


class Published(unittest.TestCase):
    def test_the_page_alone_gives_the_digests_of_other_calls(self):
        lines = [line.split() for line in DIGESTS.read_text().splitlines() if not line.startswith("#")]
        published = {name: int(value, 16) for name, value in lines}
        for name, digest in (("quantize_f32_i8_stochastic", stochastic_digest("f32", "i8")),
                             ("quantize_bf16_u4_stochastic", stochastic_digest("bf16", "u4")),
                             ("quantize_dynamic_f32_i8_stochastic", dynamic_stochastic_digest("f32", "i8")),
                             ("quantize_dynamic_bf16_i16_stochastic", dynamic_stochastic_digest("bf16", "i16")),
                             ("quantize_grouped_f32_u8", grouped_digest("quantize", "f32", "u8")),
                             ("quantize_grouped_f16_i4", grouped_digest("quantize", "f16", "i4")),
                             ("dequantize_grouped_i16_f32", grouped_digest("dequantize", "i16", "f32")),
                             ("quantize_dynamic_pair_f32_i8", pair_digest("f32", "i8")),
                             ("quantize_dynamic_pair_f16_i16", pair_digest("f16", "i16")),
                             ("quantize_blocks_f32_q8_0", q8_0_digest()),
                             ("dequantize_blocks_q4_0_f32", values_of_blocks_digest("q4_0")),
                             ("dequantize_blocks_q4_1_f32", values_of_blocks_digest("q4_1"))):  # fmt: skip
            with self.subTest(name=name):
                self.assertEqual(f"{digest:#018x}", f"{published[name]:#018x}")

    def test_the_page_alone_gives_the_digests_of_dynamic_calls(self):
        lines = [line.split() for line in DIGESTS.read_text().splitlines() if not line.startswith("#")]
        published = {name: int(value, 16) for name, value in lines}
        for x, code, rule in (("f32", "i8", "minmax"), ("f16", "u16", "minmax"), ("bf16", "u8", "minmax"),
                              ("bf16", "i8", "power_floor"), ("f32", "i16", "power_ceil")):  # fmt: skip
            with self.subTest(x=x, code=code, rule=rule):
                digest = published[f"quantize_dynamic_{x}_{code}_{rule}"]
                self.assertEqual(f"{dynamic_digest(x, code, rule):#018x}", f"{digest:#018x}")

    def test_the_page_alone_gives_the_digests(self):
        lines = [line.split() for line in DIGESTS.read_text().splitlines() if not line.startswith("#")]
        published = {name: int(value, 16) for name, value in lines}
        for kernel in ("quantize_f32_i8_row", "quantize_f32_u16_column", "quantize_f16_i4_block",
                       "quantize_bf16_u8_row", "quantize_f16_i32_column", "dequantize_i8_f32_row",
                       "quantize_f32_u2_row", "dequantize_u4_f16_column", "dequantize_i32_f32_block",
                       "dequantize_u16_f16_row", "dequantize_i2_f16_block"):
            with self.subTest(kernel=kernel):
                self.assertEqual(f"{digest_of(*kernel.split('_')):#018x}", f"{published[kernel]:#018x}")


if __name__ == "__main__":
    sys.exit(unittest.main())
