"""Arithmetic of integers, logic, and what moves bits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_cuda.emulate.operands import kind_of, number, set_result, sources
from tile_cuda.emulate.values import any_of, bits_of, carrier, signed

if TYPE_CHECKING:
    from collections.abc import Callable

    from tile_cuda.emulate.values import Context

__all__ = ["INTEGERS"]

INTEGER = {
    "add": "{a} + {b}",
    "sub": "{a} - {b}",
    "min": "{a} < {b} ? {a} : {b}",
    "max": "{a} > {b} ? {a} : {b}",
}


CARRIED = {
    "add": "({w}){a} + {b}",
    "sub": "({w}){a} - {b}",
    "mad": "({w})({u})({product}) + {b}",
}


def _carries(c: Context) -> bool:
    return c.instruction.parts[0] in ("addc", "subc", "madc") or "cc" in c.instruction.parts


def _carried(c: Context) -> None:
    """add, sub and mad that leave a carry (.cc) or take the one that is there (c at the end)."""
    parts, kind = c.instruction.parts, kind_of(c)
    family, size = parts[0][:3], bits_of(kind)
    values = sources(c, kind)
    unit = carrier(kind)
    wide, signed_wide = ("u64", "i64") if size == 32 else ("unsigned __int128", "__int128")
    a, b = values[0].text, values[-1].text
    full = signed_wide if kind[0] == "s" else wide
    product = f"({full}){number(values[0], kind)} * ({full}){number(values[1], kind)}"
    if "hi" in parts:
        product = f"({product}) >> {size}"
    text = CARRIED[family].format(w=wide, u=unit, a=a, b=b, product=product)
    if parts[0].endswith("c"):
        text += f" {'-' if family == 'sub' else '+'} cc"
    c.line(f"{{ {wide} w_ = {text};")
    set_result(c, kind, f"({unit})w_", *values)
    if "cc" in parts:
        c.line(f"cc = (u32)(w_ >> {size}) & 1;")
    c.line("}")


def _integer(c: Context) -> None:
    if _carries(c):
        _carried(c)
        return
    kind = kind_of(c)
    a, b = sources(c, kind)
    text = INTEGER[c.instruction.parts[0]].format(a=number(a, kind), b=number(b, kind))
    if c.instruction.parts[0] in ("add", "sub"):
        text = INTEGER[c.instruction.parts[0]].format(a=a.text, b=b.text)
    if "sat" in c.instruction.parts:
        sign = "+" if c.instruction.parts[0] == "add" else "-"
        text = f"SATURATE_S32((i64)(i32){a.text} {sign} (i64)(i32){b.text})"
    set_result(c, kind, f"({carrier(kind)})({text})", a, b)


def _product(c: Context) -> None:
    """mul and mad with .lo, .hi and .wide."""
    if _carries(c):
        _carried(c)
        return
    parts, kind = c.instruction.parts, kind_of(c)
    operands = c.instruction.operands
    a, b = c.read(operands[1], kind), c.read(operands[2], kind)
    double = kind[0] + str(2 * bits_of(kind))
    wide = (
        signed(double)
        if double[1:] != "128"
        else ("__int128" if kind[0] == "s" else "unsigned __int128")
    )
    result = double if "wide" in parts else kind
    text = f"({wide}){number(a, kind)} * ({wide}){number(b, kind)}"
    if "hi" in parts:
        text = f"({carrier(kind)})(({text}) >> {bits_of(kind)})"
    elif "wide" not in parts:
        text = f"{a.text} * ({carrier(kind)}){b.text}"
    values = [a, b]
    if parts[0] == "mad":
        values.append(c.read(operands[3], result))
        text = f"({carrier(result)})({text}) + {values[2].text}"
    if parts[0] in ("mul24", "mad24"):
        text = f"(u32)((i32)({a.text} << 8) >> 8) * (u32)((i32)({b.text} << 8) >> 8)"
    set_result(c, result, f"({carrier(result)})({text})", *values)


def _quotient(c: Context) -> None:
    kind = kind_of(c)
    a, b = sources(c, kind)
    name = f"{c.instruction.parts[0].upper()}_{signed(kind).upper()}"
    set_result(c, kind, f"{name}({a.text}, {b.text})", a, b)


def _negate(c: Context) -> None:
    kind = kind_of(c)
    (a,) = sources(c, kind)
    text = (
        f"-{a.text}"
        if c.instruction.parts[0] == "neg"
        else f"{number(a, kind)} < 0 ? -{a.text} : {a.text}"
    )
    set_result(c, kind, f"({carrier(kind)})({text})", a)


def _logic(c: Context) -> None:
    """Bit by bit, so masks are exact: a known zero decides an and, a known one an or."""
    family, kind = c.instruction.parts[0], kind_of(c)
    a, b = sources(c, kind)
    sign = {"and": "&", "or": "|", "xor": "^"}[family]
    mask = "0"
    if (a.mask, b.mask) != ("0", "0"):
        mask = f"({a.mask} | {b.mask})"
        if family != "xor":
            flip = "" if family == "and" else "!" if kind == "pred" else "~"
            mask = f"{mask} & ({flip}{a.text} | {a.mask}) & ({flip}{b.text} | {b.mask})"
    c.write(c.instruction.operands[0], f"{a.text} {sign} {b.text}", mask)


def _not(c: Context) -> None:
    kind = kind_of(c)
    (a,) = sources(c, kind)
    c.write(c.instruction.operands[0], f"{'!' if kind == 'pred' else '~'}{a.text}", a.mask)


def _shift(c: Context) -> None:
    kind, family = kind_of(c), c.instruction.parts[0]
    a = c.read(c.instruction.operands[1], kind)
    n = c.read(c.instruction.operands[2], "b32")
    unit = signed(kind) if family == "shr" else f"u{bits_of(kind)}"
    name = f"{family}_{unit}".upper()
    mask = f"{name}({a.mask}, {n.text})" if a.mask != "0" else "0"
    if n.mask != "0":
        mask = f"{mask} | ANY({carrier(kind)}, {n.mask})"
    c.write(c.instruction.operands[0], f"{name}({a.text}, {n.text})", mask)


def _funnel(c: Context) -> None:
    a, b, n = sources(c, "b32")
    parts = c.instruction.parts
    name = f"FUNNEL_{'LEFT' if 'l' in parts else 'RIGHT'}"
    count = f"{n.text} & 31" if "wrap" in parts else f"({n.text} > 32 ? 32 : {n.text})"
    set_result(c, "b32", f"{name}({a.text}, {b.text}, {count})", a, b, n)


def _same_on_masks(name: str) -> Callable[[Context], None]:
    """Operations that only move bits: the mask moves as the value does."""

    def emit(c: Context) -> None:
        kind = kind_of(c)
        moved = 1 if name == "BFE" else 2
        values = [
            c.read(o, kind if i < moved else "b32")
            for i, o in enumerate(c.instruction.operands[1:])
        ]
        own = f"{name}_{(signed(kind) if name == 'BFE' else 'u' + str(bits_of(kind))).upper()}"
        rest = [v.text for v in values[moved:]]
        text = f"{own}({', '.join([*(v.text for v in values[:moved]), *rest])})"
        mask = "0"
        if any(v.mask != "0" for v in values[:moved]):
            mask = f"{own}({', '.join([*(v.mask for v in values[:moved]), *rest])})"
        extra = any_of(kind, *values[moved:])
        c.write(c.instruction.operands[0], text, mask if extra == "0" else f"{mask} | {extra}")

    return emit


def _permute(c: Context) -> None:
    a, b, s = (c.read(o, "b32") for o in c.instruction.operands[1:])
    masks = f"PERMUTE({a.mask}, {b.mask}, {s.text})" if (a.mask, b.mask) != ("0", "0") else "0"
    extra = any_of("b32", s)
    c.write(
        c.instruction.operands[0],
        f"PERMUTE({a.text}, {b.text}, {s.text})",
        masks if extra == "0" else f"{masks} | {extra}",
    )


def _count(c: Context) -> None:
    kind = kind_of(c)
    (a,) = (c.read(o, kind) for o in c.instruction.operands[1:2])
    family, wide = c.instruction.parts[0], bits_of(kind) == 64
    builtin = "ll" if wide else ""
    texts = {
        "popc": f"(u32)__builtin_popcount{builtin}({a.text})",
        "clz": f"({a.text} ? (u32)__builtin_clz{builtin}({a.text}) : {bits_of(kind)}u)",
        "brev": f"REVERSE{bits_of(kind)}({a.text})",
        "bfind": f"FIND_{signed(kind).upper()}({a.text})",
    }
    set_result(c, kind if family == "brev" else "b32", texts[family], a)


def _table(c: Context) -> None:
    """lop3: any function of three bits, given as a table of eight."""
    a, b, d = (c.read(o, "b32") for o in c.instruction.operands[1:4])
    table = int(c.instruction.operands[4], 0)
    terms = [
        " & ".join(f"{'' if i >> n & 1 else '~'}{v.text}" for n, v in ((2, a), (1, b), (0, d)))
        for i in range(8)
        if table >> i & 1
    ]
    set_result(c, "b32", " | ".join(f"({x})" for x in terms) or "0u", a, b, d)


def _dot(c: Context) -> None:
    """Four products of bytes; or two of halves with the low or the high bytes of the other word."""
    parts = c.instruction.parts
    a, b, d = sources(c, "b32")
    signs = ["i" if p == "s32" else "u" for p in parts[-2:]]
    if parts[0] == "dp4a":
        width, places = 8, [(s, s) for s in (0, 8, 16, 24)]
    else:
        first = 16 if "hi" in parts else 0
        width, places = 16, [(0, first), (16, first + 8)]
    terms = (
        f"({signs[0]}{width})({a.text} >> {i}) * ({signs[1]}8)({b.text} >> {j})" for i, j in places
    )
    set_result(c, "b32", f"{d.text} + (u32)({' + '.join(terms)})", a, b, d)


INTEGERS: dict[str, Callable[[Context], None]] = {
    **dict.fromkeys(INTEGER, _integer),
    **dict.fromkeys(("mul", "mad", "mul24", "mad24"), _product),
    **dict.fromkeys(("addc", "subc", "madc"), _carried),
    **dict.fromkeys(("div", "rem"), _quotient),
    **dict.fromkeys(("neg", "abs"), _negate),
    **dict.fromkeys(("and", "or", "xor"), _logic),
    "not": _not,
    **dict.fromkeys(("shl", "shr"), _shift),
    "shf": _funnel,
    "bfi": _same_on_masks("BFI"),
    "bfe": _same_on_masks("BFE"),
    "prmt": _permute,
    **dict.fromkeys(("popc", "clz", "brev", "bfind"), _count),
    "lop3": _table,
    **dict.fromkeys(("dp2a", "dp4a"), _dot),
}
"""First part of the opcode -> how it is written in C, for integers and bits."""
