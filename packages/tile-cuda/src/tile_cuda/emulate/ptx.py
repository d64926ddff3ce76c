"""Read PTX text: kernels with their parameters, variables, registers and instructions.

Only what NVRTC and inline assembly write is understood: entries, functions that are called by name,
constants. Every instruction keeps the line of its text, by which reports name it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tile_ir.diag import TileError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["SIZES", "Instruction", "Kernel", "Label", "Module", "parse", "split_operands"]

SIZES = {
    "pred": 1,
    "b8": 1,
    "u8": 1,
    "s8": 1,
    "b16": 2,
    "u16": 2,
    "s16": 2,
    "f16": 2,
    "bf16": 2,
    "b32": 4,
    "u32": 4,
    "s32": 4,
    "f32": 4,
    "f16x2": 4,
    "b64": 8,
    "u64": 8,
    "s64": 8,
    "f64": 8,
    "b128": 16,
}
"""Bytes of each type; predicates take one here."""

_ENTRY = re.compile(r"\.visible\s+\.entry\s+([\w$]+)\s*\(")
_SHARED = re.compile(
    r"(\.extern\s+)?\.shared\s+(?:\.align\s+(\d+)\s+)?\.(\w+)\s+([\w$]+)(?:\[(\d*)\])?"
)
_LOCAL = re.compile(r"\.local\s+(?:\.align\s+(\d+)\s+)?\.(\w+)\s+([\w$]+)(?:\[(\d*)\])?")
_PARAM = re.compile(
    r"\.param\s+(?:\.align\s+(\d+)\s+)?\.(\w+)(?:\s+\.ptr(?:\s+\.align\s+\d+|\s+\.\w+)*)?"
    r"\s+([\w$]+)(?:\[(\d+)\])?"
)
_FUNCTION = re.compile(r"\.func\s+(?:\(([^)]*)\)\s*)?([\w$]+)\s*\(([^)]*)\)[\s.\w]*\{")
_CONSTANT = re.compile(
    r"\.(?:global|const)\s+(?:\.align\s+(\d+)\s+)?\.(\w+)\s+([\w$]+)\[(\d*)\]\s*=\s*\{([^}]*)\}"
)
_CLUSTER = re.compile(r"\.reqnctapercluster\s+(\d+)")
_NOTES = (".loc ", ".loc\t", ".pragma")
"""What starts a line that holds no statement."""
_LABEL = re.compile(r"([$%\w]+)\s*:(?!:)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """A place to branch to."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruction:
    """One instruction: the guarding register (empty: none), its opcode and operands, renamed so
    that names are unique in the kernel."""

    line: int
    guard: str
    negated: bool
    opcode: str
    operands: tuple[str, ...]

    @property
    def parts(self) -> tuple[str, ...]:
        """The opcode, taken apart at its dots."""
        return tuple(self.opcode.replace("::", ":").split("."))


@dataclass(slots=True)
class Kernel:
    """One entry, or a function that entries call. `parameters` name -> (offset, bytes);
    `registers` name -> class; `pointers` name -> C text of where a parameter of a function or of a
    call lies; `constants` name -> place among the module's constants."""

    name: str
    parameters: dict[str, tuple[int, int]] = field(default_factory=dict)
    parameter_bytes: int = 0
    cluster: int = 1
    shared: dict[str, int] = field(default_factory=dict)
    shared_bytes: int = 0
    local: dict[str, int] = field(default_factory=dict)
    local_bytes: int = 0
    registers: dict[str, str] = field(default_factory=dict)
    pointers: dict[str, str] = field(default_factory=dict)
    frame_bytes: int = 0
    constants: dict[str, int] = field(default_factory=dict)
    body: list[Label | Instruction] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """The kernels of a text, the functions that they call, the bytes of constants, and the source
    line of every line that has one."""

    kernels: tuple[Kernel, ...]
    functions: tuple[Kernel, ...]
    constants: bytes
    source_lines: dict[int, int]


def split_operands(text: str) -> tuple[str, ...]:
    """The operands of an instruction; lists in braces and brackets stay whole."""
    parts, depth, start = [], 0, 0
    for i, letter in enumerate(text):
        depth += (letter in "{[(") - (letter in "}])")
        if letter == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    last = text[start:].strip()
    return (*parts, last) if last else tuple(parts)


