"""Tiles that blocks draw: every one once, whoever is first, launch after launch."""

from pathlib import Path

import numpy as np
import pytest

from tile_ir.diag import TileError
from tile_ir.interp import run
from tile_ir.text import parse_function, parse_module
from tile_ir.verify import verify

KERNEL = """  kernel @{name} threads = (64), blocks = min({n}, device_workers()) {{
    alloc mail{i}: shared i32[1] slots 2
    channel box{i}: ring(2) carries (mail{i}) from role producer arrivals 1 to role compute
    role producer warps = 1, elect = 1 {{
      alloc after{i}: var i32[]
      tiles (bx, by) in ({n}, 1) claim = dynamic, next = after{i} {{
        claim drawn -> number{i} of {n}
        acquire box{i}
        store mail{i}@box{i}[0] = number{i}
        commit box{i}
        store after{i}[] = number{i}
      }}
    }}
    role compute warps = 1 {{
      alloc follow{i}: var i32[]
      alloc turn{i}: var i32[]
      store turn{i}[] = 0
      tiles (bx, by) in ({n}, 1) claim = dynamic, next = follow{i} {{
        store {out}[bx] = {out}[bx] + 1
        store turn{i}[] = turn{i}[] + 1
        store T[bx] = turn{i}[]
        wait box{i}
        store follow{i}[] = mail{i}@box{i}[0]
        release box{i}
      }}
    }}
  }}
"""


def program(*sizes):
    """Kernels that count how often each of their tiles was taken, one after the other, all with one
    counter."""
    outs = [(f"C{i}", n) for i, n in enumerate(sizes)]
    most = max(sizes)
    parameters = ", ".join(f"{c}: global i32[{n}]" for c, n in (*outs, ("T", most)))
    bodies = (KERNEL.format(i=i, name=f"k{c}", n=n, out=c) for i, (c, n) in enumerate(outs))
    head = f"tile.ir 1.0 tile\nfunc @f({parameters}) stage scheduled {{\n"
    fn = parse_function(head + "  alloc drawn: global u32[1] kept\n" + "".join(bodies) + "}\n")
    assert [d.render() for d in verify(fn)] == []
    return fn, {c: np.zeros(n, np.int32) for c, n in (*outs, ("T", most))}


@pytest.mark.parametrize("schedule", ["late", "issue"])
@pytest.mark.parametrize("order", ["forward", "reverse"])
@pytest.mark.parametrize("seed", [None, 0, 1, 2])
def test_every_tile_is_taken_once(schedule, order, seed):
    fn, args = program(13)
    for workers in (1, 2, 5, 20):
        got = run(fn, args, schedule=schedule, order=order, seed=seed, workers=workers)
        assert got["C0"].tolist() == [1] * 13


def test_a_seed_divides_tiles_unevenly():
    fn, args = program(13)
    shares = set()
    for seed in range(8):
        turns = run(fn, args, seed=seed, workers=3)["T"].tolist()
        shares.add(tuple(sorted(turns)))
        assert turns.count(1) == 3  # each of the three blocks has a first tile
    assert len(shares) > 3


@pytest.mark.parametrize("sizes", [(5, 5), (8, 3, 8), (1, 9, 2)])
@pytest.mark.parametrize("workers", [1, 3])
def test_a_launch_leaves_the_counter_to_the_next_one(sizes, workers):
    fn, args = program(*sizes)
    for seed in (None, 4):
        got = run(fn, args, workers=workers, seed=seed)
        for i, n in enumerate(sizes):
            assert got[f"C{i}"].tolist() == [1] * n


def test_only_one_thread_draws():
    fn = parse_function("""tile.ir 1.0 tile
func @f(R: global i32[1]) stage simt {
  alloc drawn: global u32[1] kept
  kernel @k threads = (32), blocks = 1 {
    let t = thread_index()
    if t < 2 {
      claim drawn -> n of 4
      store R[0] = n
    }
  }
}
""")
    with pytest.raises(TileError) as caught:
        run(fn, {"R": np.zeros(1, np.int32)})
    assert caught.value.code == "E0512"


