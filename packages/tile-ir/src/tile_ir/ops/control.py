"""Kernels, tile loops, loops and branches, and what a kernel says to its user (print, assert)."""

from __future__ import annotations

from tile_ir.core import Region
from tile_ir.expr import Expr, Var
from tile_ir.layout import Layout
from tile_ir.opdef import READ, Body, Stmt, attr, binds, op, operand, region

LOOP_KINDS = ("serial", "unroll", "vectorized", "pipelined")
CLAIMS = ("hardware", "static", "dynamic")
DEALS = ("cyclic", "snake")


@op("kernel", syntax="kernel @$name $body")
class Kernel(Stmt):
    """One device launch; kernels of a function run in order. Its body is a `tiles` loop among
    scalar bindings.

    `threads` counts compute threads (x, y, z). `blocks` is the launched grid once the tile loop is
    planned.

    A `dependent` kernel may begin before the kernel in front of it in its stream has ended, where a
    device can do that. It waits inside before it uses global memory; only reads of the buffers in
    `unwritten` need not wait, which nobody may write in the kernel in front. `triggers` lets a
    dependent kernel behind this one begin early; what is dependent itself always does. The buffers
    in `unchanged` it reads as an earlier kernel of the function did: nobody may have written their
    memory since, under any name.
    """

    name: str = attr()
    threads: tuple[int, ...] = attr((128,))
    cluster: tuple[int, ...] = attr(())
    min_blocks: int = attr(0)
    dependent: bool = attr(False, since=(1, 1))
    unwritten: tuple[str, ...] = attr((), since=(1, 1))
    triggers: bool = attr(False, since=(1, 1))
    unchanged: tuple[str, ...] = attr((), since=(1, 1))
    blocks: Expr | None = operand(READ, None)
    body: Body = region()


@op("tiles", syntax="tiles ($vars) in ($extents) $body")
class Tiles(Stmt):
    """Every tile of a box, in unspecified order and concurrently; how blocks claim them is `claim`.

    `raster` and `panel` order them for cache reuse. With `claim = static` each block takes every
    n-th tile; with `deal = snake` every other round of n tiles is dealt backwards, the last full
    one among them, which evens out tiles that come heaviest first. `claim = dynamic` gives the next
    tile to the block that is done first; once planned, each role has a loop of its own and keeps
    the number of its next tile in the scalar `next`, which it sets in every tile.
    Example: `tiles (bx, by) in (ceildiv(N, 256), ceildiv(M, 128)) { ... }`.
    """

    vars: tuple[Var, ...] = binds()
    extents: tuple[Expr, ...] = operand(READ)
    claim: str = attr("hardware")
    raster: str = attr("none")
    panel: int = attr(0)
    deal: str = attr("cyclic")
    next: str = attr("")
    body: Body = region()


@op("for", syntax="for $var in ($start, $stop, $step) $kind $body")
class For(Stmt):
    """A counted loop; `step` is a non-zero constant, of either sign. Example: `for k in (0, n, 1)
    pipelined num_stages = 3 { ... }`.

    `pipelined` asks for overlap of iterations (`num_stages`, or the explicit schedule `order` and
    `stage`, one entry per statement of the body); `vectorized` asserts one vector access; all mean
    what `serial` means.
    """

    var: Var = binds()
    start: Expr = operand(READ)
    stop: Expr = operand(READ)
    step: Expr = operand(READ)
    kind: str = attr("serial")
    num_stages: int = attr(0)
    order: tuple[int, ...] = attr(())
    stage: tuple[int, ...] = attr(())
    unroll: int = attr(0)
    body: Body = region()


@op("parallel", syntax="parallel ($vars) in ($extents) $body")
class Parallel(Stmt):
    """Independent iterations over a box, distributed over the threads of the block.

    `width` bounds the vector width in elements (0: free); `layout` pins who runs which iteration.
    Example: `parallel (i, j) in (128, 64) { store C_l[i, j] = 0.0 }`.
    """

    vars: tuple[Var, ...] = binds()
    extents: tuple[Expr, ...] = operand(READ)
    width: int = attr(0)
    layout: Layout | None = attr(None)
    body: Body = region()


@op("if", syntax="if $cond $then?( else $orelse)")
class If(Stmt):
    """A branch. The text leaves `else { }` out when it is empty."""

    cond: Expr = operand(READ)
    then: Body = region()
    orelse: Body = region(())


@op("while", syntax="while $cond $body")
class While(Stmt):
    """Repeat while the condition, evaluated anew before each trip, holds."""

    cond: Expr = operand(READ)
    body: Body = region()


@op("break", syntax="break")
class Break(Stmt):
    """Leave the innermost `for` or `while`."""


@op("continue", syntax="continue")
class Continue(Stmt):
    """Go to the next trip of the innermost `for` or `while`."""


@op("assert", syntax='assert $cond, "$message"')
class Assert(Stmt):
    """Stop the launch with `message` where the condition fails (host statement, or device check in
    a debug build)."""

    cond: Expr = operand(READ)
    message: str = attr("")


@op("assume", syntax="assume $cond")
class Assume(Stmt):
    """A promise of the user's about integers, given to the prover; the oracle and debug builds
    check it.

    Example: `assume M % 128 == 0`.
    """

    cond: Expr = operand(READ)


@op("print", syntax='print "$message", [$values]')
class Print(Stmt):
    """Write a message and values (expressions, or whole regions) to the host's standard output.

    Each `{}` of the message stands for the next value; values beyond follow the message. The text
    has the values in brackets.
    """

    message: str = attr("")
    values: tuple[Expr | Region, ...] = operand(READ, ())
