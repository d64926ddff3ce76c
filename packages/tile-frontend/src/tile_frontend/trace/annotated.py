"""Evaluated annotations of a function, whether Python kept them as values, as text or for later."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tile_ir.diag import Span, TileError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import FunctionType


def annotations_of(fn: FunctionType, outer: Mapping[str, Any], place: Span) -> dict[str, Any]:
    """Name -> annotation. Text (`from __future__ import annotations`) is evaluated where `fn` was
    defined.

    Raises `TileError` E1102 when an annotation cannot be evaluated.
    """
    found: dict[str, Any] = dict(fn.__annotations__)
    return {name: _evaluated(fn, name, value, outer, place) for name, value in found.items()}


def _evaluated(
    fn: FunctionType, name: str, value: Any, outer: Mapping[str, Any], place: Span
) -> Any:
    if not isinstance(value, str) or (value.isidentifier() and _is_type_name(value)):
        return value
    cells = zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True)
    names = {**outer, **{n: c.cell_contents for n, c in cells}}
    try:
        return eval(value, fn.__globals__, names)
    except TileError:
        raise
    except Exception as cause:
        raise TileError(
            "E1102",
            f"the annotation {value!r} of {name!r} cannot be evaluated: {cause}",
            place,
            help="names in annotations must be visible where the function is defined",
        ) from cause


def _is_type_name(text: str) -> bool:
    from tile_ir.types import dtype  # text such as "float32" is a scalar type by itself

    try:
        dtype(text)
    except TileError:
        return False
    return True
