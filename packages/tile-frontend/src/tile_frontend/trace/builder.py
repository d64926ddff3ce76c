"""The program under construction: scopes of statements, unique names, parameters and dimensions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tile_frontend.trace import finish, freshness, state
from tile_frontend.trace.values import Value, lift
from tile_ir import build
from tile_ir.diag import Span, TileError
from tile_ir.expr import Expr, Var, free_vars
from tile_ir.ops import Alloc, Let, Store, View
from tile_ir.rewrite import walk
from tile_ir.types import DType, i32

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tile_frontend.trace.frame import Frame
    from tile_ir.core import Buffer, Function, Param
    from tile_ir.opdef import Body, Stmt


@dataclass(eq=False)
class Scope:
    """A block of statements being traced.

    For loops, `reads` are the names read in it, `born` is when it began, and `old_reads` are the
    buffers of which it used values made before that.
    """

    kind: str
    span: Span | None = None
    stmts: list[Stmt] = field(default_factory=list)
    open: bool = True
    reads: set[str] = field(default_factory=set)
    born: int = 0
    old_reads: set[str] = field(default_factory=set)
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def loops(self) -> bool:
        """Whether the block runs more than once."""
        return self.kind in LOOPS


LOOPS = frozenset({"loop", "parallel", "while"})


class Builder:
    """Collects one function.

    `consts` are the values that `T.const` shall have, None to leave them symbolic.
    """

    def __init__(
        self, name: str, span: Span | None, *, consts: dict[str, int] | None = None
    ) -> None:
        self.name = name
        self.function_span = span
        self.consts = consts
        self.scopes: list[Scope] = [Scope("function", span)]
        self.frames: list[Frame] = []
        self.params: dict[str, Param] = {}
        self.outputs: dict[str, Buffer] = {}
        self.results: tuple[str, ...] = ()
        self.return_span: Span | None = None
        self.taken: set[str] = set()
        self.not_negative: set[str] = set()
        self.parallel_vars: dict[str, Expr] = {}
        self.patches: dict[str, dict[str, Any]] = {}
        self.settings: dict[str, Any] = {}
        self.kernels = 0
        self.manual = False
        """Whether the kernel being traced has barriers, roles or copies of its own making."""
        self.names_threads = False
        """Whether the kernel being traced says what single threads do."""
        self.idle: dict[str, Expr] = {}
        """What threads that do not come to an exchange hand over, by the scalar handed over."""
        self.reducer: Any = None
        """The operator by which threads combine what they hand over."""
        self.groups: dict[str, tuple[int, int]] = {}
        """The role blocks of the kernel being traced: the first thread, and how many."""
        self.unfinished: dict[str, tuple[str, Span | None]] = {}
        """What the kernel being traced has opened and not closed: a message, and where."""
        self.pointers: dict[str, Span | None] = {}
        """Parameters that have no shape yet, and where they are declared."""
        self.lazy = 0
        self.aliases: set[str] = set()
        self.written: dict[str, int] = {}
        self.roots: dict[str, str] = {}
        self.on_kernel: Callable[[], None] | None = None

    # -- places and names

    @property
    def span(self) -> Span | None:
        """Where the statement being traced stands, with the chain of macro calls that led there."""
        return self.frames[-1].span if self.frames else self.function_span

    @property
    def scope(self) -> Scope:
        """The innermost scope."""
        return self.scopes[-1]

    def hint(self, default: str) -> str:
        """The name that the statement being traced gives to what it makes next."""
        return self.frames[-1].next_name(default) if self.frames else default

    def fresh(self, wanted: str) -> str:
        """A name that nothing else in the function has: `wanted`, or with the next number behind
        it.
        """
        name, n = wanted, 0
        while name in self.taken:
            n += 1
            name = f"{wanted}_{n}"
        self.taken.add(name)
        return name

    def counter(self, wanted: str, *, not_negative: bool = True, dtype: DType = i32) -> Var:
        """A fresh variable that counts a loop or a tile axis."""
        name = self.fresh(wanted)
        if not_negative:
            self.not_negative.add(name)
        return Var(name, dtype)

    # -- scopes

    def emit(self, stmt: Stmt) -> None:
        """Append a statement.

        Raises `TileError` E1602 inside an operand that Python's rules may leave unevaluated.
        """
        if self.lazy:
            raise TileError(
                "E1602",
                "a statement is made inside the lazy side of `and`, `or`, a comparison chain or a "
                "ternary",
                notes=("whether that side runs is not known while tracing",),
                help="call the macro or make the buffer in a statement of its own before",
            )
        freshness.note_write(self, stmt)
        self.scopes[-1].stmts.append(stmt)

    def open(self, kind: str, **facts: Any) -> Scope:
        """Begin a block."""
        scope = Scope(kind, self.span, facts=facts, born=state.tick())
        self.scopes.append(scope)
        return scope

    def close(self, scope: Scope) -> tuple[Stmt, ...]:
        """End a block and return what it holds; names bound in it are dead from here on."""
        assert self.scopes[-1] is scope
        self.scopes.pop()
        scope.open = False
        self.scopes[-1].reads |= scope.reads
        return tuple(scope.stmts)

    def inside(self, *kinds: str) -> Scope | None:
        """The innermost open scope of one of these kinds."""
        return next((s for s in reversed(self.scopes) if s.kind in kinds), None)

    def need_kernel(self, what: str) -> None:
        """Refuse `what` outside a kernel (E1302) or inside T.Parallel (E1306)."""
        if self.inside("kernel") is None:
            raise TileError(
                "E1302",
                f"{what} stands outside T.Kernel",
                notes=("only the body of a kernel runs on the device",),
                help="move it under `with T.Kernel(...)`",
            )
        if self.inside("parallel") is not None:
            raise TileError(
                "E1306",
                f"{what} stands inside T.Parallel",
                notes=("a tile operation is done by all threads of the block together",),
                help="move it before or after the loop, or write its element-wise form",
            )

    # -- statements that several parts of the language make

    def let(self, wanted: str, expr: Expr, origin: Any = None) -> Value:
        """Evaluate `expr` here, once, under a name."""
        var = Var(self.fresh(wanted), expr.dtype)
        self.emit(Let(var=var, value=expr, span=self.span))
        if origin is not None:
            self.aliases.add(var.name)
        return Value(var, origin)

    def alloc(self, buffer: Buffer) -> Buffer:
        """Bring a buffer into being in the current scope."""
        self.emit(Alloc(buffer=buffer, span=self.span))
        return buffer

    def alloc_global(self, buffer: Buffer) -> Buffer:
        """Bring a workspace of the whole function into being, before the kernel that asks."""
        self.scopes[0].stmts.append(Alloc(buffer=buffer, span=self.span))
        return buffer

    def store(self, buffer: Buffer, indices: Sequence[Expr], value: object) -> None:
        """Write one element, converted to the buffer's type; elements outside a global buffer are
        not written.
        """
        if buffer.scope != "var" and self.inside("kernel") is None:
            raise TileError(
                "E1302",
                f"an element of {buffer.name} is assigned outside T.Kernel",
                help="move the assignment under `with T.Kernel(...)`",
            )
        self.emit(
            Store(
                buffer=buffer.name,
                indices=tuple(indices),
                value=_stored(value, buffer.dtype, indices[-1].dtype.lanes if indices else 1),
                clip=buffer.scope == "global",
                span=self.span,
            )
        )

    # -- parameters

    def buffers(self, body: Body) -> dict[str, Buffer]:
        """Every buffer that a kernel's body may use, by name."""
        found = {p.name: p.buffer for p in self.params.values() if p.buffer is not None}
        found |= self.outputs
        makers = (s for s in walk((*self.scopes[0].stmts, *body)) if isinstance(s, (Alloc, View)))
        return found | {s.buffer.name: s.buffer for s in makers}

    def add_param(self, name: str, param: Param) -> None:
        """Declare a parameter; its shape's variables become dimensions of the function."""
        self.params[name] = param
        self.taken.add(name)
        if param.buffer is not None:
            for extent in (*param.buffer.shape, *(param.buffer.strides or ())):
                for var in free_vars(extent):
                    self.taken.add(var.name)
                    self.not_negative.add(var.name)

    def function(self) -> Function:
        """The finished function.

        Raises `TileError` for what can only be seen at the end (E1103, E1105, E1106).
        """
        return finish.function(self)


def _stored(value: object, dtype: DType, lanes: int) -> Expr:
    """`value` as elements of `dtype`; a vector index takes one for each lane."""
    if lanes == 1:
        return converted(value, dtype)
    lifted = lift(value)
    is_vector = isinstance(lifted, Expr) and lifted.dtype.lanes > 1
    return build.cast(lifted if is_vector else converted(value, dtype), dtype.with_lanes(lanes))


def converted(value: object, dtype: DType) -> Expr:
    """`value` in a type, as assignment converts: literals are rounded once."""
    lifted = lift(value)
    if isinstance(lifted, Expr):
        return build.cast(lifted, dtype)
    if isinstance(lifted, float) and not dtype.is_float:
        return build.cast(build.const(lifted, "f64"), dtype)
    return build.const(lifted, dtype)
