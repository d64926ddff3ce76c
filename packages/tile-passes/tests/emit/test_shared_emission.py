"""What all emitters share: names, captures, kernels' sizes, preludes, forms without lambdas."""

from dataclasses import replace

import pytest

from tile_ir import build as b
from tile_ir.diag import InternalError
from tile_ir.expr import Broadcast, Const
from tile_ir.ops import Kernel
from tile_ir.rewrite import declared, walk
from tile_ir.text import parse_function
from tile_ir.types import bf16, dtype, f16, f32, i8, i32, i64, u4, u64
from tile_passes.emit.captures import Forms, parameters
from tile_passes.emit.device_dialect import C_TYPES, Words, device_dialect, with_lambda
from tile_passes.emit.device_statements import moved_code
from tile_passes.emit.identifiers import identifiers
from tile_passes.emit.kernels import DeviceExprPrinter, arena_bytes, kernel_name
from tile_passes.emit.prelude import Prelude

PROGRAM = """
func @f(X: global f32[M, N], tile: global f16[N], a: f32) dims (M, N) results (tile) {
  kernel @main threads = (64) {
    tiles (bx) in (M) {
      alloc s: shared f16[96] offset 64
      let t: i32 = thread_index()
      for v in (0, 2, 1) serial { store s[t] = f16(X[bx, t + v] * a) }
      for v_1 in (0, 2, 1) serial { store tile[t] = s[t + v_1] }
    }
  }
}
"""
WORDS = Words(
    call=lambda fn, carrier, args: (f"{fn}({', '.join(args)})", True),
    to_f32="as_float({})",
    to_f64="as_double({})",
    from_f32="as_int({})",
    from_f64="as_long({})",
    abs_f32="fabsf({})",
    abs_f64="fabs({})",
)
SPACED = replace(
    WORDS,
    types={**C_TYPES, "i64": "long", "u64": "ulong"},
    long_suffix="l",
    doubles=False,
    apply=lambda function, text, args: f"{function}<[{text}]>({', '.join(args)})",
)


def printed(words=WORDS):
    fn = parse_function(PROGRAM)
    buffers = declared(fn)
    names = identifiers(fn, buffers, frozenset({"tile"}))
    kernel = next(s for s in walk(fn.body) if isinstance(s, Kernel))
    return fn, kernel, DeviceExprPrinter(device_dialect(words), buffers, names, set())


def test_names_are_the_users_unless_they_are_ours():
    fn = parse_function(PROGRAM)
    names = identifiers(fn, declared(fn), frozenset({"tile"}))
    assert names["tile"] == "tile_1"
    assert (names["X"], names["s"], names["t"]) == ("X", "s", "t")
    assert names["v_1"] == "v"  # loops beside each other share the shortest name


def test_a_kernel_takes_what_it_uses_and_does_not_declare():
    _, kernel, exprs = printed()
    taken = parameters(exprs, kernel)
    assert [(p.name, p.format) for p in taken] == [
        ("X", "P"),
        ("tile", "P"),
        ("a", "f"),
        ("N", "i"),
    ]
    assert [p.declaration for p in taken] == [
        "const float *X",
        "unsigned short *tile_1",
        "const float a",
        "const int N",
    ]


def test_a_language_declares_parameters_in_its_own_form():
    _, kernel, exprs = printed()
    forms = Forms(pointer="{const}far {kind} *{name}", scalar="near {kind} &{name}")
    texts = [p.declaration for p in parameters(exprs, kernel, forms)]
    assert texts[0] == "const far float *X"
    assert texts[2] == "near float &a"


def test_sizes_and_names_of_kernels():
    fn, kernel, _ = printed()
    assert arena_bytes(kernel) == 64 + 2 * 96
    assert kernel_name(fn, kernel) == "f_main"


def test_global_offsets_are_wide_in_the_words_of_the_language():
    for words, kind in ((WORDS, "long long"), (SPACED, "long")):
        fn, _, exprs = printed(words)
        buffer, dims = declared(fn)["X"], {d.name: d for d in fn.dims}
        at = exprs.offset(buffer, (dims["M"], Const(3, i32)))
        assert at == f"({kind})M * N + 3"


