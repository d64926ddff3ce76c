"""A value of each thread combined over the threads along an axis of the block, by any operator."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from tile_frontend.language.thread_values import bad, kernel_of, operand, thread_of, truth
from tile_frontend.language.threads import places
from tile_frontend.trace.buffers import Element, VarRef, store_element
from tile_frontend.trace.loops import CountedLoop
from tile_frontend.trace.values import Value, expr_of, static_int
from tile_ir import build
from tile_ir.core import Buffer
from tile_ir.diag import TileError
from tile_ir.expr import Load
from tile_ir.types import i32

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType

    from tile_frontend.trace.builder import Builder
    from tile_ir.expr import Expr

__all__ = ["attr", "comm_reducer", "tvm_thread_allreduce"]

_SCOPE = "reduce_scope"


class _Reducer:
    """An operator that does not mind the order, and the value that changes no other."""

    __slots__ = ("combine", "identity")

    def __init__(self, combine: Callable[[Any, Any], Any], identity: Any) -> None:
        self.combine, self.identity = combine, identity


def comm_reducer(combiner: Callable[[Any, Any], Any], identity: Sequence[Any]) -> _Reducer:
    """An operator for `T.tvm_thread_allreduce`, as a function of two values, with its identity.

    Args:
        combiner: associative and commutative; what it returns is a value of the kernel.
        identity: a list of one value that changes no other.

    Raises `TileError` E1522 for several values at once.
    Example: `T.comm_reducer(lambda x, y: x + y, [0.0])`
    """
    if len(identity) != 1:
        bad(
            f"T.comm_reducer of {len(identity)} values",
            "combine one value: pass a function of two values and a list of its identity",
        )
    return _Reducer(combiner, identity[0])


class attr:
    """`with T.attr(T.comm_reducer(...), "reduce_scope", ...):` says by which operator the
    `T.tvm_thread_allreduce` inside combines.

    Raises `TileError` E1506 for any other attribute: they speak to passes of another compiler.
    Example: `T.attr(T.comm_reducer(lambda x, y: x + y, [0.0]), "reduce_scope", 0)`
    """

    def __init__(self, node: Any, key: str, value: Any = None) -> None:
        if key != _SCOPE or not isinstance(node, _Reducer):
            raise TileError(
                "E1506",
                f"T.attr gives {node!r} the attribute {key!r}",
                notes=("attributes of statements speak to passes of another compiler",),
                help="leave it out; of attributes, only the operator of T.tvm_thread_allreduce has "
                "a meaning here",
            )
        self.reducer = node

    def __enter__(self) -> None:
        b, _ = kernel_of("T.attr")
        self.outer, b.reducer = b.reducer, self.reducer

    def __exit__(
        self, kind: type[BaseException] | None, error: object, trace: TracebackType | None
    ) -> None:
        b, _ = kernel_of("T.attr")
        b.reducer = self.outer


def tvm_thread_allreduce(
    size: Any, value: Any, cond: Any, out: Any, *axes: Any, **rest: Any
) -> Value:
    """`value` of all threads that differ from this one along `axes` only and for which `cond`
    holds, combined into `out`, an element of a thread's own; by the operator of the `T.attr`
    around.

    Args:
        size: 1, the number of values.
        value: of each thread. cond: whether it counts.
        out: an element of a `T.alloc_local`, or a `T.alloc_var`.
        axes: what `T.get_thread_binding` gave.

    Raises `TileError` E1522 without an operator or an axis, E1521 (when the kernel ends) in a
    branch of some threads.
    Example: `with T.attr(T.comm_reducer(lambda a, c: a + c, [0.0]), "reduce_scope", 0):
    T.tvm_thread_allreduce(1, x, True, x, T.get_thread_binding())`
    """
    what = "T.tvm_thread_allreduce"
    b, scope = kernel_of(what)
    reducer = b.reducer
    if reducer is None or static_int(size) != 1:
        bad(
            f"{what} of {size!r} values " + ("" if reducer else "by no operator"),
            'combine one value, under `with T.attr(T.comm_reducer(...), "reduce_scope", ...)`',
        )
    if not isinstance(out, (Element, VarRef)):
        bad(f"{what} puts its result into {out!r}", "name an element of a T.alloc_local")
    threads: tuple[int, ...] = (*scope.facts["threads"], 1, 1)[:3]
    along = _along(axes, threads, what)
    idle = expr_of(reducer.identity)
    given = operand(value, what)
    counted = build.select(truth(cond, what), given, build.cast(idle, given.dtype))
    result = _folded(reducer, build.cast(idle, given.dtype), counted, threads, along, b)
    store_element(out, Value(result))
    return Value(build.const(0, i32))


def _along(axes: Sequence[Any], threads: tuple[int, ...], what: str) -> list[int]:
    """The axes of the block that values of threads name."""
    known = {p.expr: axis for axis, p in enumerate(places(what)) if threads[axis] > 1}
    named = [known.get(expr_of(a)) for a in axes]
    found = [axis for axis in named if axis is not None]
    if not found or len(found) < sum(static_int(a) is None for a in axes):
        bad(f"{what} combines along {axes!r}", "pass what T.get_thread_binding(axis) gave")
    return found


def _folded(
    reducer: _Reducer,
    idle: Expr,
    value: Expr,
    threads: tuple[int, ...],
    along: Sequence[int],
    b: Builder,
) -> Expr:
    """The values of threads combined, through memory of the block."""
    count = build.const(prod(threads), i32)
    left = b.alloc(
        Buffer(name=b.fresh("left"), dtype=value.dtype, shape=(count,), scope="shared", span=b.span)
    )
    total = b.alloc(
        Buffer(name=b.fresh("total"), dtype=value.dtype, shape=(), scope="var", span=b.span)
    )
    place = thread = thread_of("T.tvm_thread_allreduce")
    b.store(left, (thread,), Value(value))
    b.store(total, (), Value(idle))
    loops = []
    for axis in along:
        stride = prod(threads[:axis])
        own = build.floormod(build.floordiv(thread, stride), threads[axis])
        loop = CountedLoop("", build.const(0, i32), build.const(threads[axis], i32))
        loops.append(loop)
        at = loop.begin(b).expr
        place = build.add(place, build.mul(build.sub(at, own), stride))
    so_far = Load(total.name, (), total.dtype)
    b.store(total, (), reducer.combine(Value(so_far), Value(build.load(left, (place,)))))
    for loop in reversed(loops):
        loop.end(b)
    return so_far
