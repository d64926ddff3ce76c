"""Calling a function's traceable twin, and giving errors the place of the user's line they came
from.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from tile_frontend.rewrite import rewritten
from tile_frontend.trace.frame import DeclareHook, Frame, ParamHook
from tile_frontend.trace.places import placed
from tile_frontend.trace.signatures import misfit
from tile_ir.diag import TileError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import FunctionType

    from tile_frontend.rewrite.statements import Row
    from tile_frontend.trace.builder import Builder


def execute(
    builder: Builder,
    fn: FunctionType,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    on_param: ParamHook,
    declare: DeclareHook,
    outer: Mapping[str, Any] | None = None,
) -> Any:
    """Run `fn` rewritten, under `builder`. Errors come back with the place in the user's code.

    `outer` are the local variables around the definition of `fn`.
    """
    depth = len(builder.frames)

    def enter(rows: tuple[Row, ...]) -> Frame:
        frame = Frame(builder, rows, on_param, declare)
        builder.frames.append(frame)
        return frame

    try:
        return rewritten(fn).bind(fn, enter, outer or {})(*args, **kwargs)
    except TileError as error:
        parent = builder.frames[depth].parent if len(builder.frames) > depth else None
        raise placed(error, sys.exc_info()[2], parent) from error.__cause__
    except TypeError as error:
        parent = builder.frames[depth].parent if len(builder.frames) > depth else None
        told = misfit(error, sys.exc_info()[2], parent)
        if told is None:
            raise
        raise told from None
    finally:
        del builder.frames[depth:]
