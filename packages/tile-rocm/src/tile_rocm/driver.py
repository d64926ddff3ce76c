"""The target as its users see it: print a function as HIP C++, compile it, load it, call it.

`emit` is pure; `RocmToolchain` runs clang and needs no GPU; `RocmRuntime` loads what it made.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tile_passes.launch.alignments import alignments
from tile_passes.launch.artifact import DeviceArtifact, artifact_of
from tile_passes.launch.files import write_atomically
from tile_passes.launch.host_code import host_source
from tile_rocm import knobs
from tile_rocm.compilers import find_compiler
from tile_rocm.container import ARCHIVE, Contents
from tile_rocm.emit import emit_function
from tile_rocm.runtime import RocmFunction
from tile_rocm.toolchain import compile_source, options_for, refuse_spills

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tile_ir.core import Function
    from tile_ir.target import TargetSpec
    from tile_passes.plan.model import Plan

__all__ = ["Artifact", "RocmRuntime", "RocmToolchain", "emit"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact(DeviceArtifact):
    """What compiling gives before a C++ compiler is asked. `matrix` is whether there are matrix
    instructions."""

    matrix: bool


def emit(fn: Function, spec: TargetSpec, plan: Plan | None = None) -> Artifact:
    """Print a function of stage `simt`.

    Raises TileError E3010 where a block needs more shared memory than the description has, E3101
    for what kernels of this target cannot do.
    """
    made = emit_function(fn, spec)
    return artifact_of(
        Artifact,
        fn,
        made,
        spec,
        plan,
        host=host_source(fn, made),
        alignments=alignments(fn),
        matrix=made.matrix,
    )


@dataclass(frozen=True, slots=True)
class RocmToolchain:
    """The compiler for one description."""

    spec: TargetSpec

    suffix = ".zip"
    """Of what `compile` writes: machine code and host part in one archive."""
    source_suffix = ".hip"

    def fingerprint(self, strict: bool = False) -> str:
        """What the machine code depends on besides its source: compiler and options."""
        return " ".join((find_compiler().key(), *options_for(self.spec.toolchain.cpu, strict)))

    def compile(self, artifact: Artifact, out: Path, flags: Sequence[str] = ()) -> None:
        """Build the artifact into the archive `out`, which appears complete or not at all.

        `flags` are the user's, for the compiler in use, and come last.

        Raises:
            TileError: E3001 without a compiler, E3002 when it refuses text or flags, E3003 when
                `out` cannot be written, E3005 for matrix products whose registers spill, E3015 for
                an instruction that the architecture lacks.
        """
        arch = self.spec.toolchain.cpu
        code, usage = compile_source(artifact.source, arch, artifact.strict, flags=flags)
        if artifact.matrix:
            refuse_spills(usage)
        write_atomically(out, ARCHIVE.pack(Contents(code=code, host=artifact.host, usage=usage)))
        if knobs.keep_source():
            write_atomically(out.with_suffix(self.source_suffix), artifact.source.encode())


@dataclass(frozen=True, slots=True)
class RocmRuntime:
    """Loads archives into this process; the device is asked at the first call."""

    spec: TargetSpec

    def load(self, artifact: Artifact, path: Path) -> RocmFunction:
        """A built function: call it with what `artifact.signature` says (pointers as integers)."""
        return RocmFunction(path, artifact.signature)
