"""Identifiers of one emitted function: the user's names wherever the language allows them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tile_ir.opdef import Body, bodies
from tile_ir.rewrite import bound_vars
from tile_passes.emit.names import c_name
from tile_passes.naming import Names

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tile_ir.core import Function

__all__ = ["identifiers"]

_STEM = re.compile(r"_\d+$")


def identifiers(fn: Function, buffers: Iterable[str], own: frozenset[str]) -> dict[str, str]:
    """Name of a variable, buffer or row of barriers -> its identifier, none of which is in `own`.

    Buffers are unique; variables of loops that do not enclose each other share the shortest name.
    """
    taken = Names(own)
    of = {name: taken.fresh(c_name(name)) for name in buffers}
    scalars = [p.name for p in fn.params if p.scalar is not None]
    for name in (*scalars, *(d.name for d in fn.dims)):
        of[name] = taken.fresh(c_name(name))
    _name_variables(fn.body, frozenset({*own, *of.values()}), of)
    return of


def _name_variables(body: Body, visible: frozenset[str], of: dict[str, str]) -> None:
    for s in body:
        inside = visible
        for var in bound_vars(s):
            if var.name not in of:
                names = Names(inside)
                of[var.name] = names.fresh(c_name(_STEM.sub("", var.name)) or var.name)
            inside |= {of[var.name]}
        regions = bodies(s)
        for inner in regions:
            _name_variables(inner, inside, of)
        if not regions:  # what has none binds for the statements that follow
            visible = inside