def parse(text: str) -> Module:
    """Read a module. Raises TileError E2302 for what is no PTX that the emulator understands."""
    text = re.sub(r"//[^\n]*", "", text)
    text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group().count("\n"), text, flags=re.DOTALL)
    common, size = _module_variables(text)
    places, constants = _constants(text)
    kernels = []
    for found in _ENTRY.finditer(text):
        kernel = Kernel(
            name=found.group(1), shared=dict(common), shared_bytes=size, constants=places
        )
        _read_kernel(kernel, text, found.end())
        kernels.append(kernel)
    functions = _functions(text, places, kernels)
    return Module(
        kernels=tuple(kernels),
        functions=functions,
        constants=constants,
        source_lines=_source_lines(text),
    )


def _constants(text: str) -> tuple[dict[str, int], bytes]:
    """Arrays with values, which lie one behind the other; what no value is given for is zero."""
    places: dict[str, int] = {}
    made = bytearray()
    for align, kind, name, count, values in _CONSTANT.findall(text):
        numbers = [int(v, 0) for v in values.split(",")]
        unit = SIZES[kind]
        made.extend(bytes(_aligned(len(made), int(align or unit)) - len(made)))
        places[name] = len(made)
        made.extend(b"".join((n & ((1 << 8 * unit) - 1)).to_bytes(unit, "little") for n in numbers))
        made.extend(bytes(unit * (int(count or len(numbers)) - len(numbers))))
    return places, bytes(made)


def _functions(text: str, constants: dict[str, int], kernels: list[Kernel]) -> tuple[Kernel, ...]:
    """The functions of a module. What they keep in memory lies behind what kernels have there; none
    calls itself."""
    functions = []
    local = max((k.local_bytes for k in kernels), default=0)
    for found in _FUNCTION.finditer(text):
        function = Kernel(name=found.group(2), constants=constants, local_bytes=_aligned(local, 16))
        for group, letter in ((1, "r"), (3, "a")):
            for i, (_, _, name, _) in enumerate(_PARAM.findall(found.group(group) or "")):
                function.pointers[name] = f"{letter}{i}"
        line = text.count("\n", 0, found.end()) + 1
        _Body(function).read(text, found.end(), line)
        local = function.local_bytes
        functions.append(function)
    if functions:
        for kernel in kernels:
            kernel.local_bytes = local
    return tuple(functions)


def _source_lines(text: str) -> dict[int, int]:
    """PTX line -> line of the source; of code from an inlined function, where that is called."""
    lines: dict[int, int] = {}
    called_from: dict[int, int] = {}
    current = 0
    for number, line in enumerate(text.split("\n"), 1):
        mark = re.match(r"\s*\.loc\s+\d+\s+(\d+)", line)
        if not mark:
            if current:
                lines[number] = current
            continue
        own = int(mark.group(1))
        inlined = re.search(r"inlined_at\s+\d+\s+(\d+)", line)
        if inlined:
            called_from[own] = int(inlined.group(1))
            seen = {own}
            while own in called_from and called_from[own] not in seen:
                own = called_from[own]
                seen.add(own)
        else:
            called_from.pop(own, None)
        current = own or current
    return lines


def _module_variables(text: str) -> tuple[dict[str, int], int]:
    """Shared variables outside of kernels: those of fixed size first, then the dynamic one."""
    head = text[: m.start()] if (m := _ENTRY.search(text)) else text
    found: dict[str, int] = {}
    size = 0
    dynamic = []
    for extern, align, kind, name, count in _SHARED.findall(head):
        if extern or (not count and "[" in head):
            dynamic.append((name, int(align or 16)))
            continue
        size = _aligned(size, int(align or SIZES[kind]))
        found[name] = size
        size += SIZES[kind] * int(count or 1)
    for name, align in dynamic:
        size = _aligned(size, align)
        found[name] = size
    return found, size


