"""Load compiled functions and call them.

A function is bound once for each device: its machine code is loaded, its kernels' launches are
prepared, and its host part is executed to make the callable. A call looks up the thread's device
and runs that. Streams, devices and graph capture are those of the library that the arguments come
from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tile_ir.diag import TileError
from tile_rocm import device as devices
from tile_rocm.container import ARCHIVE
from tile_rocm.launch import prepare_launch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from tile_rocm.container import Contents, KernelUsage

__all__ = ["RocmFunction"]


class RocmFunction:
    """One compiled function: call it with addresses and scalars of its parameters in order, then
    its dimensions. Nothing is checked here: the caller has validated shapes, types and devices.
    """

    def __init__(self, path: Path, signature: Sequence[str] = ()) -> None:
        self.path = str(path)
        self.signature = tuple(signature)
        self._contents = ARCHIVE.unpack(path)
        self._code = compile(self._contents.host, f"{path}:host.py", "exec")
        self._bound: dict[int, Callable[..., None]] = {}
        self._modules: list[Any] = []

    @property
    def usage(self) -> dict[str, Any]:
        """Kernel -> registers, shared memory and spills, as the compiler counted them."""
        return dict(self._contents.usage)

    def __call__(self, *args: float) -> None:
        """Launch the function's kernels on the current stream of the current device.

        Raises TileError E3007 (not for this device), E3008 (no device), E3009, E3011 to E3013.
        """
        device = devices.current_device()
        bound = self._bound.get(device)
        if bound is None:
            bound = self.bind(device)
        bound(*args)

    def prepare(
        self, device: int, dims: Sequence[int], library: str | None = None
    ) -> Callable[..., None]:
        """The function for one set of dimensions and arguments in the memory of one device: call it
        with addresses and scalars. The device is made current for as long as the launches take."""

        def call(*args: float) -> None:
            current = devices.current_device()
            if current == device:
                self(*args, *dims)
                return
            devices.make_current(device)
            try:
                self(*args, *dims)
            finally:
                devices.make_current(current)

        return call

    def bind(self, device: int) -> Callable[..., None]:
        """The callable for one device; loads the machine code there at the first call."""
        module = load_module(self._contents, self.path)
        self._modules.append(module)  # loaded as long as this object lives
        namespace: dict[str, Any] = {}
        exec(self._code, namespace)  # our own text, made by host_code
        bound: Callable[..., None] = namespace["bind"](Host(module, device))
        return self._bound.setdefault(device, bound)

    def unload(self) -> None:
        """Give back the device's memory for the machine code; the next call loads it again.

        Not done by itself when the object goes: a captured graph may still launch the kernels.
        """
        self._bound.clear()
        while self._modules:
            devices.binding().unload_module(self._modules.pop())


def load_module(contents: Contents[KernelUsage], path: str) -> Any:
    """Load machine code into the current context. Raises TileError E3007 where it is refused."""
    hip = devices.binding()
    try:
        return hip.load_module(contents.code)
    except hip.errors as error:
        raise TileError(
            "E3007",
            f"the driver cannot load {path}",
            notes=(str(error),),
            help="It was made for another architecture or is damaged: compile it again.",
        ) from error


class Host:
    """What the host part of a function asks of a device."""

    def __init__(self, module: Any, device: int) -> None:
        self._module = module
        self._device = device

    def kernel(
        self, name: str, formats: str, threads: int, _shared: int = 0
    ) -> Callable[..., None]:
        """A prepared launch; shared memory is part of the machine code."""
        function = devices.binding().get_function(self._module, name)
        return prepare_launch(function, formats, threads, self._device)

    def allocate(self, size: int) -> tuple[object, int]:
        """A workspace: its owner and its address."""
        return devices.allocate(size, self._device)

    def workers(self) -> int:
        """Blocks that run at once, one to a compute unit."""
        return devices.multiprocessors(self._device)

    def failed(self, message: str) -> None:
        """Raise TileError E3013 for an assertion about the arguments."""
        raise TileError("E3013", message, help="Call it with arguments for which that holds.")
