"""Load a built kernel and launch it.

A launch is one foreign call: the arguments are packed into a bytes object (each launch has its own,
so threads may launch the same kernel at once), and the pool calls the kernel with it. The global
interpreter lock is released for the duration.
"""

from __future__ import annotations

import ctypes
import re
import struct
import sys
from typing import TYPE_CHECKING

from tile_cpu import knobs, pool
from tile_cpu.prepared import Launch, Prepared
from tile_ir.diag import InternalError, Span, TileError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["SLOTS", "CpuKernel"]

SLOTS = {
    "ptr": "Q",
    **dict.fromkeys(("i8", "i16", "i32", "i64"), "q"),
    **dict.fromkeys(("u8", "u16", "u32", "u64"), "Q"),
    "bool": "q",
    "f64": "d",
    **dict.fromkeys(("f32", "f16", "bf16"), "f4x"),
}
"""Kind of a parameter -> format of its 8-byte slot, as prelude/abi.h defines it."""

_PLACE = re.compile(r"\n  at (?P<file>.+):(?P<line>\d+):(?P<col>\d+)\Z")

STATUS_PRINTED, STATUS_FAILED, STATUS_NO_MEMORY, STATUS_BAD_RETURN = 1, 2, 4, 8


class CpuKernel:
    """One entry of a built library, ready to launch: `kernel(*args)`.

    `args` follow `signature`, a kind from `SLOTS` for each: pointers as addresses, dimensions and
    other integers as ints, floats as floats. Nothing is checked here: the caller has validated
    shapes, dtypes and devices. `threads` bounds the threads of a launch; None follows the
    environment as it is when the kernel is loaded.
    """

    def __init__(
        self, so_path: str | Path, entry: str, signature: Sequence[str], threads: int | None = None
    ) -> None:
        self.path = str(so_path)
        self.entry = entry
        self.signature = tuple(signature)
        self.threads = threads or knobs.num_threads()
        # Kept: the address below is good only as long as the library is loaded.
        self._library = _load(self.path)
        self._address = _address(self._library, entry, self.path)
        self._pack = struct.Struct("=" + "".join(SLOTS[kind] for kind in self.signature)).pack
        self._launch = pool.library().tile_pool_launch

    def __call__(self, *args: float) -> None:
        """Run the kernel to its end.

        Raises TileError E0805 (a device_assert failed), E0806 (no memory for scratch).
        """
        status = self._launch(self._address, self._pack(*args), self.threads)
        if status:
            self._report(status)

    def prepare(self, index: int, dims: Sequence[int], library: str | None = None) -> Prepared:
        """The kernel for one set of dimensions; the host's memory is one (`index`), whosever
        (`library`) arrays are in it."""
        # Objects of ctypes: numbers would be turned into such at each call.
        address, threads = ctypes.c_void_p(self._address), ctypes.c_int32(self.threads)
        launch = Launch(self._launch, address, self._pack, threads, self._report)
        return Prepared(launch, len(self.signature) - len(dims), dims)

    def _report(self, status: int) -> None:
        library = pool.library()
        if status & STATUS_PRINTED:
            sys.stdout.write(library.tile_pool_printed().decode(errors="replace"))
        if status & STATUS_FAILED:
            message, span = _placed(library.tile_pool_failure().decode(errors="replace"))
            raise TileError(
                "E0805",
                message,
                span,
                help="The arguments of this call break what the kernel asserts; print the values "
                "there with T.print to see which.",
            )
        if status & STATUS_NO_MEMORY:
            raise TileError(
                "E0806",
                f"no memory for the scratch of {self.entry}",
                help="Use smaller blocks, or fewer threads by TILE_NUM_THREADS.",
            )
        if status & STATUS_BAD_RETURN:
            raise InternalError("E9001", f"{self.entry} returned an error that it did not report")


def _placed(text: str) -> tuple[str, Span | None]:
    """What an assertion says, and the user's line, which the library has in a line of its own."""
    found = _PLACE.search(text)
    if found is None:
        return text, None
    return text[: found.start()], Span(found["file"], int(found["line"]), int(found["col"]) - 1)


def _load(path: str) -> ctypes.CDLL:
    try:
        return ctypes.CDLL(path)
    except OSError as error:
        raise TileError(
            "E0804",
            f"cannot load {path}",
            notes=(str(error),),
            help="It was built for another machine or is damaged: delete it and compile again.",
        ) from error


def _address(library: ctypes.CDLL, entry: str, path: str) -> int:
    try:
        address = ctypes.cast(library[entry], ctypes.c_void_p).value
    except AttributeError as error:
        raise InternalError("E9001", f"{path} has no entry {entry}") from error
    assert address is not None
    return address
