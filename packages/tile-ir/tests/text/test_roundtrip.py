"""Printing and parsing are inverse: golden programs, every op, random expressions, all literals."""

import math
import struct
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tile_ir import build as b
from tile_ir import ops
from tile_ir.core import Buffer, Function, Module, Param, Range, Region, Stage
from tile_ir.expr import Binary, Const, Load, Slot, Unary, Var
from tile_ir.layout import parse_layout
from tile_ir.numerics import decode
from tile_ir.opdef import OPS, opdef
from tile_ir.rewrite import walk
from tile_ir.symbols import Symbols
from tile_ir.text import (
    parse_expr,
    parse_function,
    parse_module,
    print_expr,
    print_function,
    print_module,
    print_stmt,
)
from tile_ir.types import ALL_DTYPES, bool_, f16, f32, f64, i32, i64, u8
from tile_ir.verify import verify

GOLDEN = sorted((Path(__file__).parent.parent / "golden" / "text").glob("*.tir"))

i, n, k, x, p = Var("i", i32), Var("n", i32), Var("k", i64), Var("x", f32), Var("p", bool_)
A = Buffer(name="A", dtype=f16, shape=(n, b.const(8)), scope="global")
V = Buffer(name="V", dtype=f32, shape=(), scope="var")
R = Buffer(name="R", dtype=f16, shape=(b.const(8),), scope="shared", slots=3)
SYMBOLS = Symbols([i, n, k, x, p, A, V, R])


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_golden_programs_are_canonical_and_valid(path):
    text = path.read_text()
    module = parse_module(text, str(path))
    assert print_module(module) == text
    assert parse_module(print_module(module)) == module
    assert [d.render() for d in verify(module)] == []


def test_the_golden_programs_use_every_op():
    used = {
        opdef(s).name
        for path in GOLDEN
        for fn in parse_module(path.read_text()).functions
        for s in walk(fn.body)
    }
    assert used == {name for name, op in OPS.items() if op.cls.__module__.startswith("tile_ir.")}


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("1", Const(1, i32)),
        ("-1", Const(-1, i32)),
        ("-2147483648", Const(-(2**31), i32)),
        ("5:i64", Const(5, i64)),
        ("255:u8", Const(255, u8)),
        ("1.0", Const(1.0, f32)),
        ("-0.0", Const(-0.0, f32)),
        ("0.1", b.const(0.1)),
        ("0.1:f64", Const(0.1, f64)),
        ("0.1:f16", b.const(0.1, f16)),
        ("1e+20", b.const(1e20)),
        ("inf", Const(math.inf, f32)),
        ("-inf:f16", Const(-math.inf, f16)),
        ("nan", Const(math.nan, f32)),
        ("true", Const(True, bool_)),
        ("i - -1", Binary("sub", i, Const(-1, i32), i32)),
        ("-(1)", Unary("neg", Const(1, i32), i32)),
        ("-i", Unary("neg", i, i32)),
        ("--i", Unary("neg", Unary("neg", i, i32), i32)),
        ("-x * x", Binary("mul", Unary("neg", x, f32), x, f32)),
        ("-(x * x)", Unary("neg", Binary("mul", x, x, f32), f32)),
        ("x - (x - x)", Binary("sub", x, Binary("sub", x, x, f32), f32)),
        ("x - x - x", Binary("sub", Binary("sub", x, x, f32), x, f32)),
        ("(i + n) * i", Binary("mul", Binary("add", i, n, i32), i, i32)),
        ("i // 2 % n", b.floormod(b.floordiv(i, 2), n)),
        ("i & 3 | n ^ 1", b.bit_or(b.bit_and(i, 3), b.bit_xor(n, 1))),
        ("i << 2 >> n", b.shr(b.shl(i, 2), n)),
        ("not (p and i < n) or p", b.lor(Unary("not", b.land(p, b.lt(i, n)), bool_), p)),
        ("(i < n) == p", b.eq(b.lt(i, n), p)),
        ("(not p) == p", b.eq(b.logical_not(p), p)),
        ("~i", b.bit_not(i)),
        ("min(i, max(n, 3))", b.minimum(i, b.maximum(n, 3))),
        ("ceildiv(i, 2) + truncmod(n, 2)", b.add(b.ceildiv(i, 2), b.truncmod(n, 2))),
        ("select(p, x, 0.0)", b.select(p, x, 0.0)),
        ("f32(i) + x", b.add(b.cast(i, f32), x)),
        ("i32(k)", b.cast(k, i32)),
        ("bitcast<u32>(x)", b.bitcast(x, "u32")),
        ("fma(x, x, 1.0)", b.call("fma", [x, x, 1.0])),
        ("isnan(x)", b.call("isnan", [x])),
        ("device_workers()", b.call("device_workers")),
        ("A[i, ramp(0, 1, 4)]", b.load(A, [i, b.ramp(0, 1, 4)])),
        ("f32x4(A[i, ramp(0, 1, 4)])", b.cast(b.load(A, [i, b.ramp(0, 1, 4)]), "f32x4")),
        ("broadcast(x, 16)", b.broadcast(x, 16)),
        ("V[] * 2.0", b.mul(b.load(V), 2.0)),
        ("R@ab[i]", Load("R", (i,), f16, Slot("ab"))),
        ("R@ab[-1]", Load("R", (Const(-1, i32),), f16, Slot("ab"))),
        ("R@ab[-1][i]", Load("R", (i,), f16, Slot("ab", 1))),
        ("abs(i) + 1", b.add(b.abs_(i), 1)),
    ],
)
def test_expressions(text, made):
    assert print_expr(made) == text
    assert parse_expr(text, SYMBOLS) is made


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("0x10", "16"),
        ("0x1.8p+1", "3.0"),
        ("1.:f16", "1.0:f16"),
        ("((i))", "i"),
        ("i  +\n # comment\n 1", "i + 1"),
        ("0.10000000149011612", "0.1"),
    ],
)
def test_other_spellings(text, canonical):
    assert print_expr(parse_expr(text, SYMBOLS)) == canonical


