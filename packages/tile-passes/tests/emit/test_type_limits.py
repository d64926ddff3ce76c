"""Types that a target lacks are refused where a kernel computes with or stores them."""

import pytest

from tile_ir.diag import TileError
from tile_ir.text import parse_function
from tile_ir.types import f16, f64, i32
from tile_passes.emit.type_limits import refuse_types

PROGRAM = """
func @f(A: global {kind}[n], B: global f32[n]) dims (n) {{
  kernel @f {{
    tiles (b) in (n) {{
      {inside}
    }}
  }}
}}
"""


def refusal(kind, inside, lacking):
    with pytest.raises(TileError) as caught:
        refuse_types(
            parse_function(PROGRAM.format(kind=kind, inside=inside)),
            lacking,
            "there are no doubles",
            "Use float32.",
        )
    return caught.value


@pytest.mark.parametrize(
    ("kind", "inside", "message"),
    [
        ("f32", "store B[b] = f32(f64(A[b]))", "a value in f64"),
        ("f32", "alloc x: var f64[]", "a value in f64"),
        ("f64", "copy A[b] -> A[b]", "A in f64"),
    ],
)
def test_values_and_memory_are_found(kind, inside, message):
    error = refusal(kind, inside, frozenset({f64, f16}))
    assert error.code == "E3101"
    assert error.message == f"{message}: kernels of this target have no such type"
    assert error.notes == ("there are no doubles",)
    assert error.help == "Use float32."
    assert error.span is not None


def test_what_a_kernel_does_not_touch_is_not_asked():
    inside = "store B[b] = 0.0"
    fn = parse_function(PROGRAM.format(kind="f64", inside=inside))
    refuse_types(fn, frozenset({f64}), "why", "help")
    assert refusal("f64", inside, frozenset({i32})).message.startswith("a value in i32")
