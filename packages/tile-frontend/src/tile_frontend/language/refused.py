"""Names of the language that this version does not carry out, each refused where it is used, with
the reason.

The names are data (`refused.txt`): a group's heading line, then its names. A group that is called
like a package has the names of that package's dialect, refused where it is not installed.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import NoReturn

from tile_frontend.trace.vocabulary import NAMES
from tile_ir.diag import Fix, TileError

__all__ = ["Refused", "refused_names"]

_GROUPS = {
    "thread": (
        "E1501",
        "launches threads, or has some of them leave or arrive, by itself",
        "launch them by T.Kernel(threads=...), name them by T.get_thread_binding, guard their work "
        "with `if`, and let them meet at T.sync_threads or a barrier of T.alloc_barrier",
    ),
    "tensor memory": (
        "E1502",
        "works on the memory beside the matrix units of later devices, which no installed target "
        "programs yet",
        "write T.gemm with an accumulator of T.alloc_fragment; the compiler picks the instruction",
    ),
    "later devices": (
        "E1502",
        "is an instruction of later devices, which no installed target programs yet",
        "write T.copy, T.gemm and T.Kernel over all tiles, which every target carries out",
    ),
    "descriptor": (
        "E1502",
        "takes or makes a descriptor, of which nobody could check what it lets an engine touch",
        "name the tensor: T.tma_copy(A[i, j], S, barrier=bar) makes the descriptor by itself, and "
        "T.wgmma_gemm those of its operands",
    ),
    "registers": (
        "E1502",
        "takes registers in the order of one instruction, which nobody could check against the "
        "tiles they hold",
        "write T.gemm, T.wgmma_gemm or T.gemm_sp; the compiler picks the instruction and the "
        "layouts, and T.annotate_layout pins them",
    ),
    "kernel source": (
        "E1506",
        "launches a kernel whose text nobody can check against the tensors it gets",
        "write the kernel in the tile language around T.call_extern, which calls a device "
        "function of T.import_source",
    ),
    "address": (
        "E1505",
        "asks for an address, and no address comes in: a tensor that the kernel touches is there",
        "an argument may be None where no statement touches it: decide by a Python value around "
        "the kernel, which then is compiled for either case",
    ),
    "foreign calls": (
        "E1506",
        "calls a function out of the tables of another compiler",
        "T.call_extern calls a device function of T.import_source; the usual functions of "
        "numbers, words, lanes and memory have names of their own here",
    ),
    "raw memory": (
        "E1506",
        "declares memory or a variable of another compiler's program by hand",
        "declare parameters as T.Tensor, take memory by T.alloc_shared and its like, bind names by "
        "assigning them; T.address_of(A[i]) is a place, T.make_tensor another shape",
    ),
    "raw attributes": (
        "E1506",
        "tells another compiler's passes what to do with a statement",
        "leave it out: what is read and written follows from the statements, and kernel.explain() "
        "lists what can be pinned",
    ),
    "raw statements": (
        "E1506",
        "builds a statement of another compiler's program by hand",
        "write Python: if, while, for over range or T.Parallel, assert, assignments; a T.macro can "
        "hold what repeats",
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


def _reason(group: str) -> tuple[str, str, str]:
    """Code, reason and help; a group without its own is the package that has the name."""
    absent = f"is a name of one family of devices, and the package that has it, {group}, is not "
    return _GROUPS.get(group) or ("E1507", f"{absent}installed", f"pip install {group}")


def _with_other_capitals(name: str) -> str | None:
    """The name of the language that differs from this one in capitals only."""
    return next((n for n in NAMES if n.lower() == name.lower()), None)


class Refused:
    """Stands for a name that cannot be used. Calling it, or looking into it, raises."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def _refuse(self) -> NoReturn:
        code, why, instead = _reason(refused_names()[self._name])
        meant = _with_other_capitals(self._name)
        raise TileError(
            code,
            f"T.{self._name} {why}",
            help=f"did you mean T.{meant}? Else {instead}" if meant else instead,
            fix=Fix(self._name, meant) if meant else None,
        )

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
