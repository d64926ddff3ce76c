"""Statements and expressions through a dialect that is plain C without vectors."""

import pytest

from tile_ir.diag import InternalError
from tile_ir.ops import For, Parallel, Tiles
from tile_ir.rewrite import bound_vars, declared, walk
from tile_ir.text import parse_function
from tile_passes.emit import Dialect, ExprPrinter, StmtPrinter, Writer
from tile_passes.emit.dialect import INFIX

NAMES = {"f32": "float", "i32": "int32_t", "i64": "int64_t", "i8": "int8_t", "bool": "bool"}


def refused(*args):
    raise AssertionError(args)


PLAIN = Dialect(
    storage=lambda t: NAMES[t.name],
    carrier=lambda t: NAMES[t.name],
    literal=lambda e: f"{e.value}f" if e.dtype.is_float else str(int(e.value)),
    infix=lambda op, t: op in INFIX,
    operator=lambda op, t, a, b: f"{op}({a}, {b})",
    unary=lambda op, t, a: {"neg": "-", "not": "!", "bnot": "~"}.get(op, op) + a,
    normalize=lambda t, x: f"(int8_t)({x})" if t.name == "i8" else x,
    cast=lambda src, dst, x: f"({NAMES[dst.name]}){x}",
    bitcast=refused,
    select=refused,
    call=lambda fn, t, args: f"{fn}({', '.join(args)})",
    read=lambda t, array, at: f"{array}[{at}]",
    write=lambda t, array, at, x: f"{array}[{at}] = {x}",
    ramp=refused,
    broadcast=refused,
    write_converts=lambda src, dst: False,
    array_length=lambda t, n: n,
)


def printed(body, signature="A: global f32[M, N], x: f32, n: i32", dims="dims (M, N)"):
    fn = parse_function(
        f"tile.ir 1.0 tile\nfunc @f({signature}) {dims} {{ kernel @k {{\n"
        f"tiles (b) in (4) {{\n{body}\n}} }} }}"
    )
    tiles = next(s for s in walk(fn.body) if isinstance(s, Tiles))
    loops = {
        v for s in walk(fn.body) if isinstance(s, (Tiles, For, Parallel)) for v in bound_vars(s)
    }
    variables = {v.name for s in walk(fn.body) for v in bound_vars(s)}
    names = {*variables, *declared(fn), *(p.name for p in fn.params), *(d.name for d in fn.dims)}
    exprs = ExprPrinter(PLAIN, declared(fn), {n: n for n in names}, {*fn.dims, *loops})
    out = Writer()
    StmtPrinter(exprs, out).body(tiles.body)
    return "\n".join(line for line in out.text().splitlines() if "//" not in line)


@pytest.mark.parametrize(
    ("e", "text"),
    [
        ("x * (x + 1.0)", "x * (x + 1.0f)"),
        ("x * x + 1.0", "x * x + 1.0f"),
        ("x - (x - x)", "x - (x - x)"),
        ("x - x - x", "x - x - x"),
        ("-(x + x)", "-(x + x)"),
        ("max(x, 2.0) / x", "max(x, 2.0f) / x"),
        ("select(x < 1.0 and n > 2, x, -x)", "x < 1.0f && n > 2 ? x : -x"),
        ("exp(x) + f32(n)", "exp(x) + (float)n"),
        ("f32((n ^ 3) & (n << 2))", "(float)((n ^ 3) & (n << 2))"),
        ("A[b, n]", "A[b * N + (int64_t)n]"),
        ("A[n * 2, b + 1]", "A[(int64_t)n * 2 * N + (b + 1)]"),
        ("f32(i8(n) + 1:i8)", "(float)(int8_t)((int8_t)n + 1)"),
        ("f32(b * n)", "(float)((int32_t)b * n)"),
        ("f32(b * M < N)", "(float)(b * M < N)"),
        ("f32(n * M < N)", "(float)((n * (int32_t)M) < (int32_t)N)"),
    ],
)
def test_an_expression(e, text):
    assert printed(f"let y: f32 = {e}") == f"const float y = {text};"


def test_a_loop_a_branch_and_scalars():
    body = """
    alloc s: var f32[]
    store s[] = 0.0
    alloc t: local f32[2, 3]
    for i in (0, M - 1, 2) serial {
      if i < 3 { store s[] = s[] + A[i, 0] } else { break }
    }
    for j in (8, 0, -1) serial { store t[1, 2] = s[] }
    while s[] > 1.0 { store s[] = s[] * 0.5 }
    """
    assert (
        printed(body)
        == """\
float s = 0.0f;
float t[6];
for (int64_t i = 0; i < M - 1; i += 2) {
  if (i < 3) {
    s = s + A[i * N];
  } else {
    break;
  }
}
for (int64_t j = 8; j > 0; j--) {
  t[5] = s;
}
while (s > 1.0f) {
  s = s * 0.5f;
}"""
    )


def test_a_scalar_that_its_first_value_reads_is_declared_apart():
    body = "alloc s: var f32[]\nstore s[] = s[] + x"
    assert printed(body) == "float s;\ns = s + x;"


def test_strides_are_those_of_the_buffer():
    signature = "A: global f32[4, 8] strides (s, 2), x: f32, n: i32"
    assert printed("store A[b, n] = x", signature, "dims (s)") == "A[b * s + (int64_t)n * 2] = x;"


def test_an_op_without_a_rule_is_our_defect():
    with pytest.raises(InternalError, match="`fill` reached the emitter"):
        printed("fill A[0, 0], 1.0")
