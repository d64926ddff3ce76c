"""PTX to C for the emulator: one function for each kernel, one goto for each branch."""

from __future__ import annotations

import re
from importlib.resources import files

from tile_cuda.emulate.control import CONTROL, function_name, label
from tile_cuda.emulate.convert import CHOICES
from tile_cuda.emulate.copies import COPIES
from tile_cuda.emulate.floats import FLOATS
from tile_cuda.emulate.integers import INTEGERS
from tile_cuda.emulate.matrix import MATRIX
from tile_cuda.emulate.memory import MEMORY
from tile_cuda.emulate.ptx import SIZES, Instruction, Kernel, Label, Module
from tile_cuda.emulate.values import CARRIERS, Context, unknown

__all__ = ["OPCODES", "entry_name", "pieces", "translate"]

OPCODES = {**CHOICES, **MEMORY, **CONTROL, **MATRIX, **COPIES}
"""First part of an opcode -> function that writes an instruction of that family as C; arithmetic
is in two more tables, by the type at the opcode's end."""


def entry_name(kernel: str) -> str:
    """The C function of a kernel."""
    return f"kernel_{kernel}"


def translate(module: Module) -> str:
    """The C text of a module, without the emulator's own header in front.

    Raises TileError E2301 for an instruction that is not known, E2302 for text that is no PTX.
    """
    support = files("tile_cuda.emulate.runtime").joinpath("support.h").read_text(encoding="utf-8")
    heads = {f.name: _head(f) for f in module.functions}
    return "\n".join(
        [
            support,
            *_constants(module.constants),
            *(f"{head};" for head in heads.values()),
            *(f"{heads[f.name]} {{\n{_body(f, counted=False)}" for f in module.functions),
            *(_kernel(kernel) for kernel in module.kernels),
        ]
    )


def _constants(values: bytes) -> tuple[str, ...]:
    if not values:
        return ()
    numbers = ", ".join(map(str, values))
    return (
        f"static const u8 constants[] __attribute__((aligned(64))) = {{{numbers}}};",
        "#define IS_CONSTANT(address) ((u64)(address) - (u64)constants < sizeof constants)",
    )


def _head(function: Kernel) -> str:
    places = ", ".join(f"char *{p}" for p in function.pointers.values() if p[0] in "ra")
    return f"static void {function_name(function.name)}(struct emu_thread *t, {places})"


def _kernel(kernel: Kernel) -> str:
    head = f"void {entry_name(kernel.name)}(struct emu_thread *t, char *prm) {{\n(void)prm;"
    return f'__attribute__((visibility("default")))\n{head}\n{_body(kernel)}'


def _body(kernel: Kernel, *, counted: bool = True) -> str:
    used = _used_registers(kernel)
    lines = ["u32 cc = 0; (void)cc;"]
    if kernel.frame_bytes:
        lines.append(f"char frm[{kernel.frame_bytes}] __attribute__((aligned(16)));")
    for name, kind in kernel.registers.items():
        if name in used:
            own = Context(kernel, _NOTHING)
            unit = CARRIERS[SIZES[kind]]
            all_ones = "1" if kind == "pred" else f"({unit})-1"
            lines.append(f"{unit} {own.register(name)} = 0, {own.mask(name)} = {all_ones};")
    begins = {start: f"t->visits[{i}]++;" for i, (start, _) in enumerate(pieces(kernel))}
    begins = begins if counted else {}
    steps = (
        f"{label(step.name)}:; {begins.get(i, '')}"
        if isinstance(step, Label)
        else "\n".join(filter(None, (begins.get(i), _step(kernel, step))))
        for i, step in enumerate(kernel.body)
    )
    return "\n".join([*lines, *steps, "}", ""])


def pieces(kernel: Kernel) -> list[tuple[int, dict[str, int]]]:
    """The straight pieces of a kernel: where in its body each begins, and how many instructions of
    which kind it has. A new one begins at a label and behind a branch."""
    found: list[tuple[int, dict[str, int]]] = []
    begins = True
    for i, step in enumerate(kernel.body):
        if begins or isinstance(step, Label):
            found.append((i, {}))
        begins = isinstance(step, Instruction) and step.parts[0] in ("bra", "ret", "exit")
        if isinstance(step, Instruction):
            kind = _kind(step.parts)
            found[-1][1][kind] = found[-1][1].get(kind, 0) + 1
    return found


def _kind(parts: tuple[str, ...]) -> str:
    """`ld.global`, `cp.async.bulk`, `mbarrier.arrive`, `fma`: family, and where it matters space or
    step."""
    family = parts[0]
    if family in ("ld", "st", "atom", "red"):
        space = next((p.partition(":")[0] for p in parts[1:] if p.partition(":")[0] in _SPACES), "")
        return f"{family}.{space or 'generic'}"
    kept = {"cp": 3 if "bulk" in parts else 2, "mbarrier": 2, "wgmma": 2}.get(family, 1)
    return ".".join(parts[:kept])


_SPACES = frozenset({"global", "shared", "local", "param", "const"})
_NOTHING = Instruction(line=0, guard="", negated=False, opcode="", operands=())


def _used_registers(kernel: Kernel) -> set[str]:
    names: set[str] = set()
    for step in kernel.body:
        if isinstance(step, Instruction):
            names.add(step.guard)
            for operand in step.operands:
                names.update(re.findall(r"[%A-Za-z_][\w$]*", operand))
    return names


def _step(kernel: Kernel, step: Instruction) -> str:
    family, kind = step.parts[0], step.parts[-1]
    by_type = FLOATS if re.match(r"b?f\d", kind) else INTEGERS
    emit = OPCODES.get(family) or by_type.get(family)
    if emit is None:
        raise unknown(step.opcode)
    context = Context(kernel, step)
    try:
        emit(context)
    except (KeyError, IndexError, StopIteration, ValueError) as error:
        raise unknown(step.opcode) from error
    text = "\n".join(context.lines)
    if step.guard:
        guard = Context(kernel, step)
        value = guard.read(step.guard, "pred")
        guard.need(value, "EMU_BRANCH")
        sign = "!" if step.negated else ""
        return f"{guard.lines[0]}\nif ({sign}{value.text}) {{\n{text}\n}}"
    return text
