"""Building and calling emulated functions: the toolchain and the runtime in one object."""

from __future__ import annotations

import contextlib
import ctypes
import json
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from tile_cpu import knobs
from tile_cpu.emulator.in_front import check_in_front, keep_in_front
from tile_cpu.emulator.launch import Options, Region, launch, pack_parameters
from tile_cpu.emulator.library import connect, header, library, library_source
from tile_cpu.emulator.maps import BoxMaps
from tile_cpu.emulator.native import build_native, source_line
from tile_cpu.emulator.reports import error_of
from tile_cpu.toolchain import compile as build
from tile_ir.diag import TileError
from tile_ir.emulation import EmulatedKernel
from tile_ir.plugin import resolve

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from tile_cpu.emulator.counters import Counted
    from tile_ir.emulation import Emulation, EmulationSource
    from tile_ir.plugin import TargetManifest
    from tile_ir.target import TargetSpec

__all__ = ["EmulatedFunction", "Emulator", "options"]

_UNDEFINED = 0xFF
"""The byte of memory without a value: NaN in every float type, -1 in integers."""
KERNEL_FLAGS = ("-O1", "-w", "-ffp-contract=off", "-fno-strict-aliasing")
"""Kernels run once or a few times: compiling them is most of the wait."""
_options: ContextVar[Options | None] = ContextVar("options", default=None)


@contextlib.contextmanager
def options(**changes: Any) -> Iterator[Options]:
    """Run emulated kernels inside the block with these options; see `Options`."""
    chosen = Options(**changes)
    token = _options.set(chosen)
    try:
        yield chosen
    finally:
        _options.reset(token)


class Emulator:
    """Stands in for the toolchain and the runtime of a target.

    Raises TileError E2300 for a target that offers no emulation.
    """

    suffix = ".so"
    memory = "cpu"
    """Whose arrays its kernels take."""

    def __init__(self, manifest: TargetManifest, spec: TargetSpec) -> None:
        if manifest.emulate is None:
            raise TileError(
                "E2300",
                f"the target {manifest.name} cannot be emulated",
                help="Leave out device=, or compile for another target.",
            )
        self.emulation: Emulation = resolve(manifest.emulate)(spec)
        self.shared_limit = spec.capacity("shared")
        self.source_suffix = getattr(resolve(manifest.toolchain), "source_suffix", ".txt")

    def fingerprint(self, strict: bool = False) -> str:
        """What the built library depends on besides the artifact."""
        return f"{self.emulation.fingerprint()} {hash_of(library_source(self.emulation))} {strict}"

    def compile(self, artifact: Any, out: Path, flags: Sequence[str] = ()) -> None:
        """Translate an artifact and build it into the library `out`.

        Raises TileError E2301 and E2302 for code that the emulator does not understand, E0801 to
        E0803 where it cannot be built, and what the target's own compiler refuses.
        """
        source = self.emulation.translate(artifact, flags)
        text = kernel_text(self.emulation, source)
        if self.emulation.compiled:
            build_native(text, out)
        else:
            build(text, out, KERNEL_FLAGS)

    def load(self, artifact: Any, path: Path) -> EmulatedFunction:
        """A built function: call it with what `artifact.signature` says (pointers as integers)."""
        return EmulatedFunction(self.emulation, path, self.shared_limit)


def hash_of(text: str) -> str:
    """A short name for a text."""
    import hashlib

    return hashlib.sha256(text.encode()).hexdigest()[:16]


def kernel_text(emulation: Emulation, source: EmulationSource) -> str:
    """The C text of a function's library: kernels, and what the host needs to know of them."""
    facts = {
        "kernels": [asdict(k) for k in source.kernels],
        "host": source.host,
        "regions": source.regions,
        "places": {str(at): place for at, place in source.places.items()},
    }
    data = json.dumps(facts).encode()
    rows = [data[i : i + 4000] for i in range(0, len(data), 4000)]
    text = "\n".join(f'"{_escaped(row)}"' for row in rows)
    visible = '__attribute__((visibility("default"))) const char emulation_facts[]'
    if emulation.compiled:
        visible = f'extern "C" {visible};\n{visible}'
    return f"{header(emulation)}{source.code}\n{visible} =\n{text};\n"


def _escaped(row: bytes) -> str:
    letters = (chr(b) if 32 <= b < 127 and b not in b'"\\?' else f"\\{b:03o}" for b in row)
    return "".join(letters)


@dataclass(slots=True)
class _Call:
    """What is known during one call."""

    regions: list[Region]
    held: list[Any]


