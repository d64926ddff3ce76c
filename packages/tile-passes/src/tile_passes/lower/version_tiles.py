"""Give tiles that lie wholly inside their buffers a text of their own.

At the edge of a tensor a tile is ragged: its loops have bounds that are known at run time, its
missing part is filled with values of its own. Nearly all tiles are whole. Under one condition for
the whole tile everything has constant bounds, so that later loops over the same rows can be fused.
The same holds of the trips of a loop that goes along a tensor piece by piece.

    before:  tiles (b) in (ceildiv(M, 8)) { copy X[b * 8 : +8, :] -> x[:, :] clip ... }
    after:   tiles (b) in (ceildiv(M, 8)) {
               if b * 8 + 8 <= M { copy X[b * 8 : +8, :] -> x[:, :] ... }
               else { copy X[b * 8 : +8, :] -> x[:, :] clip ... } }
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.core import Region
from tile_ir.expr import Expr, free_vars, loads
from tile_ir.opdef import Body, Stmt, opdef
from tile_ir.ops import Assume, Atom, AtomicTile, Copy, Fill, For, Gemm, If, Tiles
from tile_ir.rewrite import bound_vars, declared, map_stmts, replace, walk, with_body
from tile_passes.analysis.context import FactWalk
from tile_passes.analysis.facts import Facts
from tile_passes.base import Pass, PassContext
from tile_passes.legalize.simplify import simplify
from tile_passes.naming import Names
from tile_passes.renaming import renamed

if TYPE_CHECKING:
    from tile_ir.core import Buffer, Function
    from tile_passes.plan.model import Plan

__all__ = ["PASS", "version_tiles"]

MAX_STATEMENTS = 60
"""Above this a second text costs more to compile than it gains."""


@dataclass(slots=True)
class _Versions:
    buffers: dict[str, Buffer]
    names: Names

    facts: Facts

    def visit(self, s: Stmt) -> Stmt | None:
        """Split the body of a tile, or of the loop along a strip of tiles."""
        if not isinstance(s, Tiles) or not self._is_worth(s.body):
            return None
        facts = self.facts
        walk_in = [x for x in s.body if isinstance(x, For)]
        if s.claim == "static" and len(walk_in) == 1:
            strip = walk_in[0]
            inner = FactWalk(frozenset()).inside(strip, FactWalk(frozenset()).inside(s, facts))
            made = replace(strip, body=self._split(strip.body, inner))
            return replace(s, body=tuple(made if x is strip else x for x in s.body))
        return replace(s, body=self._split(s.body, FactWalk(frozenset()).inside(s, facts)))

    def _split(self, body: Body, facts: Facts) -> Body:
        assumed = tuple(x for x in body if isinstance(x, Assume))
        for x in assumed:
            facts = facts.assume(x.cond)
        rest = body[len(assumed) :]
        if body[: len(assumed)] != assumed:
            return body
        cond = self._whole(rest, facts)
        if cond is None:
            return self._trips(body, facts)
        inside = tuple(_unclipped(s) for s in self._trips(rest, facts.assume(cond)))
        inside = renamed(inside, self.names)
        return (*assumed, If(cond=cond, then=inside, orelse=rest, span=rest[0].span))

    def _trips(self, body: Body, facts: Facts) -> Body:
        """Split the bodies of the loops of a tile."""
        made: list[Stmt] = []
        for s in body:
            if isinstance(s, For) and not (s.order or s.stage):  # those count statements
                inner = self._split(s.body, FactWalk(frozenset()).inside(s, facts))
                s = s if inner is s.body else replace(s, body=inner)
            made.append(s)
        return body if all(x is y for x, y in zip(made, body, strict=True)) else tuple(made)

    def _is_worth(self, body: Body) -> bool:
        statements = list(walk(body))
        product = any(isinstance(s, (Atom, Gemm)) for s in statements)
        return not product and len(statements) <= MAX_STATEMENTS

    def _whole(self, body: Body, facts: Facts) -> Expr | None:
        """The condition that everything the tile copies at its own level is inside its buffers."""
        bound = {v for s in walk(body) for v in bound_vars(s)}
        out: dict[Expr, None] = {}
        for s in body:
            if isinstance(s, _CLIPPED) and s.clip:
                for cond in self._conditions(s, facts):
                    if free_vars(cond) & bound or loads(cond):
                        return None
                    out[cond] = None
        whole: Expr | None = None
        for cond in out:
            whole = cond if whole is None else b.land(whole, cond)
        return whole

    def _conditions(self, s: Stmt, facts: Facts) -> list[Expr]:
        found: list[Expr] = []
        for f in opdef(s).of_kind("operand"):
            region = getattr(s, f.name)
            if not isinstance(region, Region) or self.buffers[region.buffer].scope != "global":
                continue
            for r, n in zip(region.ranges, self.buffers[region.buffer].shape, strict=True):
                conds = (b.ge(r.start, 0), b.le(b.add(r.start, r.extent), n))
                found += [c for c in conds if facts.prove(c) is not True]
        return found


_CLIPPED = (AtomicTile, Copy, Fill)


def _unclipped(s: Stmt) -> Stmt:
    return replace(s, clip=False) if isinstance(s, _CLIPPED) else s


def version_tiles(fn: Function) -> Function:
    """Return the function with whole tiles apart from ragged ones."""
    facts = Facts.of_dims(fn.dims)
    for s in fn.body:
        facts = facts.assume(s.cond) if isinstance(s, Assume) else facts
    work = _Versions(declared(fn), Names.of(fn), facts)
    return with_body(fn, map_stmts(fn.body, work.visit))


def _run(fn: Function, cx: PassContext, plan: Plan) -> Function:
    made = version_tiles(fn)
    return made if made is fn else simplify(made, cx, plan)


PASS = Pass(name="version-tiles", phase="expand", rewrite=_run, doc=__doc__)
