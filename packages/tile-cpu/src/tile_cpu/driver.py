"""The target as its users see it: compile a function to C, build it, load it, call it.

`compile_function` and `emit` are pure; `CpuToolchain` runs the C compiler; `CpuRuntime` loads what
it made. A caller with a cache of its own puts the library's bytes wherever it likes between the
last two.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from tile_cpu.codegen_flags import flags_for
from tile_cpu.runtime import CpuKernel
from tile_cpu.toolchain import COMMON_FLAGS, compile, compile_cached, find_toolchain
from tile_ir.ops import Kernel
from tile_ir.rewrite import walk
from tile_passes.base import PassContext, State
from tile_passes.manager import run_pipeline
from tile_passes.plan.model import Plan

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from tile_ir.core import Function
    from tile_ir.target import TargetSpec
    from tile_passes.pipeline import Pipeline

__all__ = [
    "Artifact",
    "CpuRuntime",
    "CpuToolchain",
    "build",
    "compile_function",
    "emit",
    "kernel_flags",
]

KERNEL_FLAGS = ("-fwrapv", "-fno-strict-aliasing")
"""Integers wrap as the language says, and scratch memory is reused at other types."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """What compiling gives before a C compiler is asked: text, entry, and how to call it.

    `signature` has a kind of `tile_cpu.runtime.SLOTS` for each argument of the entry: the
    function's parameters in order, then its dimensions. `strict` is whether products and sums keep
    their own roundings.
    """

    source: str
    entry: str
    signature: tuple[str, ...]
    kernels: tuple[str, ...]
    strict: bool
    plan: Plan
    lowered: Function


def emit(fn: Function, spec: TargetSpec, plan: Plan | None = None) -> Artifact:
    """Print a function that went through this target's pipeline."""
    from tile_cpu.emit import emit_function  # loading a kernel from a cache needs no emitter

    made = emit_function(fn, spec)
    return Artifact(
        source=made.text,
        entry=made.entry,
        signature=_signature(fn),
        kernels=tuple(s.name for s in walk(fn.body) if isinstance(s, Kernel)),
        strict=fn.numerics == "strict",
        plan=plan or Plan(),
        lowered=fn,
    )


def compile_function(
    fn: Function,
    spec: TargetSpec,
    pins: Mapping[str, object] | None = None,
    passes: Pipeline | None = None,
    verify_each: bool = True,
) -> Artifact:
    """Run the pipeline (this target's own by default) and print the result."""
    from tile_cpu.pipeline import pipeline  # nor the passes

    cx = PassContext(target=spec, pins=pins or {})
    outcome = run_pipeline(passes or pipeline(), State(function=fn), cx, verify_each=verify_each)
    return emit(outcome.state.function, spec, outcome.state.plan)


_PASSED_AS = {"i4": "i8", "u4": "u8"}


def _signature(fn: Function) -> tuple[str, ...]:
    kinds = [("ptr" if p.scalar is None else _scalar_kind(p.scalar.dtype.name)) for p in fn.params]
    return (*kinds, *("i64" for _ in fn.dims))


def _scalar_kind(name: str) -> str:
    """The slot of a scalar: narrow floats travel as f32, 4-bit integers as bytes."""
    wide = name if name in ("f32", "f64") else "f32"
    return (
        wide
        if (name[0] in "fb" and name != "bool") or name == "tf32"
        else _PASSED_AS.get(name, name)
    )


@cache
def kernel_flags(spec: TargetSpec, strict: bool) -> tuple[str, ...]:
    """The compiler's flags for a kernel, besides those of every build."""
    return (*flags_for(spec, find_toolchain(), strict), *KERNEL_FLAGS)


@dataclass(frozen=True, slots=True)
class CpuToolchain:
    """The C compiler for one description."""

    spec: TargetSpec

    suffix = ".so"
    """Of what `compile` writes; the source is C."""

    def fingerprint(self, strict: bool = False) -> str:
        """What the bytes of a library depend on besides its source: compiler and flags."""
        return " ".join((find_toolchain().key(), *COMMON_FLAGS, *kernel_flags(self.spec, strict)))

    def compile(self, artifact: Artifact, out: Path, flags: Sequence[str] = ()) -> None:
        """Build the artifact into the library `out`, which appears complete or not at all.

        `flags` are the user's and come last, so they win.

        Raises:
            TileError: E0801 without a compiler, E0802 when it refuses the text, E0803 when `out`
                cannot be written.
        """
        compile(artifact.source, out, (*kernel_flags(self.spec, artifact.strict), *flags))


@dataclass(frozen=True, slots=True)
class CpuRuntime:
    """Loads libraries into this process."""

    spec: TargetSpec

    def load(self, artifact: Artifact, path: Path, threads: int | None = None) -> CpuKernel:
        """The entry of a built library: call it with what `artifact.signature` says (pointers as
        integers).
        """
        return CpuKernel(path, artifact.entry, artifact.signature, threads)


def build(artifact: Artifact, spec: TargetSpec, threads: int | None = None) -> Callable[..., None]:
    """Compile (or find in this target's own cache) and load an artifact."""
    built = compile_cached(artifact.source, artifact.entry, kernel_flags(spec, artifact.strict))
    return CpuRuntime(spec).load(artifact, built.path, threads)