def test_literals_and_conversions_follow_the_words():
    plain, spaced = device_dialect(WORDS), device_dialect(SPACED)
    big = Const(1 << 40, i64)
    assert (plain.literal(big), spaced.literal(big)) == ("1099511627776ll", "1099511627776l")
    assert spaced.literal(Const(1 << 63, u64)) == "9223372036854775808ul"
    assert plain.cast(i64, bf16, "x") == "tile_bf16_to_f32(tile_f64_to_bf16(tile_wide_i64(x)))"
    assert spaced.cast(i64, bf16, "x") == "tile_bf16_to_f32(tile_f32_to_bf16(tile_i64_to_odd(x)))"
    assert plain.operator("shl", i64, "x", "y") == "(long long)((unsigned long long)(x) << (y))"
    assert spaced.operator("shl", i64, "x", "y") == "(long)((ulong)(x) << (y))"


def test_integers_become_a_small_float_without_doubles():
    """What f32 cannot hold exceeds them."""
    plain, spaced = device_dialect(WORDS), device_dialect(SPACED)
    for dialect in (plain, spaced):
        assert dialect.cast(i32, f16, "x") == "tile_f16_to_f32(tile_f32_to_f16((float)x))"
        assert dialect.cast(i64, f16, "x") == "tile_f16_to_f32(tile_f32_to_f16((float)x))"
    assert plain.cast(i32, bf16, "x") == "tile_bf16_to_f32(tile_f64_to_bf16((double)x))"


def test_lanes_are_computed_by_lambdas_or_by_what_the_language_has():
    x4 = f32.with_lanes(4)
    plain = device_dialect(WORDS).operator("add", x4, "p", "q")
    assert plain == "tile_map([](auto a, auto b) { return a + b; }, p, q)"
    assert device_dialect(SPACED).operator("add", x4, "p", "q") == "tile_map<[a + b]>(p, q)"
    assert with_lambda("f", "!a", ("x",)) == "f([](auto a) { return !a; }, x)"


def test_a_prelude_gives_what_is_mentioned_after_what_it_needs(tmp_path, monkeypatch):
    (tmp_path / "own_prelude").mkdir()
    folder = tmp_path / "own_prelude"
    (folder / "__init__.py").write_text("")
    (folder / "a.h").write_text(
        "#define TILE_FN static\n\n/* tile_absent is a word of a comment. */\n"
        "TILE_FN int tile_two() { return tile_one() + 1; }\n\n"
        "TILE_FN int tile_one() { return 1; }\n\nTILE_FN int tile_one(int x) { return x; }\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    prelude = Prelude(package="own_prelude", suffix=".h", language="own", more={"tile_x": "int x;"})
    assert prelude.defined_names() == {"TILE_FN", "tile_one", "tile_two", "tile_x"}
    text = prelude.pieces_for(["tile_two"])
    assert text.index("#define") < text.index("tile_one()") < text.index("tile_two()")
    assert text.count("int tile_one(") == 2
    assert "tile_x" not in text
    assert "int x = 2;" in prelude.pieces_for(["tile_x"], {"tile_x": "int x = 2;"})
    with pytest.raises(InternalError, match="the own prelude has no tile_absent"):
        prelude.pieces_for(["tile_absent"])


def test_index_arithmetic_of_the_device_stays_narrow_where_it_may():
    fn, _, exprs = printed()
    s, t = declared(fn)["s"], b.add(Const(1, i32), Const(2, i32))
    assert exprs.offset(s, (t,)) == "3"
    assert dtype("i32") is i32


def test_a_constant_in_every_lane_is_moved_as_bits():
    _, _, exprs = printed()
    assert (
        moved_code(exprs, Broadcast(Const(3, u4), u4.with_lanes(4)))
        == "tile_splat<2>((unsigned char)0x33)"
    )
    half = moved_code(exprs, Broadcast(Const(1.0, f16), f16.with_lanes(8)))
    assert half == "tile_splat<8>((unsigned short)0x3c00)"
    assert moved_code(exprs, Broadcast(Const(1.0, f32), f32.with_lanes(4))) is None


def test_a_language_without_templates_has_names_for_types():
    words = Words(
        call=lambda fn, dtype, args: (f"{fn}({', '.join(args)})", True),
        to_f32="as_float({})",
        to_f64="as_double({})",
        from_f32="as_uint({})",
        from_f64="as_ulong({})",
        abs_f32="fabs({})",
        abs_f64="fabs({})",
        typed="{}_{}",
        limit="clamp({2}, {0}, {1})",
        array_words="",
    )
    made = device_dialect(words)
    assert made.operator("floordiv", i32, "a", "b") == "tile_floordiv_int(a, b)"
    assert made.operator("min", i32, "a", "b") == "tile_imin_int(a, b)"
    assert made.unary("abs", i32, "a") == "tile_iabs_int(a)"
    assert made.cast(f32, i8, "x") == "(signed char)clamp(tile_f32_to_i32(x), -128, 127)"
    assert made.qualifiers == {"local": ""}
