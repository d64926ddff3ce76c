"""What products of a few shapes and types become, and that they stay exact: narrow results, narrow
floats, column sums of wide tiles, blocks fetched ahead, blocks that may not be there, operands that
are read where they lie."""

import numpy as np
import pytest

from tile_cpu import spec
from tile_cpu.ahead import blocks_ahead
from tile_cpu.driver import build, compile_function
from tile_cpu.packing import packed_operands
from tile_cpu.plan.plan_atoms import operand_types
from tile_ir.interp import run
from tile_ir.ops import Copy
from tile_ir.rewrite import declared, walk
from tile_ir.testing.compare import assert_close
from tile_ir.testing.host_memory import call_on_host
from tile_ir.testing.random import random_inputs
from tile_ir.text import parse_function
from tile_ir.types import bf16, dtype, f32

ZNVER4 = spec.load("znver4")


def product(m, n, k, kind="f32", acc="f32"):
    """C[M, N] = A[M, K] @ B[N, K].T in tiles of m x n, along K in blocks of k."""
    return parse_function(f"""tile.ir 1.0 tile
func @f(A: global {kind}[M, K], B: global {kind}[N, K], C: global {acc}[M, N])
    dims (M, N, K) {{
  kernel @f {{ tiles (bx, by) in (ceildiv(N, {n}), ceildiv(M, {m})) {{
    alloc A_s: shared {kind}[{m}, {k}]
    alloc B_s: shared {kind}[{n}, {k}]
    alloc C_l: fragment {acc}[{m}, {n}]
    fill C_l[:, :], {acc}(0)
    for k in (0, ceildiv(K, {k}), 1) serial {{
      copy A[by * {m} : +{m}, k * {k} : +{k}] -> A_s[:, :] clip
      copy B[bx * {n} : +{n}, k * {k} : +{k}] -> B_s[:, :] clip
      gemm A_s[:, :], B_s[:, :] -> C_l[:, :] transpose_b
    }}
    copy C_l[:, :] -> C[by * {m} : +{m}, bx * {n} : +{n}] clip
  }} }} }}""")


def agrees(fn, dims, pins=None):
    compiled = compile_function(fn, ZNVER4, pins)
    launch = build(compiled, ZNVER4, 2)
    for seed, (m, n, k) in enumerate(dims):
        given = random_inputs(fn, seed, {"M": m, "N": n, "K": k})
        want = run(fn, given)["C"]
        assert_close(call_on_host(launch, fn, given)["C"], want, what=f"{m}x{n}x{k}")
    return compiled


def atom_of(compiled):
    return next(d.value for d in compiled.plan if d.key.endswith(".atom"))


@pytest.mark.parametrize(
    ("kind", "n", "atom"),
    [
        ("f32", 16, "narrow_f32"),
        ("f32", 32, "outer_f32"),
        ("f32", 48, "narrow_f32"),
        ("f16", 8, "narrow_f16"),
        ("bf16", 16, "dot_narrow_bf16"),
        ("bf16", 64, "dot_bf16"),
    ],
)
def test_results_of_few_columns_have_a_kernel_of_one_vector(kind, n, atom):
    compiled = agrees(product(64, n, 32, kind), [(70, 19, 40), (64, 16, 64)])
    assert atom_of(compiled) == atom


def test_column_sums_of_more_panels_than_are_kept_at_once():
    compiled = agrees(product(16, 544, 64, "i8", "i32"), [(33, 560, 70), (16, 1100, 64)])
    assert atom_of(compiled) == "dot_i8_i8"


@pytest.mark.parametrize(
    ("a", "b", "through"),
    [
        ("f8e4m3fn", "f8e5m2", bf16),
        ("f4e2m1fn", "bf16", bf16),
        ("f8e8m0fnu", "f8e4m3fn", f32),  # its least number is subnormal in bf16
        ("f16", "f8e4m3fn", f32),
        ("tf32", "bf16", f32),
    ],
)
def test_narrow_floats_are_multiplied_as_pairs_that_hold_them(a, b, through):
    found = list(operand_types(dtype(a), dtype(b), f32))
    assert found[0] == (dtype(a), dtype(b))
    assert found[1] == (through, through)


