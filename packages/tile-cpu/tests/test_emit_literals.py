"""Literals in C read back as the value they were."""

import ctypes
import math
import struct

import pytest

from tile_cpu.c_literals import literal
from tile_ir import build as b


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (1.0, "f32", "1.0f"),
        (0.1, "f32", "0.1f"),
        (0.1, "f64", "0.1"),
        (1e30, "f32", "1e+30f"),
        (-0.0, "f32", "-0.0f"),
        (3, "i32", "3"),
        (-(1 << 31), "i32", "(-2147483647 - 1)"),
        ((1 << 32) - 1, "u32", "4294967295u"),
        (1 << 40, "i64", "1099511627776ll"),
        ((1 << 64) - 1, "u64", "18446744073709551615ull"),
        (True, "bool", "1"),
    ],
)
def test_a_literal(value, kind, text):
    assert literal(b.const(value, kind)) == text


FLOATS = [0.1, 1 / 3, 1e-45, 3.4028234663852886e38, 1.1754943508222875e-38, 16777217.0, -2.5e-7]


def test_floats_read_back_bit_for_bit(build_c):
    single = [literal(b.const(x, "f32")) for x in (*FLOATS, math.inf, -math.inf, math.nan)]
    double = [literal(b.const(x, "f64")) for x in (*FLOATS, 5e-324, 1.7976931348623157e308)]
    library = build_c(
        f"float single[] = {{{', '.join(single)}}};\ndouble twice[] = {{{', '.join(double)}}};\n",
        "-fvisibility=default",
    )
    got = list((ctypes.c_float * len(single)).in_dll(library, "single"))
    want = [struct.unpack("<f", struct.pack("<f", x))[0] for x in FLOATS]
    assert got[: len(FLOATS)] == want
    assert got[-3:-1] == [math.inf, -math.inf]
    assert math.isnan(got[-1])
    assert list((ctypes.c_double * len(double)).in_dll(library, "twice")) == [
        *FLOATS, 5e-324, 1.7976931348623157e308,
    ]  # fmt: skip
