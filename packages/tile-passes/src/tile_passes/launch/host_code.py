"""The host part of a function as a few lines of Python: sizes, workspaces, launches in order.

It is made when the function is compiled, stored beside the machine code, and bound once for each
device; a call then runs plain arithmetic and one launch for each kernel. Names are those of the
emitted source. A target whose launches need more (several blocks to a cluster, descriptors made of
addresses) overrides the methods that say so.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tile_ir import build as b
from tile_ir.diag import InternalError
from tile_ir.expr import Const, Expr, free_vars, loads
from tile_ir.ops import Alloc, Assert, Assume, If, Kernel, Let, View
from tile_ir.rewrite import declared
from tile_ir.types import i64
from tile_passes.emit.captures import tiles_of
from tile_passes.emit.python_exprs import PythonNames, python_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tile_ir.core import Buffer, Function
    from tile_ir.opdef import Body, Stmt
    from tile_ir.ops import Tiles
    from tile_passes.emit.captures import Parameter
    from tile_passes.emit.kernels import EmittedKernel, Source

__all__ = ["HostPrinter", "bound_host", "host_source", "launch_scalars"]

INDENT = "    "


@dataclass(slots=True)
class HostPrinter:
    """Collects the lines of a function's body, kernels in the order in which they were emitted."""

    names: PythonNames
    kernels: tuple[EmittedKernel, ...]
    buffers: dict[str, Buffer] = field(default_factory=dict)
    launched: int = 0
    lines: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    """What finds the memory that launches of one stream leave to each other."""

    def binding(self, n: int, kernel: EmittedKernel) -> str:
        """What prepares the launches of kernel number n."""
        formats = "".join(p.format for p in kernel.parameters)
        early = ", True" if kernel.dependent else ""
        return (
            f"launch_{n} = rt.kernel({kernel.name!r}, {formats!r}, "
            f"{kernel.threads}, {kernel.shared_bytes}{early})"
        )

    def bindings(self) -> list[str]:
        """What else is prepared once for each device."""
        return []

    def extents(self, kernel: Kernel, tiles: Tiles) -> Iterable[Expr]:
        """How many groups of blocks that start together there are along each axis of the tiles."""
        return tiles.extents

    def argument(self, p: Parameter) -> str:
        """What a launch passes for a parameter."""
        return self.names[p.name]

    def body(self, body: Body, depth: int) -> None:
        """Print statements at a depth; a body without text says so in Python's way."""
        before = len(self.lines)
        for stmt in body:
            self._statement(stmt, depth)
        if len(self.lines) == before and depth > 2:
            self._line("pass", depth)

    def text(self, e: Expr, atom: bool = False) -> str:
        """An expression of the host in Python."""
        return python_text(e, self.names, atom)

    def _line(self, text: str, depth: int) -> None:
        self.lines.append(INDENT * depth + text)

    def _statement(self, s: Stmt, depth: int) -> None:
        if isinstance(s, Kernel):
            self._launch(s, depth)
        elif isinstance(s, Let):
            self._line(f"{self.names[s.var.name]} = {self.text(s.value)}", depth)
        elif isinstance(s, If):
            self._branch(s, depth)
        elif isinstance(s, Alloc):
            self._allocate(s, depth)
        elif isinstance(s, View):
            self._line(f"{self.names[s.buffer.name]} = {self.names[s.source]}", depth)
        elif isinstance(s, Assert):
            message = f"{s.message or 'assertion failed'}{f' at {s.span}' if s.span else ''}"
            self._line(f"if not ({self.text(s.cond)}):", depth)
            self._line(f"rt.failed({message!r})", depth + 1)
        elif not isinstance(s, Assume):
            name = type(s).__name__
            raise InternalError("E9001", f"{name} outside of a kernel", span=s.span)

    def _branch(self, s: If, depth: int) -> None:
        self._line(f"if {self.text(s.cond)}:", depth)
        self.body(s.then, depth + 1)
        if s.orelse:
            self._line("else:", depth)
            self.body(s.orelse, depth + 1)

    def _allocate(self, s: Alloc, depth: int) -> None:
        """A workspace; the object that owns it lives until the call returns. What is kept between
        calls has a size that is known beforehand."""
        buffer = s.buffer
        count: Expr = Const(1, i64)
        for extent in buffer.shape:
            count = b.mul(count, b.cast(extent, i64))
        size = b.ceildiv(b.mul(count, buffer.dtype.storage_bits), 8)
        name = self.names[buffer.name]
        if s.kept:
            at = f"kept_{len(self.kept)}"
            self.kept.append(f"{at} = rt.kept({buffer.name!r}, {self.text(size)})")
            self._line(f"{name} = {at}()", depth)
            return
        self._line(f"{name}_memory, {name} = rt.allocate({self.text(size)})", depth)

    def _launch(self, kernel: Kernel, depth: int) -> None:
        """One launch, unless there are no tiles."""
        emitted, n = self.kernels[self.launched], self.launched
        self.launched += 1
        for s in launch_scalars(kernel):
            self._statement(s, depth)
        tiles = tiles_of(kernel)
        extents = self.extents(kernel, tiles) if tiles else ()
        count = " * ".join(self.text(e, atom=True) for e in extents) or "1"
        blocks = "" if kernel.blocks is None else self.text(kernel.blocks)
        if emitted.cluster > 1:
            count = f"{count} * {emitted.cluster}"
            blocks = blocks and f"({blocks}) // {emitted.cluster} * {emitted.cluster}"
        if blocks:
            count = f"min({blocks}, {count})"
        values = "".join(f", {self.argument(p)}" for p in emitted.parameters)
        self._line(f"tile = {count}", depth)
        self._line("if tile > 0:", depth)
        self._line(f"launch_{n}(tile{values})", depth + 1)


