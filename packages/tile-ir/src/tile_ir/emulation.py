"""What a target hands to a device that runs its kernels on the host's processor.

A target that can be emulated names a function in its manifest (`emulate`) that returns an
`Emulation`: C text for what its instructions mean, and how an artifact becomes C text written with
it. The device brings threads of execution, memory, barriers and reports. All of this is data and
text, so that no target imports another.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["EMULATION_API", "EmulatedKernel", "Emulation", "EmulationSource"]

EMULATION_API = 1
"""Version of the C interface between kernels and emulator; a device refuses another one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmulatedKernel:
    """One kernel: its name, the C function `void entry(struct emu_thread *, char *parameters)`,
    where each parameter lies in `parameters` as (offset, bytes), bytes of shared memory of a block
    that are not asked for at the launch, bytes of a thread's own memory, blocks of a cluster.

    `mix`: how many instructions of which kind each straight piece of its code has; piece i begins
    with `t->visits[i]++`. Nothing where that is not known."""

    name: str
    entry: str
    parameters: tuple[tuple[int, int], ...]
    shared_bytes: int = 0
    local_bytes: int = 0
    cluster: int = 1
    mix: tuple[Mapping[str, int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EmulationSource:
    """An artifact as text.

    * `code`: C text of the kernels, for the device's header and the target's `interface`; C++ where
      the target's kernels are `compiled`.
    * `host`: Python text that defines `bind(rt)`, which returns the function's host part. `rt` has
      `kernel(name, formats, threads, shared)`, `tensor_map(name, bits, box, row_bytes)`
      (and `f32` where the engine adds numbers of that type), `allocate(bytes)`, `workers()` and
      `failed(message)`.
    * `regions`: Python text that defines `regions(*arguments)`, which returns a list of (name,
      address, bytes, whether it is written, and perhaps words: "result" for what the call made,
      "early" for what is read before the kernel in front has ended, "late" for what the last kernel
      writes) of what the arguments point to.
    * `places`: what a position in the program is: position -> (instruction, line of the generated
      source, that line, the user's place as "file:line" or nothing).
    """

    code: str
    kernels: tuple[EmulatedKernel, ...]
    host: str
    regions: str
    places: dict[int, tuple[str, int, str, str]]
    api: int = EMULATION_API


@dataclass(frozen=True, slots=True, kw_only=True)
class Emulation:
    """A target's part of an emulator.

    `name` is that of the target's layer, `interface` its C declarations, `layer` its C
    definitions; `fingerprint(artifact flags)` says what `translate(artifact, flags)` depends on
    besides the artifact.

    `lanes`: threads that execute together, 32 or 64. `banks`: of a block's memory, of 4 bytes each.
    A layer is built once for each name: targets that differ in these have different ones.

    `compiled`: the code is C++17 that accesses
    memory by itself, so it is compiled with every access reported to the device; each entry begins
    with `emu_native_enter(t, EMU_IMAGE)` and ends with `emu_native_leave()`. Positions in the
    program are then lines of the text after `#line 1 "kernel"`.
    """

    name: str
    interface: str
    layer: str
    translate: Callable[[Any, Sequence[str]], EmulationSource]
    fingerprint: Callable[[], str]
    lanes: int = 32
    banks: int = 32
    compiled: bool = False
    api: int = EMULATION_API
