"""Asynchronous copies and the barriers that count their bytes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tile_cuda.emulate.ptx import split_operands
from tile_cuda.emulate.values import unknown

if TYPE_CHECKING:
    from collections.abc import Callable

    from tile_cuda.emulate.values import Context

__all__ = ["COPIES"]


def _used(c: Context, operand: str, kind: str = "b32") -> str:
    value = c.read(operand, kind)
    c.need(value, "EMU_OPERAND")
    return value.text


def _copy(c: Context) -> None:
    """cp.async and cp.async.bulk; `cp.reduce.async.bulk` too."""
    opcode, operands = c.instruction.opcode, c.instruction.operands
    if "bulk" in c.instruction.parts:
        _bulk(c)
    elif "commit_group" in opcode:
        c.line("emu_copy_commit(t);")
    elif "wait_group" in opcode:
        c.line(f"emu_copy_wait(t, {c.at}, {operands[0]});")
    elif "wait_all" in opcode:
        c.line(f"emu_copy_commit(t); emu_copy_wait(t, {c.at}, 0);")
    elif c.instruction.parts[2] in ("ca", "cg"):
        to, source = c.address(operands[0]), c.address(operands[1])
        valid = _used(c, operands[3]) if len(operands) > 3 else operands[2]
        c.line(f"emu_copy(t, {c.at}, {to}, {source}, {operands[2]}, {valid});")
    else:
        raise unknown(c.instruction.opcode)


def _bulk(c: Context) -> None:
    parts, opcode = c.instruction.parts, c.instruction.opcode
    if "commit_group" in parts:
        c.line("emu_bulk_commit(t);")
    elif "wait_group" in parts:
        c.line(f"emu_bulk_wait(t, {c.at}, {c.instruction.operands[0]}, {int('read' in parts)});")
    elif "prefetch" in parts:
        return
    elif "tensor" in parts:
        _boxes(c)
    elif opcode.startswith("cp.async.bulk.shared") and parts[4].startswith("global"):
        to, source, size, bar = c.instruction.operands[:4]
        c.line(
            f"emu_bulk_load(t, {c.at}, {c.address(to)}, {c.address(source)}, {_used(c, size)},"
            f" {c.address(bar)});"
        )
    elif opcode.startswith("cp.async.bulk.global.shared"):
        to, source, size = c.instruction.operands[:3]
        c.line(
            f"emu_bulk_store(t, {c.at}, {c.address(to)}, {c.address(source)}, {_used(c, size)});"
        )
    else:
        raise unknown(c.instruction.opcode)


def _boxes(c: Context) -> None:
    parts, operands = c.instruction.parts, list(c.instruction.operands)
    rank = int(next(p for p in parts if re.fullmatch(r"[1-5]d", p))[0])
    is_load = (
        parts[0] == "cp"
        and any(p.startswith("shared") for p in parts[:6])
        and (parts.index(next(p for p in parts if p.startswith("shared"))) < parts.index("global"))
    )
    if "tile" not in parts and any(p.startswith("im2col") for p in parts):
        raise unknown(c.instruction.opcode)
    tensor = operands[1] if is_load else operands[0]
    map_name, start = split_operands(tensor[1:-1])
    coordinates = [_used(c, x, "s32") for x in c.names(start)]
    c.line(f"{{ i32 s_[] = {{{', '.join(f'(i32){x}' for x in coordinates)}}};")
    where = c.address(f"[{map_name}]")
    if is_load:
        blocks = _used(c, operands[3]) if any("multicast" in p for p in parts) else "0"
        c.line(
            f"emu_box_load(t, {c.at}, {c.address(operands[0])}, {where}, {rank}, s_,"
            f" {c.address(operands[2])}, {blocks});"
        )
    else:
        adds = int(parts[1] == "reduce")
        if adds and "add" not in parts:
            raise unknown(c.instruction.opcode)
        c.line(f"emu_box_store(t, {c.at}, {where}, {c.address(operands[1])}, {rank}, s_, {adds});")
    c.line("}")


def _phases(c: Context) -> None:
    """mbarrier in all its forms."""
    parts, operands = c.instruction.parts, c.instruction.operands
    kind = parts[1]
    if kind == "init":
        c.line(f"emu_phase_init(t, {c.at}, {c.address(operands[0])}, {_used(c, operands[1])});")
    elif kind == "inval":
        c.line(f"emu_phase_drop(t, {c.at}, {c.address(operands[0])});")
    elif kind == "expect_tx":
        c.line(f"emu_phase_expect(t, {c.at}, {c.address(operands[0])}, {_used(c, operands[1])});")
    elif kind == "arrive":
        _arrive(c)
    elif kind in ("try_wait", "test_wait"):
        value = _used(c, operands[2], "b32" if "parity" in parts else "b64")
        parity = value if "parity" in parts else f"(u32){value}"
        block = int(kind == "try_wait")
        call = f"emu_phase_wait(t, {c.at}, {c.address(operands[1])}, {parity}, {block})"
        c.write(operands[0], f"{call} != 0", "0")
    else:
        raise unknown(c.instruction.opcode)


def _arrive(c: Context) -> None:
    parts, operands = c.instruction.parts, list(c.instruction.operands)
    to = operands.pop(0) if not operands[0].startswith("[") else "_"
    address = c.address(operands[0])
    count, size = "1", "0"
    if "expect_tx" in parts:
        size = f"(i32){_used(c, operands[1])}"
    elif len(operands) > 1:
        count = _used(c, operands[1])
    call = f"emu_phase_arrive(t, {c.at}, {address}, {count}, {size})"
    if to == "_":
        c.line(f"{call};")
    else:
        c.write(to, call, "0")


COPIES: dict[str, Callable[[Context], None]] = {"cp": _copy, "mbarrier": _phases}
"""First part of the opcode -> how it is written in C."""
