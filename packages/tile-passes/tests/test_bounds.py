"""What `bounds` refuses, guards and leaves alone, beyond the example in its docstring."""

from __future__ import annotations

import pytest

from tile_ir.diag import TileError
from tile_passes.cli import optimize


def body(statements: str, params: str = "A: global f32[M, 64], C: global f32[100]") -> str:
    lines = "\n".join(f"      {line}" for line in statements.strip().splitlines())
    return (
        f"tile.ir 1.0 tile\nfunc @f({params}) dims (M) {{\n  kernel @f {{\n"
        f"    tiles (bx) in (ceildiv(M, 32)) {{\n{lines}\n    }}\n  }}\n}}\n"
    )


def after(statements: str) -> str:
    text = optimize(body(statements), "bounds")
    inner = text.split("{\n", 3)[3].rsplit("    }\n  }\n}", 1)[0]
    return "\n".join(line[6:] for line in inner.rstrip("\n").splitlines())


def test_a_copy_keeps_clip_only_where_an_axis_may_leave() -> None:
    ragged = "alloc t: shared f32[32, 64]\ncopy A[bx * 32 : +32, :] -> t[:, :] clip"
    assert after(ragged) == ragged
    known = ragged.replace("alloc", "assume M % 32 == 0\nalloc", 1)
    assert after(known) == known.replace(" clip", "")


def test_a_load_is_guarded_by_the_unproved_conditions_only() -> None:
    got = after("parallel (i, j) in (32, 64) {\n  store C[i] = A[bx * 32 + i, j]\n}")
    assert "store C[i] = select(bx * 32 + i < M, A[bx * 32 + i, j], 0.0)" in got


def test_a_guard_of_the_user_counts() -> None:
    inside = (
        "parallel (i) in (32) {\n  if bx * 32 + i < M {\n    store C[i] = A[bx * 32 + i, 0]\n  }\n}"
    )
    assert after(inside) == inside
    lazy = (
        "parallel (i) in (32) {\n  store C[i] = select(bx * 32 + i < M, A[bx * 32 + i, 0], 1.0)\n}"
    )
    assert after(lazy) == lazy


def test_a_condition_on_memory_that_changes_is_no_fact() -> None:
    text = (
        "alloc n: var i32[]\nstore n[] = 0\nif n[] < M {\n  store n[] = n[] + M\n"
        "  store C[0] = A[n[], 0]\n}"
    )
    assert "select(n[] >= 0 and n[] < M, A[n[], 0], 0.0)" in after(text)


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("store C[100] = 1.0 clip", "index 100 of axis 0 is always outside of 'C'"),
        ("store C[bx - bx - 1] = 1.0 clip", "axis 0 is always outside of 'C'"),
        ("store C[0] = A[0, 64]", "index 64 of axis 1 is always outside of 'A'"),
        (
            "alloc t: shared f32[8]\nfill t[bx - bx + 4 : +8], 0.0",
            "of axis 0 is always outside of 't'",
        ),
        ("alloc t: shared f32[8]\ncopy C[100 : +8] -> t[:] clip", "range 100 : 108"),
    ],
)
def test_what_is_always_outside_is_refused(statement: str, says: str) -> None:
    with pytest.raises(TileError, match="E0611") as caught:
        optimize(body(statement), "bounds")
    assert says in caught.value.message
    assert caught.value.help


def test_an_unreachable_access_is_not_refused() -> None:
    text = "if M < 0 {\n  store C[100] = 1.0 clip\n}"
    assert "store C[100]" in after(text)
