"""Matrix micro-kernels and packing: exact on small integers, at every edge, on every instruction
set here."""

import ctypes
from functools import cache

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tile_cpu import compilers, spec, toolchain
from tile_cpu.codegen_flags import flags_for
from tile_cpu.intrinsics.atoms import atom_lanes, atom_needs, atom_source, pack_names
from tile_cpu.intrinsics.steps import step_of
from tile_cpu.intrinsics.tile_units import TILE_ROWS
from tile_cpu.prelude.index import abi_text, pieces_for
from tile_cpu.prelude.vocabulary import UNIT_GROUPS
from tile_cpu.spec import host
from tile_ir.diag import InternalError

TILES = 8
"""Registers of tiles, where there are any."""
M, N, K = 40, 96, 72
"""Size of the tiles in the harness; tests use parts of them."""

HARNESS = """
TILE_EXPORT void {name}_{a}_{b}(int64_t m, int64_t n, int64_t k, const {at}_t *A, int64_t lda,
    const {bt}_t *B, int64_t ldb, {s}_t *C, int64_t ldc, int32_t accumulate) {{
  static {au}_t A_s[{M} * {LDA}] __attribute__((aligned(64)));
  static {bu}_t B_s[{K} * {N} + 1024] __attribute__((aligned(64)));
  {fill_a};
  {fill_b};
  {opening}
  {name}_{a}_tile(m, n, k, A_s, B_s, {K} / {g} * {NR}, C, ldc, accumulate);
}}
"""
FILL_A = {
    "a": "{pack}(m, k, A, lda, A_s, {LDA}, {M}, {K})",
    "a_t": "{pack}(k, m, A, lda, A_s, {K}, {MA}, {MA})",
}
FILL_B = "{pack}(k, n, B, ldb, B_s, {K}, {NA}, {NR})"

NUMPY = {
    "f64": np.float64,
    "f32": np.float32,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "i8": np.int8,
    "u8": np.uint8,
    "i32": np.int32,
}


def runnable():
    """The descriptions whose code this machine can run."""
    here = host.allowed_features(host.host_features())
    return [a for a in spec.names() if set(spec.load(a).toolchain.host_features) <= here]


FORMS = {"k": "a", "mn": "a_t"}
"""Which axis of A is contiguous -> how the harness is called."""
CASES = [
    (arch, name, FORMS[major])
    for arch in runnable()
    for name, atom in spec.load(arch).matrix.items()
    for major in atom.a.majors
]


