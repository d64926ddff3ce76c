"""The host part of a function in C: what `host_code` prints in Python, for an exported library.

Names are those of the emitted source behind `k_`, so that none meets a name of the text around it.
Kernels are launched in order, dependent ones too: their waits are over at once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tile_cuda.boxes import tensor_strides
from tile_cuda.captures import MapParameter, cluster_extents
from tile_cuda.tensor_maps import ADDED, ELEMENTS, SWIZZLES
from tile_ir import build as b
from tile_ir.diag import InternalError
from tile_ir.expr import Const, Expr, Var
from tile_ir.ops import Alloc, Assert, Assume, If, Kernel, Let, View
from tile_ir.rewrite import declared
from tile_ir.types import i64
from tile_passes.emit.captures import POINTER, tiles_of
from tile_passes.emit.host_c_exprs import c_text
from tile_passes.emit.names import c_string
from tile_passes.launch.host_code import launch_scalars

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tile_ir.core import Buffer, Function
    from tile_ir.opdef import Body, Stmt
    from tile_passes.emit.captures import Parameter
    from tile_passes.emit.kernels import EmittedKernel, Source

__all__ = ["host_text"]

C_TYPES = {
    POINTER: "uint64_t",
    "?": "uint8_t",
    "b": "int8_t",
    "B": "uint8_t",
    "h": "int16_t",
    "H": "uint16_t",
    "i": "int32_t",
    "I": "uint32_t",
    "q": "int64_t",
    "Q": "uint64_t",
    "f": "float",
    "d": "double",
}
"""Letters of `struct`, which parameters of kernels have, -> C types."""
NARROW = frozenset("bBhHiI")
"""Of integers that are computed in 64 bits here."""
WORKERS = "tile_gpus[device].multiprocessors"


@dataclass(slots=True)
class _Printer:
    """Collects the lines of a function's body, kernels in the order in which they were emitted."""

    symbol: str
    names: Mapping[str, str]
    kernels: tuple[EmittedKernel, ...]
    buffers: Mapping[str, Buffer]
    launched: int = 0
    kept: int = 0
    lines: list[str] = field(default_factory=list)

    def name(self, ir_name: str) -> str:
        """The C name of a buffer or variable."""
        return f"k_{self.names[ir_name]}"

    def text(self, e: Expr) -> str:
        """An expression of the host."""
        return c_text(e, lambda v: self.name(v.name), WORKERS)

    def line(self, text: str, depth: int) -> None:
        """One line."""
        self.lines.append("  " * depth + text)

    def body(self, body: Body, depth: int) -> None:
        """Statements at a depth."""
        for stmt in body:
            self.statement(stmt, depth)

    def statement(self, s: Stmt, depth: int) -> None:
        """One statement."""
        if isinstance(s, Kernel):
            self.launch(s, depth)
        elif isinstance(s, Let):
            kind = "double" if s.value.dtype.is_float else "int64_t"
            self.line(f"const {kind} {self.name(s.var.name)} = {self.text(s.value)};", depth)
            self.line(f"(void){self.name(s.var.name)};", depth)
        elif isinstance(s, If):
            self.line(f"if ({self.text(s.cond)}) {{", depth)
            self.body(s.then, depth + 1)
            self.line("} else {", depth)
            self.body(s.orelse, depth + 1)
            self.line("}", depth)
        elif isinstance(s, Alloc):
            self.allocate(s, depth)
        elif isinstance(s, View):
            self.line(f"const uint64_t {self.name(s.buffer.name)} = {self.name(s.source)};", depth)
        elif isinstance(s, Assert):
            message = c_string(
                f"{s.message or 'assertion failed'}{f' at {s.span}' if s.span else ''}"
            )
            self.line(f"if (!status && !{self.text(s.cond)})", depth)
            self.line(f'status = tile_refuse(3013, "%s", {message});', depth + 1)
        elif not isinstance(s, Assume):
            raise InternalError("E9001", f"{type(s).__name__} outside of a kernel", span=s.span)

    def allocate(self, s: Alloc, depth: int) -> None:
        """A workspace, or memory that launches of one stream leave to each other."""
        count: Expr = Const(1, i64)
        for extent in s.buffer.shape:
            count = b.mul(count, b.cast(extent, i64))
        size = self.text(b.ceildiv(b.mul(count, s.buffer.dtype.storage_bits), 8))
        name = self.name(s.buffer.name)
        self.line(f"uint64_t {name} = 0;", depth)
        if s.kept:
            self.line(f"static const char site_{self.kept};", depth)
            call = f"tile_keep(&l, &site_{self.kept}, {size}, &{name})"
            self.kept += 1
        else:
            call = f"tile_workspace(&l, {size}, &{name})"
        self.line(f"if (!status) status = {call};", depth)

    def launch(self, kernel: Kernel, depth: int) -> None:
        """One launch, unless there are no tiles."""
        emitted, n = self.kernels[self.launched], self.launched
        self.launched += 1
        self.line("{", depth)
        for s in launch_scalars(kernel):
            self.statement(s, depth + 1)
        tiles = tiles_of(kernel)
        extents = cluster_extents(kernel, tiles) if tiles else ()
        count = " * ".join(self.text(e) for e in extents) or "INT64_C(1)"
        blocks = "" if kernel.blocks is None else self.text(kernel.blocks)
        if emitted.cluster > 1:
            count = f"{count} * {emitted.cluster}"
            blocks = blocks and f"{blocks} / {emitted.cluster} * {emitted.cluster}"
        if blocks:
            count = f"tile_min({blocks}, {count})"
        self.line(f"const int64_t blocks = {count};", depth + 1)
        self.line("if (!status && blocks > 0) {", depth + 1)
        values = [self.argument(p, i, depth + 2) for i, p in enumerate(emitted.parameters)]
        listed = "".join(f"&{v}, " for v in values)
        self.line(f"void *values[] = {{{listed}NULL}};", depth + 2)
        call = f"tile_start(&l, {n}, blocks, {emitted.threads}, values)"
        self.line(f"if (!status) status = {call};", depth + 2)
        self.line("}", depth + 1)
        self.line("}", depth)

    def argument(self, p: Parameter, i: int, depth: int) -> str:
        """Prints what a launch passes for a parameter; returns its name."""
        if isinstance(p, MapParameter):
            self.tensor_map(p, i, depth)
            return f"map_{i}"
        kind, value = C_TYPES[p.format], self.name(p.name)
        self.line(f"{kind} value_{i} = ({kind}){value};", depth)
        if p.format in NARROW:
            self.line(f"if (!status && value_{i} != {value})", depth)
            call = f'tile_refuse(2004, "{p.name} is too large: %lld", (long long){value})'
            self.line(f"status = {call};", depth + 1)
        return f"value_{i}"

    def tensor_map(self, p: MapParameter, i: int, depth: int) -> None:
        """A tensor map, made for this launch: the driver's function is arithmetic."""
        buffer = self.buffers[p.name]
        bits = buffer.dtype.storage_bits
        extents, strides = list(reversed(buffer.shape)), tensor_strides(buffer)[-2::-1]
        sizes = [b.floordiv(b.mul(b.cast(s, i64), bits), 8) for s in strides]
        if bits < 8:
            extents[0] = b.ceildiv(b.mul(extents[0], bits), 8)
        box = ", ".join(map(str, p.box.box))
        self.line(f"static const uint32_t box_{i}[] = {{{box}}};", depth)
        for word, values in (("extents", extents), ("strides", sizes)):
            listed = ", ".join(self.text(e) for e in values) or "0"
            self.line(f"const int64_t {word}_{i}[] = {{{listed}}};", depth)
        element = ADDED[p.box.kind] if p.box.kind else ELEMENTS[max(bits, 8)]
        numbers = f"{len(extents)}, {element}, {SWIZZLES[p.box.row_bytes]}"
        self.line(f"struct tile_map map_{i};", depth)
        self.line(
            f"if (!status) status = tile_make_map(&map_{i}, {c_string(p.box.buffer)}, "
            f"{self.name(p.name)}, {numbers}, box_{i}, extents_{i}, strides_{i});",
            depth,
        )