@pytest.mark.parametrize("kind", ["bf16", "i8"])
def test_the_block_that_follows_is_fetched_meanwhile(kind):
    fn = product(16, 32, 64, kind, "i32" if kind == "i8" else "f32")
    compiled = agrees(fn, [(40, 40, 200), (16, 32, 64), (5, 3, 7)], {"f.k.merge": 1})
    body = compiled.lowered.body
    packed = packed_operands(body, ZNVER4)
    (found,) = blocks_ahead(body, packed, declared(compiled.lowered)).values()
    assert [str(e) for e in found.next] == ["by * 16", "(k + 1) * 64"]
    assert found.restart is not None
    assert [str(e) for e in found.restart] == ["(by + 1) * 16", "0 * 64"]
    assert "_ahead_tile(" in compiled.source


def test_rows_that_are_widened_are_not_fetched_ahead():
    compiled = agrees(product(16, 32, 64, "f8e4m3fn"), [(16, 40, 64), (20, 33, 130)])
    assert atom_of(compiled) == "dot_bf16"
    assert "_ahead" not in compiled.source


GROUPS = """tile.ir 1.0 tile
func @f(A: global f32[3, 20, 24], B: global f32[4, 24, 40], G: global i32[3],
        C: global f32[3, 20, 40]) {
  kernel @f { tiles (g) in (3) {
    alloc A_s: shared f32[20, 24]
    alloc B_s: shared f32[24, 40]
    alloc C_l: fragment f32[20, 40]
    copy A[g, 0 : +20, 0 : +24] -> A_s[:, :]
    copy B[G[g], 0 : +24, 0 : +40] -> B_s[:, :] clip
    gemm A_s[:, :], B_s[:, :] -> C_l[:, :] init = true
    copy C_l[:, :] -> C[g, 0 : +20, 0 : +40]
  } } }"""


def test_a_block_that_may_not_be_there_is_packed_once():
    fn = parse_function(GROUPS)
    compiled = compile_function(fn, ZNVER4)
    copies = [s for s in walk(compiled.lowered.body) if isinstance(s, Copy)]
    assert [(s.src.buffer, s.dst.buffer) for s in copies] == [("B", "B_s")]
    given = random_inputs(fn, 0) | {"G": np.array([3, -1, 4], np.int32)}
    got = call_on_host(build(compiled, ZNVER4), fn, given)["C"]
    assert_close(got, run(fn, given)["C"])
    assert_close(got[0], given["A"][0] @ given["B"][3], rtol=1e-5)
    assert not got[1:].any()


def computed(width):
    return parse_function(f"""tile.ir 1.0 tile
func @f(A: global bf16[16, {width}], B: global bf16[{width}, 32], C: global f32[16, 32]) {{
  kernel @f {{ tiles (b) in (1) {{
    alloc A_s: shared bf16[16, {width}]
    alloc B_s: shared bf16[{width}, 32]
    alloc C_l: fragment f32[16, 32]
    parallel (i, j) in (16, {width}) {{ store A_s[i, j] = bf16(f32(A[i, j]) * 0.5) }}
    copy B[:, :] -> B_s[:, :]
    gemm A_s[:, :], B_s[:, :] -> C_l[:, :] init = true
    copy C_l[:, :] -> C[:, :]
  }} }} }}""")


@pytest.mark.parametrize(
    ("width", "in_place"),
    [(64, True), (63, False), (512, False)],  # half a pair at the end; rows in one cache set
)
def test_rows_of_pairs_are_read_where_they_were_computed(width, in_place):
    fn = computed(width)
    compiled = compile_function(fn, ZNVER4)
    copied = [s.src.buffer for s in walk(compiled.lowered.body) if isinstance(s, Copy)]
    assert ("A_s" in copied) is not in_place
    given = random_inputs(fn, 0)
    got = call_on_host(build(compiled, ZNVER4), fn, given)["C"]
    assert_close(got, run(fn, given)["C"])


