"""The race at a small size, in every run of the tests."""

import subprocess
import sys
from pathlib import Path


def test_a_small_race():
    script = Path(__file__).with_name("cache_race.py")
    sizes = ("--processes", "5", "--kernels", "5", "--kills", "4", "--limit-mb", "0.06")
    done = subprocess.run(
        [sys.executable, str(script), *sizes], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "every result right, index consistent, nothing left behind" in done.stdout
