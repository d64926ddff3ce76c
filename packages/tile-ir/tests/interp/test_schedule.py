"""The scheduled stage: rings, engines, roles.

What is right gives the same early, late and shuffled; what waits too little reads poison when
effects are late; what waits too much is a deadlock with everyone's place.
"""

import numpy as np
import pytest

from tile_ir import _version
from tile_ir.diag import TileError
from tile_ir.interp import run
from tile_ir.text import parse_module

HEADER = f"tile.ir scheduled (tile-ir {_version.__version__})\n"
SCHEDULES = [{"schedule": "late"}, {"schedule": "issue"}, {"seed": 1}, {"seed": 2}]


def parse(text):
    (fn,) = parse_module(HEADER + text).functions
    return fn


RING = """
func @f(A: global f16[64, 32], B: global f16[32, 64], C: global f32[64, 64]) results (C) {
  kernel @k { tiles (b) in (1) {
    alloc A_s: shared f16[64, 8] slots 2
    alloc B_s: shared f16[8, 64] slots 2
    channel ab: ring(2) carries (A_s, B_s) from engine copy to role compute arrivals 2
    role producer {
      for k in (0, 4, 1) serial {
        acquire ab
        issue copy onto = ab { copy A[:, k * 8 : +8] -> A_s@ab[:, :] }
        issue copy onto = ab { copy B[k * 8 : +8, :] -> B_s@ab[:, :] }
        commit ab
      }
    }
    role compute groups = 2, group = g {
      alloc C_l: fragment f32[32, 64]
      for k in (0, 4, 1) serial {
        wait ab
        issue mma { gemm A_s@ab[g * 32 : +32, :], B_s@ab[:, :] -> C_l[:, :] init = k == 0 }
        group mma -> t
        if k > 0 { settle t back = 1; release ab }
      }
      settle t
      release ab
      copy C_l[:, :] -> C[g * 32 : +32, :]
    }
  } }
}"""


def operands():
    rng = np.random.default_rng(0)
    return {
        "A": rng.standard_normal((64, 32)).astype(np.float16),
        "B": rng.standard_normal((32, 64)).astype(np.float16),
    }


def product(args):
    total = np.zeros((64, 64), np.float32)
    for k in range(0, 32, 8):
        step = args["A"][:, k : k + 8].astype(np.float64) @ args["B"][k : k + 8]
        total = (total + step).astype(np.float32)
    return total


@pytest.mark.parametrize("options", SCHEDULES, ids=str)
def test_a_ring_with_an_asynchronous_product(options):
    args = operands()
    np.testing.assert_array_equal(run(parse(RING), args, **options)["C"], product(args))


def without(text, line, count=1):
    assert text.count(line) == count
    return text.replace(line, "")


def test_a_slot_released_before_its_reader_has_settled_gives_poison():
    early = RING.replace("settle t back = 1; release ab", "release ab")
    assert np.isnan(run(parse(early), operands(), schedule="late")["C"]).any()


def test_a_product_that_is_never_settled_is_missing():
    args = operands()
    broken = RING.replace("      settle t\n      release ab\n", "      release ab\n")
    got = run(parse(broken), args, schedule="late")["C"]
    assert not np.array_equal(got, product(args))


UNWAITED = """
func @f(A: global f32[4], B: global f32[4]) results (B) {
  kernel @k { tiles (b) in (1) {
    alloc S: shared f32[1] slots 4
    channel c: ring(4) carries (S) from engine copy to role compute arrivals 1
    role producer {
      for k in (0, 4, 1) serial {
        acquire c
        issue copy onto = c { copy A[k] -> S@c[0] }
        commit c
      }
    }
    role compute {
      for k in (0, 4, 1) serial {
        WAIT
        store B[k] = S@c[0]
      }
    }
  } }
}"""


def test_a_missing_wait_gives_poison():
    a = np.arange(4, dtype=np.float32)
    right = parse(UNWAITED.replace("WAIT", "wait c"))
    assert run(right, {"A": a})["B"].tolist() == a.tolist()
    wrong = parse(UNWAITED.replace("WAIT", "fence generic -> async"))
    assert np.isnan(run(wrong, {"A": a}, schedule="late")["B"]).all()
    for seed in range(4):
        assert not np.array_equal(run(wrong, {"A": a}, seed=seed)["B"], a)


