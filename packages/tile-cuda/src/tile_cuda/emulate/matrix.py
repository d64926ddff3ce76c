"""Matrix instructions and the copies of their fragments."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tile_cuda.emulate.values import unknown

if TYPE_CHECKING:
    from collections.abc import Callable

    from tile_cuda.emulate.values import Context, Value

__all__ = ["MATRIX"]

ELEMENTS = {
    "f16": "CUDA_F16",
    "bf16": "CUDA_BF16",
    "tf32": "CUDA_TF32",
    "f32": "CUDA_F32",
    "f64": "CUDA_F64",
    "e4m3": "CUDA_E4M3",
    "e5m2": "CUDA_E5M2",
    "s8": "CUDA_S8",
    "u8": "CUDA_U8",
    "s32": "CUDA_S32",
    "s4": "CUDA_S4",
    "u4": "CUDA_U4",
}


def _words(values: list[Value], kind: str) -> tuple[list[str], list[str]]:
    """Values as words of 32 bits, f64 as two; and their masks."""
    if kind != "f64":
        return [v.text for v in values], [v.mask for v in values]
    texts = [t for v in values for t in (f"(u32){v.text}", f"(u32)({v.text} >> 32)")]
    masks = [t for v in values for t in (f"(u32){v.mask}", f"(u32)((u64){v.mask} >> 32)")]
    return texts, masks


def _arrays(c: Context, name: str, values: list[Value], kind: str) -> None:
    texts, masks = _words(values, kind)
    c.line(f"u32 {name}[] = {{{', '.join(texts)}}}, {name}_m[] = {{{', '.join(masks)}}};")


def _write_words(c: Context, operand: str, kind: str) -> None:
    for i, name in enumerate(c.names(operand)):
        if kind == "f64":
            c.write(
                name,
                f"d_[{2 * i}] | (u64)d_[{2 * i + 1}] << 32",
                f"d__m[{2 * i}] | (u64)d__m[{2 * i + 1}] << 32",
            )
        else:
            c.write(name, f"d_[{i}]", f"d__m[{i}]")


def _product(c: Context) -> None:
    """mma.sync, dense: fragments of a warp's registers."""
    instruction = c.instruction
    shape = re.search(
        r"\.m(\d+)n(\d+)k(\d+)\.row\.col\.(?:\w+\.)*?(\w+)\.(\w+)\.(\w+)\.(\w+)$",
        instruction.opcode,
    )
    if not shape or not set(shape.groups()[3:]) <= ELEMENTS.keys():
        raise unknown(instruction.opcode)
    m, n, k = shape.groups()[:3]
    out, first, second, start = shape.groups()[3:]
    d, a, b, d_in = instruction.operands[:4]
    c.line("{")
    for name, operand, kind in (("d_", d_in, start), ("a_", a, first), ("b_", b, second)):
        _arrays(c, name, c.several(operand, f"b{64 if kind == 'f64' else 32}"), kind)
    c.line(
        f"cuda_mma(t, {c.at}, {m}, {n}, {k}, {ELEMENTS[first]}, {ELEMENTS[second]},"
        f" {ELEMENTS[out]}, d_, d__m, a_, a__m, b_, b__m);"
    )
    _write_words(c, d, out)
    c.line("}")


def _tiles(parts: tuple[str, ...]) -> int:
    return next(int(p[1:]) for p in parts if p in ("x1", "x2", "x4"))


def _load_fragments(c: Context) -> None:
    parts, (to, place) = c.instruction.parts, c.instruction.operands
    count, trans = _tiles(parts), int("trans" in parts)
    address = c.address(place)
    c.line(f"{{ u32 d_[{count}], d__m[{count}];")
    c.line(f"cuda_ldmatrix(t, {c.at}, {count}, {trans}, {address}, d_, d__m);")
    _write_words(c, to, "b32")
    c.line("}")


def _store_fragments(c: Context) -> None:
    parts, (place, source) = c.instruction.parts, c.instruction.operands
    count, trans = _tiles(parts), int("trans" in parts)
    c.line("{")
    c.array("s_", c.several(source, "b32"))
    c.line(f"cuda_stmatrix(t, {c.at}, {count}, {trans}, {c.address(place)}, s_, s__m); }}")


def _group(c: Context) -> None:
    """wgmma: the instruction itself, fence, commit and wait."""
    parts = c.instruction.parts
    if parts[1] == "mma_async":
        _group_product(c)
    elif parts[1] == "commit_group":
        c.line(f"cuda_wgmma_commit(t, {c.at});")
    elif parts[1] == "wait_group":
        c.line(f"cuda_wgmma_wait(t, {c.at}, {int(c.instruction.operands[0])});")
    elif parts[1] == "fence":
        c.line(f"cuda_wgmma_fence(t, {c.at});")
    else:
        raise unknown(c.instruction.opcode)


def _group_product(c: Context) -> None:
    opcode, operands = c.instruction.opcode, c.instruction.operands
    shape = re.search(r"\.m64n(\d+)k(\d+)\.(\w+)\.(\w+)\.(\w+)", opcode)
    if not shape or "sp" in c.instruction.parts:
        raise unknown(opcode)
    n, k = int(shape.group(1)), int(shape.group(2))
    out, first, second = shape.groups()[2:]
    keep = c.read(operands[3], "pred")
    c.need(keep, "EMU_OPERAND")
    flags = [int(x) for x in operands[4:]]
    scales = flags[:2] if first not in ("s8", "u8") else [1, 1]
    turns = flags[2:] if first in ("f16", "bf16") else []
    in_registers = operands[1].startswith("{")
    turn_a = turns[0] if turns and not in_registers else 0
    turn_b = turns[-1] if turns else 0
    c.line("{")
    _arrays(c, "d_", c.several(operands[0], "b32"), "b32")
    if in_registers:
        _arrays(c, "a_", c.several(operands[1], "b32"), "b32")
        a = "0, a_, a__m"
    else:
        value = c.read(operands[1], "b64")
        c.need(value, "EMU_ADDRESS")
        a = f"{value.text}, 0, 0"
    b = c.read(operands[2], "b64")
    c.need(b, "EMU_ADDRESS")
    c.line(
        f"cuda_wgmma(t, {c.at}, {n}, {k}, {ELEMENTS[first]}, {ELEMENTS[second]}, {ELEMENTS[out]},"
        f" d_, d__m, {a}, {b.text}, {keep.text}, {scales[0]}, {scales[1]}, {turn_a}, {turn_b});"
    )
    _write_words(c, operands[0], "b32")
    c.line("}")


MATRIX: dict[str, Callable[[Context], None]] = {
    "mma": _product,
    "ldmatrix": _load_fragments,
    "stmatrix": _store_fragments,
    "wgmma": _group,
}
"""First part of the opcode -> how it is written in C."""
