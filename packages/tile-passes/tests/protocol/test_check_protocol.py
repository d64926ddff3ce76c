"""What we generate is proved for every trip count, and each planted fault is found."""

from __future__ import annotations

from typing import Any

import pytest

from tile_ir.core import Stage
from tile_ir.diag import TileError
from tile_ir.schema import header
from tile_ir.testing.specs import toy_spec
from tile_ir.text import parse_function, print_function
from tile_passes.base import PassContext
from tile_passes.plan.model import Plan
from tile_passes.protocol.check_protocol import check_protocol, verdicts

ARCHS = ("async", "sync")


def verdict_of(text: str) -> Any:
    return verdicts(parse_function(text))[0]


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("stages", [1, 2, 4])
@pytest.mark.parametrize("name", ["gemm", "attention", "gated", "scaled", "no product"])
def test_generated_pipelines_are_proved(programs: Any, name: str, stages: int, arch: str) -> None:
    made = programs.planned(programs.tile(name, stages=stages), arch)
    (found,) = verdicts(made.after)
    assert found.kind == "proved", found.reason
    assert found.runs > stages


@pytest.mark.parametrize("arch", ARCHS)
def test_nested_pipelines_are_proved(programs: Any, arch: str) -> None:
    pins = {"nested.tiles.claim": "hardware"}  # a third loop around them is beyond the budget
    (found,) = verdicts(programs.planned(programs.tile("nested", stages=2), arch, pins).after)
    assert found.kind == "proved", found.reason


FAULTS = {
    "missing wait": (
        "async",
        "gemm",
        "          wait A_s_ring\n          issue mma",
        "          issue mma",
        "touches a slot of A_s_ring that is not held",
    ),
    "early release": (
        "async",
        "gemm",
        "          group mma -> t_C_l\n",
        "          group mma -> t_C_l\n          release A_s_ring\n",
        "still reads the slot",
    ),
    "missing release": (
        "async",
        "gemm",
        "            release A_s_ring\n          }\n        }\n",
        "          }\n        }\n",
        "deadlock",
    ),
    "missing settle": (
        "async",
        "attention",
        "          settle t_acc_o\n",
        "",
        "still",
    ),
    "missing settle at the end": (
        "async",
        "gemm",
        "          settle t_C_l\n          release A_s_ring\n",
        "          release A_s_ring\n",
        "still reads the slot",
    ),
    "a copy too many": (
        "async",
        "attention",
        "for j in (1, ceildiv(min(S, bm * 64 + 64), 64), 1) serial {\n          acquire K",
        "for j in (0, ceildiv(min(S, bm * 64 + 64), 64), 1) serial {\n          acquire K",
        "never waited for",
    ),
    "depth off by one": ("sync", "gemm", "slots 3", "slots 2", "deadlock"),
}


def planted(programs: Any, fault: str) -> str:
    arch, name, old, new, _ = FAULTS[fault]
    pins = {"matmul.copy:C.interleave": ()} if (arch, name) == ("async", "gemm") else {}
    text = programs.planned(programs.tile(name), arch, pins).text
    if fault == "depth off by one":
        text = text.replace("ring(3)", "ring(2)")
    assert old in text, text
    return header(Stage.SCHEDULED) + "\n" + text.replace(old, new, 1 if "slots" not in old else -1)


@pytest.mark.parametrize("fault", sorted(FAULTS))
def test_planted_faults_are_found(programs: Any, fault: str) -> None:
    fn = parse_function(planted(programs, fault))
    (found,) = verdicts(fn)
    assert found.kind == "violated"
    assert FAULTS[fault][4] in found.reason
    with pytest.raises(TileError) as caught:
        check_protocol(fn, PassContext(target=toy_spec("async")), Plan())
    assert caught.value.code == "E0710"
    assert any("the last steps were" in note for note in caught.value.notes)


