"""Turn emitted HIP C++ into a code object for an architecture, whether or not such a device exists.

What a compiler lets pass silently but must not reach a user - registers of a kernel with matrix
instructions that travel through memory - is an error with a code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir.diag import TileError
from tile_rocm import knobs
from tile_rocm.code_object import usage_of
from tile_rocm.compiler_messages import compiler_failed
from tile_rocm.compilers import Compiler, find_compiler

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tile_rocm.container import KernelUsage

__all__ = ["assembly", "compile_source", "options_for", "refuse_spills"]

SOURCE_NAME = "kernel.hip"
SPILL_LIMIT = 16
"""Registers of a thread that a kernel with matrix instructions may keep in memory: some addresses
outside of its loop cost nothing; accumulators are more."""


def options_for(arch: str, strict: bool) -> tuple[str, ...]:
    """Options of clang's inner form. With `strict`, products and sums keep their own roundings.

    Memory is accessed through pointers of several types, hence relaxed aliasing. Version 5 of code
    objects is what drivers from ROCm 6.0 on load.
    """
    return (
        *("-triple", "amdgcn-amd-amdhsa", "-target-cpu", arch, "-mcode-object-version=5"),
        *("-x", "hip", "-fcuda-is-device", "-std=c++17", "-O3"),
        *("-fvisibility=hidden", "-fapply-global-visibility-to-externs"),
        *("-mllvm", "-amdgpu-internalize-symbols"),
        *("-vectorize-loops", "-vectorize-slp", "-relaxed-aliasing", "-munsafe-fp-atomics"),
        f"-ffp-contract={'off' if strict else 'fast'}",
        *(("-debug-info-kind=line-tables-only",) if knobs.line_info() else ()),
    )


def compile_source(
    source: str,
    arch: str,
    strict: bool = False,
    compiler: Compiler | None = None,
    flags: Sequence[str] = (),
) -> tuple[bytes, Mapping[str, KernelUsage]]:
    """Compile HIP C++ text to a code object for `arch` (`gfx942`) and say what each kernel takes.

    `flags` follow our own options. Raises TileError E3001 (no compiler), E3002 (refused), E3015 (an
    instruction that the architecture lacks).
    """
    made = _made(source, arch, strict, compiler, flags, text=False)
    return made, usage_of(made)


def assembly(source: str, arch: str, strict: bool = False, compiler: Compiler | None = None) -> str:
    """The machine's text of HIP C++ for `arch`. Raises what `compile_source` raises."""
    return _made(source, arch, strict, compiler, (), text=True).decode()


def _made(
    source: str,
    arch: str,
    strict: bool,
    compiler: Compiler | None,
    flags: Sequence[str],
    *,
    text: bool,
) -> bytes:
    chosen = compiler or find_compiler()
    options = (*options_for(arch, strict), *flags)
    command = f"{chosen.key()}: {' '.join(options)}"
    try:
        made = chosen.compile(source, SOURCE_NAME, options, text)
    except OSError as error:
        raise TileError(
            "E3002", f"the compiler failed: {error}", notes=(command,), help="Install it again."
        ) from error
    if made.output is None:
        raise compiler_failed(made.log, source, command)
    return made.output


def refuse_spills(usage: Mapping[str, KernelUsage]) -> None:
    """Raise TileError E3005 where a kernel keeps many registers in memory; meant for kernels with
    matrix instructions, which become several times slower by it."""
    for name, row in usage.items():
        if row.vector_spills > SPILL_LIMIT:
            raise TileError(
                "E3005",
                f"{name} spills {row.vector_spills} registers of each thread",
                notes=(f"{row.vector_registers} registers a thread, and not enough",),
                help="Use smaller blocks or more threads.",
            )