def test_a_missing_commit_is_a_deadlock_that_says_where():
    broken = without(RING, "        commit ab\n")
    with pytest.raises(TileError, match="E0507") as caught:
        run(parse(broken), operands())
    text = str(caught.value)
    assert "role producer, group 0, waits at `acquire ab`" in text
    assert "role compute, group 0, waits at `wait ab`" in text
    assert "role compute, group 1, waits at `wait ab`" in text
    assert caught.value.span is not None


def test_a_missing_release_is_a_deadlock():
    broken = RING.replace("settle t back = 1; release ab", "settle t back = 1")
    with pytest.raises(TileError, match="E0507"):
        run(parse(broken), operands())


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("        acquire ab\n", "commit of ab without an acquire"),
        ("        wait ab\n", "release of ab without a wait"),
    ],
)
def test_steps_out_of_turn(line, message):
    with pytest.raises(TileError, match=message) as caught:
        run(parse(without(RING, line)), operands())
    assert caught.value.code == "E0508"


ONE_ROLE = """
func @f(A: global f32[6, 4], B: global f32[6, 4]) results (B) {
  kernel @k { tiles (b) in (1) {
    alloc S: shared f32[4] slots 2
    channel c: ring(2) carries (S) from engine copy to role main arrivals 1
    acquire c
    issue copy onto = c { copy A[0, :] -> S@c[:] }
    commit c
    for k in (0, 6, 1) serial {
      if k + 1 < 6 {
        acquire c
        issue copy onto = c { copy A[k + 1, :] -> S@c[:] }
        commit c
      }
      WAIT
      parallel (i) in (4) { store B[k, i] = S@c[i] * 2.0 }
      release c
    }
  } }
}"""


@pytest.mark.parametrize("options", SCHEDULES, ids=str)
def test_one_thread_of_control_prefetches(options):
    a = np.arange(24, dtype=np.float32).reshape(6, 4)
    fn = parse(ONE_ROLE.replace("WAIT", "wait c"))
    np.testing.assert_array_equal(run(fn, {"A": a}, **options)["B"], a * 2)


COUNTED = """
func @f(A: global f32[6, 4], B: global f32[6, 4]) results (B) {
  kernel @k { tiles (b) in (1) {
    alloc S: shared f32[3, 4]
    issue copy { copy A[0, :] -> S[0, :] }; group copy -> t
    issue copy { copy A[1, :] -> S[1, :] }; group copy -> t
    for k in (0, 6, 1) serial {
      settle_count copy <= PENDING
      parallel (i) in (4) { store B[k, i] = S[k % 3, i] }
      if k + 2 < 6 { issue copy { copy A[k + 2, :] -> S[(k + 2) % 3, :] } }
      group copy -> t
    }
  } }
}"""


def test_counted_groups():
    a = np.arange(24, dtype=np.float32).reshape(6, 4)
    right = parse(COUNTED.replace("PENDING", "1"))
    for options in SCHEDULES:
        np.testing.assert_array_equal(run(right, {"A": a}, **options)["B"], a)
    wrong = parse(COUNTED.replace("PENDING", "2"))
    assert np.isnan(run(wrong, {"A": a}, schedule="late")["B"]).any()
    np.testing.assert_array_equal(run(wrong, {"A": a}, schedule="issue")["B"], a)


STORES = """
func @f(A: global f32[4, 4], B: global f32[4, 4]) results (B) {
  kernel @k { tiles (b) in (1) {
    alloc S: shared f32[4]
    for k in (0, 4, 1) serial {
      parallel (i) in (4) { store S[i] = A[k, i] + 1.0 }
      issue store { copy S[:] -> B[k, :] }
      group store -> t
      SETTLE
    }
  } }
}"""


