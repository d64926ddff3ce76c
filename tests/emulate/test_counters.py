"""What kernels count: exact numbers of small ones."""

import numpy as np
import pytest

import tile_frontend as tile
import tile_frontend.language as T
from tile_ir.diag import TileError


def count(from_cuda, body, threads=32, shared="", blocks=1):
    text = f"""
struct alignas(16) V {{ int x, y, z, w; }};
extern "C" __global__ void k(int *out, const int *in) {{
  {shared}
  int t = threadIdx.x;
  {body}
}}
"""
    data = np.arange(4096, dtype=np.int32)
    return from_cuda(text, 2, threads, blocks=blocks)(np.zeros(4096, np.int32), data)


@pytest.mark.parametrize(
    ("index", "sectors", "needed"),
    [
        ("t", 4, 4),
        ("t + 1", 5, 4),
        ("2 * t", 8, 4),
        ("8 * t", 32, 4),
        ("31 - t", 4, 4),
        ("t * 17 % 32", 4, 4),
        ("0", 1, 1),
        ("t / 4", 1, 1),
    ],
)
def test_sectors_of_a_load(from_cuda, index, sectors, needed):
    counted = count(from_cuda, f"out[t] = in[{index}];")
    assert counted["global_load_bytes"] == counted["global_store_bytes"] == 128
    assert counted["global_sectors"] == sectors + 4
    assert counted["global_sectors_needed"] == needed + 4
    assert counted["coalescing_efficiency"] == (needed + 4) / (sectors + 4)


def test_vectors_half_warps_and_loops(from_cuda):
    counted = count(from_cuda, "((V *)out)[t] = ((const V *)in)[t];")
    assert (counted["global_sectors"], counted["global_sectors_needed"]) == (32, 32)
    counted = count(from_cuda, "if (t < 8) out[blockIdx.x * 8 + t] = in[t];", 64, blocks=3)
    assert (counted["global_sectors"], counted["global_sectors_needed"]) == (6, 6)
    counted = count(from_cuda, "for (int i = 0; i < in[5]; i++) out[64 * i + t] = i;", 64)
    loads = counted["instructions"]["ld.global"] // 64
    assert counted["global_load_bytes"] == 64 * 4 * loads
    assert counted["global_sectors"] == 2 * 5 * 4 + 2 * loads
    assert counted["coalescing_efficiency"] == 1.0


@pytest.mark.parametrize(
    ("index", "conflicts"),
    [("t", 0), ("2 * t", 1), ("32 * t", 31), ("0", 0), ("t ^ 5", 0), ("t * 4 % 128", 3)],
)
def test_bank_conflicts_of_words(from_cuda, index, conflicts):
    body = f"s[{index}] = in[t];\n  __syncwarp();\n  out[t] = s[t];"
    body = body.replace("s[0] = in[t]", "if (t == 0) s[0] = in[t]; s[t + 64] = t; int x = s[0]")
    body = body.replace("out[t] = s[t]", "out[t] = x") if index == "0" else body
    body = body.replace("int x", "__syncwarp(); int x")
    wide = "__shared__ int s[1024]; s[t] = 0; __syncwarp();"
    counted = count(from_cuda, body, shared=wide.replace("s[t]", "s[threadIdx.x]"))
    assert counted["bank_conflicts"] == conflicts


def test_bank_conflicts_of_vectors(from_cuda):
    """Eight lanes fill all banks with 16 bytes each: four turns are none too many."""
    for stride, stores, loads in ((1, 0, 3), (2, 4, 7), (8, 28, 31)):
        body = f"s[{stride} * t] = ((const V *)in)[t]; __syncwarp(); out[t] = s[{stride} * t].y;"
        counted = count(from_cuda, body, shared="__shared__ V s[512];")
        assert counted["shared_store_bytes"] == 512
        assert counted["bank_conflicts"] == stores + loads


def test_instructions_and_barriers(from_cuda):
    body = """s[t] = in[t];
  for (int i = 0; i < in[3]; i++) {
    __syncthreads();
    s[t] += 1;
  }
  if (t < 32) atomicAdd(out, s[t]);"""
    counted = count(from_cuda, body, 64, shared="__shared__ int s[64];")
    kinds = counted["instructions"]
    assert kinds["bar"] == counted["barrier_arrivals"] == counted["barrier_waits"] == 64 * 3
    assert kinds["atom.global"] == counted["atomics"] == 32
    assert counted["shared_load_bytes"] == 4 * kinds["ld.shared"]
    assert counted["shared_store_bytes"] == 4 * kinds["st.shared"]
    assert counted["global_load_bytes"] == 4 * kinds["ld.global"]
    assert kinds["ret"] == 64
    assert kinds["ld.param"] == 2 * 64


def test_local_memory(from_cuda):
    body = """int own[8];
  for (int i = 0; i < 8; i++) own[(i * 3) & 7] = in[t] + i;
  out[t] = own[in[t + 32] & 7];"""
    counted = count(from_cuda, body)
    assert counted["local_load_bytes"] == 32 * 4
    assert counted["local_store_bytes"] == 32 * 8 * 4
    assert counted["shared_load_bytes"] == counted["shared_store_bytes"] == 0


@T.prim_func
def product(
    A: T.Tensor((64, 64), "float16"),
    B: T.Tensor((64, 64), "float16"),
    C: T.Tensor((64, 64), "float32"),
):
    with T.Kernel(1, threads=128):
        A_s = T.alloc_shared((64, 64), "float16")
        B_s = T.alloc_shared((64, 64), "float16")
        C_l = T.alloc_fragment((64, 64), "float32")
        T.clear(C_l)
        T.copy(A, A_s)
        T.copy(B, B_s)
        T.gemm(A_s, B_s, C_l)
        T.copy(C_l, C)


@pytest.fixture
def compiled(nvrtc, tmp_path, monkeypatch):
    monkeypatch.setenv("TILE_CACHE_DIR", str(tmp_path))
    return tile.compile(product, target="cuda -arch=sm_80", device="emulator")


def test_of_a_kernel_of_tiles(compiled):
    a, b = (np.ones((64, 64), np.float16) for _ in "ab")
    for _ in range(2):  # only the last call counts
        compiled(a, b, np.zeros((64, 64), np.float32))
    counted = compiled.counters()["product"]
    assert counted["multiply_adds"] == 64**3
    assert counted["instructions"]["mma"] == 64**3 // (16 * 8 * 16) * 32
    assert counted["global_store_bytes"] == 64 * 64 * 4
    assert counted["asynchronous_bytes"] + counted["global_load_bytes"] == 2 * 64 * 64 * 2
    assert counted["coalescing_efficiency"] == 1.0
    assert counted["bank_conflicts"] == 0
    assert counted["barrier_waits"] % 128 == 0


def test_where_nothing_was_counted(compiled):
    with pytest.raises(TileError, match="was not called") as caught:
        compiled.counters()
    assert caught.value.code == "E2312"
    with pytest.raises(TileError, match="runs on a device") as caught:
        tile.compile(product, target="cuda -arch=sm_80").counters()
    assert caught.value.code == "E2312"
