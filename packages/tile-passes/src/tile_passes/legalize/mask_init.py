"""A product into a tile that holds a mask becomes a product, then the mask.

Public attention kernels write 0 where a score is visible and -inf where it is not, and let the
product add to that. Taken literally this costs a selection per element before every product and
keeps the product from overwriting. Masking afterwards is the same value, except where a masked
product is NaN or +inf, so only under `default` numerics.

    before:
        func @f(A: global f16[16, 16], B: global f16[16, 16], C: global f32[16, 16]) {
          kernel @f {
            tiles (bx) in (1) {
              alloc A_s: shared f16[16, 16]
              alloc B_s: shared f16[16, 16]
              alloc S: fragment f32[16, 16]
              copy A[:, :] -> A_s[:, :]
              copy B[:, :] -> B_s[:, :]
              parallel (i, j) in (16, 16) {
                store S[i, j] = select(i >= j, 0.0, -inf)
              }
              gemm A_s[:, :], B_s[:, :] -> S[:, :]
              copy S[:, :] -> C[:, :]
            }
          }
        }
    after:
        func @f(A: global f16[16, 16], B: global f16[16, 16], C: global f32[16, 16]) {
          kernel @f {
            tiles (bx) in (1) {
              alloc A_s: shared f16[16, 16]
              alloc B_s: shared f16[16, 16]
              alloc S: fragment f32[16, 16]
              copy A[:, :] -> A_s[:, :]
              copy B[:, :] -> B_s[:, :]
              gemm A_s[:, :], B_s[:, :] -> S[:, :] init = true
              parallel (i, j) in (16, 16) {
                store S[i, j] = select(i >= j, S[i, j], -inf)
              }
              copy S[:, :] -> C[:, :]
            }
          }
        }
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.expr import Const, Expr, Load, Select, loads
from tile_ir.ops import Gemm, Parallel, Store
from tile_ir.rewrite import all_effects, declared, map_bodies, replace, with_body
from tile_passes.base import Pass, PassContext
from tile_passes.legalize.schedules import scheduled_by_hand

if TYPE_CHECKING:
    from tile_ir.core import Buffer, Function
    from tile_ir.opdef import Body, Stmt
    from tile_passes.plan.model import Plan


def _is(e: Expr, value: float) -> bool:
    return isinstance(e, Const) and e.value == value


def _mask_of(stmt: Stmt, buffers: dict[str, Buffer]) -> Store | None:
    """The one store of a parallel loop that writes a whole tile with 0 or -inf by a condition."""
    if not (isinstance(stmt, Parallel) and len(stmt.body) == 1):
        return None
    store = stmt.body[0]
    if not (isinstance(store, Store) and isinstance(store.value, Select)):
        return None
    tile = buffers[store.buffer]
    covers = store.indices == stmt.vars and stmt.extents == tile.shape
    value = store.value
    if not covers or tile.scope == "global" or loads(value.cond):
        return None
    hides = (_is(value.t, 0.0) and _is(value.f, -math.inf)) or (
        _is(value.t, -math.inf) and _is(value.f, 0.0)
    )
    return store if hides else None


def _masked(loop: Parallel, store: Store) -> Parallel:
    value = store.value
    assert isinstance(value, Select)
    product = Load(store.buffer, store.indices, value.dtype)
    shown, hidden = (product, value.f) if _is(value.t, 0.0) else (value.t, product)
    made = replace(store, value=Select(value.cond, shown, hidden, value.dtype))
    return replace(loop, body=(made,))


def _rewritten(body: Body, buffers: dict[str, Buffer]) -> Body:
    out = [map_bodies(s, lambda inner: _rewritten(inner, buffers)) for s in body]
    for at, stmt in enumerate(out):
        store = _mask_of(stmt, buffers)
        if store is None:
            continue
        use = next((i for i in range(at + 1, len(out)) if _touches(out[i], store.buffer)), None)
        gemm = out[use] if use is not None else None
        whole = b.whole(buffers[store.buffer])
        if use is None or not (isinstance(gemm, Gemm) and gemm.init is None and gemm.c == whole):
            continue
        assert isinstance(stmt, Parallel)
        between = out[at + 1 : use]
        made = [*between, replace(gemm, init=b.const(True)), _masked(stmt, store)]
        out[at : use + 1] = made
    if all(x is y for x, y in zip(out, body, strict=False)) and len(out) == len(body):
        return body
    return tuple(out)


def _touches(stmt: Stmt, buffer: str) -> bool:
    return any(e.buffer == buffer for e in all_effects((stmt,)))


def mask_init(fn: Function, cx: PassContext, plan: Plan) -> Function:
    """Move masks from before a product to after it."""
    if fn.numerics == "strict" or scheduled_by_hand(fn):
        return fn
    return with_body(fn, _rewritten(fn.body, declared(fn)))


PASS = Pass(name="mask-init", phase="legalize", rewrite=mask_init, doc=__doc__)
