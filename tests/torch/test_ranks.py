"""Two ranks: a divided layer, batch and product are what one process computes."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tile_ir.testing.requires import requires

torch = pytest.importorskip("torch", reason="operators of torch")

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).with_name("ranks.py")
EXAMPLE = Path(__file__).parents[2] / "examples/tensor_parallel.py"
RANKS = 2


def said_by_ranks(device, script, *arguments):
    """What the ranks say when torchrun starts them: over gloo on the host, over the devices' own
    library on two of them. They share one output, so their lines may run into each other."""
    if device != "cpu":
        requires("two GPUs", torch.get_device_module(device).device_count() >= RANKS)
    launcher = ["torch.distributed.run", "--standalone", f"--nproc-per-node={RANKS}"]
    done = subprocess.run(
        [sys.executable, "-m", *launcher, str(script), *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return sorted(re.findall(r"rank \d of \d agrees(?: with float64)?", done.stdout))


def test_two_ranks_agree_with_one_process(device):
    said = said_by_ranks(device, SCRIPT, device)
    assert said == [f"rank {i} of {RANKS} agrees" for i in range(RANKS)]


def test_chunks_of_a_divided_product_are_summed_beside_the_next(device):
    """All sums, and this rank's share of them, agree with float64 on every rank."""
    said = said_by_ranks(device, EXAMPLE, "--target", device)
    assert said == [f"rank {i} of {RANKS} agrees with float64" for i in range(RANKS)]
