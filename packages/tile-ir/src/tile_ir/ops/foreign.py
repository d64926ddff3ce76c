"""Functions that are given as source text of one target's language, and what stands for them
elsewhere."""

from __future__ import annotations

from tile_ir.core import Region
from tile_ir.expr import Expr, Load, Var
from tile_ir.opdef import READ, WRITE, Body, Effect, Stmt, attr, binds, op, operand, region


@op("source", syntax='source $language "$text"')
class Source(Stmt):
    """Text that stands before the kernels where `language` is the target's; elsewhere nothing."""

    language: str = attr()
    text: str = attr()


@op("native", syntax="native $language $then?( else $orelse)")
class Native(Stmt):
    """`then` on targets of that name, `orelse` on all others and for the oracle: both mean the
    same. An empty `orelse` says that there is no other way.

    Example: `native toy { call_extern twice(x) -> y } else { let z = x + x }`.
    """

    language: str = attr()
    then: Body = region()
    orelse: Body = region(())


@op("call_extern", syntax="call_extern $name($args)?( -> $result)")
class CallExtern(Stmt):
    """Call a function of the target's language; every thread that comes here does.

    `places` are the positions of arguments that are passed as the address of the element that they
    read. The function may read and write all of the buffers in `touched`; of others it touches what
    belongs to the thread.
    """

    name: str = attr()
    args: tuple[Expr, ...] = operand(READ)
    result: Var | None = binds(None)
    places: tuple[int, ...] = attr(())
    touched: tuple[Expr | Region, ...] = operand(READ | WRITE, ())

    def effects_(self) -> tuple[Effect, ...]:
        """Both ways for what it may touch, and for the elements whose addresses it gets."""
        given = [self.args[n] for n in self.places]
        held = [Effect(READ | WRITE, e) for e in given if isinstance(e, Load)]
        both = READ | WRITE
        return (*held, *(Effect(both, r) for r in self.touched if isinstance(r, Region)))