def launch_scalars(kernel: Kernel) -> list[Let]:
    """The bindings in front of the tile loop that the number of tiles needs, in order."""
    tiles = tiles_of(kernel)
    needed = {v for e in (tiles.extents if tiles else ()) for v in free_vars(e)}
    needed |= free_vars(kernel.blocks) if kernel.blocks is not None else set()
    chosen: list[Let] = []
    for s in reversed(kernel.body):
        if isinstance(s, Let) and s.var in needed and not loads(s.value):
            chosen.append(s)
            needed |= free_vars(s.value)
    return chosen[::-1]


def host_source(fn: Function, source: Source, printer: type[HostPrinter] = HostPrinter) -> str:
    """Python text that defines `bind(rt)`, which returns the function's host part.

    `rt` offers `kernel(name, formats, threads, shared)` (and `True` behind that for one that may
    begin before the kernel in front has ended), `allocate(bytes)`, `kept(name, bytes)`
    (a function that gives the address for a launch), `workers()` and `failed(message)`. The result
    takes the addresses and scalars of the parameters in order, then the dimensions.
    """
    names = PythonNames(source.names)
    made = printer(names=names, kernels=source.kernels, buffers=declared(fn))
    made.body(fn.body, 2)
    binds = [*(made.binding(n, k) for n, k in enumerate(source.kernels)), *made.bindings()]
    binds += made.kept
    arguments = [names[p.name] for p in fn.params] + [names[d.name] for d in fn.dims]
    return "\n".join(
        [
            "def bind(rt):",
            *(INDENT + line for line in binds),
            f"{INDENT}def call({', '.join(arguments)}):",
            *(made.lines or [f"{INDENT * 2}pass"]),
            f"{INDENT}return call",
            "",
        ]
    )


def bound_host(text: str, path: object, rt: Any) -> Callable[..., None]:
    """What `bind(rt)` of a text made by `host_source` returns; tracebacks name the file at
    `path`."""
    namespace: dict[str, Any] = {}
    exec(compile(text, f"{path}:host.py", "exec"), namespace)  # our own text
    bound: Callable[..., None] = namespace["bind"](rt)
    return bound