TURNS = """func @turns(C: global f32[64]) stage scheduled {
  kernel @turns {
    tiles (bx) in (1) {
      channel ping: ring(1) carries () from role a arrivals 4 to role b arrivals 4
      channel pong: ring(1) carries () from role b arrivals 4 to role a arrivals 4FILLED
      role a { for i in (0, 8, 1) serial { wait pong; release pong; acquire ping; commit ping } }
      role b { for i in (0, 8, 1) serial { wait ping; release ping; acquire pong; commit pong } }
    }
  }
}
"""


def test_a_token_that_nobody_fills_is_a_deadlock() -> None:
    good = verdict_of(TURNS.replace("FILLED", " filled = 1"))
    assert good.kind == "proved", good.reason
    bad = verdict_of(TURNS.replace("FILLED", ""))
    assert bad.kind == "violated"
    assert "deadlock: a[0] waits at `wait pong`; b[0] waits at `wait ping`" in bad.reason


GROUPS = """func @groups(C: global f32[64], n: i32) stage scheduled {
  kernel @groups {
    tiles (bx) in (1) {
      channel turn: ring(1) carries () from ENDS to ENDSFILLED
      role c groups = 2 {
        for i in (0, n, 1) serial { wait turn; release turn; acquire turn; commit turn }
      }
    }
  }
}
""".replace("ENDS", "role c arrivals 4 per group")


def test_turns_of_the_groups_of_a_role() -> None:
    good = verdict_of(GROUPS.replace("FILLED", " filled = 1"))
    assert good.kind == "proved", good.reason
    bad = verdict_of(GROUPS.replace("FILLED", ""))
    assert bad.kind == "violated"
    assert "deadlock" in bad.reason


WHILE = """func @spin(C: global i32[64]) stage scheduled {
  kernel @spin {
    tiles (bx) in (1) {
      channel t: ring(1) carries () from role a arrivals 1 to role b arrivals 1
      role a { while C[0] > 0 { acquire t; commit t } }
      role b { while C[0] > 0 { wait t; release t } }
    }
  }
}
"""


def test_what_cannot_be_followed_is_not_covered_and_not_refused() -> None:
    fn = parse_function(WHILE)
    (found,) = verdicts(fn)
    assert (found.kind, found.reason) == (
        "not covered",
        "a while loop around channel operations",
    )
    check_protocol(fn, PassContext(target=toy_spec("async")), Plan())


VARYING = """func @vary(C: global i32[64]) stage scheduled {
  kernel @vary {
    tiles (bx) in (1) {
      channel t: ring(2) carries () from role a arrivals 1 to role b arrivals 1
      role a { for i in (0, 4, 1) serial { for j in (0, C[i], 1) serial { acquire t; commit t } } }
      role b { for i in (0, 4, 1) serial { for j in (0, C[i], 1) serial { wait t; release t } } }
    }
  }
}
"""


def test_trips_that_vary_are_bounded() -> None:
    found = verdict_of(VARYING)
    assert found.kind == "bounded"
    assert "varies with i" in found.reason
    assert print_function(parse_function(VARYING)).count("acquire t") == 1


WINDOW = """func @window(K: global f16[70, 64], C: global f32[128, 64]) {
  kernel @window threads = (128) {
    tiles (bx) in (2) {
      alloc K_s: shared f16[64, 64]
      alloc out: fragment f32[64, 64]
      fill out[:, :], 0.0
      for k in (bx, ceildiv(min(70, bx * 64 + 64), 64), 1) pipelined num_stages = 2 {
        copy K[k * 64 : +64, 0 : +64] -> K_s[:, :] clip
        parallel (i, j) in (64, 64) { store out[i, j] = out[i, j] + f32(K_s[i, j]) }
      }
      copy out[:, :] -> C[bx * 64 : +64, 0 : +64]
    }
  }
}
"""


@pytest.mark.parametrize("arch", ARCHS)
def test_a_loop_that_always_has_a_trip_is_not_run_without_one(programs: Any, arch: str) -> None:
    """Its first copy is started without a guard: start and end of the loop are not independent."""
    (found,) = verdicts(programs.planned(parse_function(WINDOW), arch).after)
    assert found.kind in ("proved", "bounded"), found.reason
    assert found.runs > 0
