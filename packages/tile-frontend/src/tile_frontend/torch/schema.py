"""What torch has to know of a kernel: parameters, which of them it changes, what it returns.

Of a compiled kernel everything follows from the effects of its program. A `@tile.jit` function is
not traced before its first call, so its tensors and results are read from its text, and which
tensors it changes has to be stated; the first trace checks that.
"""

from __future__ import annotations

import ast
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tile_frontend.rewrite.source import function_node
from tile_frontend.specialize import scalars_of
from tile_ir.diag import TileError
from tile_ir.opdef import Access

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tile_frontend.bind import Binder
    from tile_frontend.jit_function import JITImpl

__all__ = ["Parameter", "Schema", "changed", "of_binder", "of_function"]

_TENSORS = ("Tensor", "StridedTensor")
_SCALARS = {bool: "bool", int: "SymInt", float: "float", str: "str"}


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter: its name, its type and default in torch's notation, whether the kernel writes
    to it."""

    name: str
    type: str
    changed: bool = False
    default: str = ""

    @property
    def is_tensor(self) -> bool:
        """Whether it is a tensor."""
        return self.type == "Tensor"


@dataclass(frozen=True, slots=True)
class Schema:
    """The parameters of an operator, and how many tensors it returns."""

    parameters: tuple[Parameter, ...]
    results: int

    @property
    def changed(self) -> tuple[str, ...]:
        """The names of the parameters that a call changes."""
        return tuple(p.name for p in self.parameters if p.changed)

    def named(self, args: Sequence[Any]) -> dict[str, Any]:
        """Arguments by name; torch leaves out those that are their defaults."""
        return dict(zip((p.name for p in self.parameters), args, strict=False))

    def __str__(self) -> str:
        """As torch writes it: (Tensor x, Tensor(a0!) y) -> Tensor."""
        parts = [
            f"Tensor(a{i}!) {p.name}" if p.changed else f"{p.type} {p.name}{p.default}"
            for i, p in enumerate(self.parameters)
        ]
        returned = "Tensor" if self.results == 1 else f"({', '.join(['Tensor'] * self.results)})"
        return f"({', '.join(parts)}) -> {returned}"


def changed(binder: Binder) -> frozenset[str]:
    """The names of the inputs that the program writes to."""
    writes = Access.WRITE | Access.UPDATE
    return frozenset(n for n in binder.names if binder.touched.get(n, Access(0)) & writes)


def of_binder(binder: Binder) -> Schema:
    """The schema of a compiled kernel."""
    written = changed(binder)
    parameters = tuple(
        Parameter(p.name, _scalar(p.scalar.dtype), False)
        if p.scalar is not None
        else Parameter(p.name, "Tensor", p.name in written)
        for p in binder.inputs
    )
    return Schema(parameters, len(binder.function.results))


def _scalar(dtype: Any) -> str:
    if dtype.name == "bool":
        return "bool"
    return "SymInt" if dtype.is_int else "float"


def of_function(function: JITImpl, mutates: Sequence[str], fixed: Sequence[str]) -> Schema:
    """The schema of a `@tile.jit` function of the eager style; the Python arguments `fixed` are no
    parameters of the operator.

    Raises `TileError` E2030 where its text does not say enough.
    """
    node = function_node(function.fn)
    tensors = _declared(node)
    unknown = sorted(set(mutates) - set(tensors))
    if function.is_lazy or unknown:
        why = (
            "it returns a compiled kernel: make an operator of that"
            if function.is_lazy
            else f"mutates names {', '.join(unknown)}, which it does not declare as tensors"
        )
        raise TileError(
            "E2030",
            f"{function.fn.__name__} cannot be an operator: {why}",
            help="pass a compiled kernel, or a function of the eager style and its own tensors",
        )
    parameters, scalars = [], scalars_of(function.fn)
    for name, parameter in function.signature.parameters.items():
        if name in fixed:
            continue
        if name in tensors:
            parameters.append(Parameter(name, "Tensor", name in mutates))
        elif name in scalars and parameter.default is parameter.empty:
            parameters.append(Parameter(name, _scalar(scalars[name])))
        elif type(parameter.default) in _SCALARS:
            kind, default = _SCALARS[type(parameter.default)], parameter.default
            text = json.dumps(default) if isinstance(default, str) else repr(default)
            parameters.append(Parameter(name, kind, default=f"={text}"))
        else:
            raise TileError(
                "E2030",
                f"{function.fn.__name__} cannot be an operator: "
                f"nothing says what type {name!r} has",
                help=f"fix its value: op({function.fn.__name__}, {name}=...), or give it a default",
            )
    return Schema(tuple(parameters), _returned(node))


def _declared(node: ast.FunctionDef) -> set[str]:
    """The names that are annotated as tensors, in the signature or in the body."""
    pairs = [(a.arg, a.annotation) for a in (*node.args.args, *node.args.kwonlyargs)]
    pairs += [
        (s.target.id, s.annotation)
        for s in ast.walk(node)
        if isinstance(s, ast.AnnAssign) and isinstance(s.target, ast.Name)
    ]
    return {name for name, annotation in pairs if annotation and _is_tensor(annotation)}


def _is_tensor(annotation: ast.expr) -> bool:
    while isinstance(annotation, (ast.Call, ast.Subscript)):
        annotation = annotation.func if isinstance(annotation, ast.Call) else annotation.value
    name = annotation.attr if isinstance(annotation, ast.Attribute) else None
    return (name or getattr(annotation, "id", "")) in _TENSORS


def _returned(node: ast.FunctionDef) -> int:
    """How many values the function returns."""
    values = [s.value for s in ast.walk(node) if isinstance(s, ast.Return) and s.value is not None]
    if not values:
        return 0
    last = values[-1]
    return len(last.elts) if isinstance(last, (ast.Tuple, ast.List)) else 1