def host_text(fn: Function, source: Source, symbol: str) -> str:
    """C text of `SYMBOL_run`, which launches the function's kernels by the module
    `SYMBOL_module`."""
    made = _Printer(symbol, source.names, source.kernels, declared(fn))
    made.body(fn.body, 1)
    arguments = [_unpacked(made, p.name, _kind(p.scalar), i) for i, p in enumerate(fn.params)]
    arguments += [
        _unpacked(made, d.name, "int64_t", i) for i, d in enumerate(fn.dims, len(fn.params))
    ]
    return "\n".join(
        [
            f"static int32_t {symbol}_run(const uint64_t *args, int32_t device, void *stream) {{",
            "  struct tile_launch l;",
            f"  int32_t status = tile_begin(&l, &{symbol}_module, device, stream);",
            *(line for lines in arguments for line in lines),
            *made.lines,
            "  return tile_end(&l, status);",
            "}",
            "",
        ]
    )


def _kind(scalar: Var | None) -> str:
    if scalar is None:
        return "uint64_t"
    t = scalar.dtype
    return ("double" if t.name == "f64" else "float") if t.is_float else "int64_t"


def _unpacked(made: _Printer, name: str, kind: str, slot: int) -> list[str]:
    """The argument in a slot; floats are there by their bits."""
    local = made.name(name)
    return [
        f"  {kind} {local};",
        f"  memcpy(&{local}, &args[{slot}], sizeof {local});",
        f"  (void){local};",
    ]
