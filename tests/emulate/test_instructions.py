"""Single instructions against numpy, on random registers."""

import numpy as np
import pytest

HEAD = ".version 8.0\n.target sm_90a\n.address_size 64\n"
WIDTH = {"u8": 1, "s8": 1, "b16": 2, "u16": 2, "s16": 2, "f16": 2, "bf16": 2, "b32": 4, "u32": 4,
         "s32": 4, "f32": 4, "f16x2": 4, "b64": 8, "u64": 8, "s64": 8, "f64": 8}  # fmt: skip
ARRAY = {"u16": np.uint16, "s16": np.int16, "u32": np.uint32, "s32": np.int32, "b32": np.uint32,
         "u64": np.uint64, "s64": np.int64, "b64": np.uint64, "f32": np.float32, "b16": np.uint16,
         "f64": np.float64, "f16": np.float16}  # fmt: skip
LANES = 32


def program(opcode, result, operands):
    """One instruction on operands from memory; `operands` are types, or text for constants."""
    lines, names = [], []
    for i, kind in enumerate(operands):
        if kind not in WIDTH:
            names.append(kind)
            continue
        lines.append(f".reg .b{8 * WIDTH[kind]} %a{i};")
        lines.append(f"ld.param.u64 %rd1, [p{i + 1}];")
        lines.append(f"mad.wide.u32 %rd2, %r1, {WIDTH[kind]}, %rd1;")
        lines.append(f"ld.global.b{8 * WIDTH[kind]} %a{i}, [%rd2];")
        names.append(f"%a{i}")
    params = ", ".join(f".param .u64 p{i}" for i in range(len(operands) + 1))
    body = "\n".join(lines)
    return f"""{HEAD}.visible .entry k({params})
{{
.reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .pred %p<4>; .reg .b{8 * WIDTH[result]} %d;
mov.u32 %r1, %tid.x;
{body}
{opcode.format(d="%d", **{f"a{i}": n for i, n in enumerate(names)})}
ld.param.u64 %rd1, [p0];
mad.wide.u32 %rd2, %r1, {WIDTH[result]}, %rd1;
st.global.b{8 * WIDTH[result]} [%rd2], %d;
ret;
}}
"""


def numbers(kind, seed):
    rng = np.random.default_rng(seed)
    dtype = np.dtype(ARRAY[kind])
    if dtype.kind == "f":
        values = rng.standard_normal(LANES).astype(dtype)
        values[:4] = [0.0, -0.0, 1.0, -3.5]
        return values
    raw = rng.integers(0, 256, LANES * dtype.itemsize, dtype=np.uint8).view(dtype)
    raw[:3] = [0, 1, np.iinfo(dtype).max]
    return raw


def small(kind, high, seed=5):
    return np.random.default_rng(seed).integers(0, high, LANES).astype(ARRAY[kind])


def wide(x):
    return x.astype(object)


def wrapped(values, dtype):
    bits = 8 * np.dtype(dtype).itemsize
    return np.array([int(v) & ((1 << bits) - 1) for v in values], f"u{bits // 8}").view(dtype)


