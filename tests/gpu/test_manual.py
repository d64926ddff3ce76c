"""Pipelines written by hand, on the device they are written for."""

from pathlib import Path

import pytest

import tile_frontend as tile
from tile_ir.testing.by_path import module_at
from tile_ir.testing.requires import requires

pytestmark = pytest.mark.gpu
kernels = module_at(Path(__file__).parents[1] / "language" / "manual_kernels.py")
REPEATS = 50

PRODUCTS = {
    "one slot": (lambda: kernels.pipeline(depth=1), 64, 64, 256),
    "three slots": (lambda: kernels.pipeline(depth=3), 64, 64, 256),
    "copied by threads": (kernels.copied_by_threads, 128, 128, 256),
    "three roles": (kernels.shared_out, 128, 64, 232),
    "a phase for each role": (kernels.with_a_phase, 128, 64, 128),
    "branches": (kernels.branched, 128, 64, 128),
    "products in flight": (kernels.products_in_flight, 64, 64, 256),
    "one role": (kernels.one_role_for_all, 64, 64, 128),
}
"""Kernels with the extents m, n and k of their product."""


@pytest.fixture(scope="module", autouse=True)
def _hopper(torch):
    requires("a Hopper GPU", torch.cuda.get_device_capability()[0] == 9)


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_are_exact_every_time(torch, name):
    make, m, n, k = PRODUCTS[name]
    kernel = tile.compile(make(), target="cuda")
    torch.manual_seed(0)
    a = torch.randint(-4, 5, (m, k), device="cuda").half()
    b = torch.randint(-4, 5, (k, n), device="cuda").half()
    want = a.float() @ b.float()
    for _ in range(REPEATS):
        c = torch.full((m, n), float("nan"), device="cuda")
        kernel(a, b, c)
        assert torch.equal(c, want)


def test_attention(torch):
    kernel = tile.compile(kernels.attention(), target="cuda")
    torch.manual_seed(0)
    q, k, v = (torch.randn(256, 64, device="cuda").half() for _ in range(3))
    want = torch.softmax(q.float() @ k.float().T / 8, dim=1) @ v.float()
    for _ in range(REPEATS):
        o = torch.full((256, 64), float("nan"), device="cuda").half()
        kernel(q, k, v, o)
        torch.testing.assert_close(o.float(), want, atol=3e-3, rtol=0)


@pytest.mark.parametrize(
    "make",
    [kernels.scaled_through_a_barrier, kernels.stored_by_the_engine, kernels.copied_in_groups],
)
def test_where_all_threads_do_the_same(torch, make):
    kernel = tile.compile(make(), target="cuda")
    a = torch.arange(4096, device="cuda", dtype=torch.float32).reshape(4, 1024)
    for _ in range(REPEATS):
        b = torch.zeros_like(a)
        kernel(a, b)
        assert torch.equal(b, 2 * a)
