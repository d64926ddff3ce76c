"""What kernels call: functions of the compiler's own library, the printing service; and the
instructions that these are made of."""

import numpy as np
import pytest

from tile_ir.diag import TileError

ATOMIC = """
__device__ unsigned add(unsigned short *p, unsigned more) {
  unsigned long long address = (unsigned long long)p;
  unsigned shift = (unsigned)(address & 3) * 8, mask = 0xffffu;
  unsigned *word = (unsigned *)(address & ~3ull);
  unsigned old = *(volatile unsigned *)word, seen;
  do {
    seen = old;
    unsigned changed = ((seen >> shift) + more) & mask;
    old = atomicCAS(word, seen, (seen & ~(mask << shift)) | changed << shift);
  } while (old != seen);
  return old;
}
extern "C" __global__ void k(unsigned short *out) { add(&out[AT], 1); }
"""


@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_narrow_atomic_in_a_word_that_reaches_beyond_the_tensor(from_cuda, at):
    room = np.array([7, 1, 9, 77], np.uint16)
    from_cuda(ATOMIC.replace("AT", str(at)), 1, threads=128)(room[:3])
    want = [7, 1, 9, 77]
    want[at] += 128
    assert room.tolist() == want


def test_a_narrow_atomic_beyond_the_tensor(from_cuda):
    room = np.zeros(8, np.uint16)
    with pytest.raises(TileError, match="E2303"):
        from_cuda(ATOMIC.replace("AT", "4"), 1, threads=32)(room[:3])


PRINTS = """
extern "C" __global__ void k(const float *x) {
  if (threadIdx.x == 5) {
    printf("plain 100%%\\n");
    printf("%d %s [%lld, %llu] %.3f|%5d\\n", -7, x[0] > 1 ? "big" : "small", -3ll, 1ull << 40, x[0],
           42);
  }
}
"""


def test_a_kernel_prints(from_cuda, capfd):
    from_cuda(PRINTS, 1)(np.array([2.5], np.float32))
    lines = capfd.readouterr().out.splitlines()
    assert lines == ["plain 100%", "-7 big [-3, 1099511627776] 2.500|   42"]


def test_functions_of_the_compilers_library_are_called(from_cuda):
    """Large angles and powers in f64 have functions of their own, with memory and constants."""
    text = """extern "C" __global__ void k(const double *x, double *y) {
  y[threadIdx.x] = sin(x[threadIdx.x]) + pow(fabs(x[threadIdx.x]), 0.3);
}
"""
    x = np.random.default_rng(3).uniform(-1, 1, 32) * np.logspace(-3, 12, 32)
    y = np.zeros(32)
    from_cuda(text, 2)(x, y)
    np.testing.assert_allclose(y, np.sin(x) + np.abs(x) ** 0.3, rtol=1e-12, atol=1e-13)


def chain(body):
    return f"""extern "C" __global__ void k(const unsigned *a, const unsigned *b, unsigned *d) {{
  unsigned i = threadIdx.x, low, high;
  asm("{body}"
      : "=r"(low), "=r"(high) : "r"(a[2 * i]), "r"(a[2 * i + 1]), "r"(b[2 * i]), "r"(b[2 * i + 1]));
  d[2 * i] = low, d[2 * i + 1] = high;
}}
"""


CHAINS = {
    "add.cc.u32 %0, %2, %4; addc.u32 %1, %3, %5;": lambda a, b: a + b,
    "sub.cc.u32 %0, %2, %4; subc.u32 %1, %3, %5;": lambda a, b: a - b,
    "mad.lo.cc.u32 %0, %2, %4, %3; madc.hi.u32 %1, %2, %4, %5;": lambda a, b: (
        (a & 0xFFFFFFFF) * (b & 0xFFFFFFFF) + (a >> 32) + (b >> 32 << 32)
    ),
}


@pytest.mark.parametrize("body", list(CHAINS))
def test_a_carry_goes_from_one_instruction_to_the_next(from_cuda, body):
    rng = np.random.default_rng(1)
    a, b = (rng.integers(0, 2**64, 32, dtype=np.uint64) for _ in range(2))
    a[0], b[0] = 2**64 - 1, 2**64 - 1
    d = np.zeros(32, np.uint64)
    from_cuda(chain(body), 3)(a, b, d)
    want = [CHAINS[body](int(x), int(y)) % 2**64 for x, y in zip(a, b, strict=True)]
    assert [int(x) for x in d] == want


@pytest.mark.parametrize(("half", "first"), [("lo", 0), ("hi", 2)])
@pytest.mark.parametrize("signs", ["s32.s32", "u32.u32", "s32.u32", "u32.s32"])
def test_products_of_halves_and_bytes(from_cuda, half, first, signs):
    text = f"""extern "C" __global__ void k(const unsigned *a, const unsigned *b, unsigned *d) {{
  unsigned i = threadIdx.x;
  asm("dp2a.{half}.{signs} %0, %1, %2, %3;" : "=r"(d[i]) : "r"(a[i]), "r"(b[i]), "r"(d[i]));
}}
"""
    rng = np.random.default_rng(2)
    a, b, d = (rng.integers(0, 2**32, 32, dtype=np.uint32) for _ in range(3))
    halves = a.view(np.int16 if signs[0] == "s" else np.uint16).reshape(32, 2).astype(np.int64)
    small = b.view(np.int8 if signs[4] == "s" else np.uint8).reshape(32, 4).astype(np.int64)
    want = (d + (halves * small[:, first : first + 2]).sum(axis=1)).astype(np.uint32)
    from_cuda(text, 3)(a, b, d)
    np.testing.assert_array_equal(d, want)
