"""Load compiled functions and call them, through PyTorch.

The source is compiled by the system when a function is first called. PyTorch binds tensors, not
addresses, so a function is called with tensors where others take addresses; scalars are passed by
value. Launches go to PyTorch's stream, in order with its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tile_ir.diag import TileError
from tile_metal import device as devices
from tile_metal.container import ARCHIVE
from tile_passes.emit.captures import POINTER
from tile_passes.launch.host_code import bound_host

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from tile_metal.container import KernelUsage

__all__ = ["MetalFunction"]

MAX_THREADS = (1 << 32) - 1
"""Threads of one dimension of a launch."""
UNSIGNED = frozenset("BHIQ")


class MetalFunction:
    """One compiled function: call it with tensors and scalars of its parameters in order, then its
    dimensions. Nothing is checked here: the caller has validated shapes, types and devices.
    """

    arguments = "arrays"
    """What stands for an array in a call: the array itself."""

    def __init__(self, path: Path, signature: Sequence[str] = ()) -> None:
        self.path = str(path)
        self.signature = tuple(signature)
        self._contents = ARCHIVE.unpack(path)
        self._bound: Callable[..., None] | None = None

    @property
    def usage(self) -> dict[str, KernelUsage]:
        """Kernel -> threads and threadgroup memory of a block."""
        return dict(self._contents.usage)

    def __call__(self, *args: Any) -> None:
        """Launch the function's kernels.

        Raises TileError E3007 (refused by the system), E3008 (no device), E3011 to E3013.
        """
        if self._bound is None:
            self._bound = self._bind()
        self._bound(*args)

    def prepare(
        self, device: int, dims: Sequence[int], library: str | None = None
    ) -> Callable[..., None]:
        """The function for one set of dimensions: call it with tensors and scalars."""
        return lambda *args: self(*args, *dims)

    def _bind(self) -> Callable[..., None]:
        library = devices.compile_shader(self._contents.code.decode())
        return bound_host(self._contents.host, self.path, Host(library))


class Host:
    """What the host part of a function asks of a device."""

    def __init__(self, library: Any) -> None:
        self._library = library

    def kernel(self, name: str, formats: str, threads: int, _shared: int) -> Callable[..., None]:
        """A launch of (blocks, *arguments); threadgroup memory is part of the source.

        PyTorch passes an integer as 8 bytes, of which the kernel reads the lowest, as many as its
        parameter has. It raises TileError E3011 for too many blocks.
        """
        function, most = getattr(self._library, name), MAX_THREADS // threads

        def launch(blocks: int, *values: Any) -> None:
            if blocks > most:
                raise _too_many(blocks, most)
            arguments = [_argument(v, kind) for v, kind in zip(values, formats, strict=True)]
            function(*arguments, threads=(blocks * threads,), group_size=(threads,))

        return launch

    def allocate(self, size: int) -> tuple[object, Any]:
        """A workspace, twice: it is its own address."""
        made = devices.allocate(size)
        return made, made

    def workers(self) -> int:
        """Blocks that run at once, one to a core."""
        return devices.cores()

    def failed(self, message: str) -> None:
        """Raise TileError E3013 for an assertion about the arguments."""
        raise TileError("E3013", message, help="Call it with arguments for which that holds.")


def _argument(value: Any, kind: str) -> Any:
    """A tensor as it is; scalars as the integer or float of Python whose bytes the kernel reads."""
    if kind == POINTER:
        return value
    if kind == "f":
        return float(value)
    number = int(value)
    # The bytes of a large unsigned number are those of a negative one.
    return number - (1 << 64) if kind in UNSIGNED and number >= 1 << 63 else number


def _too_many(blocks: int, most: int) -> TileError:
    return TileError(
        "E3011",
        f"a launch of {blocks} blocks",
        notes=(f"with so many threads each, there are at most {most}",),
        help="Use larger blocks, so that fewer are needed.",
    )
