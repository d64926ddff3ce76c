"""Mistakes in HIP C++: each is reported with its kind and the user's line; the same kernel without
it runs under every schedule, on waves of 64 and of 32."""

import numpy as np
import pytest

from tile_cpu.emulator import options
from tile_ir.diag import TileError

SCHEDULES = [
    {"schedule": "round-robin"},
    {"schedule": "reverse"},
    *({"schedule": "random", "seed": seed} for seed in range(3)),
]


def exchange(barrier, index="127 - t", guard="true"):
    return f"""TILE_KERNEL(128) void k(int *out, const int *in) {{
  TILE_SHARED unsigned char arena[512];
  int *s = (int *)arena;
  int t = tile_thread();
  // user.py:7: store
  if ({guard}) s[t] = in[t];
  // user.py:8: barrier
  {barrier}
  // user.py:9: load
  out[t] = s[{index}];
}}
"""


def kernel(body, head="int *out, const int *in"):
    return f"""TILE_KERNEL(128) void k({head}) {{
  TILE_SHARED unsigned char arena[512];
  int *s = (int *)arena;
  int t = tile_thread();
  // user.py:5: all
  {body}
}}
"""


def fault(run, *arrays, **how):
    with options(**how), pytest.raises(TileError) as caught:
        run(*arrays)
    return caught.value


def place(error):
    return (error.code, error.span.file, error.span.line)


def arrays():
    return np.zeros(128, np.int32), np.arange(128, dtype=np.int32)


@pytest.mark.parametrize("arch", ["gfx942", "gfx1100"])
@pytest.mark.parametrize("how", SCHEDULES)
def test_an_exchange_through_shared_memory(from_hip, how, arch):
    out, x = arrays()
    with options(**how):
        from_hip(exchange("tile_sync();"), 2, 128, 512, arch=arch)(out, x)
    assert np.array_equal(out, x[::-1])


@pytest.mark.parametrize("how", SCHEDULES)
def test_without_its_barrier(from_hip, how):
    error = fault(from_hip(exchange(""), 2, 128, 512), *arrays(), **how)
    assert error.code in ("E2305", "E2306")
    assert error.span.line in (7, 9)


def test_a_race_names_both_places(from_hip):
    text = exchange("tile_sync(); s[t] = 0;")
    error = fault(from_hip(text, 2, 128, 512), *arrays())
    assert place(error) == ("E2306", "user.py", 8)
    assert "writes shared byte" in error.message
    assert error.notes[-1].startswith("the other access: line")
    assert error.notes[-1].endswith("user.py:9")


def test_what_nobody_wrote_reaches_a_tensor(from_hip):
    text = exchange("tile_sync();", guard="t < 64")
    error = fault(from_hip(text, 2, 128, 512), *arrays())
    assert place(error) == ("E2305", "user.py", 9)
    assert "stored to argument 0" in error.message


def test_a_register_that_nobody_wrote(from_hip):
    body = "int r[4]; if (in[0] > 5) r[t & 3] = 1; out[t] = r[in[1]];"
    error = fault(from_hip(kernel(body), 2, 128, 512), *arrays())
    assert place(error) == ("E2305", "user.py", 5)


def test_a_branch_on_what_nobody_wrote(from_hip):
    error = fault(from_hip(kernel("if (s[t] > 0) out[t] = in[t];"), 2, 128, 512), *arrays())
    assert place(error) == ("E2305", "user.py", 5)
    assert "decides a branch" in error.message


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("out[t] = in[t + 1];", "4 bytes at global address"),
        ("out[t - 1] = in[t];", "4 bytes at global address"),
        ("out[t] = in[t + (1 << 28)];", "argument"),
        ("s[t + 1] = in[t];", "shared address 512"),
        ("out[t] = ((const volatile int *)in)[(long long)t << 38];", ""),
    ],
)
def test_out_of_bounds(from_hip, body, words):
    error = fault(from_hip(kernel(body), 2, 128, 512), *arrays())
    assert place(error) == ("E2303", "user.py", 5)
    assert words in error.message


@pytest.mark.parametrize(
    "body",
    [
        "tile_move<8>(&out[0], &in[1]);",
        "tile_move<16>(&out[0], &in[2]);",
        "tile_move<16>(&s[2], &in[0]);",
    ],
)
def test_misaligned(from_hip, body):
    error = fault(from_hip(kernel(body), 2, 128, 512), *arrays())
    assert place(error) == ("E2304", "user.py", 5)


def test_part_of_a_wave_at_a_barrier(from_hip):
    error = fault(from_hip(kernel("if (t < 32) return; tile_sync();"), 2, 128, 512), *arrays())
    assert place(error) == ("E2308", "user.py", 5)


def test_an_exchange_of_half_a_wave(from_hip):
    body = "if (t < 40) return; out[t] = tile_shuffle_xor(t, 32);"
    error = fault(from_hip(kernel(body), 2, 128, 512), *arrays())
    assert error.code in ("E2307", "E2308")


def test_nobody_changes_what_is_waited_for(from_hip):
    body = "while (tile_atomic_or(&out[0], 0) == 0) {}"
    error = fault(from_hip(kernel(body), 2, 128, 512), *arrays(), patience=0.05)
    assert place(error) == ("E2307", "user.py", 5)


def test_halves_of_a_wave_have_to_agree(from_hip):
    text = """TILE_KERNEL(32) void k(float *out, const short *in) {
  const int t = tile_thread();
  const tile_simd<_Float16, 16> a = tile_take<tile_simd<_Float16, 16>>(in + 16 * (t + SAME));
  tile_simd<float, 8> sum = 0;
  // user.py:5: product
  sum = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, a, sum);
  out[t] = sum.x;
}
"""
    x, out = np.arange(512, dtype=np.int16).reshape(32, 16), np.zeros(32, np.float32)
    run = from_hip(text.replace("+ SAME", ""), 2, 32, arch="gfx1100")
    assert place(fault(run, out, x)) == ("E2308", "user.py", 5)
    from_hip(text.replace("t + SAME", "t % 16"), 2, 32, arch="gfx1100")(out, x)
    assert np.isfinite(out).all()


def test_an_unknown_instruction(from_hip):
    with pytest.raises(TileError) as caught:
        from_hip(kernel("out[t] = __builtin_amdgcn_permlane16(0, 0, 0, 0, 0, 0);"), 2)
    assert caught.value.code == "E2301"
    assert "permlane16" in caught.value.message


def test_blocks_write_one_place_without_an_order(from_hip):
    body = "out[t] = in[t] + tile_block();"
    error = fault(from_hip(kernel(body), 2, 128, 512, blocks=2), *arrays())
    assert place(error) == ("E2306", "user.py", 5)
    assert "of argument 0" in error.message


def test_blocks_add_to_one_place(from_hip):
    out, x = arrays()
    from_hip(kernel("tile_atomic_add(&out[t], in[t]);"), 2, 128, 512, blocks=3)(out, x)
    assert np.array_equal(out, 3 * x)
