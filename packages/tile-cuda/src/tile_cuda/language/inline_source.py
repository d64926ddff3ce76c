"""Device functions that a kernel brings as CUDA C++ text, and calls of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from tile_frontend.language.places import Place, element_at
from tile_frontend.trace import state
from tile_frontend.trace.buffers import BufferRef, RegionRef
from tile_frontend.trace.element_types import ir_dtype
from tile_frontend.trace.freshness import note_changed
from tile_frontend.trace.values import Value, expr_of
from tile_ir import build
from tile_ir.core import Buffer
from tile_ir.diag import TileError
from tile_ir.expr import Expr, Load, Var
from tile_ir.ops import CallExtern, Native, Source, Store

if TYPE_CHECKING:
    from collections.abc import Callable

    from tile_frontend.trace.builder import Builder
    from tile_ir.core import Region
    from tile_ir.types import DType

__all__ = ["call_extern", "call_pure_extern", "import_source"]

_LANGUAGE = "cuda"
_NOTHING = (None, "handle", "void")
_BY_VALUE = frozenset({"bool", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f32", "f64"})
"""What C++ has types of that hold it as the kernel does."""


def import_source(source: Any = None) -> None:
    """Put CUDA C++ text in front of the kernel: device functions that `T.call_extern` calls.

    Args:
        source: the text, or the `pathlib.Path` of a file with it; None for nothing.

    Other targets leave it out. Names beginning with `tile_` are the compiler's own.

    Raises `TileError` E1302 outside a kernel, E1515 for what is no text, a file that cannot be read
    among it.
    Example: `T.import_source("__device__ float twice(float x) { return x + x; }")`
    """
    b = state.builder("T.import_source")
    b.need_kernel("T.import_source")
    if source is None:
        return
    text = _text_of(source)
    scope = b.inside("kernel")
    assert scope is not None  # just checked
    scope.stmts.insert(0, Source(language=_LANGUAGE, text=text, span=b.span))


def _text_of(source: Any) -> str:
    """The text that is meant, as UTF-8 can hold it."""
    try:
        text = source.read_text("utf-8") if isinstance(source, Path) else source
        if not isinstance(text, str) or not text.strip():
            _bad(f"T.import_source({source!r})", "pass the text of device functions")
        text.encode()
    except (OSError, UnicodeError) as error:
        _bad(f"T.import_source({source!r}): {error}", "pass a file, or the text, in UTF-8")
    return text


def call_extern(
    *args: Any, reference: Callable[..., Any] | None = None, dtype: Any = ..., span: Any = None
) -> Value:
    """Call a device function of `T.import_source`: `T.call_extern("float32", "f", x, S[0, 0])`.

    Every thread that comes here calls it; in T.Parallel each iteration does. Numbers and elements
    go by value. A buffer, a region, and a place of `T.address_of` or `T.access_ptr` go as a pointer
    to the first element; the function may read and write all of that buffer, and what it does to
    other memory nobody knows of. A fragment goes as a pointer to a copy in shared memory.

    Args:
        args: the type of the result ("handle" or None for none), the function's name, what it
            takes. With `dtype=` the type is left out in front.
        reference: a function in the tile language that does the same with the same arguments, for
            targets of another language and for the oracle.

    A target of another language refuses the kernel (E0713) without a reference.

    Raises `TileError` E1302 outside a kernel, E1515 for a name, a type or an argument that no
    function of C++ has.
    Example: `T.call_extern("float32", "__fadd_rn", x, x, reference=lambda u, v: u + v)`
    """
    if dtype is ...:
        dtype, args = args[0] if args else None, args[1:]
    b = state.builder("T.call_extern")
    if b.inside("kernel") is None:
        b.need_kernel("T.call_extern")
    name, *given = _named(args)
    kind = None if dtype in _NOTHING else _by_value(ir_dtype(dtype), "gives")
    to = None
    if kind is not None:
        to = b.alloc(Buffer(name=b.fresh(f"{name}_result"), dtype=kind, shape=(), scope="var"))
    scope = b.open("native")
    _called(b, name, given, to)
    then = b.close(scope)
    scope = b.open("native")
    if reference is not None:
        _referred(b, reference, given, to)
    b.emit(Native(language=_LANGUAGE, then=then, orelse=b.close(scope), span=b.span))
    for x in filter(_is_place, given):
        note_changed(b, element_at(x, "T.call_extern").ref.buffer.name)
    if to is None:
        return Value(build.const(0))
    return b.let(name, Load(to.name, (), to.dtype))


call_pure_extern = call_extern


def _named(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The name of the function and what it is given."""
    name = args[0] if args else None
    if not isinstance(name, str) or not (name.isascii() and name.isidentifier()):
        _bad(
            f"T.call_extern calls {name!r}",
            'the name of the function comes behind the type: T.call_extern("float32", "f", x)',
        )
    return args


def _called(b: Builder, name: str, given: list[Any], to: Buffer | None) -> None:
    """The call, and its result in the scalar `to`."""
    taken = [_argument(x) for x in given]
    result = None if to is None else Var(b.fresh(f"{name}_value"), to.dtype)
    b.emit(
        CallExtern(
            name=name,
            args=tuple(e for e, _ in taken),
            result=result,
            places=tuple(n for n, x in enumerate(given) if _is_place(x)),
            touched=tuple(dict.fromkeys(r for _, r in taken if r is not None)),
            span=b.span,
        )
    )
    if to is not None and result is not None:
        b.emit(Store(buffer=to.name, indices=(), value=result, span=b.span))


def _referred(
    b: Builder, reference: Callable[..., Any], given: list[Any], to: Buffer | None
) -> None:
    if not callable(reference):
        _bad(f"reference= of T.call_extern is {reference!r}", "pass a function, or leave it out")
    value = reference(*given)
    if to is None:
        return
    if value is None:
        _bad("reference= of T.call_extern gives nothing", "return the value that the call gives")
    b.store(to, (), value)


def _is_place(x: Any) -> bool:
    return isinstance(x, (BufferRef, Place, RegionRef))


def _argument(x: Any) -> tuple[Expr, Region | None]:
    """What is passed, and the buffer that the function may touch of it."""
    if not _is_place(x):
        value = expr_of(x)
        _by_value(value.dtype, "is given")
        return value, None
    at = element_at(x, "T.call_extern")
    buffer = at.ref.buffer
    if buffer.dtype.storage_bits % 8 or buffer.dtype.lanes > 1:
        _bad(
            f"T.call_extern is given the address of an element of {buffer.dtype}",
            "elements with an address fill whole bytes; take a T.view of the buffer",
        )
    private = buffer.scope in ("local", "var")
    return build.load(buffer, at.indices), None if private else build.whole(buffer)


def _by_value(kind: DType, what: str) -> DType:
    if kind.name not in _BY_VALUE:
        _bad(
            f"T.call_extern {what} a value of {kind}",
            "convert it: T.cast(x, T.float32); or pass its place, T.address_of(A[i])",
        )
    return kind


def _bad(message: str, fix: str) -> NoReturn:
    raise TileError("E1515", message, help=fix)
