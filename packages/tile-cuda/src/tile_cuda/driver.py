"""The target as its users see it: print a function as CUDA C++, compile it, load it, call it.

`emit` is pure; `CudaToolchain` runs NVRTC or nvcc and needs no GPU; `CudaRuntime` loads what it
made.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tile_cuda import knobs
from tile_cuda.alignments import alignments, pitches
from tile_cuda.container import ARCHIVE, Contents
from tile_cuda.emit import emit_function
from tile_cuda.host_arrays import OnHostArrays
from tile_cuda.host_code import host_source
from tile_cuda.runtime import CudaFunction
from tile_cuda.toolchain import compile_source, find_compiler, options_for
from tile_passes.launch.artifact import DeviceArtifact, artifact_of
from tile_passes.launch.files import write_atomically

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tile_ir.core import Function
    from tile_ir.target import TargetSpec
    from tile_passes.plan.model import Plan

__all__ = ["Artifact", "CudaRuntime", "CudaToolchain", "emit"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact(DeviceArtifact):
    """What compiling gives before NVIDIA's compiler is asked. `pitches` are the bytes that the
    strides of each parameter have to be a multiple of."""

    pitches: tuple[int, ...]


def emit(fn: Function, spec: TargetSpec, plan: Plan | None = None) -> Artifact:
    """Print a function of stage `simt`.

    Raises TileError E3010 where a block needs more shared memory than the description has.
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
        pitches=pitches(fn),
    )


@dataclass(frozen=True, slots=True)
class CudaToolchain:
    """NVIDIA's compiler for one description."""

    spec: TargetSpec

    suffix = ".zip"
    """Of what `compile` writes: machine code and host part in one archive."""
    source_suffix = ".cu"

    def fingerprint(self, strict: bool = False) -> str:
        """What the machine code depends on besides its source: compiler and options."""
        return " ".join((find_compiler().key(), *options_for(self.spec.toolchain.cpu, strict)))

    def compile(self, artifact: Artifact, out: Path, flags: Sequence[str] = ()) -> None:
        """Build the artifact into the archive `out`, which appears complete or not at all.

        `flags` are the user's, for the compiler in use, and come last.

        Raises:
            TileError: E3001 without a compiler, E3002 when it refuses text or flags, E3003 when
                `out` cannot be written, E3004 to E3006 for a build far slower than asked for, E3015
                for an instruction that the architecture lacks.
        """
        arch = self.spec.toolchain.cpu
        cubin, usage = compile_source(artifact.source, arch, artifact.strict, flags=flags)
        write_atomically(out, ARCHIVE.pack(Contents(code=cubin, host=artifact.host, usage=usage)))
        if knobs.keep_source():
            write_atomically(out.with_suffix(self.source_suffix), artifact.source.encode())


@dataclass(frozen=True, slots=True)
class CudaRuntime:
    """Loads archives into this process; the device is asked at the first call."""

    spec: TargetSpec

    def load(self, artifact: Artifact, path: Path) -> CudaFunction:
        """A built function: call it with what `artifact.signature` says (pointers as integers)."""
        return CudaFunction(path, artifact.signature)

    def on_host_arrays(self, function: CudaFunction) -> OnHostArrays:
        """The function for arrays of bytes of this process in the place of addresses."""
        return OnHostArrays(function)
