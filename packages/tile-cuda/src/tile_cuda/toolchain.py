"""Turn emitted CUDA C++ into machine code for an architecture, whether or not such a device
exists.

NVRTC is preferred (22 ms for a small kernel, 150 ms for a pipelined product; nvcc takes 200 to
300 more, for its processes). What a compiler lets pass with a remark but must not reach a user -
serialized matrix instructions, ignored register limits, spills beside asynchronous matrix
instructions - is an error with a code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from tile_cuda import knobs
from tile_cuda.compiler_messages import (
    compiler_failed,
    raise_for_performance,
    spills_of,
)
from tile_cuda.container import KernelUsage
from tile_cuda.cubin import kernels_of, stack_bytes
from tile_cuda.nvcc import find_nvcc
from tile_cuda.nvrtc import find_nvrtc
from tile_ir.diag import TileError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tile_cuda.nvrtc import Compiled

__all__ = ["Compiler", "compile_source", "find_compiler", "options_for"]

SOURCE_NAME = "kernel.cu"
SPILL_LIMIT = 128
"""Bytes that a kernel with asynchronous matrix instructions may spill: a service warp with few
registers spills some outside of its loop, which costs nothing; accumulators are larger."""


class Compiler(Protocol):
    """NVRTC or nvcc."""

    @property
    def version(self) -> tuple[int, int]:
        """Major and minor."""

    def key(self) -> str:
        """What machine code depends on besides source and options."""

    def compile(self, source: str, name: str, options: Sequence[str]) -> Compiled:
        """Source to machine code and log."""


def find_compiler() -> Compiler:
    """The compiler to use: the one asked for by TILE_CUDA_COMPILER, else NVRTC, else nvcc.

    Raises TileError E3001 where there is none.
    """
    asked = knobs.compiler()
    found: Compiler | None = None
    if asked in (None, "nvrtc"):
        found = find_nvrtc()
    if found is None and asked in (None, "nvcc"):
        found = find_nvcc()
    if found is None:
        raise TileError(
            "E3001",
            f"there is no CUDA compiler ({asked or 'neither NVRTC nor nvcc'} found)",
            help="pip install 'tile-cuda[nvrtc]'; it needs no GPU and no driver.",
        )
    return found


def options_for(arch: str, strict: bool) -> tuple[str, ...]:
    """Options of both compilers. With `strict`, products and sums keep their own roundings, and the
    smallest powers of two are not flushed to zero."""
    return (
        f"--gpu-architecture={arch}",
        "-std=c++17",
        f"--fmad={'false' if strict else 'true'}",
        *(("-DTILE_STRICT",) if strict else ()),
        "--ptxas-options=-v",
        *(("-lineinfo",) if knobs.line_info() else ()),
    )


def compile_source(
    source: str,
    arch: str,
    strict: bool = False,
    compiler: Compiler | None = None,
    flags: Sequence[str] = (),
) -> tuple[bytes, Mapping[str, KernelUsage]]:
    """Compile CUDA C++ text to a cubin for `arch` (`sm_90a`) and say what each kernel takes.

    `flags` follow our own options. Raises TileError E3001 (no compiler), E3002 (refused), E3004 to
    E3006 (far slower than asked for), E3015 (an instruction that the architecture lacks).
    """
    chosen = compiler or find_compiler()
    options = (*options_for(arch, strict), *flags)
    try:
        made = chosen.compile(source, SOURCE_NAME, options)
    except OSError as error:
        # As a cause it would pass for a failure to write the result, which callers make up for.
        raise _failed(error, chosen, options) from None
    if made.cubin is None:
        raise compiler_failed(made.log, source, f"{chosen.key()}: {' '.join(options)}")
    raise_for_performance(made.log)
    usage = usage_of(made.cubin, made.log)
    if "wgmma.mma_async" in source:
        _refuse_spills(usage)
    return made.cubin, usage


def _failed(error: OSError, chosen: Compiler, options: Sequence[str]) -> TileError:
    return TileError(
        "E3002",
        f"the CUDA compiler failed: {error}",
        notes=(f"{chosen.key()}: {' '.join(options)}",),
        help="A newer nvidia-cuda-nvrtc may know the architecture: pip install -U it.",
    )


def usage_of(cubin: bytes, log: str = "") -> dict[str, KernelUsage]:
    """What each kernel of a cubin takes; spills are known from the log only."""
    stacks, spills = stack_bytes(cubin), spills_of(log)
    return {
        name: KernelUsage(
            registers=registers,
            static_shared=shared,
            stack=stacks.get(name, 0),
            spill_stores=spills[name].stores if name in spills else 0,
            spill_loads=spills[name].loads if name in spills else 0,
        )
        for name, (registers, shared) in kernels_of(cubin).items()
    }


def _refuse_spills(usage: Mapping[str, KernelUsage]) -> None:
    for name, row in usage.items():
        if row.spill_stores > SPILL_LIMIT:
            raise TileError(
                "E3005",
                f"{name} spills {row.spill_stores} bytes of registers",
                notes=(f"{row.registers} registers a thread, and not enough",),
                help="Use smaller blocks or more threads.",
            )
