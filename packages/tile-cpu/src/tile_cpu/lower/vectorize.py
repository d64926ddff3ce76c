"""Vector loops for this target: `vectorize` with what its vectors and its prelude can do."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from tile_cpu.c_dialect import LANE_FUNCTIONS, carrier_type, is_packed
from tile_cpu.prelude.templates import resolve
from tile_passes.base import Pass, PassContext
from tile_passes.lower.vector_body import Capabilities
from tile_passes.lower.vectorize import vectorize

if TYPE_CHECKING:
    from tile_ir.core import Function
    from tile_ir.types import DType
    from tile_passes.plan.model import Plan

__all__ = ["PASS", "capabilities"]


@cache
def capabilities(vector_bytes: int) -> Capabilities:
    """What vectors of that size can do."""
    return Capabilities(
        bytes=vector_bytes,
        carrier_bits=lambda dtype: carrier_type(dtype).bits if not dtype.is_bool else 0,
        call=_has_vector_form,
        packed=is_packed,
        gathers=True,
    )


def _has_vector_form(fn: str, dtype: DType) -> bool:
    return fn in LANE_FUNCTIONS or resolve(f"tile_{fn}_{carrier_type(dtype).name}") is not None


def _run(fn: Function, cx: PassContext, plan: Plan) -> Function:
    return vectorize(fn, capabilities(cx.target.vector_unit.bytes or 16))


PASS = Pass(name="vectorize", phase="lower", rewrite=_run, requires=("element-wise",), doc=__doc__)