def test_a_store_engine_reads_before_its_source_changes():
    a = np.arange(16, dtype=np.float32).reshape(4, 4)
    for settle in ("settle t read", "settle t", "settle_count store <= 0 read"):
        got = run(parse(STORES.replace("SETTLE", settle)), {"A": a}, schedule="late")["B"]
        np.testing.assert_array_equal(got, a + 1)
    racy = parse(STORES.replace("SETTLE", "fence generic -> async"))
    got = run(racy, {"A": a}, schedule="late")["B"]
    assert got.tolist() == np.tile(a[3] + 1, (4, 1)).tolist()


STAGED = """
func @f(A: global f32[8, 4], B: global f32[8, 4]) results (B) {
  kernel @k { tiles (b) in (1) {
    alloc S: shared f32[4] slots 2
    channel st: ring(2) carries (S) from role compute arrivals 1 to engine store
    role compute {
      for k in (0, 8, 1) serial {
        acquire st
        parallel (i) in (4) { store S@st[i] = A[k, i] * 3.0 }
        issue store { copy S@st[:] -> B[k, :] }
        commit st
      }
    }
  } }
}"""


@pytest.mark.parametrize("options", SCHEDULES, ids=str)
def test_a_store_engine_consumes_a_ring(options):
    a = np.arange(32, dtype=np.float32).reshape(8, 4)
    np.testing.assert_array_equal(run(parse(STAGED), {"A": a}, **options)["B"], a * 3)


TURNS = """
func @f(B: global i32[8]) results (B) {
  kernel @k { tiles (b) in (1) {
    alloc n: shared i32[1]
    store n[0] = 0
    channel turn: ring(1) carries () from role compute arrivals 1 per group
      to role compute arrivals 1 per group scope = group, filled = 1
    role compute groups = 2, group = g {
      for k in (0, 4, 1) serial {
        wait turn
        store B[n[0]] = g
        store n[0] = n[0] + 1
        release turn
        if k < 3 or g == 0 { acquire turn; commit turn }
      }
    }
  } }
}"""


@pytest.mark.parametrize("options", SCHEDULES, ids=str)
def test_two_groups_take_turns(options):
    text = TURNS.replace("\n      to role", " to role")
    assert run(parse(text), {}, **options)["B"].tolist() == [0, 1] * 4


PERSISTENT = """
func @f(A: global f32[10], B: global f32[10]) results (B) {
  kernel @k blocks = BLOCKS {
    alloc S: shared f32[1] slots 2
    channel c: ring(2) carries (S) from engine copy to role compute arrivals 1
    role producer {
      tiles (b) in (10) claim = static {
        acquire c
        issue copy onto = c { copy A[b] -> S@c[0] }
        commit c
      }
    }
    role compute {
      tiles (b) in (10) claim = static {
        wait c
        store B[b] = S@c[0] + 1.0
        release c
      }
    }
  }
}"""


@pytest.mark.parametrize("options", SCHEDULES, ids=str)
@pytest.mark.parametrize("blocks", ["1", "3", "device_workers() * 2"])
def test_blocks_share_the_tiles(options, blocks):
    a = np.arange(10, dtype=np.float32)
    text = PERSISTENT.replace("BLOCKS", blocks)
    assert run(parse(text), {"A": a}, **options)["B"].tolist() == (a + 1).tolist()


BARRIER = """
func @f(B: global i32[4]) results (B) {
  kernel @k { tiles (b) in (1) {
    alloc S: shared i32[4]
    role compute groups = 4, group = g {
      for k in (0, 3, 1) serial {
        store S[g] = g * 10 + k
        sync SCOPE
        store B[g] = S[3 - g]
        sync SCOPE
      }
    }
  } }
}"""


@pytest.mark.parametrize("scope", ["role", "block"])
@pytest.mark.parametrize("options", SCHEDULES, ids=str)
def test_barriers_line_up_groups(scope, options):
    got = run(parse(BARRIER.replace("SCOPE", scope)), {}, **options)["B"]
    assert got.tolist() == [32, 22, 12, 2]


def test_without_a_barrier_a_group_reads_what_is_not_there():
    with pytest.raises(TileError, match="S is read where it was never written"):
        run(parse(BARRIER.replace("sync SCOPE", "sync group")), {})
