"""Kernels one step away from the measured ones, on a GPU, with and without decisions of the user.

Sizes give blocks several tiles each, and leave rests in every direction.
"""

from pathlib import Path

import pytest

import tile_frontend as tile
from tile_ir.testing.by_path import module_at

pytestmark = pytest.mark.gpu

kernels = module_at(Path(__file__).parents[1] / "gates" / "perturbed.py")

TOTAL = {"attention.j.pin": ("parallel:total",)}
HALVES = {"attention_by_halves.j.pin": ("reduce:top", "parallel:total")}
ALONE = {"scaled_matmul.k.copies": 1}
M, N, K = 1900, 2100, 1000
TOLERANCE = 4e-3


def pinned(name, plan=None):
    """A kernel with decisions of its plan given."""
    return tile.jit(target="cuda", plan=plan or {})(getattr(kernels, name).__wrapped__)


def halves(torch, *shape):
    """Repeatable numbers on the device, of a size that keeps sums in range."""
    made = torch.Generator("cuda").manual_seed(sum(shape))
    return (torch.randn(shape, generator=made, device="cuda") / 2).half()


def attended(torch, q, k, values, twist, causal):
    """What `attention` computes, in float32."""
    length = q.shape[2]
    scores = q.float() @ k.float().mT
    scale = q.shape[3] ** -0.5
    place = torch.arange(length, device=q.device)
    if twist == "cap":
        log2 = scale * kernels.LOG2_E
        scores = torch.tanh(scores * (log2 / 30)) * (30 / log2)
    if twist == "distance":
        scores = scores + (place[None, :] - place[:, None]) * 0.25
    if causal:
        scores = scores.masked_fill(place[None, :] > place[:, None], float("-inf"))
    return torch.softmax(scores * scale, -1) @ values


@pytest.mark.parametrize("plan", [{}, TOTAL], ids=["planned", "pinned"])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    ("twist", "sizes", "blocks"),
    [
        ("cap", (3, 20, 1100, 64), {}),
        ("cap", (3, 20, 1100, 128), {}),
        ("distance", (3, 20, 1100, 128), {}),
        ("second values", (3, 20, 1100, 64), {}),
        ("", (3, 20, 1100, 64), {"block_M": 192, "threads": 384}),
        *(("", (3, 20, 1100, 128), {"block_N": n}) for n in (80, 144, 192)),
    ],
    ids=str,
)
def test_attention(torch, near, twist, sizes, blocks, causal, plan):
    q, k, v = (halves(torch, *sizes[:3], sizes[3]).roll(i, 2) for i in range(3))
    w = v.roll(5, 2)
    got = pinned("attention", plan)(q, k, v, w, twist, causal, **blocks)
    values = v.float() - w.float() * 0.5 if twist == "second values" else v.float()
    near(got, attended(torch, q, k, values, twist, causal), TOLERANCE)


@pytest.mark.parametrize("plan", [{}, HALVES], ids=["planned", "pinned"])
def test_attention_by_halves(torch, near, plan):
    # What a pin can name depends on the program, and a ragged end adds a mask to it.
    length = 1024 if plan else 1100
    q, k, v = (halves(torch, 3, 20, length, 128).roll(i, 2) for i in range(3))
    got = pinned("attention_by_halves", plan)(q, k, v)
    near(got, attended(torch, q, k, v.float(), "", False), TOLERANCE)


@pytest.mark.parametrize("block_N", [80, 128, 144, 192])
@pytest.mark.parametrize("twist", ["", "bias, gelu"])
@pytest.mark.parametrize("depth", [64, K])
def test_products(torch, near, depth, twist, block_N):
    a, b = halves(torch, M, depth), halves(torch, depth, N + 4)
    bias = torch.linspace(-1, 1, N + 4, device="cuda")
    got = pinned("matmul")(a, b, bias, twist, block_N=block_N)
    want = a.float() @ b.float()
    if twist:
        want = torch.nn.functional.gelu(want + bias, approximate="tanh")
    near(got, want, TOLERANCE)


def test_gated_products(torch, near):
    a, b, g = halves(torch, M, K), halves(torch, K, N + 4), halves(torch, K, N + 4).roll(3, 0)
    got = pinned("gated_matmul")(a, b, g)
    gate = a.float() @ g.float()
    near(got, torch.nn.functional.silu(gate) * (a.float() @ b.float()), TOLERANCE)


@pytest.mark.parametrize("plan", [{}, ALONE], ids=["planned", "one at a time"])
@pytest.mark.parametrize("blocks", [{}, {"block_M": 64, "threads": 128}], ids=str)
def test_a_scale_in_the_loop(torch, near, blocks, plan):
    depth = 1024
    a, b = halves(torch, M, depth), halves(torch, depth, N + 4)
    scale = torch.rand(depth // 64, M, device="cuda") + 0.5
    got = pinned("scaled_matmul", plan)(a, b, scale, **blocks)
    rows = a.float() * scale.T.repeat_interleave(64, 1)
    near(got, rows @ b.float(), TOLERANCE)


def test_nested_loops(torch, near):
    a, b = halves(torch, M, 1024), halves(torch, 1024, N + 4)
    got = pinned("matmul_of_sums")(a, b, 4)
    parts = [a[:, i : i + 256].float() @ b[i : i + 256].float() for i in range(0, 1024, 256)]
    near(got, torch.stack(parts).amax(0), TOLERANCE)


def test_a_loop_without_a_product(torch, near):
    a = halves(torch, M, K)
    near(pinned("squares")(a), a.float().square().sum(1), TOLERANCE)