def up(size, step):
    return -(-size // step) * step


def atom_text(atom, description, words):
    """The kernels of an atom for the storage orders of A that it takes, and the functions that call
    them."""
    names, step = pack_names(atom, description), step_of(atom, description.features)
    lanes = atom_lanes(atom, description)
    lda, ma = K // step.group + lanes, up(M, lanes)
    steps = {"a": {"a_row": lda, "a_step": 1}, "a_t": {"a_row": 1, "a_step": ma}}
    forms = [FORMS[major] for major in atom.a.majors]
    parts = [atom_source(atom, description, f"{atom.name}_{a}", **steps[a]) for a in forms]
    opening = f"tile_amx_rows({TILE_ROWS});" if step.instruction else ""
    words = dict(
        words, name=atom.name, at=atom.a.dtype, bt=atom.b.dtype, s=step.sum_type, au=step.a_unit,
        bu=step.b_unit, g=step.group, LDA=max(lda, ma), MA=ma, NA=up(N, atom.n), NR=atom.n,
        opening=opening,
    )  # fmt: skip
    for a in forms:
        fill_a = FILL_A[a].format(pack=names[a], **{**words, "LDA": lda})
        for b in ("b", "b_t"):
            fill_b = FILL_B.format(pack=names[b], **words)
            parts.append(HARNESS.format(a=a, b=b, fill_a=fill_a, fill_b=fill_b, **words))
    needs = atom_needs(atom, description) | set(names.values())
    needs |= {f"{t}_t" for t in (atom.a.dtype, atom.b.dtype, step.sum_type)}
    return parts, needs


def whole_source(description):
    """Every atom of a description with its harness, as one C text."""
    parts, needs = [], set()
    for atom in description.matrix.values():
        more, other = atom_text(atom, description, {"M": M + 16, "N": N + 64, "K": K})
        parts += more
        needs |= other
    return "\n".join((abi_text(), pieces_for(needs), *parts))


@pytest.fixture(scope="module")
def kernels(build_c):
    """Library of an architecture, built when first needed."""

    @cache
    def of(arch):
        description = spec.load(arch)
        flags = flags_for(description, toolchain.find_toolchain(), optimize=1)
        return build_c(whole_source(description), *flags)

    return of


def data(rng, dtype, shape):
    """Small integers: all products and sums are exact in every type here."""
    low = 0 if dtype == "u8" else -8
    return rng.integers(low, 9, shape).astype(NUMPY[dtype])


def pointer(x):
    return ctypes.c_void_p(x.ctypes.data)


def product(library, atom, a_form, b_form, m, n, k, accumulate, seed):
    """Run one product; return what C became and what it should be, margins included."""
    rng = np.random.default_rng(seed)
    a, b = data(rng, atom.a.dtype, (m, k)), data(rng, atom.b.dtype, (k, n))
    margin = 3
    c = data(rng, atom.accumulator.dtype, (m + margin, n + margin))
    want = c.copy()
    exact = np.int64 if atom.accumulator.dtype == "i32" else np.float64
    added = a.astype(exact) @ b.astype(exact)
    want[:m, :n] = (want[:m, :n] if accumulate else 0) + added
    stored_a = np.ascontiguousarray(a if a_form == "a" else a.T)
    stored_b = np.ascontiguousarray(b if b_form == "b" else b.T)
    run = getattr(library, f"{atom.name}_{a_form}_{b_form}")
    sizes = [ctypes.c_int64(v) for v in (m, n, k)]
    run(
        *sizes, pointer(stored_a), ctypes.c_int64(stored_a.shape[1]), pointer(stored_b),
        ctypes.c_int64(stored_b.shape[1]), pointer(c), ctypes.c_int64(n + margin),
        ctypes.c_int32(accumulate),
    )  # fmt: skip
    return c, want


EDGES = [(1, 1, 1), (M, N, K), (14, 32, 64), (13, 31, 63), (15, 33, 3), (29, 47, 2), (7, 96, 71)]


@pytest.mark.parametrize(("arch", "name", "a_form"), CASES)
@pytest.mark.parametrize("b_form", ["b", "b_t"])
def test_products_are_exact_at_every_edge(kernels, arch, name, a_form, b_form):
    atom, library = spec.load(arch).matrix[name], kernels(arch)
    for seed, (m, n, k) in enumerate(EDGES):
        for accumulate in (0, 1):
            got, want = product(library, atom, a_form, b_form, m, n, k, accumulate, seed)
            np.testing.assert_array_equal(got, want, err_msg=f"{m}x{n}x{k} {accumulate}")


@settings(max_examples=60)
@given(
    st.sampled_from(CASES),
    st.sampled_from(["b", "b_t"]),
    st.integers(1, M),
    st.integers(1, N),
    st.integers(1, K),
    st.booleans(),
)
def test_products_of_any_size_are_exact(kernels, case, b_form, m, n, k, accumulate):
    arch, name, a_form = case
    atom = spec.load(arch).matrix[name]
    got, want = product(kernels(arch), atom, a_form, b_form, m, n, k, int(accumulate), m * n + k)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("arch", spec.names())
def test_accumulators_and_operands_fit_the_registers(arch):
    description = spec.load(arch)
    for atom in description.matrix.values():
        lanes = atom_lanes(atom, description)
        assert atom.n % lanes == 0
        vectors, step = atom.n // lanes, step_of(atom, description.features)
        if step.instruction:
            down, across = atom.m // TILE_ROWS, atom.n // TILE_ROWS
            assert down * across + down + across <= TILES, atom.name
            assert UNIT_GROUPS[step.a_unit] * TILE_ROWS == atom.k
            continue
        product_room = 1 if step.a_unit == "words" else 0
        needed = atom.m * vectors + vectors + 1 + product_room
        assert needed <= description.vector_unit.registers, atom.name
        assert UNIT_GROUPS[step.a_unit] == atom.k


def test_the_fastest_atom_of_each_pair_of_types_is_the_expected_one():
    fastest = {
        arch: [
            spec.load(arch).atoms(a, b, c)[0].name
            for a, b, c in (("f32", "f32", "f32"), ("bf16", "bf16", "f32"), ("i8", "i8", "i32"))
        ]
        for arch in ("x86-64-v3", "znver4", "sapphirerapids", "aarch64", "apple-m1")
    }
    assert fastest == {
        "x86-64-v3": ["outer_f32", "outer_bf16", "pairs_i8_i8"],
        "znver4": ["outer_f32", "dot_bf16", "dot_i8_i8"],
        "sapphirerapids": ["outer_f32", "tiles_bf16", "tiles_i8_i8"],
        "aarch64": ["outer_f32", "outer_bf16", "outer_i8_i8"],
        "apple-m1": ["outer_f32", "outer_bf16", "dot_i8_i8"],
    }


def test_packing_functions_are_named_by_source_and_unit():
    znver4 = spec.load("znver4")
    assert pack_names(znver4.matrix["dot_i8_i8"], znver4) == {
        "a": "tile_pack_rows_i8_squadx16",
        "a_t": "tile_pack_panels_i8_squadx16",
        "b": "tile_pack_panels_i8_quadx16",
        "b_t": "tile_pack_panels_t_i8_quadx16",
    }


def test_an_atom_without_a_kernel_is_refused():
    v3, znver4 = spec.load("x86-64-v3"), spec.load("znver4")
    apple = spec.load("apple-m1")
    with pytest.raises(InternalError, match="no micro-kernel"):
        step_of(apple.matrix["dot_u8_u8"], v3.features)
    assert step_of(znver4.matrix["dot_i8_i8"], znver4.features).bias


def test_a_kernel_text_names_its_rows_and_offsets():
    v3 = spec.load("x86-64-v3")
    text = atom_source(v3.matrix["outer_f32"], v3, "mma", a_row=72, a_step=1)
    assert "static void mma_tile(" in text
    assert "x = tile_splat_f32x8(a[360]); c5_0 = c5_0 + x * b0; c5_1 = c5_1 + x * b1;" in text
    assert [f"mma_rows{r}(" in text for r in (1, 2, 3, 4, 6, 8)] == [
        True, True, False, True, True, False,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arch", "triple"),
    [("aarch64", "aarch64-linux-gnu"), ("neoverse-v1", "aarch64-linux-gnu"),
     ("apple-m1", "aarch64-macos"), ("znver5", "x86_64-linux-gnu"),
     ("sapphirerapids", "x86_64-linux-gnu")],
)  # fmt: skip
def test_other_machines_compilers_accept_every_kernel(arch, triple, tmp_path):
    if compilers.zig_path() is None:
        pytest.skip("the wheel that cross compiles (ziglang) is an optional extra")
    description = spec.load(arch)
    built = toolchain.cross_compile(
        whole_source(description), tmp_path / "a.so", triple, description.toolchain.cpu, ("-O1",)
    )
    assert built.path.stat().st_size > 1000
