"""Read what a cubin says of its kernels: registers, static shared memory, stack.

A cubin is an ELF file. Section `.nv.info` holds records (format, attribute, size, payload), among
them for each function its number of registers and its stack; `.nv.shared.NAME` is as large as the
kernel's static shared memory. The attribute numbers are those that `cuobjdump -elf` prints as
EIATTR_REGCOUNT and EIATTR_MIN_STACK_SIZE.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tile_ir.diag import InternalError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Section", "kernels_of", "sections", "stack_bytes"]

HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
SECTION = struct.Struct("<IIQQQQIIQQ")
SYMBOL = struct.Struct("<IBBHQQ")
REGISTER_COUNT = 0x2F
MIN_STACK_SIZE = 0x12
SIZED_VALUE = 4
"""Record format whose payload has its own length; the others hold two bytes in place of it."""
RESERVED, RESERVED_BYTES = ".nv.shared.reserved.0", 1024
"""A section of architectures from 9.0 on, where a kernel's section also counts what the system
keeps of a block's shared memory; as measured: the assembler's log counts 1024 bytes fewer."""
WORDS = struct.Struct("<II")


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A section: its name, its bytes (none where the file has none) and its size in memory."""

    name: str
    data: bytes
    size: int


def sections(cubin: bytes) -> tuple[Section, ...]:
    """Every section of an ELF file of 64 bits. Raises InternalError E3090 for other bytes."""
    if cubin[:5] != b"\x7fELF\x02":
        raise InternalError("E3090", "the compiler gave no ELF file of 64 bits")
    header = HEADER.unpack_from(cubin)
    table, entry, count, names = header[6], header[11], header[12], header[13]
    raw = [SECTION.unpack_from(cubin, table + i * entry) for i in range(count)]
    strings = _bytes_of(cubin, raw[names])
    return tuple(
        Section(name=_text(strings, s[0]), data=_bytes_of(cubin, s), size=s[5]) for s in raw
    )


def _bytes_of(cubin: bytes, section: tuple[int, ...]) -> bytes:
    without_bytes = 8  # SHT_NOBITS
    return b"" if section[1] == without_bytes else cubin[section[4] : section[4] + section[5]]


def _text(strings: bytes, at: int) -> str:
    return strings[at : strings.index(b"\0", at)].decode()


def kernels_of(cubin: bytes) -> dict[str, tuple[int, int]]:
    """Kernel -> (registers of a thread, bytes of static shared memory), in the file's order."""
    by_name = {s.name: s for s in sections(cubin)}
    registers = _records(by_name, REGISTER_COUNT)
    kernels = [name[len(".text.") :] for name in by_name if name.startswith(".text.")]
    own = RESERVED_BYTES if RESERVED in by_name else 0
    shared = {
        k: by_name[f".nv.shared.{k}"].size - own for k in kernels if f".nv.shared.{k}" in by_name
    }
    return {k: (registers.get(k, 0), shared.get(k, 0)) for k in kernels}


def stack_bytes(cubin: bytes) -> dict[str, int]:
    """Kernel -> bytes of local memory that a thread's stack takes."""
    return _records({s.name: s for s in sections(cubin)}, MIN_STACK_SIZE)


def _records(by_name: dict[str, Section], wanted: int) -> dict[str, int]:
    """Function -> value of one attribute of `.nv.info`, whose records name functions by symbol."""
    if ".nv.info" not in by_name:
        return {}
    symbols, strings = by_name[".symtab"].data, by_name[".strtab"].data
    found = {}
    for attribute, payload in _attributes(by_name[".nv.info"].data):
        if attribute == wanted and len(payload) == WORDS.size:
            symbol, value = WORDS.unpack(payload)
            name = SYMBOL.unpack_from(symbols, symbol * SYMBOL.size)[0]
            found[_text(strings, name)] = value
    return found


def _attributes(info: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + 4 <= len(info):
        form, attribute, size = (
            info[at],
            info[at + 1],
            int.from_bytes(info[at + 2 : at + 4], "little"),
        )
        at += 4
        if form == SIZED_VALUE:
            yield attribute, info[at : at + size]
            at += size
