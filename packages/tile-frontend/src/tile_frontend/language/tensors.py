"""Tensors of the function's interface, and the dimensions that their shapes are made of."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from tile_frontend.trace import state
from tile_frontend.trace.buffers import BufferRef
from tile_frontend.trace.element_types import ir_dtype
from tile_frontend.trace.places import here
from tile_frontend.trace.tensors import TensorType, shape_of
from tile_frontend.trace.values import Value
from tile_ir.core import Param
from tile_ir.diag import TileError
from tile_ir.expr import Var

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "Buffer",
    "FragmentBuffer",
    "LocalBuffer",
    "SharedBuffer",
    "StridedTensor",
    "Tensor",
    "const",
    "dynamic",
    "empty",
    "symbolic",
]


class Tensor:
    """Annotation of a row-major tensor parameter: `T.Tensor((M, K), T.float16)` or `T.Tensor[[M,
    K], T.float16]`.

    Args:
        shape: extents: ints, `T.const` or `T.dynamic` dimensions, or linear expressions of them.
        dtype: element type in any spelling; float32 when left out.

    Raises `TileError` E1107 for an extent that is no integer, E0201 for an unknown element type.
    Example: `T.Tensor((64, 64), T.float16)`
    """

    def __new__(  # type: ignore[misc]  # an annotation is data, not an instance of this name
        cls, shape: Any, dtype: Any = "float32", data: Any = None, scope: str | None = None
    ) -> TensorType:
        """Declare it. `data` and any scope but global are refused (E1503)."""
        if data is not None or scope not in (None, "global"):
            raise TileError(
                "E1503",
                "a tensor parameter takes no data= or scope= here",
                help="leave it out; on-chip buffers come from T.alloc_shared and T.alloc_fragment",
            )
        return TensorType(shape_of(shape, "T.Tensor"), ir_dtype(dtype))

    def __class_getitem__(cls, key: Any) -> TensorType:
        """`T.Tensor[[M, K], dtype]` or `T.Tensor[shape, dtype]`."""
        if not isinstance(key, tuple) or len(key) != 2:
            raise TileError(
                "E1102",
                "T.Tensor[...] takes a shape and an element type",
                help="write T.Tensor[[M, K], T.float16]",
            )
        return cls(key[0], key[1])


class Buffer(Tensor):
    """An older spelling of `T.Tensor`. Example: `T.Buffer((64, 64), "float16")`"""


class StridedTensor:
    """Annotation of a tensor parameter with strides of its own, in elements.

    Args:
        shape: as for `T.Tensor`.
        strides: one for each axis; `T.dynamic` ones are read from the argument.
        dtype: element type; float32 when left out.

    Raises `TileError` E1105 when shape and strides differ in length.
    Example: `T.StridedTensor((64, 64), (T.dynamic("s"), 1), T.float16)`
    """

    def __new__(  # type: ignore[misc]  # as for Tensor
        cls, shape: Any, strides: Any, dtype: Any = "float32", scope: str | None = None
    ) -> TensorType:
        """Declare it."""
        extents, steps = shape_of(shape, "T.StridedTensor"), shape_of(strides, "its strides")
        if len(extents) != len(steps):
            raise TileError(
                "E1105",
                f"T.StridedTensor has {len(extents)} axes but {len(steps)} strides",
                here(),
                help="give one stride for each axis",
            )
        return TensorType(extents, ir_dtype(dtype), steps)


def _on_chip(scope: str, word: str) -> Callable[..., TensorType]:
    def annotation(shape: Any, dtype: Any = "float32") -> TensorType:
        return TensorType(shape_of(shape, f"T.{word}"), ir_dtype(dtype), None, scope)

    annotation.__name__ = annotation.__qualname__ = word
    annotation.__doc__ = f"""Annotation of a macro's parameter that takes a {scope} buffer.

    It tells readers; a macro takes whatever it is called with.

    Raises `TileError` E1107 for an extent that is no integer, E0201 for an unknown element type.
    Example: `T.{word}((64, 64), T.float16)`
    """
    return annotation


SharedBuffer = _on_chip("shared", "SharedBuffer")
FragmentBuffer = _on_chip("fragment", "FragmentBuffer")
LocalBuffer = _on_chip("local", "LocalBuffer")


def empty(*shape: Any, dtype: Any = "float32") -> BufferRef:
    """An output tensor that the runtime allocates and the call returns; its contents start
    undefined.

    `T.empty((M, N), T.float16)`, `T.empty(M, N, dtype=T.float16)`. It must be returned.

    Raises `TileError` E1103 (at the end of the function) when it is not returned, E1302 inside a
    kernel.
    Example: `T.Tensor((64,), "float32")`
    """
    b = state.builder("T.empty")
    if b.inside("kernel") is not None:
        raise TileError(
            "E1302",
            "T.empty stands inside T.Kernel",
            help="declare outputs before the kernel, on-chip buffers with T.alloc_shared or "
            "T.alloc_fragment",
        )
    if len(shape) == 2 and isinstance(shape[0], (tuple, list)):
        shape, dtype = tuple(shape[0]), shape[1]
    elif len(shape) == 1 and isinstance(shape[0], (tuple, list)):
        shape = tuple(shape[0])
    name = b.fresh(b.hint("out"))
    made = TensorType(shape_of(shape, "T.empty"), ir_dtype(dtype)).buffer(name, b.span)
    b.outputs[name] = made
    b.add_param(name, Param(buffer=made))
    return BufferRef(made)


_SEPARATORS = re.compile(r"[,\s]+")


def dimension_names(text: str, what: str) -> list[str]:
    """The names in "M, N" or "M N".

    Raises `TileError` E1109 when one is no identifier.
    """
    names = [n for n in _SEPARATORS.split(text.strip()) if n]
    if not names or not all(n.isidentifier() for n in names):
        raise TileError(
            "E1109", f"{what}({text!r}) does not name dimensions", here(), help='write "M, N"'
        )
    return names


def dynamic(name: str, dtype: Any = "int32") -> Any:
    """A dimension known at launch only, read from the shapes and strides of the arguments.

    One build serves every value. "M, N" gives a tuple of two.

    Raises `TileError` E1109 for text that is no name.
    Example: `T.dynamic("m")`
    """
    made = [Value(Var(n, ir_dtype(dtype))) for n in dimension_names(name, "T.dynamic")]
    return made[0] if len(made) == 1 else tuple(made)


symbolic = dynamic


def const(name: str, dtype: Any = "int32") -> Any:
    """A dimension read from the arguments and compiled in: one kernel for each value, a Python int
    in the body.

    Only in the eager style of `@tile.jit`, and each must be an extent (or stride) of some tensor by
    itself or in a linear expression, or be given to `.compile(M=1024)`. "M, N" gives a tuple of
    two.

    Raises `TileError` E1104 elsewhere, or when no argument tells its value.
    Example: `T.dynamic("M, N")`
    """
    b = state.builder("T.const")
    lookup = b.settings.get("const")
    if lookup is None:
        raise TileError(
            "E1104",
            "T.const belongs to the eager style of @tile.jit",
            notes=("a @T.prim_func is traced before any argument exists",),
            help="use T.dynamic, or make the dimension a Python argument of the enclosing function",
        )
    made = [lookup(n, ir_dtype(dtype)) for n in dimension_names(name, "T.const")]
    return made[0] if len(made) == 1 else tuple(made)
