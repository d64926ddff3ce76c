"""Read what a code object says of its kernels: registers, shared memory, stack, spills.

A code object is an ELF file whose note section carries a record named "AMDGPU" of type 32: a map
in MessagePack form ("User Guide for AMDGPU Backend" of LLVM, "Code Object V5 Metadata"). Only the
forms that such maps use are read here.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from tile_ir.diag import InternalError
from tile_rocm.container import KernelUsage

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["metadata_of", "unpacked", "usage_of"]

HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
SECTION = struct.Struct("<IIQQQQIIQQ")
NOTE = struct.Struct("<III")
NOTE_SECTION = 7
METADATA_NOTE = 32


def usage_of(code: bytes) -> dict[str, KernelUsage]:
    """Kernel -> what it takes. Raises InternalError E3090 for bytes that are no code object."""
    return {
        str(kernel[".name"]): KernelUsage(
            vector_registers=kernel[".vgpr_count"],
            accumulator_registers=kernel.get(".agpr_count", 0),
            scalar_registers=kernel[".sgpr_count"],
            shared=kernel[".group_segment_fixed_size"],
            stack=kernel[".private_segment_fixed_size"],
            vector_spills=kernel[".vgpr_spill_count"],
            scalar_spills=kernel[".sgpr_spill_count"],
        )
        for kernel in metadata_of(code)["amdhsa.kernels"]
    }


def metadata_of(code: bytes) -> dict[str, Any]:
    """The map of a code object. Raises InternalError E3090 where there is none."""
    if code[:5] != b"\x7fELF\x02":
        raise InternalError("E3090", "the compiler gave no ELF file of 64 bits")
    for kind, payload in _notes(code):
        if kind == METADATA_NOTE:
            found, _ = unpacked(payload)
            assert isinstance(found, dict)  # by the format's definition
            return found
    raise InternalError("E3090", "the code object says nothing of its kernels")


def _notes(code: bytes) -> Iterator[tuple[int, bytes]]:
    header = HEADER.unpack_from(code)
    table, entry, count = header[6], header[11], header[12]
    for i in range(count):
        section = SECTION.unpack_from(code, table + i * entry)
        at, end = section[4], section[4] + section[5]
        while section[1] == NOTE_SECTION and at < end:
            name, size, kind = NOTE.unpack_from(code, at)
            at += NOTE.size + _padded(name)
            yield kind, code[at : at + size]
            at += _padded(size)


def _padded(size: int) -> int:
    return -(-size // 4) * 4


# -- MessagePack: the first byte says the form; fix* forms have the length in its low bits

SCALARS = {
    0xCA: ">f",
    0xCB: ">d",
    0xCC: ">B",
    0xCD: ">H",
    0xCE: ">I",
    0xCF: ">Q",
    0xD0: ">b",
    0xD1: ">h",
    0xD2: ">i",
    0xD3: ">q",
}
LENGTHS = {
    0xD9: (">B", "text"),
    0xDA: (">H", "text"),
    0xDB: (">I", "text"),
    0xC4: (">B", "bytes"),
    0xC5: (">H", "bytes"),
    0xC6: (">I", "bytes"),
    0xDC: (">H", "list"),
    0xDD: (">I", "list"),
    0xDE: (">H", "map"),
    0xDF: (">I", "map"),
}
WORDS = {0xC0: None, 0xC2: False, 0xC3: True}


def unpacked(data: bytes, at: int = 0) -> tuple[Any, int]:
    """The value that starts at `at`, and where the next one does.

    Raises InternalError E3090 for a form that metadata does not use.
    """
    first = data[at]
    if first in WORDS:
        return WORDS[first], at + 1
    if first in SCALARS:
        form = SCALARS[first]
        return struct.unpack_from(form, data, at + 1)[0], at + 1 + struct.calcsize(form)
    if first in LENGTHS:
        form, kind = LENGTHS[first]
        (length,) = struct.unpack_from(form, data, at + 1)
        return _sequence(kind, length, data, at + 1 + struct.calcsize(form))
    return _short(first, data, at + 1)


def _short(first: int, data: bytes, at: int) -> tuple[Any, int]:
    """The forms whose first byte holds the number or the length."""
    if first < 0x80:
        return first, at
    if first >= 0xE0:
        return first - 0x100, at
    if first < 0x90:
        return _sequence("map", first & 15, data, at)
    if first < 0xA0:
        return _sequence("list", first & 15, data, at)
    if first < 0xC0:
        return _sequence("text", first & 31, data, at)
    raise InternalError("E3090", f"metadata of an unknown form {first:#x}")


def _sequence(kind: str, length: int, data: bytes, at: int) -> tuple[Any, int]:
    if kind in ("text", "bytes"):
        part = data[at : at + length]
        return (part.decode() if kind == "text" else part), at + length
    values = []
    for _ in range(2 * length if kind == "map" else length):
        value, at = unpacked(data, at)
        values.append(value)
    if kind == "map":
        return dict(zip(values[::2], values[1::2], strict=True)), at
    return values, at
