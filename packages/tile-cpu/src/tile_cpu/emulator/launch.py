"""Calls of the emulator: the structure that it takes, and one launch."""

from __future__ import annotations

import ctypes
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tile_cpu import knobs
from tile_cpu.emulator.counters import COUNTERS, Counted, instructions_of
from tile_cpu.emulator.reports import Report, parse_report

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tile_ir.emulation import EmulatedKernel

__all__ = ["Options", "Region", "launch", "pack_parameters"]

REPORT_BYTES = 1 << 16
STACK_BYTES = 1 << 17
SCHEDULES = {"round-robin": 0, "reverse": 1, "random": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How kernels run: the order of threads (`round-robin`, `reverse` or `random` by `seed`),
    whether races are looked for, on how many threads of the host (None: all cores), and for how
    many seconds all threads of a block may do nothing but look at memory."""

    schedule: str = "round-robin"
    seed: int = 0
    races: bool = True
    workers: int | None = None
    patience: float = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """Memory that a kernel may use. `mask`: address of its bits that were never written, or 0."""

    name: str
    address: int
    bytes: int
    written: bool
    mask: int = 0


class _Region(ctypes.Structure):
    _fields_ = (
        ("base", ctypes.c_uint64),
        ("bytes", ctypes.c_uint64),
        ("mask", ctypes.c_void_p),
        ("writable", ctypes.c_uint32),
        ("name", ctypes.c_uint32),
        ("words", ctypes.c_void_p),
    )


class _Launch(ctypes.Structure):
    """`struct emu_launch` of core.h; the last fields are the library's own."""

    _fields_ = (
        ("entry", ctypes.c_void_p),
        ("parameters", ctypes.c_void_p),
        ("grid", ctypes.c_uint32 * 3),
        ("block", ctypes.c_uint32 * 3),
        ("cluster", ctypes.c_uint32),
        ("shared_bytes", ctypes.c_uint32),
        ("local_bytes", ctypes.c_uint32),
        ("stack_bytes", ctypes.c_uint32),
        ("schedule", ctypes.c_uint32),
        ("seed", ctypes.c_uint32),
        ("check_races", ctypes.c_uint32),
        ("workers", ctypes.c_uint32),
        ("patience_ms", ctypes.c_uint32),
        ("count_regions", ctypes.c_uint32),
        ("regions", ctypes.c_void_p),
        ("counters", ctypes.c_void_p),
        ("visits", ctypes.c_void_p),
        ("count_visits", ctypes.c_uint32),
        ("report", ctypes.c_void_p),
        ("stop", ctypes.c_uint32),
        ("next", ctypes.c_uint32),
        ("own", ctypes.c_uint64 * 20),
    )


def pack_parameters(kernel: EmulatedKernel, formats: str, values: Sequence[float | bytes]) -> bytes:
    """The values of a launch where the kernel looks for them; `formats` are letters of `struct`,
    other letters are bytes as they are."""
    room = bytearray(max((at + size for at, size in kernel.parameters), default=0))
    for (at, size), letter, value in zip(kernel.parameters, formats, values, strict=True):
        if isinstance(value, bytes):
            room[at : at + size] = value
        else:
            struct.pack_into("@" + letter, room, at, value)
    return bytes(room)


def launch(
    library: ctypes.CDLL,
    entry: int,
    kernel: EmulatedKernel,
    parameters: bytes,
    blocks: int,
    threads: int,
    shared: int,
    regions: Sequence[Region],
    options: Options,
) -> tuple[Counted, Report | None]:
    """Run a kernel to its end: what it counted, and what went wrong first."""
    made = [
        _Region(r.address, r.bytes, r.mask or None, int(r.written), n)
        for n, r in enumerate(regions)
    ]
    table = (_Region * max(len(made), 1))(*made)
    counters = (ctypes.c_uint64 * len(COUNTERS))()
    visits = (ctypes.c_uint64 * max(len(kernel.mix), 1))()
    report = ctypes.create_string_buffer(REPORT_BYTES)
    held = ctypes.create_string_buffer(len(parameters) + 64)
    start = -(-ctypes.addressof(held) // 64) * 64
    ctypes.memmove(start, parameters, len(parameters))
    call = _Launch(
        entry=entry,
        parameters=start,
        grid=(blocks, 1, 1),
        block=(threads, 1, 1),
        cluster=kernel.cluster,
        shared_bytes=-(-(shared + kernel.shared_bytes) // 8) * 8,
        local_bytes=kernel.local_bytes,
        stack_bytes=STACK_BYTES,
        schedule=SCHEDULES[options.schedule],
        seed=options.seed,
        check_races=int(options.races),
        workers=min(options.workers or knobs.num_threads(), blocks),
        patience_ms=int(options.patience * 1000),
        count_regions=len(made),
        regions=ctypes.addressof(table),
        counters=ctypes.addressof(counters),
        visits=ctypes.addressof(visits),
        count_visits=len(kernel.mix),
        report=ctypes.addressof(report),
    )
    library.emu_launch.restype = ctypes.c_uint32
    failed = library.emu_launch(ctypes.byref(call))
    counted = Counted(
        totals=dict(zip(COUNTERS, counters, strict=True)),
        instructions=instructions_of(kernel.mix, visits),
    )
    return counted, parse_report(report.value.decode(errors="replace")) if failed else None
