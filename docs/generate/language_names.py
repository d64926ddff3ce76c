"""The names of the language: what the surface to match has, and what is there."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import tile_frontend.language as T
from tile_frontend.language.dialects import dialect_names
from tile_frontend.language.dtypes import OBJECTS
from tile_frontend.language.refused import Refused
from tile_ir.diag import TileError
from tile_ir.plugin import discover, load

ROOT = Path(__file__).parents[2]
SURFACE = Path(__file__).with_name("surface.tsv")
"""What public TileLang programs use, most used first: rank, name, family."""

TYPES = frozenset(OBJECTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A name of the surface to match."""

    rank: int
    name: str
    family: str


@cache
def surface() -> tuple[Wanted, ...]:
    """Every name that public programs use, by rank."""
    rows = [line.split("\t") for line in SURFACE.read_text("utf-8").splitlines()[1:]]
    return tuple(Wanted(rank=int(rank), name=name, family=family) for rank, name, family in rows)


@cache
def homes() -> dict[str, str]:
    """Each name that is there -> the page that describes it: its module's, `types`, or that of
    the dialect that brings it."""
    found = {}
    for module in T._MODULES:
        names = import_module(f"{T.__name__}.{module}").__all__
        found.update({n: "types" if n in TYPES else module for n in names})
    for entry in discover("tile.dialects"):
        found.update(dict.fromkeys(load("tile.dialects", entry.name).names, entry.name))
    return {name: found[name] for name in (*T.__all__, *dialect_names())}


def value_of(name: str) -> Any:
    """What `T.name` is; None where there is no such name at all."""
    try:
        return getattr(T, name)
    except AttributeError:
        return None


def why_not(name: str) -> str | None:
    """Why a name is not carried out, with its code; None for one that is."""
    value = value_of(name)
    if value is not None and not isinstance(value, Refused):
        return None
    try:
        (value if value is not None else Refused(name))()
    except TileError as error:
        return f"{error.code}: {error.message.removeprefix(f'T.{name} ')}"
    except KeyError:
        return "no such name"
    raise AssertionError(f"T.{name} is refused and does not say why")


def signature_of(name: str, value: Any) -> str:
    """A call or the plain name, as a reader writes it."""
    if name in TYPES or not callable(value) or (isinstance(value, type) and issubclass(value, int)):
        return f"T.{name}"
    try:
        found = inspect.signature(value.__new__ if _makes_others(value) else value)
    except (TypeError, ValueError):
        return f"T.{name}"
    params = [
        p.replace(annotation=inspect.Parameter.empty)
        for p in found.parameters.values()
        if p.name not in ("cls", "self")
    ]
    text = str(found.replace(parameters=params, return_annotation=inspect.Signature.empty))
    return f"T.{name}{text}"


def _makes_others(value: Any) -> bool:
    """Whether a class stands for a function: its `__new__` says what it takes."""
    return isinstance(value, type) and "__new__" in vars(value) and "__init__" not in vars(value)
