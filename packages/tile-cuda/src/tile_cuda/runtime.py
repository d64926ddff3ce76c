"""Load compiled functions and call them.

A function is bound once for each device: its machine code is loaded and its kernels are looked up.
A plain call runs the host part on the thread's device. `prepare` does more beforehand: for one set
of dimensions only addresses and scalars are left to a call. Streams, devices and graph capture are
those of the library that the arguments come from.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from tile_cuda import device as devices
from tile_cuda.container import ARCHIVE
from tile_cuda.kept import Kept
from tile_cuda.launch import Entry, prepare_launch
from tile_cuda.recorded import record
from tile_cuda.tensor_maps import TensorMaps
from tile_ir.diag import TileError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from tile_cuda.container import Contents, KernelUsage

__all__ = ["CudaFunction"]

PLAIN_SHARED_BYTES = 48 * 1024
"""Dynamic shared memory that a block gets without asking; more needs an attribute."""
MAX_SHARED_ATTRIBUTE = 8
"""CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES."""


class CudaFunction:
    """One compiled function: call it with addresses and scalars of its parameters in order, then
    its dimensions. Nothing is checked here: the caller has validated shapes, types and devices.
    """

    def __init__(self, path: Path, signature: Sequence[str] = ()) -> None:
        self.path = str(path)
        self.signature = tuple(signature)
        self._contents = ARCHIVE.unpack(path)
        namespace: dict[str, Any] = {}
        code = compile(self._contents.host, f"{path}:host.py", "exec")
        exec(code, namespace)  # our own text, made by host_code
        self._bind: Callable[[Any], Callable[..., None]] = namespace["bind"]
        self._hosts: dict[int, Host] = {}
        self._bound: dict[int, Callable[..., None]] = {}

    @property
    def usage(self) -> dict[str, Any]:
        """Kernel -> registers, shared memory and spills, as the compiler counted them."""
        return dict(self._contents.usage)

    def __call__(self, *args: float) -> None:
        """Launch the function's kernels on the current stream of the current device.

        Raises TileError E3007 (not for this device), E3008 (no device), E3009 to E3013.
        """
        device = devices.current_device()
        bound = self._bound.get(device)
        if bound is None:
            bound = self._bound.setdefault(device, self._bind(self.host(device)))
        bound(*args)

    def prepare(
        self, device: int, dims: Sequence[int], library: str | None = None
    ) -> Callable[..., None]:
        """The function for one set of dimensions and arguments in the memory of one device, on the
        current stream of the library that they come from: call it with addresses and scalars.

        The device is made current for as long as the launches take, where there are several.
        Raises as a call does.
        """
        current = devices.current_device()
        stream, count = devices.stream_of(library), len(self.signature) - len(dims)
        with devices.made_current(device, current):
            replay = record(self._bind, self.host(device), count, dims, stream)
        return replay or partial(_on, device, self, tuple(dims))

    def host(self, device: int) -> Host:
        """What the host part asks of a device; loads the machine code there at the first call."""
        found = self._hosts.get(device)
        if found is None:
            devices.ensure_context()
            # Loaded as long as this object lives.
            made = Host(load_module(self._contents, self.path), device)
            found = self._hosts.setdefault(device, made)
        return found

    def unload(self) -> None:
        """Give back the device's memory for the machine code; the next call loads it again.

        Not done by itself when the object goes: a captured graph may still launch the kernels.
        """
        self._bound.clear()
        while self._hosts:
            devices.driver().moduleUnload(self._hosts.popitem()[1].module)


def _on(device: int, function: CudaFunction, dims: tuple[int, ...], *values: float) -> None:
    """A plain call with a device current."""
    with devices.made_current(device, devices.current_device()):
        function(*values, *dims)


def load_module(contents: Contents[KernelUsage], path: str) -> int:
    """Load machine code into the current context. Raises TileError E3007 where it is refused."""
    driver = devices.driver()
    try:
        module: int = driver.moduleLoadData(contents.code)
    except driver.CUDADriverError as error:
        raise TileError(
            "E3007",
            f"the driver cannot load {path}",
            notes=(str(error),),
            help="It was made for another architecture or is damaged: compile it again.",
        ) from error
    return module


class Host:
    """What the host part of a function asks of a device."""

    def __init__(self, module: int, device: int) -> None:
        self.module = module
        self.device = device
        self._entries: dict[str, Entry] = {}
        self._kept: dict[str, Kept] = {}

    def kernel(
        self, name: str, formats: str, threads: int, shared: int, dependent: bool = False
    ) -> Callable[..., None]:
        """A prepared launch. Raises TileError E3010 for more shared memory than there is."""
        return prepare_launch(self.entry(name, formats, threads, shared, dependent), self.device)

    def entry(
        self, name: str, formats: str, threads: int, shared: int, dependent: bool = False
    ) -> Entry:
        """A kernel of the module, allowed its shared memory. Raises TileError E3010 as `kernel`."""
        if name not in self._entries:
            driver = devices.driver()
            function = driver.moduleGetFunction(self.module, name)
            if shared > PLAIN_SHARED_BYTES:
                try:
                    driver.funcSetAttribute(function, MAX_SHARED_ATTRIBUTE, shared)
                except driver.CUDADriverError as error:
                    raise _too_much_shared(name, shared, error) from error
            self._entries[name] = Entry(
                function=function,
                name=name,
                formats=formats,
                threads=threads,
                shared=shared,
                dependent=dependent,
            )
        return self._entries[name]

    def tensor_map(
        self, name: str, bits: int, box: tuple[int, ...], row_bytes: int, kind: str = ""
    ) -> TensorMaps:
        """What makes the tensor maps of one parameter, and remembers them."""
        return TensorMaps(name=name, bits=bits, box=box, row_bytes=row_bytes, kind=kind)

    def allocate(self, size: int) -> tuple[object, int]:
        """A workspace: its owner and its address."""
        return devices.allocate(size, self.device)

    def kept(self, name: str, size: int) -> Callable[[], int]:
        """What gives the address of memory of that name for a launch on the current stream."""
        found, device, stream = self.kept_memory(name, size), self.device, devices.current_stream
        return lambda: found.at(stream(device))

    def kept_memory(self, name: str, size: int) -> Kept:
        """The memory of a name, which all uses of this function on this device share."""
        return self._kept.setdefault(name, Kept(size, self.device))

    def workers(self) -> int:
        """Blocks that run at once, one to a multiprocessor."""
        return devices.multiprocessors(self.device)

    def failed(self, message: str) -> None:
        """Raise TileError E3013 for an assertion about the arguments."""
        raise TileError(
            "E3013",
            message,
            help="The kernel asserts this of its arguments: pass others, or change the assertion.",
        )


def _too_much_shared(name: str, shared: int, error: Exception) -> TileError:
    return TileError(
        "E3010",
        f"{name} needs {shared} bytes of shared memory for a block",
        notes=(str(error),),
        help="Use smaller blocks or fewer stages.",
    )
