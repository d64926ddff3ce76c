"""From a function object to its traceable twin: rewritten, compiled, over the same cells."""

from __future__ import annotations
import __future__ as future

import ast
import builtins
import copy
from dataclasses import dataclass
from types import CellType, CodeType, FunctionType
from typing import TYPE_CHECKING, Any

from tile_frontend.rewrite.names import bound_in_blocks, named_in_annotations
from tile_frontend.rewrite.nodes import ENTER, FRAME, assign, at, load, method, text
from tile_frontend.rewrite.source import function_node, header_span
from tile_frontend.rewrite.statements import Row, StatementRewriter
from tile_ir.diag import InternalError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


@dataclass(frozen=True, slots=True)
class Rewritten:
    """The code of a traceable function and its table of rows (place, names to give)."""

    code: CodeType
    rows: tuple[Row, ...]

    def bind(
        self,
        fn: FunctionType,
        enter: Callable[[tuple[Row, ...]], Any],
        outer: Mapping[str, Any],
    ) -> FunctionType:
        """The twin of `fn` whose calls make their frame with `enter(rows)`.

        `outer` are the local variables around the definition, for names of annotations that Python
        did not keep.
        """
        cells = {n: CellType(outer[n]) for n in self.code.co_freevars if n in outer}
        cells |= zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True)
        cells[ENTER] = CellType(lambda: enter(self.rows))
        closure = tuple(cells.get(name) or CellType() for name in self.code.co_freevars)
        twin = FunctionType(self.code, fn.__globals__, fn.__name__, fn.__defaults__, closure)
        twin.__kwdefaults__ = fn.__kwdefaults__
        return twin


_FUTURE = future.annotations.compiler_flag
_FACTORY, _INNER = "__tile_factory__", "__tile_function__"
_DONE: dict[int, tuple[CodeType, Rewritten]] = {}
"""By identity, for code of edited source may be equal: bytecode holds no annotation. The code is
kept, so that its identity stays its own.
"""


def rewritten(fn: FunctionType) -> Rewritten:
    """The rewriting of `fn`, made once per code object.

    Raises `TileError` E1001 without source, E1002 and E1011 for what a kernel cannot hold.
    """
    found = _DONE.get(id(fn.__code__))
    if found is None:
        found = (fn.__code__, _rewrite(fn))
        _DONE[id(fn.__code__)] = found
    return found[1]


def _rewrite(fn: FunctionType) -> Rewritten:
    original = function_node(fn)
    file = fn.__code__.co_filename
    node = copy.deepcopy(original)
    parameters = _parameters(node.args)
    rewriter = StatementRewriter(file, bound_in_blocks(original), frozenset(parameters))
    entry = rewriter.row(header_span(original, file), ())
    body = rewriter.body(node.body)
    node.decorator_list = []
    node.returns = None
    node.body = [*_prologue(node, parameters, entry), *body]
    for argument in ast.walk(node.args):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    unbound = named_in_annotations(original) - set(fn.__globals__) - set(dir(builtins))
    own = {*fn.__code__.co_varnames, *fn.__code__.co_cellvars, *fn.__code__.co_freevars}
    code = _compile(node, fn.__code__, sorted(unbound - own))
    return Rewritten(code, tuple(rewriter.rows))


def _parameters(args: ast.arguments) -> list[str]:
    named = [a.arg for a in (*args.posonlyargs, *args.args, *args.kwonlyargs)]
    extra = [a.arg for a in (args.vararg, args.kwarg) if a is not None]
    return [*named, *extra]


def _prologue(node: ast.FunctionDef, parameters: list[str], entry: int) -> list[ast.stmt]:
    frame = assign(FRAME, ast.Call(load(ENTER), [], []))
    row = ast.Assign([ast.Attribute(load(FRAME), "at", ast.Store())], ast.Constant(entry))
    taken = [assign(name, method("param", text(name), load(name))) for name in parameters]
    # The prologue stands at the `def` line, where errors about parameters belong.
    place = ast.copy_location(ast.Pass(), node)
    place.end_lineno, place.end_col_offset = node.lineno, node.col_offset + 3
    return [at(stmt, place) for stmt in (frame, row, *taken)]


def _compile(node: ast.FunctionDef, original: CodeType, more: list[str]) -> CodeType:
    """Compile inside a factory whose parameters are the free variables, which makes them free
    again. `more` are names that the original did not have to see.

    A parameter `__class__` would clash with the implicit cell, so zero-argument super() is not
    supported.
    """
    free = [ast.arg(name) for name in (ENTER, *original.co_freevars, *more)]
    parameters = ast.arguments(
        posonlyargs=[], args=free, kwonlyargs=[], kw_defaults=[], defaults=[]
    )
    _strip_defaults(node.args)
    # A reference by name means the user's global, not this twin.
    name, node.name = node.name, _INNER
    factory = ast.FunctionDef(_FACTORY, parameters, [node], [])
    if "type_params" in ast.FunctionDef._fields:  # from Python 3.12 on
        factory.__dict__["type_params"] = []
    module = ast.Module([at(factory, node)], [])
    flags = original.co_flags & _FUTURE
    made = compile(module, original.co_filename, "exec", flags, dont_inherit=True)
    return _nested(_nested(made, _FACTORY), _INNER).replace(co_name=name)


def _strip_defaults(args: ast.arguments) -> None:
    # The twin receives the evaluated defaults; only their number must agree, and it is not in the
    # code object.
    args.defaults = [ast.copy_location(ast.Constant(None), d) for d in args.defaults]
    args.kw_defaults = [
        None if d is None else ast.copy_location(ast.Constant(None), d) for d in args.kw_defaults
    ]


def _nested(code: CodeType, name: str) -> CodeType:
    for item in code.co_consts:
        if isinstance(item, CodeType) and item.co_name == name:
            return item
    raise InternalError("E9001", f"rewriting lost the function {name!r}")
