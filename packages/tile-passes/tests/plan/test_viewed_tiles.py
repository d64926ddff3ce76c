"""A tile that a view sees lies in order, whoever else reads it; nothing else can be asked for."""

import pytest

from tile_ir.diag import TileError
from tile_ir.layout import parse_layout
from tile_ir.text import parse_function
from tile_passes.base import PassContext, State
from tile_passes.fuzz.cases import pipeline_of, spec_of
from tile_passes.manager import run_pipeline

pytest.importorskip("tile_cuda")
SWIZZLED = "d0 (64:64) d1 (64:1) swizzle<3,4,3>"


def planned(view="view flat: shared f16[4096] of a", layout="", pins=None, target="sm_90a"):
    fn = parse_function(f"""func @f(X: global f16[64, 64], O: global f32[64, 64]) {{
      kernel @k threads = (128) {{
        tiles (b) in (1) {{
          alloc a: shared f16[64, 64]{layout}
          alloc c: fragment f32[64, 64]
          {view}
          copy X[:, :] -> a[:, :]
          fill c[:, :], 0.0
          gemm a[:, :], a[:, :] -> c[:, :]
          copy c[:, :] -> O[:, :]
        }}
      }}
    }}""")
    name = f"cuda -arch={target}"
    cx = PassContext(target=spec_of(name), pins=pins or {})
    return run_pipeline(pipeline_of(name), State(function=fn), cx).state.plan


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_a_view_keeps_elements_in_order(target):
    found = planned(target=target).find("k.a.layout")
    assert "swizzle" not in str(found.value)
    assert parse_layout(str(found.value)).axis("d0").digits[0].stride == 64
    assert found.reason == "a view sees its elements in order"
    assert "swizzle" in str(planned("", target=target).value("k.a.layout", ""))


def test_an_asynchronous_atom_does_not_read_a_viewed_tile():
    spec = spec_of("cuda -arch=sm_90a")
    free, viewed = (spec.matrix[str(planned(v).value("k.gemm:c.atom", ""))] for v in ("", VIEW))
    assert (free.engine, viewed.engine) == ("async", "sync")


VIEW = "view flat: shared f16[4096] of a"


@pytest.mark.parametrize(
    "asked", [{"layout": f" layout [{SWIZZLED}]"}, {"pins": {"k.a.layout": SWIZZLED}}]
)
def test_another_layout_cannot_be_asked_for(asked):
    with pytest.raises(TileError) as caught:
        planned(**asked)
    assert caught.value.code == "E0702"
    assert caught.value.help
