"""What a traced `for` may iterate over: counted loops, parallel boxes, nested grids, persistent
tile loops.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from tile_frontend.trace.values import Value, expr_of
from tile_ir import build
from tile_ir.diag import TileError
from tile_ir.expr import Const, Expr, Var
from tile_ir.ops import For, If, Parallel
from tile_ir.types import DType, i32, i64

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tile_frontend.trace.builder import Builder, Scope
    from tile_ir.layout import Layout


class TracedLoop:
    """A loop for `for`: `begin` opens its scopes and gives what the target is bound to, `end` makes
    the IR.
    """

    what: str
    """The name of the loop, for messages."""
    leavable = True
    """Whether `break` and `continue` mean something in it."""

    def begin(self, builder: Builder) -> Any:
        """Open the loop."""
        raise NotImplementedError

    def end(self, builder: Builder) -> None:
        """Close the loop and emit it."""
        raise NotImplementedError

    def __enter__(self) -> NoReturn:
        raise TileError(
            "E1018",
            f"{self.what} is entered with `with`",
            help=f"it is a loop: `for i in {self.what}(...):`",
        )

    def __exit__(self, *exception: object) -> None:
        """Never reached: `__enter__` raises."""

    def __iter__(self) -> Iterator[Any]:
        raise TileError(
            "E1013",
            f"{self.what} is iterated over by code that is not traced",
            notes=(
                "a plain Python function called from a kernel, a comprehension or list(...) runs "
                "as Python",
            ),
            help="write the loop as a `for` statement of the kernel, or put @T.macro on the "
            "function",
        )


def loop_bound(x: object, what: str) -> Expr:
    """A loop bound as an integer expression.

    Raises `TileError` E1416 when it is no integer.
    """
    expr = expr_of(x)
    if expr.dtype.is_int and expr.dtype.lanes == 1:
        return expr
    raise TileError(
        "E1416",
        f"a bound of {what} is a {expr.dtype}",
        help="bounds are integers; convert with T.cast(x, T.int32)",
    )


def counter_type(*bounds: Expr) -> DType:
    """i32, or i64 where a bound needs it."""
    return i64 if any(b.dtype.bits > 32 and not isinstance(b, Const) for b in bounds) else i32


@dataclass(eq=False)
class CountedLoop(TracedLoop):
    """One counted loop; `kind` and the options are those of `tile_ir.ops.For`."""

    what: str
    start: Expr
    stop: Expr
    step: int = 1
    kind: str = "serial"
    options: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # No `break` where iterations are meant to be one access or to overlap.
        self.leavable = self.kind in ("serial", "unroll")

    @property
    def trip(self) -> tuple[Expr, int | None]:
        """How many trips are done, while it is open, and how many there are where that is known."""
        done = build.floordiv(build.sub(self._var, self._bounds[0]), self.step)
        start, stop = self._bounds
        if not (isinstance(start, Const) and isinstance(stop, Const)):
            return done, None
        return done, len(range(int(start.value), int(stop.value), self.step))

    def begin(self, builder: Builder) -> Value:
        """One new variable."""
        if self.kind == "pipelined" and builder.inside("parallel") is not None:
            raise TileError(
                "E1306",
                f"{self.what} stands inside T.Parallel",
                notes=("a pipeline is run by all threads of the block together",),
                help="use T.serial here, or exchange the loops",
            )
        kind = counter_type(self.start, self.stop)
        lowest = self.start if self.step > 0 else self.stop
        positive = isinstance(lowest, Const) and lowest.value >= (0 if self.step > 0 else -1)
        self._bounds = (build.cast(self.start, kind), build.cast(self.stop, kind))
        self._var = builder.counter(builder.hint("i"), not_negative=positive, dtype=kind)
        self._scope = builder.open("loop", loop=self)
        return Value(self._var)

    def end(self, builder: Builder) -> None:
        """Emit the `for`."""
        span = self._scope.span
        body = builder.close(self._scope)
        start, stop = self._bounds
        step = build.const(self.step, start.dtype)
        builder.emit(
            For(
                var=self._var,
                start=start,
                stop=stop,
                step=step,
                kind=self.kind,
                body=body,
                span=span,
                **self.options,
            )
        )


@dataclass(eq=False)
class ParallelLoop(TracedLoop):
    """Independent iterations over a box."""

    extents: tuple[Expr, ...]
    width: int = 0
    layout: Layout | None = None
    what: str = "T.Parallel"
    leavable = False

    @property
    def variables(self) -> tuple[Var, ...]:
        """Its variables, while it is open."""
        return self._vars

    def begin(self, builder: Builder) -> Value | tuple[Value, ...]:
        """One new variable for each extent."""
        defaults = ("i", "j", "k", "l")
        self._vars = tuple(
            builder.counter(builder.hint(defaults[n % 4]), dtype=counter_type(e))
            for n, e in enumerate(self.extents)
        )
        for var, extent in zip(self._vars, self.extents, strict=True):
            builder.parallel_vars[var.name] = extent
        self._scope = builder.open("parallel", loop=self)
        values = tuple(Value(v) for v in self._vars)
        return values[0] if len(values) == 1 else values

    def end(self, builder: Builder) -> None:
        """Emit the `parallel`."""
        span = self._scope.span
        body = builder.close(self._scope)
        extents = tuple(
            build.cast(e, v.dtype) for e, v in zip(self.extents, self._vars, strict=True)
        )
        builder.emit(
            Parallel(
                vars=self._vars,
                extents=extents,
                width=self.width,
                layout=self.layout,
                body=body,
                span=span,
            )
        )


@dataclass(eq=False)
class GridLoop(TracedLoop):
    """Nested serial loops under one header."""

    extents: tuple[Expr, ...]
    what: str = "T.grid"

    def __post_init__(self) -> None:
        self.leavable = len(self.extents) == 1

    def begin(self, builder: Builder) -> Value | tuple[Value, ...]:
        """Open the loops from the outermost in."""
        zero = build.const(0, "i32")
        self._loops = [CountedLoop(self.what, zero, stop) for stop in self.extents]
        values = tuple(loop.begin(builder) for loop in self._loops)
        return values[0] if len(values) == 1 else values

    def end(self, builder: Builder) -> None:
        """Close them from the innermost out."""
        for loop in reversed(self._loops):
            loop.end(builder)


@dataclass(eq=False)
class PersistentLoop(TracedLoop):
    """The tiles of a box that fall to one of `wave_size` resident blocks, in waves.

    The last axis is walked in groups of `group_size` beside the first ones, so that a wave shares
    operands.
    """

    domain: tuple[Expr, ...]
    wave_size: Expr
    index: Expr
    group_size: int
    what: str = "T.Persistent"
    leavable = False

    def begin(self, builder: Builder) -> Value | tuple[Value, ...]:
        """Open the loop over waves and the guard that skips padding."""
        names = [builder.hint("bx") for _ in self.domain]
        *outer, last = self.domain
        group = build.minimum(build.const(self.group_size, last.dtype), last)
        groups = build.ceildiv(last, group)
        rows: Expr = build.const(1, "i32")
        for extent in outer:
            rows = build.mul(rows, extent)
        total = build.mul(build.mul(groups, rows), group)
        waves = CountedLoop(self.what, build.const(0, "i32"), build.ceildiv(total, self.wave_size))
        self._waves = waves
        wave = Var(builder.fresh("wave"), i32)
        builder.not_negative.add(wave.name)
        waves._bounds = (waves.start, waves.stop)
        waves._var = wave
        waves._scope = builder.open("loop")
        tile = build.add(build.mul(wave, self.wave_size), self.index)
        coords = self._coordinates(builder, names, tile, rows, group)
        inside = build.land(build.lt(tile, total), build.lt(coords[-1].expr, last))
        self._guard: tuple[Scope, Expr] = (builder.open("if"), inside)
        return coords[0] if len(coords) == 1 else tuple(coords)

    def _coordinates(
        self, builder: Builder, names: list[str], tile: Expr, rows: Expr, group: Expr
    ) -> list[Value]:
        tile = builder.let("tile", tile).expr
        last = build.add(
            build.mul(build.floordiv(tile, build.mul(rows, group)), group),
            build.floormod(tile, group),
        )
        rest = build.floormod(build.floordiv(tile, group), rows)
        coords = [last]
        for extent in reversed(self.domain[:-1]):
            coords.insert(0, build.floormod(rest, extent))
            rest = build.floordiv(rest, extent)
        return [builder.let(name, c) for name, c in zip(names, coords, strict=True)]

    def end(self, builder: Builder) -> None:
        """Emit guard and loop."""
        scope, inside = self._guard
        body = builder.close(scope)
        builder.emit(If(cond=inside, then=body, span=scope.span))
        self._waves.end(builder)
