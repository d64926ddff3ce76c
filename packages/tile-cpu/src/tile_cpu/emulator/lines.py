"""Which line of its source an instruction of a library comes from (DWARF 4, section 6.2; ELF)."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

__all__ = ["line_table"]

SECTION_HEADER = struct.Struct("<IIQQQQIIQQ")
COPY, ADVANCE_PC, ADVANCE_LINE, SET_FILE = 1, 2, 3, 4
CONST_ADD_PC, FIXED_ADVANCE_PC = 8, 9
END_SEQUENCE, SET_ADDRESS = 1, 2


def line_table(library: bytes, name: str) -> tuple[tuple[int, int], ...]:
    """(address, line) in order of addresses; 0 for lines of other files than `name`.

    The library is ELF of 64 bits, little endian; what has no table gives none.
    """
    data = _section(library, b".debug_line")
    rows: list[tuple[int, int]] = []
    at = 0
    while at < len(data):
        length = struct.unpack_from("<I", data, at)[0]
        rows += _unit(data[at + 4 : at + 4 + length], name)
        at += 4 + length
    return tuple(sorted(rows))


def _section(library: bytes, wanted: bytes) -> bytes:
    start = struct.unpack_from("<Q", library, 0x28)[0]
    size, count, names_at = struct.unpack_from("<HHH", library, 0x3A)
    headers = [SECTION_HEADER.unpack_from(library, start + i * size) for i in range(count)]
    names = headers[names_at][4]
    for header in headers:
        at = names + header[0]
        if library[at : library.index(b"\0", at)] == wanted:
            return library[header[4] : header[4] + header[5]]
    return b""


@dataclass(slots=True)
class _Reader:
    """Reads a unit's bytes in order."""

    data: bytes
    at: int = 0

    def number(self, form: str) -> int:
        value: int = struct.unpack_from("<" + form, self.data, self.at)[0]
        self.at += struct.calcsize("<" + form)
        return value

    def text(self) -> str:
        end = self.data.index(b"\0", self.at)
        found = self.data[self.at : end].decode(errors="replace")
        self.at = end + 1
        return found

    def unsigned(self) -> int:
        value = shift = 0
        while True:
            byte = self.number("B")
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def signed(self) -> int:
        start, value = self.at, self.unsigned()
        bits = 7 * (self.at - start)
        return value - (1 << bits) if value >> (bits - 1) else value


@dataclass(slots=True)
class _Machine:
    """The program that writes a table: its header and its registers."""

    step: int
    line_base: int
    line_range: int
    opcode_base: int
    lengths: list[int]
    wanted: frozenset[int]
    rows: list[tuple[int, int]] = field(default_factory=list)
    address: int = 0
    file: int = 1
    line: int = 1

    def row(self) -> None:
        self.rows.append((self.address, self.line if self.file in self.wanted else 0))

    def special(self, opcode: int) -> None:
        self.address += (opcode - self.opcode_base) // self.line_range * self.step
        self.line += self.line_base + (opcode - self.opcode_base) % self.line_range
        self.row()


def _unit(data: bytes, name: str) -> list[tuple[int, int]]:
    r = _Reader(data)
    version, length = r.number("H"), r.number("I")
    program = r.at + length
    if version not in (2, 3, 4):
        return []
    step = r.number("B")
    r.at += 2 if version == 4 else 1  # operations of an instruction; whether rows are statements
    base, spread, opcodes = r.number("b"), r.number("B"), r.number("B")
    lengths = [r.number("B") for _ in range(opcodes - 1)]
    while r.text():
        pass  # folders
    names = []
    while one := r.text():
        names.append(one)
        r.unsigned(), r.unsigned(), r.unsigned()
    wanted = frozenset(n for n, one in enumerate(names, 1) if one == name)
    machine = _Machine(step, base, spread, opcodes, lengths, wanted)
    r.at = program
    while r.at < len(data):
        _execute(r, machine)
    return machine.rows


def _execute(r: _Reader, m: _Machine) -> None:
    """One instruction; those that say nothing of addresses and lines are passed over."""
    opcode = r.number("B")
    if opcode >= m.opcode_base:
        m.special(opcode)
    elif opcode == 0:
        _extended(r, m)
    elif opcode == COPY:
        m.row()
    elif opcode == ADVANCE_PC:
        m.address += r.unsigned() * m.step
    elif opcode == ADVANCE_LINE:
        m.line += r.signed()
    elif opcode == SET_FILE:
        m.file = r.unsigned()
    elif opcode == CONST_ADD_PC:
        m.address += (255 - m.opcode_base) // m.line_range * m.step
    elif opcode == FIXED_ADVANCE_PC:
        m.address += r.number("H")
    else:
        for _ in range(m.lengths[opcode - 1]):
            r.unsigned()


def _extended(r: _Reader, m: _Machine) -> None:
    length = r.unsigned()
    end = r.at + length
    opcode = r.number("B")
    if opcode == SET_ADDRESS:
        m.address = r.number("Q")
    elif opcode == END_SEQUENCE:
        m.rows.append((m.address, 0))
        m.address, m.file, m.line = 0, 1, 1
    r.at = end