@pytest.mark.parametrize("t", [t for t in ALL_DTYPES if t.is_float], ids=str)
def test_every_float_literal_comes_back_bit_for_bit(t):
    step = 1 if t.bits <= 8 else max(1, (1 << t.bits) // 997)
    for code in range(0, 1 << t.bits, step):
        value = decode(code, t)
        made = Const(value, t)
        back = parse_expr(print_expr(made), SYMBOLS)
        assert struct.pack("<d", back.value) == struct.pack("<d", value)
        assert back is made


def test_nan_payloads_come_back():
    payload = struct.unpack("<d", (0xFFF8000000000123).to_bytes(8, "little"))[0]
    made = Const(payload, f64)
    assert print_expr(made) == "nan(0xfff8000000000123):f64"
    assert parse_expr(print_expr(made), SYMBOLS) is made


_INTS = st.one_of(st.sampled_from([i, n]), st.integers(-(2**31), 2**31 - 1).map(b.const))
_FLOATS = st.one_of(
    st.just(x),
    st.floats(width=32).map(lambda v: Const(v, f32)),
    st.builds(lambda e: b.load(V), st.just(0)),
)


def _grow(binaries, unaries, t):
    def extend(inner):
        return st.one_of(
            st.builds(
                lambda op, l, r: Binary(op, l, r, t), st.sampled_from(binaries), inner, inner
            ),
            st.builds(lambda op, a: Unary(op, a, t), st.sampled_from(unaries), inner),
            st.builds(
                lambda c, l, r: b.select(Binary(c, l, r, bool_), l, r),
                st.sampled_from(["lt", "le", "eq", "ne"]),
                inner,
                inner,
            ),
        )

    return extend


_ARITH = ["add", "sub", "mul", "min", "max"]
_DIVISIONS = ["floordiv", "floormod", "truncdiv", "truncmod", "ceildiv"]
_INT_OPS = [*_ARITH, *_DIVISIONS, "and", "or", "xor", "shl", "shr"]
int_exprs = st.recursive(_INTS, _grow(_INT_OPS, ["neg", "bnot", "abs"], i32), max_leaves=25)
float_exprs = st.recursive(_FLOATS, _grow([*_ARITH, "div"], ["neg", "abs"], f32), max_leaves=25)


@given(st.one_of(int_exprs, float_exprs))
def test_random_expressions_come_back(e):
    text = print_expr(e)
    assert parse_expr(text, SYMBOLS) is e
    assert print_expr(parse_expr(text, SYMBOLS)) == text


@given(st.text(max_size=20), st.sampled_from(["square", "a b", "", "1x", 'q"\\\n', "nan"]))
def test_strings_come_back(message, policy):
    body = (ops.Assert(cond=Const(True, bool_), message=message), ops.Sync(scope=policy))
    fn = Function(name="f", params=(), body=body)
    assert parse_function(print_function(fn)) == fn


SAMPLES = {
    "Region": b.region(A, [(i, 8), 3]),
    "Expr": b.lt(i, n),
    "Expr | None": b.ceildiv(n, 2),
    "tuple[Expr, ...]": (i, b.const(3)),
    "tuple[Expr | Region, ...]": (b.load(A, [i, 0]), b.point(A, [i, 0]), i),
    "Var": Var("a", i32),
    "Var | None": Var("a", i64),
    "tuple[Var, ...]": (Var("a", i32), Var("c", u8)),
    "Buffer": Buffer(
        name="Z",
        dtype=f16,
        shape=(n, b.const(4)),
        scope="global",
        strides=(b.const(9), i),
        slots=2,
        offset=64,
        safe_value=b.const(-1.5, f16),
        layout=parse_layout("m (4:8) k (8:1) swizzle<3,4,3>"),
    ),
    "str": "word",
    "bool": None,
    "int": 7,
    "tuple[int, ...]": (1, -2),
    "tuple[str, ...]": ("one", "two words"),
    "Slot | None": Slot("ring", 2),
    "Layout | None": parse_layout("thread (4:-, 8:m*1) value (2:m*8)"),
    "End": ops.End("role", "math", 4, True),
    "Body": (ops.Break(),),
}


@pytest.mark.parametrize("op", OPS.values(), ids=lambda op: op.name)
def test_every_field_of_every_op_comes_back(op):
    values = {
        f.name: not f.default if f.type == "bool" else SAMPLES[str(f.type)] for f in op.fields
    }
    fn = Function(
        name="f",
        params=(Param(buffer=A), Param(scalar=i)),
        dims=(n,),
        body=(op.cls(**values),),
    )
    text = print_function(fn)
    assert parse_function(text) == fn
    assert print_function(parse_function(text)) == text


def _kernel(statements):
    buffers = (A, Buffer(name="T", dtype=f32, shape=(b.const(8), b.const(8)), scope="shared"))
    tile = buffers[1]
    stmt = ops.For(
        var=i,
        start=b.const(0),
        stop=n,
        step=b.const(1),
        body=(
            ops.Copy(src=b.region(A, [(i, 8), (0, 8)]), dst=b.whole(tile), clip=True),
            ops.Store(
                buffer="T",
                indices=(b.const(0), b.const(1)),
                value=b.add(b.mul(b.load(tile, [0, 1]), 0.5), b.cast(i, f32)),
            ),
        ),
    )
    body = (ops.Alloc(buffer=tile), *[stmt] * (statements // 3))
    return Function(name="f", params=(Param(buffer=A),), dims=(n,), body=body)


def test_sixty_statements_print_and_parse_in_ten_milliseconds():
    fn = _kernel(60)
    best = math.inf
    for _ in range(7):
        start = time.perf_counter()
        text = print_function(fn)
        made = parse_function(text)
        best = min(best, time.perf_counter() - start)
    assert made == fn
    assert best < 0.010


def test_whole_axes_need_the_declaration():
    whole = ops.Fill(dst=b.whole(R), value=b.const(0, f16))
    assert print_stmt(whole, [R]) == "fill R[:], 0.0:f16"
    assert print_stmt(whole) == "fill R[0 : +8], 0.0:f16"


def test_regions_of_one_element_and_of_typed_starts():
    region = Region("A", (Range(k, Const(1, i64)), Range(Const(0, i64), b.const(8))))
    fn = Function(
        name="f",
        params=(Param(buffer=A), Param(scalar=k)),
        dims=(n,),
        body=(ops.Fill(dst=region, value=b.const(0, f16)),),
    )
    assert "fill A[k : +1:i64, 0:i64 : +8], 0.0:f16" in print_function(fn)
    assert parse_function(print_function(fn)) == fn


def test_stages_have_their_own_version_lines():
    scheduled = Function(name="g", params=(), body=(), stage=Stage.SCHEDULED)
    simt = Function(name="s", params=(), body=(), stage=Stage.SIMT)
    tile = Function(name="t", params=(), body=())
    assert print_module(Module(functions=(tile,))).startswith("tile.ir 1.0 tile\n")
    assert print_module(Module(functions=(simt,))).startswith("tile.ir simt (tile-ir ")
    mixed = Module(functions=(tile, scheduled))
    assert "func @t() stage tile { }" in print_module(mixed)
    assert parse_module(print_module(mixed)) == mixed
    assert parse_function(print_function(scheduled)) == scheduled
    assert parse_module(print_module(Module(functions=()))) == Module(functions=())