class EmulatedFunction:
    """One function, ready to call with addresses in this process's memory, then dimensions."""

    def __init__(self, emulation: Emulation, path: Path, shared_limit: int | None = None) -> None:
        self.path = str(path)
        self._shared_limit = shared_limit
        self._compiled = emulation.compiled
        self._library = library(emulation)
        try:
            self._kernels = ctypes.CDLL(self.path)
            connect(self._kernels, emulation)
            facts = json.loads(_facts(self._kernels))
        except (OSError, ValueError) as error:
            raise TileError(
                "E0804",
                f"cannot load {path}",
                notes=(str(error),),
                help="It was built by another version or is damaged: delete it and compile again.",
            ) from error
        self._facts = {
            k["name"]: EmulatedKernel(**{**k, "parameters": tuple(map(tuple, k["parameters"]))})
            for k in facts["kernels"]
        }
        self._places = {int(at): tuple(place) for at, place in facts["places"].items()}
        namespace: dict[str, Any] = {}
        exec(compile(facts["host"], f"{path}:host.py", "exec"), namespace)  # a target's own text
        exec(compile(facts["regions"], f"{path}:regions.py", "exec"), namespace)
        self._regions = namespace["regions"]
        self._kept: list[Any] = []
        self._bound: Callable[..., None] = namespace["bind"](self)
        self._call = _Call([], [])
        self._counted: dict[str, Counted] = {}

    def __call__(self, *args: float) -> None:
        """Run the function's kernels one after the other.

        Results hold no defined values before, so that a part which nobody writes shows. Raises
        TileError E2303 to E2310 for what a kernel does wrong, E2314 for what it reads early.
        """
        self._call = _Call([], [])
        self._counted = {}
        rows: list[tuple[Any, ...]] = [row for row in self._regions(*args) if row[1] and row[2]]
        check_in_front(next(iter(self._facts), ""), [r for r in rows if "early" in _words(r)])
        for row in rows:
            name, at, size, written = row[:4]
            if "result" in _words(row):
                ctypes.memset(at, _UNDEFINED, size)
            region = Region(name=name, address=at, bytes=size, written=written)
            self._call.regions.append(region)
        self._bound(*args)
        keep_in_front([r for r in rows if "late" in _words(r)])

    @property
    def counters(self) -> dict[str, dict[str, Any]]:
        """What the last call counted, by kernel: see `tile_cpu.emulator.counters`."""
        return {name: counted.table() for name, counted in self._counted.items()}

    # -- what the host part asks for

    def kernel(self, name: str, formats: str, threads: int, shared: int = 0, *_: Any) -> Any:
        """A launch of (blocks, *values)."""
        kernel = self._facts[name]
        needed = shared + kernel.shared_bytes
        if self._shared_limit is not None and needed > self._shared_limit:
            raise TileError(
                "E2313",
                f"{name} needs {needed} bytes of shared memory for a block",
                notes=(f"The device has {self._shared_limit}.",),
                help="Use smaller blocks or fewer stages.",
            )
        entry = ctypes.cast(self._kernels[kernel.entry], ctypes.c_void_p).value
        assert entry is not None

        def run(blocks: int, *values: Any) -> None:
            chosen = _options.get() or _from_environment()
            data = pack_parameters(kernel, formats, values)
            regions = self._call.regions
            counted, report = launch(
                self._library, entry, kernel, data, blocks, threads, shared, regions, chosen
            )
            self._counted[name] = counted.plus(self._counted.get(name))
            if report is not None:
                if self._compiled:
                    report = report.moved(partial(source_line, self.path))
                raise error_of(report, name, [r.name for r in regions], self._places)

        return run

    def tensor_map(
        self, name: str, bits: int, box: tuple[int, ...], row_bytes: int, kind: str = ""
    ) -> BoxMaps:
        """What describes the tensors of one parameter to the copy engine."""
        return BoxMaps(name=name, bits=bits, box=box, row_bytes=row_bytes, kind=kind)

    def allocate(self, size: int) -> tuple[object, int]:
        """A workspace in which nothing was written yet: its owner and its address."""
        memory = ctypes.create_string_buffer(bytes([_UNDEFINED]) * size, size + 256)
        mask = ctypes.create_string_buffer(b"\xff" * (size + 256), size + 512)
        start = -(-ctypes.addressof(memory) // 256) * 256
        region = Region(
            name="a workspace",
            address=start,
            bytes=size,
            written=True,
            mask=-(-ctypes.addressof(mask) // 256) * 256,
        )
        self._call.regions.append(region)
        self._call.held.append((memory, mask))
        return memory, start

    def kept(self, name: str, size: int) -> Callable[[], int]:
        """What gives the address of memory that begins with zeros and keeps what calls leave."""
        memory = ctypes.create_string_buffer(size + 256)
        self._kept.append(memory)
        start = -(-ctypes.addressof(memory) // 256) * 256
        region = Region(name=f"the kept memory {name}", address=start, bytes=size, written=True)

        def address() -> int:
            self._call.regions.append(region)
            return start

        return address

    def workers(self) -> int:
        """Blocks that run at once: a small number, so that each takes several tiles."""
        return 4

    def failed(self, message: str) -> None:
        """Raise TileError E3013 for an assertion about the arguments."""
        raise TileError(
            "E3013", message, help="Pass arguments for which the kernel's assertion holds."
        )


def _words(row: Sequence[Any]) -> Sequence[str]:
    """What more a target says of an argument's memory."""
    return row[4] if len(row) > 4 else ()


def _facts(kernels: ctypes.CDLL) -> bytes:
    start = ctypes.addressof(ctypes.c_char.in_dll(kernels, "emulation_facts"))
    return ctypes.string_at(start)


def _from_environment() -> Options:
    schedule, seed = knobs.emulator_schedule()
    return Options(schedule=schedule, seed=seed)
