"""What a target contributes to a library of its kernels that runs without these packages.

The library's checks, its choice among variants and its self-check are the same for all targets and
written by who asks for the export. A target gives C text for the rest: memory, machine, launches.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from tile_ir.diag import InternalError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from tile_ir.core import Function
    from tile_passes.launch.container import Archive

__all__ = ["Built", "Exporter", "Linker", "Part", "SourcesOnly", "Unit", "array_text"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """A compiled kernel that is to be a variant of a library.

    `symbol` begins every name that it defines; `artifact` is what the target's emitter made of it,
    as the cache keeps it, `path` the file that its toolchain wrote; `lowered` runs the pipeline
    again for the function of stage `simt`.
    """

    symbol: str
    artifact: Any
    path: Path
    flags: tuple[str, ...]
    lowered: Callable[[], Function]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A C file with the compiler's flags that are its own."""

    name: str
    text: str
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A variant in a library.

    `text` goes into the library's own file and defines two functions named after the symbol:
    `int32_t SYMBOL_run(const uint64_t *args, int32_t device, void *stream)`, where args has a slot
    of 8 bytes for each parameter and dimension as `prelude/abi.h` of the CPU target lays them out,
    and `int32_t SYMBOL_fits(int32_t device)`, whether it runs on that device. `units` are compiled
    apart; `files` are for people to read.
    """

    text: str
    units: tuple[Unit, ...] = ()
    files: Mapping[str, bytes] = field(default_factory=dict)


class Exporter(Protocol):
    """A target's side of exports.

    `refused` has for each form that the target does not make the reason. `device_types` are the
    numbers that DLPack gives the memory of its kernels, its own first. `libraries` are the linker's
    flags. `statuses` are the codes that its text returns. `rank` orders architectures: where
    several fit a machine, the highest is the best. `loader` has the Python module with which a
    wheel takes arrays of the device, by file name.
    """

    refused: Mapping[str, str]
    device_types: tuple[int, ...]
    libraries: tuple[str, ...]
    statuses: tuple[str, ...]
    loader: Mapping[str, str]

    @property
    def rank(self) -> int:
        """Higher for an architecture that can do more."""

    def runtime(self) -> str:
        """C text in front of the variants: includes, and static functions with the memory of a
        device, as the text of the self-check uses them."""

    def part(self, built: Built) -> Part:
        """A kernel as a variant."""


class Linker(Protocol):
    """The side of the host: makes a library of C files."""

    def command(self) -> tuple[str, ...]:
        """Flags of every unit."""

    def link(self, units: Sequence[Unit], out: Path, libraries: Sequence[str]) -> None:
        """Compile and link; `out` appears complete or not at all."""


def array_text(name: str, data: bytes) -> str:
    """C text of `const uint64_t NAME[]` with these bytes, padded with zeros to whole words."""
    padded = data + bytes(-len(data) % 8)
    words = [f"0x{int.from_bytes(padded[i : i + 8], 'little'):x}" for i in range(0, len(padded), 8)]
    rows = [", ".join(words[i : i + 8]) for i in range(0, len(words), 8)]
    declared = f"extern const uint64_t {name}[];\nconst uint64_t {name}[] = {{"
    return "\n".join(
        ["#include <stdint.h>", "", declared, *(f"  {row}," for row in rows), "};", ""]
    )


@dataclass(frozen=True, slots=True)
class SourcesOnly:
    """A target whose kernels go out as source and machine code, for launches of the user's own.

    `archive` reads what its toolchain wrote, `suffix` is that of its sources, `why` says why there
    is no library.
    """

    archive: Archive[Any]
    suffix: str
    why: str
    device_types: tuple[int, ...] = (0,)
    libraries: tuple[str, ...] = ()
    statuses: tuple[str, ...] = ()
    loader: Mapping[str, str] = field(default_factory=dict)

    @property
    def refused(self) -> Mapping[str, str]:
        """The forms that need launches."""
        return {"so": self.why, "wheel": self.why}

    @property
    def rank(self) -> int:
        """Nothing chooses among architectures."""
        return 0

    def runtime(self) -> str:
        """None."""
        raise InternalError("E9001", "sources alone have no runtime")

    def part(self, built: Built) -> Part:
        """Source, machine code as an array, and the host's side to read: it says what is launched,
        with which blocks and arguments."""
        contents = self.archive.unpack(built.path)
        code = f"{built.symbol}_code"
        return Part(
            text="",
            units=(Unit(name=f"{code}.c", text=array_text(code, contents.code)),),
            files={
                f"{built.symbol}{self.suffix}": built.artifact.source.encode(),
                f"{built.symbol}_host.py": contents.host.encode(),
            },
        )
