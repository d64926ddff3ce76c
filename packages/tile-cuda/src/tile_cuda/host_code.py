"""The host part of a function as a few lines of Python: sizes, workspaces, launches in order.

It is made when the function is compiled, stored beside the machine code, and bound once for each
device; a call then runs plain arithmetic and one launch for each kernel. Names are those of the
emitted source.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tile_cuda.boxes import tensor_strides
from tile_cuda.captures import cluster_extents, tiles_of
from tile_ir import build as b
from tile_ir.diag import InternalError
from tile_ir.expr import Const, Expr, free_vars, loads
from tile_ir.ops import Alloc, Assert, Assume, If, Kernel, Let
from tile_ir.rewrite import declared
from tile_ir.types import i64
from tile_passes.emit.python_exprs import PythonNames, python_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tile_cuda.boxes import BoxMap
    from tile_cuda.captures import Parameter
    from tile_cuda.emit import EmittedKernel, Source
    from tile_ir.core import Buffer, Function
    from tile_ir.opdef import Body, Stmt

__all__ = ["host_source"]

INDENT = "    "


def host_source(fn: Function, source: Source) -> str:
    """Python text that defines `bind(rt)`, which returns the function's host part.

    `rt` offers `kernel(name, formats, threads, shared)`, `tensor_map(name, bits, box, row_bytes)`,
    `allocate(bytes)`, `workers()` and `failed(message)`. The result takes the addresses and scalars
    of the parameters in order, then the dimensions.
    """
    names = PythonNames(source.names)
    printer = _HostPrinter(names=names, kernels=source.kernels, buffers=declared(fn))
    printer.body(fn.body, 2)
    binds = [
        f"launch_{n} = rt.kernel({k.name!r}, {''.join(p.format for p in k.parameters)!r}, "
        f"{k.threads}, {k.shared_bytes})"
        for n, k in enumerate(source.kernels)
    ]
    binds += [
        f"{name} = rt.tensor_map({box.buffer!r}, {bits}, {box.box}, {box.row_bytes})"
        for (box, bits), name in printer.maps.items()
    ]
    arguments = [names[p.name] for p in fn.params] + [names[d.name] for d in fn.dims]
    return "\n".join(
        [
            "def bind(rt):",
            *(INDENT + line for line in binds),
            f"{INDENT}def call({', '.join(arguments)}):",
            *(printer.lines or [f"{INDENT * 2}pass"]),
            f"{INDENT}return call",
            "",
        ]
    )


@dataclass(slots=True)
class _HostPrinter:
    """Collects the lines of a function's body, kernels in the order in which they were emitted."""

    names: PythonNames
    kernels: tuple[EmittedKernel, ...]
    launched: int = 0
    lines: list[str] = field(default_factory=list)
    buffers: dict[str, Buffer] = field(default_factory=dict)
    maps: dict[tuple[BoxMap, int], str] = field(default_factory=dict)

    def body(self, body: Body, depth: int) -> None:
        """Print statements at a depth; a body without text says so in Python's way."""
        before = len(self.lines)
        for stmt in body:
            self._statement(stmt, depth)
        if len(self.lines) == before and depth > 2:
            self._line("pass", depth)

    def _line(self, text: str, depth: int) -> None:
        self.lines.append(INDENT * depth + text)

    def _statement(self, s: Stmt, depth: int) -> None:
        if isinstance(s, Kernel):
            self._launch(s, depth)
        elif isinstance(s, Let):
            self._line(f"{self.names[s.var.name]} = {self._text(s.value)}", depth)
        elif isinstance(s, If):
            self._branch(s, depth)
        elif isinstance(s, Alloc):
            self._allocate(s.buffer, depth)
        elif isinstance(s, Assert):
            message = f"{s.message or 'assertion failed'}{f' at {s.span}' if s.span else ''}"
            self._line(f"if not ({self._text(s.cond)}):", depth)
            self._line(f"rt.failed({message!r})", depth + 1)
        elif not isinstance(s, Assume):
            name = type(s).__name__
            raise InternalError("E9001", f"{name} outside of a kernel", span=s.span)

    def _branch(self, s: If, depth: int) -> None:
        self._line(f"if {self._text(s.cond)}:", depth)
        self.body(s.then, depth + 1)
        if s.orelse:
            self._line("else:", depth)
            self.body(s.orelse, depth + 1)

    def _allocate(self, buffer: Buffer, depth: int) -> None:
        """A workspace; the object that owns it lives until the call returns."""
        count: Expr = Const(1, i64)
        for extent in buffer.shape:
            count = b.mul(count, b.cast(extent, i64))
        size = b.ceildiv(b.mul(count, buffer.dtype.storage_bits), 8)
        name = self.names[buffer.name]
        self._line(f"{name}_memory, {name} = rt.allocate({self._text(size)})", depth)

    def _launch(self, kernel: Kernel, depth: int) -> None:
        """One launch, unless there are no tiles."""
        emitted, n = self.kernels[self.launched], self.launched
        self.launched += 1
        self._scalars(kernel, depth)
        tiles = tiles_of(kernel)
        extents = cluster_extents(kernel, tiles) if tiles else ()
        count = " * ".join(self._text(e, atom=True) for e in extents) or "1"
        blocks = "" if kernel.blocks is None else self._text(kernel.blocks)
        if emitted.cluster > 1:
            count = f"{count} * {emitted.cluster}"
            blocks = blocks and f"({blocks}) // {emitted.cluster} * {emitted.cluster}"
        if blocks:
            count = f"min({blocks}, {count})"
        values = "".join(f", {self._argument(p)}" for p in emitted.parameters)
        self._line(f"tile = {count}", depth)
        self._line("if tile > 0:", depth)
        self._line(f"launch_{n}(tile{values})", depth + 1)

    def _argument(self, p: Parameter) -> str:
        """A pointer or a scalar as it is; a tensor map made from address, extents and strides."""
        if p.box is None:
            return self.names[p.name]
        buffer = self.buffers[p.name]
        bits = buffer.dtype.storage_bits
        made = self.maps.setdefault((p.box, bits), f"map_{len(self.maps)}")
        extents, strides = list(reversed(buffer.shape)), tensor_strides(buffer)[-2::-1]
        sizes = [b.floordiv(b.mul(b.cast(s, i64), bits), 8) for s in strides]
        if bits < 8:
            extents[0] = b.ceildiv(b.mul(extents[0], bits), 8)
        shape, steps = (self._listed(es) for es in (extents, sizes))
        return f"{made}({self.names[p.name]}, {shape}, {steps})"

    def _listed(self, values: Iterable[Expr]) -> str:
        return "(" + "".join(f"{self._text(e)}, " for e in values).rstrip() + ")"

    def _scalars(self, kernel: Kernel, depth: int) -> None:
        """The bindings in front of the tile loop that the number of tiles needs."""
        tiles = tiles_of(kernel)
        needed = {v for e in (tiles.extents if tiles else ()) for v in free_vars(e)}
        needed |= free_vars(kernel.blocks) if kernel.blocks is not None else set()
        chosen: list[Let] = []
        for s in reversed(kernel.body):
            if isinstance(s, Let) and s.var in needed and not loads(s.value):
                chosen.append(s)
                needed |= free_vars(s.value)
        for s in reversed(chosen):
            self._statement(s, depth)

    def _text(self, e: Expr, atom: bool = False) -> str:
        return python_text(e, self.names, atom)