def in_one_go(kind, acc, last):
    """C[M, N] = A[M, 64] @ B[N, 64].T in one step along K, then the statement `last`."""
    return parse_function(f"""tile.ir 1.0 tile
func @f(A: global {kind}[M, 64], B: global {kind}[N, 64], C: global {acc}[M, N])
    dims (M, N) {{
  kernel @f {{ tiles (bx, by) in (ceildiv(N, 48), ceildiv(M, 32)) {{
    alloc A_s: shared {kind}[32, 64]
    alloc B_s: shared {kind}[48, 64]
    alloc C_l: fragment {acc}[32, 48]
    for k in (0, 1, 1) serial {{
      copy A[by * 32 : +32, k * 64 : +64] -> A_s[:, :] clip
      copy B[bx * 48 : +48, k * 64 : +64] -> B_s[:, :] clip
      gemm A_s[:, :], B_s[:, :] -> C_l[:, :] transpose_b, init = k == 0
    }}
    {last}
  }} }} }}""")


WHOLE = "copy C_l[:, :] -> C[by * 32 : +32, bx * 48 : +48] clip"


def source_of(fn, dims):
    """The C of a product, which agrees with the interpreter for these sizes."""
    compiled = compile_function(fn, ZNVER4)
    launch = build(compiled, ZNVER4, 2)
    for seed, (m, n) in enumerate(dims):
        given = random_inputs(fn, seed, {"M": m, "N": n})
        assert_close(call_on_host(launch, fn, given)["C"], run(fn, given)["C"], what=f"{m}x{n}")
    return compiled.source


@pytest.mark.parametrize(("kind", "acc"), [("f32", "f32"), ("bf16", "f32"), ("i8", "i32")])
def test_a_result_that_is_only_copied_out_is_made_in_memory(kind, acc):
    source = source_of(in_one_go(kind, acc, WHOLE), [(70, 100), (32, 48), (1, 7)])
    assert "C_l" not in source


@pytest.mark.parametrize(
    "last",
    [
        "copy C_l[:, 0 : +24] -> C[by * 32 : +32, bx * 48 : +24] clip",
        f"store C_l[0, 0] = 2.0 * C_l[0, 0]\n    {WHOLE}",
        f"{WHOLE}\n    copy C_l[0 : +8, :] -> C[by * 32 + 8 : +8, bx * 48 : +48] clip",
    ],
)
def test_other_uses_keep_the_tile_of_a_result(last):
    fn = in_one_go("f32", "f32", last)
    compiled = compile_function(fn, ZNVER4)
    launch = build(compiled, ZNVER4, 2)
    given = random_inputs(fn, 0, {"M": 32, "N": 48})
    assert_close(call_on_host(launch, fn, given)["C"], run(fn, given)["C"])
    assert "C_l" in compiled.source


def test_a_result_of_several_steps_keeps_its_tile():
    assert "C_l" in agrees(product(32, 48, 64), [(70, 100, 130)]).source


def test_a_block_that_products_read_in_two_ways_is_packed_from_memory():
    fn = parse_function("""tile.ir 1.0 tile
func @f(Q: global bf16[M, 64], KV: global bf16[N, 64], C: global f32[M, 64]) dims (M, N) {
  kernel @f { tiles (by) in (ceildiv(M, 32)) {
    alloc Q_s: shared bf16[32, 64]
    alloc KV_s: shared bf16[48, 64]
    alloc score: fragment f32[32, 48]
    alloc weight: shared bf16[32, 48]
    alloc C_l: fragment f32[32, 64]
    copy Q[by * 32 : +32, 0 : +64] -> Q_s[:, :] clip
    fill C_l[:, :], f32(0)
    for n in (0, ceildiv(N, 48), 1) serial {
      copy KV[n * 48 : +48, 0 : +64] -> KV_s[:, :] clip
      gemm Q_s[:, :], KV_s[:, :] -> score[:, :] transpose_b, init = true
      copy score[:, :] -> weight[:, :]
      gemm weight[:, :], KV_s[:, :] -> C_l[:, :]
    }
    copy C_l[:, :] -> C[by * 32 : +32, 0 : +64] clip
  } } }""")
    source = source_of(fn, [(32, 48), (40, 100), (3, 5)])
    packed = [line for line in source.splitlines() if "&KV[" in line]
    assert [line.split("(")[0].strip() for line in packed] == [
        "tile_pack_panels_t_bf16_pairx16",
        "tile_pack_panels_bf16_pairx16",
    ]
    assert not any("KV_s[" in line for line in source.splitlines())
