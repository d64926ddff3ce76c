"""Barriers whose phases wait for bytes that the kernel announces itself."""

from __future__ import annotations

from typing import Any

from tile_frontend.language.barriers import Barrier, barrier_at, in_kernel, misused
from tile_frontend.trace.values import static_int
from tile_ir.expr import Const
from tile_ir.ops import RUNS, BarrierArrive, BarrierExpect, SettleCount

__all__ = [
    "cp_async_barrier_noinc",
    "mbarrier_arrive_expect_tx",
    "mbarrier_expect_tx",
    "ptx_arrive_barrier_expect_tx",
    "ptx_cp_async_barrier",
    "ptx_fence_barrier_init",
    "ptx_init_barrier_thread_count",
]

_MOST_BYTES = (1 << 20) - 1
"""A barrier's count of bytes has 20 bits and a sign (PTX ISA, mbarrier object)."""


def _announced(mbar: Any, size: Any, what: str, *, silent: bool) -> None:
    b = in_kernel(what)
    name, index = barrier_at(mbar, what)
    count = static_int(size)
    if count is None or not 1 <= count <= _MOST_BYTES:
        misused(f"{what} announces {size!r} bytes", f"the number is an int from 1 to {_MOST_BYTES}")
    b.manual = True
    b.emit(BarrierExpect(barrier=name, index=index, bytes=count, silent=silent, span=b.span))


def mbarrier_expect_tx(mbar: Any, bytes: int) -> None:
    """Every thread that comes here lets the phase wait for so many more bytes, and does not arrive.

    `T.tma_copy` announces its own. `T.copy_cluster` with a barrier leaves that to who receives.

    Raises `TileError` E1513 for what is no barrier or no number of bytes.
    Example: `T.mbarrier_expect_tx(T.alloc_barrier(1), 4096)`
    """
    _announced(mbar, bytes, "T.mbarrier_expect_tx", silent=True)


def mbarrier_arrive_expect_tx(mbar: Any, bytes: int) -> None:
    """Every thread that comes here announces so many bytes and arrives.

    Raises `TileError` as `T.mbarrier_expect_tx` does.
    Example: `T.mbarrier_arrive_expect_tx(T.alloc_barrier(128), 4096)`
    """
    _announced(mbar, bytes, "T.mbarrier_arrive_expect_tx", silent=False)


ptx_arrive_barrier_expect_tx = mbarrier_arrive_expect_tx


def cp_async_barrier_noinc(mbar: Any) -> None:
    """Every thread that comes here arrives when its copies of `T.async_copy` have come: it waits
    for them.

    Raises `TileError` E1513 for what is no barrier.
    Example: `T.cp_async_barrier_noinc(T.alloc_barrier(128))`
    """
    what = "T.cp_async_barrier_noinc"
    b = in_kernel(what)
    name, index = barrier_at(mbar, what)
    b.emit(SettleCount(engine=RUNS, pending=0, span=b.span))
    b.emit(BarrierArrive(barrier=name, index=index, span=b.span))


def ptx_cp_async_barrier(mbar: Any) -> None:
    """The phase does not end before this thread's copies of `T.async_copy` have come: it waits for
    them here. It is no arrival.

    Raises `TileError` E1513 for what is no barrier.
    Example: `T.ptx_cp_async_barrier(T.alloc_barrier(128))`
    """
    b = in_kernel("T.ptx_cp_async_barrier")
    barrier_at(mbar, "T.ptx_cp_async_barrier")
    b.emit(SettleCount(engine=RUNS, pending=0, span=b.span))


def ptx_init_barrier_thread_count(mbar: Any, thread_count: int) -> None:
    """Accepted where it repeats the number of arrivals that the barrier was made with.

    Raises `TileError` E1513 for another number: a barrier keeps its own.
    Example: `T.ptx_init_barrier_thread_count(T.alloc_barrier(128), 128)`
    """
    what = "T.ptx_init_barrier_thread_count"
    in_kernel(what)
    _, index = barrier_at(mbar, what)
    array = mbar if isinstance(mbar, Barrier) else mbar.barrier
    meant = {*array.arrivals}
    if isinstance(index, Const):
        meant = {array.arrivals[int(index.value)]}
    if meant != {static_int(thread_count)}:
        misused(
            f"{what} makes {array.name} anew, with {thread_count!r} arrivals",
            "pass the number to T.alloc_barrier, which initialises it",
        )


def ptx_fence_barrier_init() -> None:
    """Accepted and without effect: barriers are known to all threads where they are made.

    Raises `TileError` E1302 outside a kernel.
    Example: `T.ptx_fence_barrier_init()`
    """
    in_kernel("T.ptx_fence_barrier_init")
