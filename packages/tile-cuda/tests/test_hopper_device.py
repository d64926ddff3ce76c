"""On a Hopper GPU: bulk copies with every swizzle, asynchronous matrix instructions of every type,
major axis and swizzle, and whole matrix products with roles, written by hand in one thread's
terms.

Run with `pytest -m gpu`.
"""

import itertools
from pathlib import Path

import numpy as np
import pytest

from tile_cuda import spec
from tile_cuda.driver import CudaRuntime, CudaToolchain, emit
from tile_cuda.host_arch import host_arch
from tile_ir.diag import TileError
from tile_ir.layout import parse_layout
from tile_ir.numerics.array import to_numpy_dtype
from tile_ir.testing.requires import requires
from tile_ir.text import parse_function, parse_module
from tile_ir.types import dtype
from tile_ir.verify import verify

pytestmark = pytest.mark.gpu
ARCH = "sm_90a"
PROGRAMS = Path(__file__).parent / "programs"
SWIZZLES = {128: "swizzle<3,4,3>", 64: "swizzle<2,4,3>", 32: "swizzle<1,4,3>", 16: ""}


@pytest.fixture(scope="module")
def cupy():
    requires("a Hopper GPU", lambda: host_arch() == ARCH)
    return pytest.importorskip("cupy")


@pytest.fixture
def build(cupy, tmp_path):
    """Compile and load a function of stage simt."""

    def make(fn):
        assert [d.render() for d in verify(fn)] == []
        target = spec.load(ARCH)
        made = emit(fn, target)
        path = tmp_path / f"{made.entry}.zip"
        CudaToolchain(target).compile(made, path)
        return CudaRuntime(target).load(made, path)

    return make


def simt(text):
    return parse_function(text.replace(") {", ") stage simt {", 1))


def on_device(cupy, array):
    """A copy of an array's bytes in device memory (CuPy lacks the narrow types)."""
    memory = cupy.cuda.alloc(max(array.nbytes, 1))
    host = np.ascontiguousarray(array)
    memory.copy_from_host(host.ctypes.data_as(np.ctypeslib.ctypes.c_void_p), host.nbytes)
    return memory


def from_device(cupy, memory, like):
    out = np.empty_like(like)
    cupy.cuda.runtime.deviceSynchronize()
    memory.copy_to_host(out.ctypes.data_as(np.ctypeslib.ctypes.c_void_p), out.nbytes)
    return out


# -- bulk copies


def trip(kind, rows, columns, row_bytes):
    """Every tile of X goes to shared memory in two boxes, as it lies there to R, and on to Y."""
    size = dtype(kind).storage_bits // 8
    layout = f"m ({rows}:{columns}) n ({columns}:1) {SWIZZLES[row_bytes]}"
    half, count = rows // 2, rows * columns
    return simt(
        f"""
func @trip(X: global {kind}[B, M, N], Y: global {kind}[B, M, N],
           R: global {kind}[B * ceildiv(M, {rows}) * ceildiv(N, {columns}), {count}])
    dims (B, M, N) {{
  kernel @trip threads = (128) {{
    alloc S: shared {kind}[{rows}, {columns}] offset 0 layout [{layout.strip()}]
    alloc F: shared {kind}[{count}] offset 0
    barriers full: [1] arrivals 1 offset = {count * size}
    let t = thread_index()
    sync block
    tiles (bx, by, bz) in (ceildiv(N, {columns}), ceildiv(M, {rows}), B) {{
      if t == 0 {{
        barrier_expect full[0] bytes {count * size}
        for h in (0, 2, 1) unroll {{
          box_load X[bz, by * {rows} + h * {half} : +{half}, bx * {columns} : +{columns}]
            -> S[h * {half} : +{half}, :] onto full[0]
        }}
      }}
      barrier_wait full[0] phase 0
      let tile = (bz * ceildiv(M, {rows}) + by) * ceildiv(N, {columns}) + bx
      for i in (t, {count}, 128) serial {{
        store R[tile, i] = F[i]
      }}
      if t == 0 {{
        box_store S[:, :] -> Y[bz, by * {rows} : +{rows}, bx * {columns} : +{columns}]
        commit_group box_store
        settle_count box_store <= 0
      }}
    }}
  }}
}}""".replace("\n            ->", " ->")
        .replace("],\n           R", "], R")
        .replace("])\n    dims", "]) dims")
    )