@pytest.mark.parametrize(
    ("old", "new", "code", "why"),
    [
        ("u32[1] kept", "i32[1] kept", "E0428", "is no row of u32 in global memory"),
        ("alloc after: var i32[]", "alloc after: var u32[]", "E0437", "is no i32 scalar"),
        ("claim = dynamic, next = after", "claim = static, next = after", "E0437", "have their"),
        ("mail: shared i32[1] slots 2", "mail: shared i32[1] slots 2 kept", "E0413", "be kept"),
    ],
)
def test_what_the_verifier_refuses(old, new, code, why):
    text = "tile.ir 1.0 tile\nfunc @f(C: global i32[8], T: global i32[8]) stage scheduled {\n"
    text += (
        "  alloc drawn: global u32[1] kept\n" + KERNEL.format(i="", name="k", n=8, out="C") + "}\n"
    )
    assert old in text
    found = verify(parse_function(text.replace(old, new)))
    assert any(d.code == code and why in d.render() for d in found)


GOLDEN = Path(__file__).parents[1] / "golden" / "text"


@pytest.mark.parametrize("seed", [None, 0, 1])
def test_a_number_that_comes_through_a_channel(seed):
    module = parse_module((GOLDEN / "scheduled.tir").read_text())
    fn = next(f for f in module.functions if f.name == "together")
    got = run(fn, {"A": np.zeros(8, np.int32)}, seed=seed)
    assert got["A"].tolist() == list(range(8))


SENT = """tile.ir 1.0 tile
func @f(R: global i32[2]) stage simt {
  kernel @k threads = (32), cluster = (2), blocks = 2 {
    alloc word: shared i32[1] offset 0
    barriers full: [1] arrivals 1 offset = 8
    sync cluster
    let t = thread_index()
    let rank = block_rank()
    if t == 0 {
      barrier_expect full[0] bytes @B
      send 10 + rank -> word[0] of 1 - rank onto full[0]
      barrier_wait full[0] phase 0
      store R[rank] = word[0]
    }
    sync cluster
  }
}
"""


@pytest.mark.parametrize("schedule", ["late", "issue"])
def test_a_word_is_sent_to_the_other_block(schedule):
    fn = parse_function(SENT.replace("@B", "4"))
    assert [d.render() for d in verify(fn)] == []
    got = run(fn, {"R": np.zeros(2, np.int32)}, schedule=schedule)
    assert got["R"].tolist() == [11, 10]


def test_bytes_that_nobody_sends_are_waited_for():
    with pytest.raises(TileError) as caught:
        run(parse_function(SENT.replace("@B", "8")), {"R": np.zeros(2, np.int32)})
    assert caught.value.code == "E0507"


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("shared i32[1]", "shared f64[1]", "is no shared buffer of such"),
        ("send 10 + rank", "send f32(rank)", "holds i32, the value is f32"),
        ("-> word[0] of", "-> word[0, 0] of", "is no shared buffer of such"),
    ],
)
def test_what_cannot_be_sent(old, new, why):
    found = verify(parse_function(SENT.replace("@B", "4").replace(old, new)))
    assert any(d.code == "E0428" and why in d.render() for d in found)


@pytest.mark.parametrize(
    ("line", "code", "why"),
    [
        ("claim drawn of 8", "E0428", "goes to one place"),
        ("claim drawn -> n of 8 onto = told", "E0428", "goes to one place"),
        ("claim drawn of 8 onto = nobody", "E0402", "no channel nobody"),
    ],
)
def test_where_a_number_goes(line, code, why):
    text = (GOLDEN / "scheduled.tir").read_text()
    found = verify(parse_module(text.replace("claim drawn of 8 onto = told", line)))
    assert any(d.code == code and why in d.render() for d in found)
