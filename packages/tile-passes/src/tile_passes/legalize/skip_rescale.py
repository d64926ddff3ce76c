"""Do not scale an accumulator that is zero: in the first trip of the loop after it was zeroed.

Online sums correct their accumulator by a factor before they add to it. In the first trip that
multiplies zeros, and it keeps `init-gemm` from letting the product overwrite. A factor that is not
finite would make NaNs of the zeros, so only under `default` numerics. Where the first trip is
peeled the branch folds away.

    before:
        func @f(A: global f16[16, 64], B: global f16[64, 16], C: global f32[16, 16]) {
          kernel @f {
            tiles (bx) in (1) {
              alloc A_s: shared f16[16, 16]
              alloc B_s: shared f16[16, 16]
              alloc C_l: fragment f32[16, 16]
              alloc a: fragment f32[16]
              fill C_l[:, :], 0.0
              for k in (0, 4, 1) pipelined {
                copy A[:, k * 16 : +16] -> A_s[:, :]
                copy B[k * 16 : +16, :] -> B_s[:, :]
                reduce max A_s[:, :] -> a[:] dim = 1
                parallel (i, j) in (16, 16) {
                  store C_l[i, j] = C_l[i, j] * a[i]
                }
                gemm A_s[:, :], B_s[:, :] -> C_l[:, :]
              }
              copy C_l[:, :] -> C[:, :]
            }
          }
        }
    after:
        func @f(A: global f16[16, 64], B: global f16[64, 16], C: global f32[16, 16]) {
          kernel @f {
            tiles (bx) in (1) {
              alloc A_s: shared f16[16, 16]
              alloc B_s: shared f16[16, 16]
              alloc C_l: fragment f32[16, 16]
              alloc a: fragment f32[16]
              fill C_l[:, :], 0.0
              for k in (0, 4, 1) pipelined {
                copy A[:, k * 16 : +16] -> A_s[:, :]
                copy B[k * 16 : +16, :] -> B_s[:, :]
                reduce max A_s[:, :] -> a[:] dim = 1
                if k != 0 {
                  parallel (i, j) in (16, 16) {
                    store C_l[i, j] = C_l[i, j] * a[i]
                  }
                }
                gemm A_s[:, :], B_s[:, :] -> C_l[:, :]
              }
              copy C_l[:, :] -> C[:, :]
            }
          }
        }
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.expr import Binary, Const, Load, loads
from tile_ir.ops import Fill, For, Gemm, If, Parallel, Store
from tile_ir.rewrite import declared, map_bodies, replace, with_body
from tile_passes.base import Pass, PassContext
from tile_passes.legalize.init_gemm import first_use, is_whole, may_leave
from tile_passes.legalize.schedules import scheduled_by_hand

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tile_ir.core import Buffer, Function
    from tile_ir.opdef import Body, Stmt
    from tile_passes.plan.model import Plan


def _rewritten(body: Body, buffers: Mapping[str, Buffer]) -> Body:
    out = [map_bodies(s, lambda inner: _rewritten(inner, buffers)) for s in body]
    for at, fill in enumerate(out):
        if not (isinstance(fill, Fill) and isinstance(fill.value, Const) and fill.value.value == 0):
            continue
        zeroed = buffers[fill.dst.buffer]
        use = first_use(tuple(out), zeroed.name, at + 1)
        if use is None or zeroed.scope != "fragment" or not is_whole(fill.dst, zeroed):
            continue
        loop = out[use]
        if isinstance(loop, For):
            out[use] = _without_first(loop, zeroed.name)
    same = all(x is y for x, y in zip(out, body, strict=True))
    return body if same else tuple(out)


def _without_first(loop: For, zeroed: str) -> For:
    """The loop without the scaling of `zeroed` in its first trip, when a product follows it."""
    at = first_use(loop.body, zeroed, 0)
    if at is None or may_leave(loop.body[:at]) or not _scales(loop.body[at], zeroed):
        return loop
    follows = first_use(loop.body, zeroed, at + 1)
    if follows is None or not isinstance(loop.body[follows], Gemm):
        return loop  # without a product the zeroing stays, and the scaling is cheap
    scaling = loop.body[at]
    later = If(cond=b.ne(loop.var, loop.start), then=(scaling,), span=scaling.span)
    return replace(loop, body=(*loop.body[:at], later, *loop.body[at + 1 :]))


def _scales(stmt: Stmt, buffer: str) -> bool:
    """Whether each element is multiplied by something that has nothing of the buffer in it."""
    if not isinstance(stmt, Parallel) or len(stmt.body) != 1:
        return False
    (store,) = stmt.body
    if not isinstance(store, Store) or store.buffer != buffer:
        return False
    value = store.value
    here = Load(buffer, store.indices, value.dtype, store.slot)
    if not isinstance(value, Binary) or value.op != "mul" or here not in (value.a, value.b):
        return False
    factor = value.b if value.a is here else value.a
    return all(x.buffer != buffer for x in loads(factor))


def skip_rescale(fn: Function, cx: PassContext, plan: Plan) -> Function:
    """Leave out the multiplication of zeros in first trips."""
    if fn.numerics == "strict" or scheduled_by_hand(fn):
        return fn
    return with_body(fn, _rewritten(fn.body, declared(fn)))


PASS = Pass(name="skip-rescale", phase="legalize", rewrite=skip_rescale, doc=__doc__)
