"""What a tuned choice is for: the kernel, the bucket of its arguments, the target, the versions.

A kernel is known by its program text, not by its parameters: the digest covers the function's
syntax tree (comments and layout do not matter), and the constants and functions of its surroundings
that it uses. So it stays the same while parameters are tuned and changes when the program does.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import json
import textwrap
from dataclasses import dataclass
from importlib import metadata
from types import FunctionType
from typing import TYPE_CHECKING, Any

from tile_frontend import eager
from tile_frontend.adapters import adapter_for
from tile_frontend.jit_function import JITImpl
from tile_frontend.language.function import PrimFunc
from tile_frontend.specialize import read_call
from tile_ir.diag import TileError
from tile_ir.text import print_function
from tile_tune import machine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from tile_frontend.target_select import Target

__all__ = ["BUCKETS", "Key", "bucket", "digest_of", "key_for", "power_of_two"]

BUCKETS = ("exact", "power-of-two")
OURS = ("tile-ir", "tile-passes", "tile-frontend", "tile-tune")


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """The key of a choice. `versions` is JSON: distribution -> version."""

    kernel: str
    digest: str
    bucket: str
    target: str
    versions: str


def key_for(
    kernel: Any,
    arguments: Mapping[str, Any],
    target: Target,
    key: Sequence[str] | Callable[..., Any] | None = None,
    rounding: str = "exact",
) -> Key:
    """The key for a kernel, its arguments that are not tuned, and a target. Raises as `bucket`."""
    return Key(
        kernel=str(getattr(kernel, "__name__", None) or getattr(kernel, "name", "kernel")),
        digest=digest_of(kernel),
        bucket=bucket(kernel, arguments, key, rounding),
        target=f"{target} | {machine.described(target)}",
        versions=_versions(target.manifest.name),
    )


def power_of_two(n: int) -> int:
    """The least power of two that is no less than `n`; for keys of one's own."""
    return 1 << max(0, n - 1).bit_length()


def bucket(
    kernel: Any,
    arguments: Mapping[str, Any],
    key: Sequence[str] | Callable[..., Any] | None = None,
    rounding: str = "exact",
) -> str:
    """The text of the arguments that share one choice.

    `key` names arguments and `T.const` dimensions, or is called with the arguments by name and
    returns what matters; None takes everything: values, and types and extents of arrays. With
    rounding "power-of-two" whole numbers and extents are rounded up.

    Raises `TileError` E2205 for a name that is neither, or another rounding.
    """
    if rounding not in BUCKETS:
        raise TileError("E2205", f"bucket={rounding!r}", help=f"it is one of {', '.join(BUCKETS)}")
    up = power_of_two if rounding == "power-of-two" else int
    if callable(key):
        return repr(key(**arguments))
    if key is None:
        return ", ".join(_described(n, v, up) for n, v in sorted(arguments.items()))
    known = {**_dimensions(kernel, arguments), **_defaults(kernel), **arguments}
    unknown = [n for n in key if n not in known]
    if unknown:
        raise TileError(
            "E2205",
            f"key names {unknown[0]!r}, which is no argument and no T.const dimension",
            help=f"there are {', '.join(sorted(known))}",
        )
    types = [_described(n, v, None) for n, v in sorted(arguments.items()) if adapter_for(v)]
    return ", ".join((*types, *(_described(n, known[n], up) for n in sorted(key))))


def _described(name: str, value: Any, up: Callable[[int], int] | None) -> str:
    adapter = adapter_for(value)
    if adapter is not None:
        info = adapter.inspect(value)
        extents = "" if up is None else f"[{'x'.join(str(up(n)) for n in info.shape)}]"
        return f"{name}:{info.dtype.name}{extents}"
    is_count = type(value) is int and up is not None
    return f"{name}={up(value) if is_count and up else value!r}"


def _dimensions(kernel: Any, arguments: Mapping[str, Any]) -> dict[str, int]:
    """The `T.const` dimensions of an eager kernel."""
    if not isinstance(kernel, JITImpl) or kernel.is_lazy:
        return {}
    call = read_call(kernel.fn, kernel.signature, (), arguments)
    found = eager.determine(kernel.fn, call, kernel.outer)
    return {} if isinstance(found, PrimFunc) else found


def _defaults(kernel: Any) -> dict[str, Any]:
    """What the arguments are that a call leaves out."""
    if not isinstance(kernel, JITImpl):
        return {}
    given = ((n, p.default) for n, p in kernel.signature.parameters.items())
    return {n: value for n, value in given if value is not inspect.Parameter.empty}


def digest_of(kernel: Any) -> str:
    """The digest of a kernel's program; 16 hexadecimal digits."""
    if isinstance(kernel, PrimFunc):
        texts: Iterator[str] = iter([print_function(kernel.function)])
    elif isinstance(kernel, JITImpl):
        texts = _texts(kernel.fn, kernel.outer, set())
    else:
        texts = _texts(inspect.unwrap(kernel), {}, set())
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]


def _texts(fn: FunctionType, outer: Mapping[str, Any], seen: set[int]) -> Iterator[str]:
    """The function's tree, then constants and functions that it names, in order."""
    if id(fn.__code__) in seen:
        return
    seen.add(id(fn.__code__))
    tree = _tree(fn)
    if tree is None:
        yield fn.__code__.co_code.hex()
        return
    yield _shown(tree)
    around = {**fn.__globals__, **outer, **_cells(fn)}
    names = dict.fromkeys(n.id for n in ast.walk(tree) if isinstance(n, ast.Name))
    for name in sorted(names):
        value = inspect.unwrap(around[name]) if callable(around.get(name)) else around.get(name)
        if isinstance(value, (bool, int, float, str, tuple)):
            yield f"{name} = {value!r}"
        elif isinstance(value, FunctionType) and not value.__module__.startswith("tile_"):
            yield from _texts(value, {}, seen)


def _cells(fn: FunctionType) -> dict[str, Any]:
    found = {}
    for name, cell in zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    return found


def _tree(fn: FunctionType) -> ast.FunctionDef | None:
    """The definition without decorators and docstring; None where the source is not at hand."""
    try:
        made = ast.parse(textwrap.dedent(inspect.getsource(fn))).body[0]
    except (OSError, SyntaxError, TypeError, IndexError):
        return None
    if not isinstance(made, ast.FunctionDef):
        return None
    made.decorator_list = []
    if ast.get_docstring(made) is not None:
        made.body = made.body[1:] or [ast.Pass()]
    # Whole numbers as defaults are what is tuned: they come with the configuration.
    tuned = (ast.Constant(0) if _is_whole(d) else d for d in made.args.defaults)
    made.args.defaults = list(tuned)
    made.args.kw_defaults = [
        ast.Constant(0) if d is not None and _is_whole(d) else d for d in made.args.kw_defaults
    ]
    return made


def _shown(node: object) -> str:
    """A syntax tree as text. Fields without a value are left out: versions of Python differ in
    which of those they have, and a digest in a shipped table has to hold for all of them."""
    if isinstance(node, ast.AST):
        given = ((n, v) for n, v in ast.iter_fields(node) if v is not None and v != [])
        return f"{type(node).__name__}({', '.join(f'{n}={_shown(v)}' for n, v in given)})"
    if isinstance(node, list):
        return f"[{', '.join(map(_shown, node))}]"
    return ascii(node)


def _is_whole(default: ast.expr) -> bool:
    return isinstance(default, ast.Constant) and type(default.value) is int


def _versions(target: str) -> str:
    found = {}
    for name in (*OURS, f"tile-{target}"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return json.dumps(found, sort_keys=True)
