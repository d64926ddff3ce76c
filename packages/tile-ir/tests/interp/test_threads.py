"""One thread's program: threads side by side, exchanges, divergence, races, matrix registers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tile_ir.core import Stage
from tile_ir.diag import TileError
from tile_ir.interp import run
from tile_ir.schema import header
from tile_ir.testing.specs import toy_spec
from tile_ir.text import parse_function, print_function
from tile_ir.verify import check

N = 64


def program(body: str, params: str = "A: global f32[64], B: global f32[64]") -> Any:
    """A kernel of 64 threads at stage simt."""
    fn = parse_function(f"""{header(Stage.SIMT)}
func @f({params}) {{
  kernel @f threads = (64) {{
    tiles (x) in (1) {{
      let tid = thread_index()
      {body}
    }}
  }}
}}""")
    check(fn)
    return fn


def outcome(body: str) -> np.ndarray[Any, Any]:
    a = np.arange(N, dtype=np.float32)
    return run(program(body), {"A": a, "B": np.zeros(N, np.float32)})["B"]


IDS = np.arange(N)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("store B[tid] = A[63 - tid]", 63 - IDS),
        ("store B[tid] = f32(lane_index() + 100 * warp_index())", IDS % 32 + IDS // 32 * 100),
        ("store B[tid] = shuffle_xor(A[tid], 5)", IDS ^ 5),
        ("store B[tid] = shuffle_idx(A[tid], 3)", IDS // 32 * 32 + 3),
        ("if tid < 10 { store B[tid] = 7.0 }", np.where(IDS < 10, 7, 0)),
    ],
)
def test_each_thread_has_its_index(body: str, expected: Any) -> None:
    assert outcome(body).tolist() == expected.tolist()


def test_each_thread_has_registers_of_its_own() -> None:
    found = outcome("""alloc r: local f32[2]
      alloc v: var f32[]
      store r[0] = A[tid]
      store r[1] = A[63 - tid]
      store v[] = r[0] - r[1]
      store B[tid] = v[]""")
    assert found.tolist() == (2 * IDS - 63).tolist()


def test_vector_accesses() -> None:
    found = outcome("""alloc r: local f32[4]
      if tid < 16 {
        store r[ramp(0, 1, 4)] = A[ramp(tid * 4, 1, 4)]
        store B[ramp(60 - tid * 4, 1, 4)] = r[ramp(0, 1, 4)]
      }""")
    assert found.tolist() == np.arange(N).reshape(16, 4)[::-1].reshape(-1).tolist()


@pytest.mark.parametrize(
    ("loop", "expected"),
    [
        ("for i in (0, tid, 1) serial { store n[] = n[] + 1.0 }", IDS),
        (
            "for i in (0, 64, 1) serial { if i >= tid { break }; store n[] = n[] + 1.0 }",
            IDS,
        ),
        (
            "for i in (0, 8, 1) serial { if i % 2 == tid % 2 { continue }; store n[] = n[] + 1.0 }",
            np.full(N, 4),
        ),
        ("while n[] * 2.0 < f32(tid) { store n[] = n[] + 1.0 }", -(-IDS // 2)),
        (
            "for i in (0, 4, 1) serial { for j in (0, 4, 1) serial { if j > i + tid { break };"
            " store n[] = n[] + 1.0 } }",
            np.minimum(IDS[:, None] + np.arange(4) + 1, 4).sum(1),
        ),
    ],
)
def test_threads_make_different_numbers_of_trips(loop: str, expected: Any) -> None:
    found = outcome(f"alloc n: var f32[]\nstore n[] = 0.0\n{loop}\nstore B[tid] = n[]")
    assert found.tolist() == expected.tolist()


EXCHANGE = """alloc s: shared f32[64]
      store s[tid] = A[tid]
      {barrier}
      store B[tid] = s[{read}]"""


def test_shared_memory_is_seen_after_a_barrier() -> None:
    body = EXCHANGE.format(barrier="sync block", read="63 - tid")
    assert outcome(body).tolist() == (63 - IDS).tolist()


def test_a_missing_barrier_is_a_race() -> None:
    with pytest.raises(TileError, match=r"E0511.*thread 0 reads s.63., which thread 63 wrote"):
        outcome(EXCHANGE.format(barrier="", read="63 - tid"))


def test_a_thread_may_read_what_it_wrote() -> None:
    assert outcome(EXCHANGE.format(barrier="", read="tid")).tolist() == IDS.tolist()


@pytest.mark.parametrize(
    "again",
    [
        "store s[63 - tid] = 1.0",
        "let y: f32 = s[0]\nsync group\nif tid == 1 { store s[0] = y }",
        "store s[tid // 2] = 1.0",
    ],
)
def test_overwriting_what_others_touched_is_a_race(again: str) -> None:
    with pytest.raises(TileError, match=r"E0511.*writes"):
        outcome(f"""alloc s: shared f32[64]
      if tid < 64 {{ store s[tid] = A[tid] }}
      {"sync block" if "y" in again else ""}
      {again}""")


def test_a_barrier_in_a_branch_that_only_some_take() -> None:
    with pytest.raises(TileError, match="E0512"):
        outcome("if tid < 32 { sync block }")


def test_an_exchange_with_a_lane_that_does_not_take_part() -> None:
    with pytest.raises(TileError, match="E0512"):
        outcome("if tid < 16 { store B[tid] = shuffle_xor(A[tid], 16) }")


def test_text_of_exchanges_round_trips() -> None:
    fn = program("store B[tid] = shuffle_xor(A[tid], 1)")
    assert "shuffle_xor(A[tid], 1)" in print_function(fn)


def test_an_exchange_names_its_lane_by_i32() -> None:
    with pytest.raises(TileError, match="E0406"):
        program("store B[tid] = shuffle_xor(A[tid], A[0])")


ATOM = """alloc a: local f16[8]
      alloc b: local f16[4]
      alloc c: local f32[4]
      let lane = lane_index()
      let k = (lane & 3) * 2
      let m = lane >> 2
      for v in (0, 2, 1) unroll { for w in (0, 2, 1) unroll { for u in (0, 2, 1) unroll {
        store a[u + v * 2 + w * 4] = A[warp_index(), m + v * 8, k + u + w * 8]
      } } }
      for v in (0, 2, 1) unroll { for u in (0, 2, 1) unroll {
        store b[u + v * 2] = B[k + u + v * 8, m]
      } }
      for v in (0, 4, 1) unroll { store c[v] = 1.0 }
      atom m16n8k16_f16 a[0 : +8], b[0 : +4] -> c[0 : +4] init = tid < 0
      for v in (0, 2, 1) unroll { for u in (0, 2, 1) unroll {
        store C[warp_index(), m + v * 8, k + u] = c[u + v * 2]
      } }"""
MATRICES = "A: global f16[2, 16, 16], B: global f16[16, 8], C: global f32[2, 16, 8]"


def test_a_matrix_instruction_multiplies_what_its_layouts_say() -> None:
    rng = np.random.default_rng(0)
    args = {
        "A": rng.integers(-4, 5, (2, 16, 16)).astype(np.float16),
        "B": rng.integers(-4, 5, (16, 8)).astype(np.float16),
        "C": np.zeros((2, 16, 8), np.float32),
    }
    found = run(program(ATOM, MATRICES), args, target=toy_spec("sync"))["C"]
    wide = args["A"].astype(np.float32) @ args["B"].astype(np.float32) + 1
    assert found.tolist() == wide.tolist()


def test_a_matrix_instruction_needs_its_description() -> None:
    args = {
        "A": np.zeros((2, 16, 16), np.float16),
        "B": np.zeros((16, 8), np.float16),
        "C": np.zeros((2, 16, 8), np.float32),
    }
    with pytest.raises(TileError, match="E0513"):
        run(program(ATOM, MATRICES), args)


ROWS = """alloc s: shared f16[512]
      alloc r: local f16[{size}]
      store s[ramp(tid * 8, 1, 8)] = A[ramp(tid * 8, 1, 8)]
      sync block
      matrix_load s[{row} * 8 : +8] -> r[0 : +{size}]{turned}
      for v in (0, {size}, 1) unroll {{ store B[tid, v] = r[v] }}"""


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("transpose", [False, True])
def test_a_warp_loads_matrices(count: int, transpose: bool) -> None:
    size = 2 * count
    params = f"A: global f16[512], B: global f16[64, {size}]"
    text = ROWS.format(size=size, row="tid", turned=" transpose" if transpose else "")
    a = np.arange(512).astype(np.float16)
    found = run(program(text, params), {"A": a, "B": np.zeros((64, size), np.float16)})["B"]
    for thread in range(64):
        warp, lane = divmod(thread, 32)
        for v in range(size):
            matrix = a.reshape(2, 4, 8, 8)[warp, v // 2]
            at = (lane // 4, 2 * (lane % 4) + v % 2)
            assert found[thread, v] == matrix[at[::-1] if transpose else at]


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("matrix_load A[tid : +8] -> r[0 : +2]", "from shared"),
        ("matrix_load s[tid : +4] -> r[0 : +2]", "8 elements"),
        ("matrix_load s[tid : +8] -> r[0 : +6]", "1, 2 or 4"),
        ("matrix_load w[tid : +8] -> q[0 : +2]", "16-bit"),
    ],
)
def test_what_a_matrix_load_takes(statement: str, says: str) -> None:
    with pytest.raises(TileError, match=f"E0465.*{says}"):
        program(
            f"""alloc s: shared f16[512]
      alloc r: local f16[8]
      alloc w: shared f32[512]
      alloc q: local f32[8]
      {statement}""",
            "A: global f16[512]",
        )