def quotient(a, b):
    return [0 if y == 0 else int(abs(int(x)) // abs(int(y))) * (1 if (x < 0) == (y < 0) else -1)
            for x, y in zip(a, b, strict=True)]  # fmt: skip


INTEGERS = {
    "add": lambda a, b: wide(a) + wide(b),
    "sub": lambda a, b: wide(a) - wide(b),
    "mul.lo": lambda a, b: wide(a) * wide(b),
    "min": np.minimum,
    "max": np.maximum,
}


@pytest.mark.parametrize("kind", ["u16", "s16", "u32", "s32", "u64", "s64"])
@pytest.mark.parametrize("name", sorted(INTEGERS))
def test_integers(from_ptx, name, kind):
    a, b = numbers(kind, 1), numbers(kind, 2)
    out = np.zeros_like(a)
    ptx = program(f"{name}.{kind} {{d}}, {{a0}}, {{a1}};", kind, [kind, kind])
    from_ptx(ptx, "k", 3)(out, a, b)
    assert np.array_equal(out, wrapped(INTEGERS[name](a, b), a.dtype))


@pytest.mark.parametrize("kind", ["u32", "s32", "s64"])
def test_quotients_and_rests(from_ptx, kind):
    a, b = numbers(kind, 1), numbers(kind, 2) // 1000 + 1
    b[b == 0] = 7
    out = np.zeros_like(a)
    want = quotient(a, b)
    from_ptx(program(f"div.{kind} {{d}}, {{a0}}, {{a1}};", kind, [kind, kind]), "k", 3)(out, a, b)
    assert out.tolist() == want
    from_ptx(program(f"rem.{kind} {{d}}, {{a0}}, {{a1}};", kind, [kind, kind]), "k", 3)(out, a, b)
    assert out.tolist() == [int(x) - q * int(y) for x, y, q in zip(a, b, want, strict=True)]


@pytest.mark.parametrize("kind", ["u32", "s32"])
def test_wide_and_high_products(from_ptx, kind):
    a, b = numbers(kind, 1), numbers(kind, 2)
    exact = wide(a) * wide(b)
    out = np.zeros(LANES, ARRAY[kind[0] + "64"])
    ptx = program(f"mul.wide.{kind} {{d}}, {{a0}}, {{a1}};", kind[0] + "64", [kind, kind])
    from_ptx(ptx, "k", 3)(out, a, b)
    assert np.array_equal(out, wrapped(exact, out.dtype))
    high = np.zeros_like(a)
    from_ptx(program(f"mul.hi.{kind} {{d}}, {{a0}}, {{a1}};", kind, [kind, kind]), "k", 3)(
        high, a, b
    )
    assert np.array_equal(high, wrapped(exact // (1 << 32), a.dtype))


@pytest.mark.parametrize("kind", ["b32", "b64"])
def test_shifts_beyond_the_width(from_ptx, kind):
    a, n = numbers(kind, 3), small("u32", 100)
    bits = 8 * WIDTH[kind]
    out = np.zeros_like(a)
    from_ptx(program(f"shl.{kind} {{d}}, {{a0}}, {{a1}};", kind, [kind, "u32"]), "k", 3)(out, a, n)
    assert np.array_equal(
        out,
        wrapped([0 if s >= bits else int(x) << int(s) for x, s in zip(a, n, strict=True)], a.dtype),
    )
    signed = a.view(ARRAY["s" + kind[1:]])
    ptx = program(f"shr.s{kind[1:]} {{d}}, {{a0}}, {{a1}};", kind, [kind, "u32"])
    from_ptx(ptx, "k", 3)(out, a, n)
    want = [int(x) >> min(int(s), bits - 1) for x, s in zip(signed, n, strict=True)]
    assert np.array_equal(out, wrapped(want, a.dtype))


def test_fields_and_bytes(from_ptx):
    a, b = numbers("b32", 1), numbers("b32", 2)
    out = np.zeros_like(a)
    ptx = program("bfi.b32 {d}, {a0}, {a1}, 4, 9;", "b32", ["b32", "b32"])
    from_ptx(ptx, "k", 3)(out, a, b)
    mask = np.uint32(0x1FF << 4)
    assert np.array_equal(out, (b & ~mask) | (a << np.uint32(4) & mask))
    from_ptx(program("bfe.s32 {d}, {a0}, 3, 7;", "b32", ["b32"]), "k", 2)(out, a)
    assert np.array_equal(out.view(np.int32), a.view(np.int32) << 22 >> 25)
    from_ptx(program("prmt.b32 {d}, {a0}, {a1}, 0x5140;", "b32", ["b32", "b32"]), "k", 3)(out, a, b)
    x, y = a.view(np.uint8).reshape(-1, 4), b.view(np.uint8).reshape(-1, 4)
    assert np.array_equal(
        out.view(np.uint8).reshape(-1, 4), np.stack([x[:, 0], y[:, 0], x[:, 1], y[:, 1]], 1)
    )
    from_ptx(program("lop3.b32 {d}, {a0}, {a1}, 0x0f0f0f0f, 0x78;", "b32", ["b32", "b32"]), "k", 3)(
        out, a, b
    )
    assert np.array_equal(out, a ^ (b & np.uint32(0x0F0F0F0F)))
    from_ptx(program("popc.b32 {d}, {a0};", "b32", ["b32"]), "k", 2)(out, a)
    assert out.tolist() == [bin(int(x)).count("1") for x in a]
    from_ptx(program("clz.b32 {d}, {a0};", "b32", ["b32"]), "k", 2)(out, a)
    assert out.tolist() == [32 - int(x).bit_length() for x in a]


FLOATS = {
    "add.f32 {d}, {a0}, {a1};": ("f32", lambda a, b: a + b),
    "mul.f32 {d}, {a0}, {a1};": ("f32", lambda a, b: a * b),
    "div.rn.f32 {d}, {a0}, {a1};": ("f32", lambda a, b: a / b),
    "add.f64 {d}, {a0}, {a1};": ("f64", lambda a, b: a + b),
    "fma.rn.f64 {d}, {a0}, {a1}, 0d0000000000000000;": ("f64", lambda a, b: a * b),
    "max.f32 {d}, {a0}, {a1};": ("f32", np.fmax),
    "min.f32 {d}, {a0}, {a1};": ("f32", np.fmin),
    "copysign.f32 {d}, {a0}, {a1};": ("f32", lambda a, b: np.copysign(b, a)),
    "add.f16 {d}, {a0}, {a1};": ("f16", lambda a, b: a + b),
    "mul.f16 {d}, {a0}, {a1};": ("f16", lambda a, b: a * b),
    "fma.rn.f16 {d}, {a0}, {a1}, {a1};": (
        "f16",
        lambda a, b: (a.astype("f8") * b + b).astype("f2"),
    ),
}


@pytest.mark.parametrize("opcode", sorted(FLOATS))
def test_floats(from_ptx, opcode):
    kind, want = FLOATS[opcode]
    a, b = numbers(kind, 1), numbers(kind, 2)
    b[:2] = 1  # no division by zero
    out = np.zeros_like(a)
    from_ptx(program(opcode, kind, [kind, kind]), "k", 3)(out, a, b)
    assert np.array_equal(out, want(a, b))


def test_nan_is_kept_or_dropped(from_ptx):
    a = np.array([np.nan, 1, np.nan, -2] * 8, np.float32)
    b = np.array([1, np.nan, np.nan, 3] * 8, np.float32)
    out = np.zeros_like(a)
    from_ptx(program("max.f32 {d}, {a0}, {a1};", "f32", ["f32", "f32"]), "k", 3)(out, a, b)
    assert np.array_equal(out, np.fmax(a, b), equal_nan=True)
    from_ptx(program("max.NaN.f32 {d}, {a0}, {a1};", "f32", ["f32", "f32"]), "k", 3)(out, a, b)
    assert np.array_equal(out, np.maximum(a, b), equal_nan=True)


@pytest.mark.parametrize("name", ["ex2", "lg2", "sin", "cos", "rcp", "rsqrt", "sqrt", "tanh"])
def test_functions_of_the_unit(from_ptx, name):
    a = np.random.default_rng(4).uniform(0.1, 8, LANES).astype(np.float32)
    functions = {"ex2": np.exp2, "lg2": np.log2, "rcp": lambda x: 1 / x, "rsqrt": lambda x: x**-0.5}
    out = np.zeros_like(a)
    from_ptx(program(f"{name}.approx.f32 {{d}}, {{a0}};", "f32", ["f32"]), "k", 2)(out, a)
    want = functions.get(name, getattr(np, name, None))(a.astype(np.float64))
    assert np.allclose(out, want, rtol=1e-6, atol=1e-7)


def test_conversions(from_ptx):
    a = np.array(
        [0.5, 1.5, 2.5, -0.5, -1.5, 3e9, -3e9, np.nan, 1e30, 7.9, -7.9, 0] * 3, np.float32
    )[:LANES]
    out = np.zeros(LANES, np.int32)
    with np.errstate(invalid="ignore"):
        for mode, rounded in (
            ("rni", np.rint(a)),
            ("rzi", np.trunc(a)),
            ("rmi", np.floor(a)),
            ("rpi", np.ceil(a)),
        ):
            from_ptx(program(f"cvt.{mode}.s32.f32 {{d}}, {{a0}};", "s32", ["f32"]), "k", 2)(out, a)
            want = np.clip(np.nan_to_num(rounded.astype(np.float64)), -(2**31), 2**31 - 1)
            assert np.array_equal(out, want.astype(np.int64).astype(np.int32))
    half = np.zeros(LANES, np.float16)
    b = np.concatenate([numbers("f32", 7)[:16] * 1e-7, numbers("f32", 8)[:16] * 3e4]).astype(
        np.float32
    )
    from_ptx(program("cvt.rn.f16.f32 {d}, {a0};", "f16", ["f32"]), "k", 2)(half, b)
    with np.errstate(over="ignore"):
        assert np.array_equal(half, b.astype(np.float16))
    back = np.zeros(LANES, np.float32)
    from_ptx(program("cvt.f32.f16 {d}, {a0};", "f32", ["f16"]), "k", 2)(back, half)
    assert np.array_equal(back, half.astype(np.float32))
    short = np.zeros(LANES, np.int32)
    c = numbers("b32", 9)
    from_ptx(program("cvt.s32.s8 {d}, {a0};", "s32", ["b32"]), "k", 2)(short, c)
    assert np.array_equal(short, c.astype(np.uint8).view(np.int8).astype(np.int32))


def test_comparisons_and_selection(from_ptx):
    a = np.array([1, np.nan, 3, 2] * 8, np.float32)
    b = np.array([2, 1, np.nan, 2] * 8, np.float32)
    out = np.zeros(LANES, np.uint32)
    for name, want in (
        ("lt", a < b),
        ("ltu", ~(a >= b)),
        ("ne", (a < b) | (a > b)),
        ("neu", a != b),
        ("nan", np.isnan(a + b)),
    ):
        text = f"setp.{name}.f32 %p1, {{a0}}, {{a1}};\nselp.u32 {{d}}, 1, 0, %p1;"
        from_ptx(program(text, "u32", ["f32", "f32"]), "k", 3)(out, a, b)
        assert out.tolist() == want.astype(int).tolist()
    text = "setp.lt.u32 %p2, {a0}, 5;\nsetp.gt.and.u32 %p1|%p3, {a0}, 2, %p2;"
    text += "\nselp.u32 {d}, 1, 0, %p3;"
    n = np.arange(LANES, dtype=np.uint32)
    from_ptx(program(text, "u32", ["u32"]), "k", 2)(out, n)
    assert out.tolist() == ((n <= 2) & (n < 5)).astype(int).tolist()


SHUFFLES = {
    "bfly": (lambda i, b: i ^ b, 0x1F),
    "down": (lambda i, b: np.where(i + b < 32, i + b, i), 0x1F),
    "up": (lambda i, b: np.where(i >= b, i - b, i), 0),
    "idx": (lambda i, b: np.full_like(i, b), 0x1F),
}


@pytest.mark.parametrize("mode", sorted(SHUFFLES))
def test_shuffles(from_ptx, mode):
    a, out = numbers("b32", 1), np.zeros(LANES, np.uint32)
    where, clamp = SHUFFLES[mode]
    ptx = program(f"shfl.sync.{mode}.b32 {{d}}|%p1, {{a0}}, 5, {clamp}, -1;", "b32", ["b32"])
    from_ptx(ptx, "k", 2)(out, a)
    assert np.array_equal(out, a[where(np.arange(32), 5)])


def test_votes_and_reductions(from_ptx):
    a, out = numbers("b32", 1), np.zeros(LANES, np.uint32)
    odd = sum(1 << i for i, x in enumerate(a) if x & 1)
    text = "and.b32 %r2, {a0}, 1;\nsetp.ne.u32 %p1, %r2, 0;\nvote.sync.ballot.b32 {d}, %p1, -1;"
    from_ptx(program(text, "b32", ["b32"]), "k", 2)(out, a)
    assert out.tolist() == [odd] * 32
    from_ptx(program("redux.sync.add.u32 {d}, {a0}, -1;", "b32", ["b32"]), "k", 2)(out, a)
    assert out.tolist() == [sum(map(int, a)) & 0xFFFFFFFF] * 32
    from_ptx(program("match.any.sync.b32 {d}, {a0}, -1;", "b32", ["b32"]), "k", 2)(out, a % 4)
    assert out.tolist() == [
        sum(1 << j for j in range(32) if a[j] % 4 == a[i] % 4) for i in range(32)
    ]


@pytest.mark.parametrize("op", ["add", "min", "max", "and", "or", "xor"])
def test_atomics_on_one_place(from_ptx, op):
    kind = "u32" if op in ("add", "min", "max") else "b32"
    params = ".param .u64 p0, .param .u64 p1"
    ptx = f"""{HEAD}.visible .entry k({params})
{{
.reg .b32 %r<4>; .reg .b64 %rd<4>;
mov.u32 %r1, %tid.x;
ld.param.u64 %rd1, [p1];
mad.wide.u32 %rd2, %r1, 4, %rd1;
ld.global.u32 %r2, [%rd2];
ld.param.u64 %rd3, [p0];
red.global.{op}.{kind} [%rd3], %r2;
ret;
}}
"""
    a, out = numbers("b32", 1), np.full(1, 77, np.uint32)
    from_ptx(ptx, "k", 2, blocks=3)(out, a)
    function = {
        "add": np.add,
        "min": np.minimum,
        "max": np.maximum,
        "and": np.bitwise_and,
        "or": np.bitwise_or,
        "xor": np.bitwise_xor,
    }[op]
    want = function.reduce(np.array([77, *a, *a, *a], np.uint32), dtype=np.uint32)
    assert out[0] == want


def test_fragments_of_shared_tiles(from_ptx):
    """ldmatrix, plain and transposed, and stmatrix, which is its inverse."""
    for trans in (False, True):
        t = ".trans" if trans else ""
        ptx = f"""{HEAD}.extern .shared .align 16 .b8 arena[];
.visible .entry k(.param .u64 p0, .param .u64 p1, .param .u64 p2)
{{
.reg .b32 %r<12>; .reg .b64 %rd<6>;
mov.u32 %r1, %tid.x;
ld.param.u64 %rd1, [p2];
mad.wide.u32 %rd2, %r1, 16, %rd1;
ld.global.v4.b32 {{%r2, %r3, %r4, %r5}}, [%rd2];
mov.u32 %r6, arena;
mad.lo.u32 %r7, %r1, 16, %r6;
st.shared.v4.b32 [%r7], {{%r2, %r3, %r4, %r5}};
bar.warp.sync -1;
ldmatrix.sync.aligned.m8n8.x4{t}.shared.b16 {{%r2, %r3, %r4, %r5}}, [%r7];
ld.param.u64 %rd3, [p0];
mad.wide.u32 %rd4, %r1, 16, %rd3;
st.global.v4.b32 [%rd4], {{%r2, %r3, %r4, %r5}};
bar.warp.sync -1;
stmatrix.sync.aligned.m8n8.x4{t}.shared.b16 [%r7+512], {{%r2, %r3, %r4, %r5}};
bar.warp.sync -1;
ld.shared.v4.b32 {{%r2, %r3, %r4, %r5}}, [%r7+512];
ld.param.u64 %rd3, [p1];
mad.wide.u32 %rd4, %r1, 16, %rd3;
st.global.v4.b32 [%rd4], {{%r2, %r3, %r4, %r5}};
ret;
}}
"""
        tiles = np.random.default_rng(1).integers(0, 1 << 16, (4, 8, 8)).astype(np.uint16)
        out, back = np.zeros((32, 4, 2), np.uint16), np.zeros_like(tiles)
        from_ptx(ptx, "k", 3, shared=1024)(out, back, tiles)
        lane = np.arange(32)
        seen = tiles.transpose(0, 2, 1) if trans else tiles
        for i in (0, 1):
            assert np.array_equal(out[:, :, i], seen[:, lane // 4, lane % 4 * 2 + i].T)
        assert np.array_equal(back, tiles)
