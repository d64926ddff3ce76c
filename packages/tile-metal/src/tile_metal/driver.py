"""The target as its users see it: print a function as Metal, check it, load it, call it.

`emit` is pure; `MetalToolchain` checks with a compiler that needs no device; `MetalRuntime` loads
what it made.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tile_ir.diag import TileError
from tile_metal import knobs
from tile_metal.checkers import find_checker
from tile_metal.container import ARCHIVE, Contents, KernelUsage
from tile_metal.emit import emit_function
from tile_metal.runtime import MetalFunction
from tile_metal.toolchain import check_source
from tile_passes.launch.alignments import alignments
from tile_passes.launch.artifact import DeviceArtifact, artifact_of
from tile_passes.launch.files import write_atomically
from tile_passes.launch.host_code import host_source

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tile_ir.core import Function
    from tile_ir.target import TargetSpec
    from tile_passes.plan.model import Plan

__all__ = ["Artifact", "MetalRuntime", "MetalToolchain", "emit"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact(DeviceArtifact):
    """What compiling gives. `usage` has what a launch needs of each kernel."""

    usage: dict[str, KernelUsage]


def emit(fn: Function, spec: TargetSpec, plan: Plan | None = None) -> Artifact:
    """Print a function of stage `simt`.

    Raises TileError E3010 where a block needs more threadgroup memory than the description has,
    E3101 for what kernels of this target cannot do.
    """
    made = emit_function(fn, spec)
    usage = {k.name: KernelUsage(threads=k.threads, shared=k.shared_bytes) for k in made.kernels}
    return artifact_of(
        Artifact,
        fn,
        made,
        spec,
        plan,
        host=host_source(fn, made),
        alignments=alignments(fn),
        usage=usage,
    )


@dataclass(frozen=True, slots=True)
class MetalToolchain:
    """The checks for one description; machine code is made where the source is loaded."""

    spec: TargetSpec

    suffix = ".zip"
    """Of what `compile` writes: source and host part in one archive."""
    source_suffix = ".metal"

    def fingerprint(self, strict: bool = False) -> str:
        """What the result depends on besides its source: the compiler that checked it."""
        found = find_checker()
        return found.release if found else "unchecked"

    def compile(self, artifact: Artifact, out: Path, flags: Sequence[str] = ()) -> None:
        """Check the artifact and write the archive `out`, which appears complete or not at all.

        Raises:
            TileError: E3001 without the compiler asked for, E3002 when it refuses the text or flags
                are given, E3003 when `out` cannot be written, E3015 for something that the language
                version lacks.
        """
        if flags:
            raise TileError(
                "E3002",
                f"the flags {' '.join(flags)} have no compiler to go to",
                notes=("PyTorch compiles the source, and takes no flags",),
                help="Leave them out.",
            )
        check_source(artifact.source)
        contents = Contents(code=artifact.source.encode(), host=artifact.host, usage=artifact.usage)
        write_atomically(out, ARCHIVE.pack(contents))
        if knobs.keep_source():
            write_atomically(out.with_suffix(self.source_suffix), artifact.source.encode())


@dataclass(frozen=True, slots=True)
class MetalRuntime:
    """Loads archives into this process; the device is asked at the first call."""

    spec: TargetSpec

    def load(self, artifact: Artifact, path: Path) -> MetalFunction:
        """A built function: call it with what `artifact.signature` says; a "ptr" is a tensor."""
        return MetalFunction(path, artifact.signature)
