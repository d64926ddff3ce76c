"""Branches, barriers, and what the threads of a warp do together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_cuda.emulate.memory import OPERATIONS, TYPES
from tile_cuda.emulate.ptx import Instruction, split_operands
from tile_cuda.emulate.values import Context, Value, any_of, carrier

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["CONTROL", "function_name", "label"]


def label(name: str) -> str:
    """The C label of a PTX label."""
    return "L_" + name.replace("$", "")


def _branch(c: Context) -> None:
    c.line(f"goto {label(c.instruction.operands[0])};")


def _end(c: Context) -> None:
    if any(isinstance(s, Instruction) and s.parts[0] == "wgmma" for s in c.kernel.body):
        c.line("cuda_wgmma_end(t);")
    c.line("return;")


def _trap(c: Context) -> None:
    c.line(f"emu_trap(t, {c.at});")


def _sleep(c: Context) -> None:
    c.line(f"emu_yield(t, {c.at});")


def _ignored(c: Context) -> None:
    """Registers are not limited here, and kernels run one after the other."""


def _barrier(c: Context) -> None:
    """bar and barrier: .sync, .arrive, .red, and those of a warp and of a cluster."""
    parts, operands = c.instruction.parts, c.instruction.operands
    if "warp" in parts:
        members = _used(c, operands[0])
        c.line(f"emu_warp_sync(t, {c.at}, {members});")
    elif "cluster" in parts:
        c.line(f"emu_cluster_{'arrive' if 'arrive' in parts else 'wait'}(t, {c.at});")
    elif "red" in parts:
        _barrier_reduce(c)
    else:
        count = _used(c, operands[1]) if len(operands) > 1 else "0"
        only = int("arrive" in parts)
        c.line(f"emu_barrier(t, {c.at}, {_used(c, operands[0])}, {count}, {only});")


def _barrier_reduce(c: Context) -> None:
    parts, operands = c.instruction.parts, c.instruction.operands
    op = next(i for i, p in enumerate(("and", "or", "popc")) if p in parts)
    value = c.read(operands[-1], "pred")
    c.need(value, "EMU_OPERAND")
    count = _used(c, operands[2]) if len(operands) > 3 else "0"
    call = f"emu_barrier_reduce(t, {c.at}, {_used(c, operands[1])}, {count}, {op}, {value.text})"
    c.write(operands[0], call, "0")


def _used(c: Context, operand: str, kind: str = "b32") -> str:
    """An operand that decides what happens: it has to be known."""
    value = c.read(operand, kind)
    c.need(value, "EMU_OPERAND")
    return value.text


def _shuffle(c: Context) -> None:
    parts, operands = c.instruction.parts, c.instruction.operands
    mode = {"up": "UP", "down": "DOWN", "bfly": "XOR", "idx": "INDEX"}[parts[2]]
    to, _, inside = operands[0].partition("|")
    value = c.read(operands[1], "b32")
    b, clamp, members = (_used(c, o) for o in operands[2:5])
    c.line(f"{{ u32 x_ = {value.mask}, i_;")
    c.line(
        f"u32 q_ = emu_shuffle(t, {c.at}, EMU_SHIFT_{mode}, {value.text}, &x_, {b}, {clamp},"
        f" {members}, &i_);"
    )
    c.write(to, "q_", "x_")
    if inside:
        c.write(inside, "i_ != 0", "0")
    c.line("}")


def _vote(c: Context) -> None:
    parts, operands = c.instruction.parts, c.instruction.operands
    mode = {"all": "ALL", "any": "ANY", "uni": "UNIFORM", "ballot": "BALLOT"}[parts[2]]
    value = _used(c, operands[1], "pred")
    call = f"emu_vote(t, {c.at}, EMU_{mode}, {value}, {_used(c, operands[2])})"
    c.write(operands[0], call if mode == "BALLOT" else f"{call} != 0", "0")


def _match(c: Context) -> None:
    parts, operands = c.instruction.parts, c.instruction.operands
    to, _, same = operands[0].partition("|")
    value, members = _used(c, operands[1], parts[-1]), _used(c, operands[2])
    c.line(f"{{ u32 q_ = emu_match(t, {c.at}, {value}, {members});")
    c.write(to, f"q_ == {members} ? q_ : 0" if "all" in parts else "q_", "0")
    if same:
        c.write(same, f"q_ == {members}", "0")
    c.line("}")


def _reduce(c: Context) -> None:
    parts, operands = c.instruction.parts, c.instruction.operands
    value, members = _used(c, operands[1]), _used(c, operands[2])
    op = next(OPERATIONS[p] for p in parts if p in OPERATIONS)
    call = f"emu_reduce(t, {c.at}, {op}, {TYPES[parts[-1]]}, {value}, {members})"
    c.write(operands[0], call, "0")


def _active(c: Context) -> None:
    """Lanes run one by one here, so the answer is the least that is true."""
    c.write(c.instruction.operands[0], "1u << t->lane", "0")


def _elect(c: Context) -> None:
    lane, _, chosen = c.instruction.operands[0].partition("|")
    c.line(f"{{ u32 q_ = emu_elect(t, {c.at}, {_used(c, c.instruction.operands[1])});")
    c.write(chosen, "q_ != 0", "0")
    if lane != "_":
        c.write(lane, "t->elected", "0")
    c.line("}")


def _peer(c: Context) -> None:
    kind = "b" + c.instruction.parts[-1][1:]
    address = c.read(c.instruction.operands[1], kind)
    c.need(address, "EMU_ADDRESS")
    rank = _used(c, c.instruction.operands[2])
    text = f"emu_peer(t, {c.at}, {address.text}, {rank})"
    c.write(c.instruction.operands[0], f"({carrier(kind)}){text}", "0")


def _is_space(c: Context) -> None:
    value = c.read(c.instruction.operands[1], "b64")
    inside = f"{value.text} - (u64)t->shared < (1u << 18)"
    text = inside if "shared" in c.instruction.parts else f"!({inside})"
    c.write(c.instruction.operands[0], text, any_of("pred", Value(value.text, value.mask)))


def _call(c: Context) -> None:
    """A function of the module, or the one that prints."""
    name = next(o for o in c.instruction.operands if o[0] != "(")
    places = [
        c.read(p, "b64").text
        for o in c.instruction.operands
        if o[0] == "("
        for p in split_operands(o[1:-1])
    ]
    if name == "vprintf":
        done, text, values = places
        c.line(f"cuda_print(t, {c.at}, *(u64 *){text}, *(u64 *){values}); *(u32 *){done} = 0;")
        return
    c.line(f"{function_name(name)}({', '.join(['t', *(f'(char *){p}' for p in places)])});")


def function_name(name: str) -> str:
    """The C function of a PTX function."""
    return "func_" + name.replace("$", "")


CONTROL: dict[str, Callable[[Context], None]] = {
    "bra": _branch,
    "call": _call,
    "ret": _end,
    "exit": _end,
    "trap": _trap,
    "brkpt": _trap,
    "nanosleep": _sleep,
    "setmaxnreg": _ignored,
    "griddepcontrol": _ignored,
    "createpolicy": _ignored,
    "bar": _barrier,
    "barrier": _barrier,
    "shfl": _shuffle,
    "vote": _vote,
    "match": _match,
    "redux": _reduce,
    "activemask": _active,
    "elect": _elect,
    "mapa": _peer,
    "isspacep": _is_space,
}
"""First part of the opcode -> how it is written in C."""
