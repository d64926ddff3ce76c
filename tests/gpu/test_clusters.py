"""Kernels whose blocks run in clusters, on a device that has them."""

from pathlib import Path

import pytest

import tile_frontend as tile
from tile_ir.testing.by_path import module_at
from tile_ir.testing.requires import requires

pytestmark = pytest.mark.gpu
kernels = module_at(Path(__file__).parents[1] / "language" / "cluster_kernels.py")
CASES = kernels.cases()
REPEATS = 50


@pytest.mark.parametrize("name", CASES)
def test_the_same_every_time(torch, name):
    requires("a device with clusters", torch.cuda.get_device_capability()[0] >= 9)
    make, args, want = CASES[name]
    kernel = tile.compile(make(), target="cuda")
    expected = torch.from_numpy(want.copy()).cuda()
    for _ in range(REPEATS):
        given = [torch.from_numpy(a).cuda() for a in args]
        given[-1].fill_(-1)
        kernel(*given)
        assert torch.equal(given[-1], expected)
