"""Layouts: what atoms demand, what follows from them, what stays free."""

from __future__ import annotations

from typing import Any

import pytest

from tile_ir.layout import FragmentLayout, parse_layout, same_function
from tile_ir.rewrite import declared
from tile_ir.testing.specs import toy_spec
from tile_ir.text import parse_function
from tile_passes.plan.atoms import tiling
from tile_passes.plan.relations import Relation, relations


def layouts(programs: Any, name: str, arch: str) -> dict[str, str]:
    plan = programs.planned(programs.tile(name), arch).plan
    return {d.key.split(".", 1)[1]: str(d.value) for d in plan if d.key.endswith(".layout")}


def test_two_groups_share_the_rows_of_a_wide_product() -> None:
    atom = toy_spec("async").matrix["m64nNk16_f16"]
    split = tiling(atom, (128, 256, 64), 256, "square")
    assert split is not None
    assert (split.along_m, split.along_n, split.atom.n) == (2, 1, 256)
    assert str(split.accumulator()) == (
        "thread (4:n*2, 8:m*1, 8:m*16) value (2:n*1, 2:m*8, 32:n*8)"
    )
    assert str(split.a()) == "thread (4:k*2, 8:m*1, 8:m*16) value (2:k*1, 2:m*8, 8:k*8)"


def test_policies_of_warps() -> None:
    atom = toy_spec("sync").matrix["m16n8k16_f16"]

    def shares(policy: str) -> tuple[int, int]:
        split = tiling(atom, (128, 128, 32), 128, policy)
        assert split is not None
        return split.along_m, split.along_n

    assert shares("square") == (2, 2)
    assert shares("full_row") == (4, 1)
    assert shares("full_col") == (1, 4)
    assert tiling(atom, (8, 8, 16), 128, "square") is None


@pytest.mark.parametrize("n", [80, 144, 192])
def test_every_element_of_an_odd_width_has_one_owner(n: int) -> None:
    atom = toy_spec("async").matrix["m64nNk16_f16"]
    split = tiling(atom, (128, n, 32), 256, "square")
    assert split is not None
    layout = split.accumulator()
    owned = {layout.coord(t, v) for t in range(layout.threads) for v in range(layout.values)}
    assert len(owned) == 128 * n == layout.threads * layout.values


def test_attention_needs_no_conversion(programs: Any) -> None:
    for arch in ("async", "sync"):
        plan = programs.planned(programs.tile("attention"), arch).plan
        assert [d.key for d in plan if "convert" in d.key] == []
        found = layouts(programs, "attention", arch)
        scores, p = parse_layout(found["acc_s.layout"]), parse_layout(found["P.layout"])
        assert same_function(scores, p)


def test_statistics_of_rows_are_copies_along_the_row(programs: Any) -> None:
    found = layouts(programs, "attention", "async")
    assert found["m.layout"] == "thread (4:-, 8:d0*1, 4:d0*16) value (2:d0*8)"
    assert found["l.layout"] == found["m.layout"] == found["alpha.layout"]
    assert found["parallel:acc_s.layout"] == found["acc_s.layout"]


def test_shared_operands_are_swizzled(programs: Any) -> None:
    found = layouts(programs, "attention", "async")
    assert found["K_s.layout"] == "d0 (64:64) d1 (64:1) swizzle<3,4,3>"
    found = layouts(programs, "no product", "async")
    assert found["A_s.layout"] == "d0 (64:32) d1 (32:1)"


def test_a_relation_and_its_reverse() -> None:
    layout = parse_layout("thread (4:d1*2, 8:d0*1) value (2:d1*1, 2:d0*8)")
    assert isinstance(layout, FragmentLayout)
    turn = Relation("x", "y", (1, 0), 2)
    turned = turn.wanted(layout)
    assert str(turned) == "thread (4:d0*2, 8:d1*1) value (2:d0*1, 2:d1*8) -> (d0, d1)"
    back = turn.reversed()
    assert back is not None
    assert same_function(back.wanted(turned), layout)
    assert Relation("x", "m", (0,), 2).reversed() is None


@pytest.mark.parametrize(("shape", "axes"), [("4", [(0,)]), ("4, 1", []), ("1", [])])
def test_a_reduced_axis_that_stays_lies_like_none_of_the_source(
    shape: str, axes: list[tuple[int, ...]]
) -> None:
    of, at = ("4, 8", "x[:, :]") if shape != "1" else ("8", "x[:]")
    to = ", ".join(":" for _ in shape.split(","))
    fn = parse_function(
        f"func @f() {{ kernel @f threads = (32) {{ alloc x: fragment f32[{of}]\n"
        f"alloc r: fragment f32[{shape}]\n"
        f"reduce sum {at} -> r[{to}] dim = {0 if shape == '1' else 1} }} }}"
    )
    (kernel,) = fn.body
    found = relations(kernel.body[-1], declared(fn))
    assert [r.axes for r in found if r.source == "x"] == axes


DIGITS = """
func @f(A: global i32[64, 16], B: global f16[8, 128], C: global f32[64, 8]) {
  kernel @f threads = (128) {
    tiles (b) in (1) {
      alloc words: fragment i32[64, 16]
      alloc W: fragment f16[64, 128]
      alloc x: shared f16[8, 128]
      alloc c: fragment f32[64, 8]
      copy A[0 : +64, 0 : +16] -> words[:, :]
      copy B[0 : +8, 0 : +128] -> x[:, :]
      fill c[:, :], 0.0
      parallel (i, j) in (64, 128) {
        store W[i, j] = f16(words[i, j % 8 // 2 * 4 + j // 32])
      }
      gemm W[:, :], x[:, :] -> c[:, :] transpose_b = true
      copy c[:, :] -> C[0 : +64, 0 : +8]
    }
  }
}
"""


@pytest.mark.parametrize("arch", ["async", "sync"])
def test_what_is_read_at_digits_lies_where_its_readers_are(programs: Any, arch: str) -> None:
    """Four words in a row for each thread: one access brings them."""
    plan = programs.planned(parse_function(DIGITS), arch).plan
    decision = next(d for d in plan if d.key == "f.words.layout")
    assert decision.value == "thread (4:d1*4, 8:d0*1, 4:d0*16) value (4:d1*1, 2:d0*8)"
    assert decision.reason == "follows W"
