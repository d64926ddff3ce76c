"""Names of the language that this version does not carry out, each refused where it is used, with
the reason.

The names are data (`refused.txt`): a group's heading line, then its names. Most are instructions of
one device.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import NoReturn

from tile_ir.diag import TileError

__all__ = ["Refused", "refused_names"]

_GROUPS = {
    "thread": (
        "E1501",
        "names one thread of a block; targets without threads cannot give it a meaning",
        "write the work with T.Parallel and tile operations, and let the compiler divide it",
    ),
    "device": (
        "E1502",
        "is an instruction of one family of devices, which no installed target has",
        "write T.copy, T.gemm and T.Pipelined; the compiler picks such instructions by itself",
    ),
    "address": (
        "E1505",
        "makes or asks a bare address, of which nobody knows what lies there",
        "pass tensors, which know their extent: stack equal ones along an axis, and lay those of "
        "other lengths behind each other with a tensor of offsets; T.view and T.reshape give "
        "another shape, T.address_of(A[i]) a place in a tensor",
    ),
    "raw": (
        "E1506",
        "builds or calls raw code of another compiler",
        "write the computation in the tile language; a T.macro can hold what repeats",
    ),
}


@cache
def refused_names() -> dict[str, str]:
    """Name -> group."""
    found: dict[str, str] = {}
    group = ""
    for line in files(__package__).joinpath("refused.txt").read_text("utf-8").splitlines():
        if line.startswith("["):
            group = line.strip("[]")
        elif not line.startswith("#"):
            found.update(dict.fromkeys(line.split(), group))
    return found


class Refused:
    """Stands for a name that cannot be used. Calling it, or looking into it, raises."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def _refuse(self) -> NoReturn:
        code, why, instead = _GROUPS[refused_names()[self._name]]
        raise TileError(code, f"T.{self._name} {why}", help=instead)

    def __call__(self, *args: object, **kwargs: object) -> NoReturn:
        self._refuse()

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        self._refuse()

    def __getitem__(self, key: object) -> NoReturn:
        self._refuse()

    def __repr__(self) -> str:
        return f"<T.{self._name}, refused>"