def _aligned(size: int, to: int) -> int:
    return -(-size // to) * to


def _read_kernel(kernel: Kernel, text: str, start: int) -> None:
    close = text.index(")", start)
    for align, kind, name, count in _PARAM.findall(text[start:close]):
        bytes_ = SIZES[kind] * int(count or 1)
        kernel.parameter_bytes = _aligned(kernel.parameter_bytes, int(align or SIZES[kind]))
        kernel.parameters[name] = (kernel.parameter_bytes, bytes_)
        kernel.parameter_bytes += bytes_
    opening = text.index("{", close)
    cluster = _CLUSTER.search(text, close, opening)
    kernel.cluster = int(cluster.group(1)) if cluster else 1
    _Body(kernel).read(text, opening + 1, text.count("\n", 0, opening) + 1)


class _Body:
    """Reads statements; a name that is declared in a block of inline assembly gets its number."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.scopes: list[dict[str, str]] = [{}]
        self.count = 0

    def read(self, text: str, start: int, line: int) -> None:
        for kind, statement, at in _statements(text, start, line):
            if kind == "{":
                self.count += 1
                self.scopes.append({})
                self._declare_labels(text, at[1])
            elif kind == "}":
                self.scopes.pop()
                if not self.scopes:
                    return
            elif kind == "label":
                self.kernel.body.append(Label(name=self._name(statement)))
            elif statement.startswith("."):
                self._directive(statement)
            else:
                self.kernel.body.append(self._instruction(statement, at[0]))

    def _declare_labels(self, text: str, start: int) -> None:
        end = text.index("}", start)
        for name in _LABEL.findall(re.sub(r"\{[^{}]*\}", "", text[start:end])):
            self.scopes[-1][name] = f"{name}__{self.count}"

    def _name(self, name: str) -> str:
        return next((s[name] for s in reversed(self.scopes) if name in s), name)

    def _directive(self, statement: str) -> None:
        if statement.startswith(".reg"):
            self._registers(*statement.split(None, 2)[1:])
        elif found := _PARAM.match(statement):
            self._parameter(*found.groups())
        elif found := _LOCAL.match(statement):
            align, kind, name, count = found.groups()
            size = _aligned(self.kernel.local_bytes, int(align or SIZES[kind]))
            self.kernel.local[name] = size
            self.kernel.local_bytes = size + SIZES[kind] * int(count or 1)
        elif found := _SHARED.match(statement):
            _, align, kind, name, count = found.groups()
            size = _aligned(self.kernel.shared_bytes, int(align or SIZES[kind]))
            self.kernel.shared[name] = size
            self.kernel.shared_bytes = size + SIZES[kind] * int(count or 1)

    def _parameter(self, align: str | None, kind: str, name: str, count: str | None) -> None:
        """Room for a parameter or a result of a call, in the block of that call."""
        own = f"{name}__{self.count}"
        self.scopes[-1][name] = own
        place = _aligned(self.kernel.frame_bytes, int(align or SIZES[kind]))
        self.kernel.pointers[own] = f"(frm + {place})"
        self.kernel.frame_bytes = place + SIZES[kind] * int(count or 1)

    def _registers(self, kind: str, names: str) -> None:
        for name in split_operands(names):
            block = re.fullmatch(r"(\S+)<(\d+)>", name)
            members = (
                [f"{block.group(1)}{i}" for i in range(int(block.group(2)))] if block else [name]
            )
            for member in members:
                own = member if len(self.scopes) == 1 else f"{member}__{self.count}"
                self.scopes[-1][member] = own
                self.kernel.registers[own] = kind[1:]

    def _instruction(self, statement: str, line: int) -> Instruction:
        guard = re.match(r"@(!?)([%\w]+)\s+", statement)
        rest = statement[guard.end() :] if guard else statement
        opcode, _, operands = rest.partition(" ")
        rename = re.sub(r"[%$A-Za-z_][\w$]*", lambda m: self._name(m.group()), operands)
        return Instruction(
            line=line,
            guard=self._name(guard.group(2)) if guard else "",
            negated=bool(guard and guard.group(1)),
            opcode=opcode,
            operands=split_operands(rename),
        )


def _statements(text: str, at: int, line: int) -> Iterator[tuple[str, str, tuple[int, int]]]:
    """Braces, labels and statements with their lines and ends, up to the end of the text."""
    while at < len(text):
        letter = text[at]
        if letter == "\n":
            line += 1
            at += 1
        elif letter.isspace() or letter == ";":
            at += 1
        elif letter in "{}":
            yield letter, letter, (line, at + 1)
            at += 1
        elif found := _LABEL.match(text, at):
            yield "label", found.group(1), (line, at)
            at = found.end()
        else:
            is_note = text.startswith(_NOTES, at)
            end = text.find("\n" if is_note else ";", at)
            if end < 0:
                raise TileError(
                    "E2302",
                    f"no end of the statement in line {line} of the PTX",
                    help="Please report it with the version of the device compiler.",
                )
            statement = text[at:end]
            if not is_note:
                yield "statement", " ".join(statement.split()), (line, end)
            line += statement.count("\n")
            at = end
