"""Groups of a block's threads that do different work, as the kernel says itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tile_frontend.trace import state
from tile_frontend.trace.roles import GROUP_THREADS
from tile_frontend.trace.values import Value, static_int
from tile_ir import build
from tile_ir.diag import TileError
from tile_ir.ops import RegisterLimit, Role

if TYPE_CHECKING:
    from types import TracebackType

__all__ = [
    "annotate_consumer_reg_alloc",
    "annotate_producer_reg_dealloc",
    "dec_max_nreg",
    "disable_warp_group_reg_alloc",
    "inc_max_nreg",
    "no_set_max_nreg",
    "set_max_nreg",
    "shuffle_elect",
    "ws",
]

_REGISTER_UNIT, _LEAST, _MOST = 8, 24, 256


class ws:
    """`with T.ws(0):` runs its body in the first 128 threads only, `T.ws(1)` in the next, and
    `T.ws(0, 1)` in both together.

    Each group has its own copy of the control flow around its blocks, and waits for the others
    only at barriers of the kernel. What stands before the first block and after the last one is
    done by all threads.

    Raises `TileError` E1511 for groups that the kernel lacks or that are no neighbours, inside
    T.Parallel or another T.ws.
    Example: `T.ws(0)`
    """

    def __init__(self, *warp_group_idx: Any) -> None:
        b = state.builder("T.ws")
        b.need_kernel("T.ws")
        found = [static_int(i) for i in warp_group_idx]
        ids = [i for i in found if i is not None]
        run = list(range(ids[0], ids[0] + len(ids))) if ids else []
        if not ids or len(ids) < len(found) or ids != run or ids[0] < 0:
            given = ", ".join(map(repr, warp_group_idx))
            raise TileError(
                "E1511",
                f"T.ws({given})",
                help="name one group of 128 threads or several neighbours in order, from 0",
            )
        if b.inside("role") is not None:
            raise TileError("E1511", "T.ws stands inside T.ws", help="close the other one first")
        self.first, self.count = ids[0], len(ids)
        self.threads = GROUP_THREADS * self.count

    def __enter__(self) -> None:
        b = state.builder("T.ws")
        self.scope = b.open("role", threads=self.threads)

    def __exit__(
        self, kind: type[BaseException] | None, error: object, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            return
        b = state.builder("T.ws")
        span = self.scope.span
        last = self.first + self.count - 1
        name = f"ws{self.first}" if self.count == 1 else f"ws{self.first}_{last}"
        b.groups[name] = (GROUP_THREADS * self.first, self.threads)
        b.manual = True
        b.emit(Role(name=name, threads=self.threads, body=b.close(self.scope), span=span))


def shuffle_elect(thread_extent: int) -> Value:
    """Holds for one thread of every `thread_extent`, of the whole block with 0; for an `if` around
    arrivals and copies that one thread starts.

    Raises `TileError` E1511 for a number that is not known or negative.
    Example: `T.shuffle_elect(0)`
    """
    b = state.builder("T.shuffle_elect")
    b.need_kernel("T.shuffle_elect")
    count = static_int(thread_extent)
    if count is None or count < 0:
        raise TileError(
            "E1511",
            f"T.shuffle_elect({thread_extent!r})",
            help="pass the number of threads of the role around, or 0 for the block",
        )
    b.names_threads = True
    thread = build.call("thread_index")
    return Value(build.eq(build.floormod(thread, count) if count else thread, 0))


def set_max_nreg(reg_count: int, is_inc: bool | int) -> None:
    """From here on the threads of the `T.ws` around have at most `reg_count` registers each; more
    than before with `is_inc`.

    A device whose registers do not move leaves it out.

    Raises `TileError` E1511 outside T.ws, E1503 for a number that no device takes.
    Example: `with T.ws(0): T.set_max_nreg(240, 1)`
    """
    b = state.builder("T.set_max_nreg")
    b.need_kernel("T.set_max_nreg")
    if b.inside("role") is None:
        raise TileError(
            "E1511",
            "T.set_max_nreg stands outside T.ws",
            notes=("registers move from one group of threads to another",),
            help="put it first into a T.ws block",
        )
    count = static_int(reg_count)
    if count is None or count % _REGISTER_UNIT or not _LEAST <= count <= _MOST:
        raise TileError(
            "E1503",
            f"T.set_max_nreg asks for {reg_count!r} registers",
            help=f"the number is a multiple of {_REGISTER_UNIT} from {_LEAST} to {_MOST}",
        )
    b.emit(RegisterLimit(count=count, grow=bool(is_inc), span=b.span))


def inc_max_nreg(reg_count: int) -> None:
    """`T.set_max_nreg(reg_count, 1)`.

    Raises `TileError` as `T.set_max_nreg` does.
    Example: `with T.ws(0): T.inc_max_nreg(240)`
    """
    set_max_nreg(reg_count, True)


def dec_max_nreg(reg_count: int) -> None:
    """`T.set_max_nreg(reg_count, 0)`.

    Raises `TileError` as `T.set_max_nreg` does.
    Example: `with T.ws(0): T.dec_max_nreg(24)`
    """
    set_max_nreg(reg_count, False)


def _hint(what: str) -> None:
    state.builder(what).need_kernel(what)


def annotate_producer_reg_dealloc(reg_count: int = 24) -> None:
    """Accepted and without effect: how registers are shared is planned and can be pinned.

    Raises `TileError` E1302 outside a kernel.
    Example: `T.annotate_producer_reg_dealloc()`
    """
    _hint("T.annotate_producer_reg_dealloc")


def annotate_consumer_reg_alloc(reg_count: int = 240) -> None:
    """Accepted and without effect: how registers are shared is planned and can be pinned.

    Raises `TileError` E1302 outside a kernel.
    Example: `T.annotate_consumer_reg_alloc()`
    """
    _hint("T.annotate_consumer_reg_alloc")


def no_set_max_nreg() -> None:
    """Accepted and without effect: a kernel of hand-written roles moves no registers unasked.

    Raises `TileError` E1302 outside a kernel.
    Example: `T.no_set_max_nreg()`
    """
    _hint("T.no_set_max_nreg")


def disable_warp_group_reg_alloc() -> None:
    """Accepted and without effect: a kernel of hand-written roles moves no registers unasked.

    Raises `TileError` E1302 outside a kernel.
    Example: `T.disable_warp_group_reg_alloc()`
    """
    _hint("T.disable_warp_group_reg_alloc")