@pytest.mark.parametrize("row_bytes", SWIZZLES)
@pytest.mark.parametrize("kind", ["u8", "f16", "f32", "f64"])
def test_boxes_arrive_as_the_layout_says_and_return(cupy, build, kind, row_bytes):
    dt = dtype(kind)
    rows, columns = 64, max(row_bytes, 64 if row_bytes == 16 else 0) // (dt.storage_bits // 8)
    batches, m, n = 2, 100, 80
    x = np.random.default_rng(3).integers(1, 100, (batches, m, n)).astype(to_numpy_dtype(dt))
    tiles_m, tiles_n = -(-m // rows), -(-n // columns)
    raw = np.zeros((batches * tiles_m * tiles_n, rows * columns), x.dtype)
    fn = trip(kind, rows, columns, row_bytes)
    memory = [on_device(cupy, a) for a in (x, np.zeros_like(x), raw)]
    build(fn)(*(a.ptr for a in memory), batches, m, n)
    assert np.array_equal(from_device(cupy, memory[1], x), x)
    padded = np.zeros((batches, tiles_m * rows, tiles_n * columns), x.dtype)
    padded[:, :m, :n] = x
    layout = parse_layout(f"m ({rows}:{columns}) n ({columns}:1) {SWIZZLES[row_bytes]}".strip())
    at = [[layout.offset((i, j), dt.storage_bits) for j in range(columns)] for i in range(rows)]
    got = from_device(cupy, memory[2], raw).reshape(batches, tiles_m, tiles_n, -1)[..., at]
    assert np.array_equal(got.transpose(0, 1, 3, 2, 4).reshape(padded.shape), padded)


def test_what_no_tensor_map_describes_is_refused(cupy, build):
    launch = build(trip("f16", 64, 64, 128))
    memory = on_device(cupy, np.zeros(1 << 16, np.float16))
    for address, n, why in ((memory.ptr + 2, 80, "address"), (memory.ptr, 81, "stride of 162")):
        with pytest.raises(TileError, match=why) as caught:
            launch(address, memory.ptr, memory.ptr, 1, 64, n)
        assert caught.value.code == "E3017"


COPIES = """
func @copies(X: global f16[N], Y: global f16[1024]) dims (N) {
  kernel @copies threads = (128) {
    alloc s: shared f16[1024] offset 0
    let t = thread_index()
    tiles (b) in (1) {
      async_copy X[t * 8 : +8] -> s[t * 8 : +8] where = t * 8 < N
      commit_group group_load
      settle_count group_load <= 0
      sync block
      store Y[ramp(t * 8, 1, 8)] = s[ramp(t * 8, 1, 8)]
    }
  }
}"""


def test_copies_of_threads_leave_zeros_where_there_is_nothing(cupy, build):
    x = np.arange(1, 601, dtype=np.float16)
    y = np.full(1024, np.nan, np.float16)
    memory = [on_device(cupy, a) for a in (x, y)]
    build(simt(COPIES))(*(m.ptr for m in memory), 600)
    want = np.concatenate([x, np.zeros(424, np.float16)])
    assert np.array_equal(from_device(cupy, memory[1], y), want)


def matrices(count, transpose):
    """Y = the registers that come back from shared memory after X went there as matrices."""
    size, turned = 2 * count, " transpose" if transpose else ""
    return simt(f"""
func @matrices(X: global f16[32, {size}], S: global f16[{64 * count}], Y: global f16[32, {size}]) {{
  kernel @matrices threads = (32) {{
    alloc s: shared f16[{64 * count}] offset 0
    alloc r: local f16[{size}]
    let t = thread_index()
    let at = t % {8 * count} * 8
    tiles (b) in (1) {{
      for v in (0, {size}, 1) unroll {{ store r[v] = X[t, v] }}
      matrix_store r[:] -> s[at : +8]{turned}
      sync block
      for i in (t, {64 * count}, 32) serial {{ store S[i] = s[i] }}
      matrix_load s[at : +8] -> r[:]{turned}
      for v in (0, {size}, 1) unroll {{ store Y[t, v] = r[v] }}
    }}
  }}
}}""")


@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_matrices_go_to_shared_memory_and_back(cupy, build, count, transpose):
    x = np.arange(64 * count, dtype=np.float16).reshape(32, 2 * count)
    memory = [on_device(cupy, a) for a in (x, np.zeros(64 * count, np.float16), np.zeros_like(x))]
    build(matrices(count, transpose))(*(m.ptr for m in memory))
    assert np.array_equal(from_device(cupy, memory[2], x), x)
    rows = from_device(cupy, memory[1], np.zeros(64 * count, np.float16)).reshape(count, 8, 8)
    if transpose:
        rows = rows.swapaxes(1, 2)
    for lane, number in np.ndindex(32, count):
        held = rows[number, lane // 4, 2 * (lane % 4) : 2 * (lane % 4) + 2]
        assert np.array_equal(held, x[lane, 2 * number : 2 * number + 2])


# -- matrix instructions


def operand(name, free, axis, k, size, row_bytes, k_major):
    """Layout text of an operand in shared memory, columns of exchanged rows one after another."""
    per_row = row_bytes // size
    rows, along = (free, k) if k_major else (k, free)
    other, inner = (axis, "k") if k_major else ("k", axis)
    columns = along // per_row
    tail = f", {columns}:{rows * per_row}" if columns > 1 else ""
    layout = f"{other} ({rows}:{per_row}) {inner} ({per_row}:1{tail}) {SWIZZLES[row_bytes]}".strip()
    loads = "".join(
        f"box_load {name}[:, {c * per_row} : +{per_row}] ->"
        f" {name}_s[:, {c * per_row} : +{per_row}] onto full[0]\n"
        for c in range(columns)
    )
    return f"[{rows}, {along}]", layout, loads


def product(atom, n, row_bytes, a_major, b_major, home):
    """C = A B by one warp group, and how A is passed: as a matrix, or as registers hold it."""
    kind, out = atom.a.dtype, atom.accumulator.dtype
    size = dtype(kind).storage_bits // 8
    k = max(2 * row_bytes, 64) // size
    shape_a, layout_a, loads_a = operand("A", 64, "m", k, size, row_bytes, a_major == "k")
    shape_b, layout_b, loads_b = operand("B", n, "n", k, size, row_bytes, b_major == "k")
    a_bytes, b_bytes, steps = 64 * k * size, n * k * size, k // atom.k
    values = 64 * atom.k // 128
    at = f"kk * {atom.k} : +{atom.k}"
    first = f"A_s[{f':, {at}' if a_major == 'k' else f'{at}, :'}]"
    declared_a, a_alloc = shape_a, f"alloc A_s: shared {kind}{shape_a} offset 0 layout [{layout_a}]"
    expected = a_bytes + b_bytes
    fragment = ""
    if home == "register":
        declared_a, loads_a, expected = f"[{steps}, 128, {values}]", "", b_bytes
        a_alloc = f"alloc a: local {kind}[{steps * values}]"
        first = f"a[kk * {values} : +{values}]"
        fragment = f"""for kk in (0, {steps}, 1) unroll {{
          for v in (0, {values}, 1) unroll {{ store a[kk * {values} + v] = A[kk, t, v] }}
        }}"""
    second = f"B_s[{f':, {at}' if b_major == 'k' else f'{at}, :'}]"
    flags = ("" if a_major == "k" else ", transpose_a") + (
        ", transpose_b" if b_major == "k" else ""
    )
    return simt(f"""
func @product(A: global {kind}{declared_a}, B: global {kind}{shape_b}, C: global {out}[64, {n}]) {{
  kernel @product threads = (128) {{
    {a_alloc}
    alloc B_s: shared {kind}{shape_b} offset {a_bytes} layout [{layout_b}]
    barriers full: [1] arrivals 1 offset = {a_bytes + b_bytes}
    alloc c: local {out}[{n // 2}]
    let t = thread_index()
    sync block
    tiles (b) in (1) {{
      if t == 0 {{
        barrier_expect full[0] bytes {expected}
        {loads_a}{loads_b}
      }}
      {fragment}
      barrier_wait full[0] phase 0
      fence registers -> mma
      for kk in (0, {steps}, 1) unroll {{
        atom {atom.name} {first}, {second} -> c[:] init = kk == 0{flags}
      }}
      commit_group mma
      settle_count mma <= 0
      for v in (0, {n // 2}, 1) unroll {{
        store C[t // 32 * 16 + t % 32 // 4 + v // 2 % 2 * 8, v // 4 * 8 + t % 4 * 2 + v % 2] = c[v]
      }}
    }}
  }}
}}"""), k


ATOMS = [a for a in spec.load(ARCH).matrix.values() if a.engine == "async"]
CASES = [
    (atom, n, row_bytes, *majors, home)
    for atom in ATOMS
    for row_bytes, n in ((128, 256), (64, 128), (32, 64), (16, 64))
    for majors in itertools.product(atom.a.majors, atom.b.majors)
    for home in atom.a.homes
    if home == "shared" or majors[0] == "k"
]


@pytest.mark.parametrize(
    "case", CASES, ids=lambda c: "-".join(str(getattr(p, "name", p)) for p in c)
)
def test_matrix_instructions_against_numpy(cupy, build, case):
    atom, n, _, a_major, b_major, home = case
    fn, k = product(*case)
    rng = np.random.default_rng(11)
    a, b = (rng.integers(-4, 5, shape) for shape in ((64, k), (k, n)))
    stored = to_numpy_dtype(dtype(atom.a.dtype))
    given_a = a if a_major == "k" else a.T
    if home == "register":
        layout = parse_layout(atom.layout("a"))
        given_a = np.empty((k // atom.k, 128, layout.values))
        for step, t, v in np.ndindex(*given_a.shape):
            at = dict(zip(layout.outputs, layout.coord(t, v), strict=True))
            given_a[step, t, v] = a[at["m"], step * atom.k + at["k"]]
    given_b = b.T if b_major == "k" else b
    c = np.zeros((64, n), to_numpy_dtype(dtype(atom.accumulator.dtype)))
    memory = [on_device(cupy, m) for m in (given_a.astype(stored), given_b.astype(stored), c)]
    build(fn)(*(m.ptr for m in memory))
    assert np.array_equal(from_device(cupy, memory[2], c), (a @ b).astype(c.dtype))


# -- whole products


def load_product(build, name):
    path = PROGRAMS / f"{name}.tir"
    return build(parse_module(path.read_text(), str(path)).functions[0])


@pytest.mark.parametrize("name", ["gemm_nn", "gemm_nt", "gemm_cluster"])
@pytest.mark.parametrize("shape", [(128, 256, 64), (1000, 520, 328), (2048, 4096, 1024), (8, 8, 8)])
def test_products_with_roles(cupy, build, name, shape):
    m, n, k = shape
    rng = np.random.default_rng(7)
    a, b = (rng.standard_normal(s).astype(np.float16) for s in ((m, k), (k, n)))
    c = np.full((m, n), np.nan, np.float16)
    given = b.T if name == "gemm_nt" else b
    memory = [on_device(cupy, x) for x in (a, given, c)]
    load_product(build, name)(*(x.ptr for x in memory), m, n, k)
    got = from_device(cupy, memory[2], c).astype(np.float64)
    want = a.astype(np.float64) @ b.astype(np.float64)
    assert np.max(np.abs(got - want)) <= 1e-3 * np.max(np.abs(want))
