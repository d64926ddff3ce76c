"""Two ranks: a divided feed-forward layer and a divided batch give what one process computes."""

import subprocess
import sys
from pathlib import Path

import pytest

from tile_ir.testing.requires import requires

torch = pytest.importorskip("torch", reason="operators of torch")

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).with_name("ranks.py")
RANKS = 2


def test_two_ranks_agree_with_one_process(device):
    """Over gloo on the host, over the devices' own library on two of them."""
    if device != "cpu":
        requires("two GPUs", torch.get_device_module(device).device_count() >= RANKS)
    launcher = ["torch.distributed.run", "--standalone", f"--nproc-per-node={RANKS}"]
    done = subprocess.run(
        [sys.executable, "-m", *launcher, str(SCRIPT), device],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    said = sorted(line for line in done.stdout.splitlines() if line.startswith("rank"))
    assert said == [f"rank {i} of {RANKS} agrees" for i in range(RANKS)]
