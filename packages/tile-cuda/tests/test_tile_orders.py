"""Which tile a block takes next: the text that the device runs against the planner's own count."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from tile_cuda import spec
from tile_cuda.emit import emit_function
from tile_cuda.prelude.index import pieces_for
from tile_ir.text import parse_function
from tile_passes.plan.balance import turned

if TYPE_CHECKING:
    from pathlib import Path

HOST = "#define __device__\n#define __forceinline__ inline\n"
ENTRY = '\nextern "C" int snake(int turn, int tiles, int blocks) {\n'
ENTRY += "  return tile_snake(turn, tiles, blocks);\n}\n"


@pytest.mark.skipif(shutil.which("g++") is None, reason="there is no host compiler")
def test_the_device_deals_as_the_planner_counts(tmp_path: Path) -> None:
    source, library = tmp_path / "snake.cpp", tmp_path / "snake.so"
    source.write_text(HOST + pieces_for(["tile_snake"]) + ENTRY)
    subprocess.run(["g++", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    snake = ctypes.CDLL(str(library)).snake
    for tiles, blocks in ((1, 1), (7, 7), (10, 4), (12, 4), (131, 132), (2048, 132)):
        got = [snake(n, tiles, blocks) for n in range(tiles)]
        assert got == [turned(n, tiles, blocks) for n in range(tiles)]


DEALT = """tile.ir 1.0 tile
func @f(A: global f32[64]) stage simt {
  kernel @f threads = (32), blocks = min(64, device_workers()) {
    tiles (bx) in (64) claim = static, deal = @D {
      store A[bx] = 1.0
    }
  }
}
"""


@pytest.mark.parametrize(("deal", "there"), [("snake", True), ("cyclic", False)])
def test_only_a_snake_asks_for_its_turn(deal: str, there: bool) -> None:
    text = emit_function(parse_function(DEALT.replace("@D", deal)), spec.load("sm_90a")).text
    assert ("const int tile = tile_snake(turn, 64, gridDim.x);" in text) is there


GROUPED = """tile.ir 1.0 tile
func @f(A: global f32[64]) stage simt {
  kernel @f threads = (256) {
    tiles (bx) in (64) {
      sync group id = 3, threads = 128
      store A[bx] = 1.0
    }
  }
}
"""


def test_groups_meet_at_barriers_of_their_own() -> None:
    text = emit_function(parse_function(GROUPED), spec.load("sm_90a")).text
    assert "tile_named_sync(3 + (int)threadIdx.x / 128, 128);" in text
