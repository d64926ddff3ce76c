"""Rules of the instructions of one thread's program."""

import pytest

from tile_ir.interp import run
from tile_ir.text import parse_function
from tile_ir.verify import verify

PROGRAM = """
func @f(A: global f16[M, 64], F: global f32[M, 64]) dims (M) stage simt {
  kernel @k threads = (128) {
    let t = thread_index()
    alloc S: shared f16[64, 64] offset 0
    alloc P: shared f32[64, 64] offset 8192
    alloc r: local f16[8]
    alloc q: local f16[6]
    barriers full: [4] arrivals 1 offset = 24576
    barriers near: [2] arrivals 2 offset = 24608, scope = cluster
    %s
  }
}
"""

RIGHT = [
    "barrier_wait full[t % 4] phase t & 1",
    "barrier_arrive near[0] peer = block_rank()",
    "barrier_expect full[3] bytes 8192",
    "box_load A[t : +64, 0 : +64] -> S[:, :] onto full[0] multicast = 3",
    "box_store S[0 : +8, :] -> A[t : +8, 0 : +64]",
    "box_store S[0 : +8, :] -> A[t : +8, 0 : +64] reduce = add",
    "async_copy A[t, 0 : +8] -> S[0, 0 : +8] where = t < M",
    "async_copy F[t, 0 : +1] -> P[0, 0 : +1]",
    "matrix_store r[0 : +4] -> S[t % 64, 0 : +8] transpose",
    "register_limit 232 grow",
    "sync role id = 1, threads = 96",
    "if elected() { barrier_arrive full[0] }",
]
WRONG = [
    ("E0401", "barriers S: [1] arrivals 1", "S is declared twice"),
    ("E0401", "barriers full: [1] arrivals 1", "full is declared twice"),
    ("E0467", "barriers b: [0] arrivals 1", "0 barriers of 1 arrivals"),
    ("E0467", "barriers b: [1] arrivals 1 offset = 4", "at byte 4, no multiple of 8"),
    ("E0431", "barriers b: [1] arrivals 1 scope = group", "not one of block, cluster"),
    ("E0402", "barrier_arrive empty[0]", "there are no barriers empty"),
    ("E0408", "barrier_arrive full[1.0]", "is f32, not an integer"),
    ("E0467", "barrier_wait full[4] phase 0", "there are 4 barriers full, and none is 4"),
    ("E0408", "barrier_wait full[0] phase t == 0", "a parity is bool"),
    ("E0467", "barrier_arrive full[0] peer = 1", "do not arrive at full"),
    ("E0467", "barrier_expect full[0] bytes 0", "0 bytes are expected"),
    ("E0467", "box_load S[:, :] -> A[0 : +64, :] onto full[0]", "not shared to global"),
    ("E0467", "box_load F[0 : +64, :] -> S[:, :] onto full[0]", "does not convert"),
    ("E0467", "box_store S[0 : +8, :] -> A[0 : +9, :]", "the boxes of S and A differ"),
    ("E0431", "box_store S[0 : +8, :] -> A[0 : +8, :] reduce = sub", "kind of reduction"),
    ("E0467", "async_copy A[t, 0 : +3] -> S[0, 0 : +3]", "moves (4, 8, 16) bytes"),
    ("E0434", "async_copy A[t, 0 : +8] -> S[0, 0 : +8] where = t", "where is i32, not bool"),
    ("E0467", "register_limit 0", "0 registers"),
    ("E0465", "matrix_store S[0, 0 : +8] -> S[0, 0 : +8]", "from local to shared"),
    ("E0465", "matrix_store q[0 : +6] -> S[0, 0 : +8]", "1, 2 or 4 matrices"),
    ("E0465", "sync role id = -1, threads = 96", "barrier number -1"),
]


@pytest.mark.parametrize("statement", RIGHT)
def test_what_the_rules_allow(statement):
    assert [d.render() for d in verify(parse_function(PROGRAM % statement))] == []


@pytest.mark.parametrize(("code", "statement", "words"), WRONG, ids=[w[1][:40] for w in WRONG])
def test_what_the_rules_refuse(code, statement, words):
    found = verify(parse_function(PROGRAM % statement))
    assert [d.code for d in found] == [code]
    assert words in found[0].message


def test_one_lane_of_each_warp_is_elected():
    text = """
    func @f(Y: global i32[64]) results (Y) stage simt {
      kernel @k threads = (64) {
        let t = thread_index()
        store Y[t] = select(elected(), 1, 0) + block_rank()
      }
    }"""
    assert run(parse_function(text), {})["Y"].reshape(2, 32).sum(axis=1).tolist() == [1, 1]
