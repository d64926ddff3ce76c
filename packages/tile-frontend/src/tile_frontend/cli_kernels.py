"""What the commands on kernels share: naming a kernel, its arguments, and building it."""

from __future__ import annotations

import contextlib
import importlib.util
import sys
import traceback
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tile_ir.diag import InternalError, TileError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

    from tile_frontend.kernel import JITKernel

__all__ = [
    "PLACE",
    "add_kernel",
    "arguments_of",
    "built",
    "kernel_at",
    "object_at",
    "of_user",
    "values",
]

_WORDS = {"True": True, "False": False, "true": True, "false": False, "None": None}


PLACE = "FILE.py:NAME, a @tile.jit function or a @T.prim_func; FILE.py if it has one"


def add_kernel(
    parser: argparse.ArgumentParser, what: str = PLACE, *, optional: bool = False
) -> None:
    """Add the options that name a kernel and say how to build it."""
    parser.add_argument("kernel", nargs="?" if optional else None, help=what)
    add_arguments(parser)
    parser.add_argument("--target", help='as in "cpu -arch=x86-64-v4"')
    parser.add_argument("--device", help="what stands in for the target's own device: emulator")
    parser.add_argument("--json", action="store_true", help="print JSON")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options for what a kernel is called with."""
    words = "Python arguments and T.const dimensions"
    parser.add_argument("arguments", nargs="*", default=[], metavar="NAME=VALUE", help=words)
    more: dict[str, Any] = {
        "nargs": "+",
        "action": "extend",
        "default": [],
        "metavar": "NAME=VALUE",
    }
    parser.add_argument("--arg", **more, help="the same")
    parser.add_argument("--dim", **more, help="T.dynamic dimensions")


def arguments_of(options: argparse.Namespace) -> dict[str, Any]:
    """The arguments of the kernel's function by name."""
    return values([*options.arguments, *options.arg])


def values(words: list[str]) -> dict[str, Any]:
    """NAME=VALUE as Python values: numbers, truth values, None, else text.

    Raises TileError E2602 for a word without a name or a value.
    """
    return dict(map(_value, words))


def _value(word: str) -> tuple[str, Any]:
    name, _, text = word.partition("=")
    if not name.isidentifier() or not text:
        raise TileError("E2602", f"{word!r} is no NAME=VALUE", help="write it as in M=1024")
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return name, kind(text)
    return name, _WORDS.get(text, text)


@contextlib.contextmanager
def of_user(as_json: bool) -> Iterator[None]:
    """Around what runs the user's code: what it prints goes to standard error where standard output
    is for JSON, and an exception of its own is an error of its own.

    Raises TileError E2601 in its place.
    """
    printed = contextlib.redirect_stdout(sys.stderr) if as_json else contextlib.nullcontext()
    try:
        with printed:
            yield
    except (TileError, InternalError, OSError):
        raise
    except Exception as cause:  # whatever a file or a function does
        if _is_ours(cause):
            raise
        line = traceback.extract_tb(cause.__traceback__)[-1]
        raise TileError(
            "E2601",
            "an exception left the kernel's file",
            notes=(f"{type(cause).__name__}: {cause}", f"in {line.filename}:{line.lineno}"),
            help="run the file with python to see how it came there",
        ) from cause


def _is_ours(error: BaseException) -> bool:
    """Whether code of our packages raised an exception."""
    innermost = error.__traceback__
    while innermost is not None and innermost.tb_next is not None:
        innermost = innermost.tb_next
    module = "" if innermost is None else innermost.tb_frame.f_globals.get("__name__", "")
    return str(module).startswith("tile_")


def kernel_at(place: str) -> Any:
    """The function under `@tile.jit` or `@T.prim_func` that FILE.py:NAME, or FILE.py, means; its
    file is run. Raises as `object_at`."""
    return _decorated(object_at(place))


def object_at(place: str) -> Any:
    """The same with what is around it, such as `@tile.autotune`.

    Raises TileError E1116 for no or several kernels, and whatever the file raises.
    """
    path, _, name = place.rpartition(":") if not place.endswith(".py") else (place, "", "")
    if not path or not Path(path).is_file():
        raise TileError("E1116", f"{place!r} is no kernel", help="write it as FILE.py:NAME")
    module = _imported(Path(path).resolve())
    kernels = {n: v for n, v in vars(module).items() if _decorated(v) is not None}
    if not name and len(kernels) == 1:
        return next(iter(kernels.values()))
    if name not in kernels:
        what = f"no kernel {name!r}" if name else "no kernel" if not kernels else "several kernels"
        names = ", ".join(sorted(kernels)) or "no function under @tile.jit or @T.prim_func"
        raise TileError("E1116", f"{path} has {what}", help=f"it has {names}")
    return kernels[name]


def _decorated(found: Any) -> Any:
    """A kernel function, without what chooses its parameters; None for anything else."""
    from tile_frontend.jit_function import JITImpl
    from tile_frontend.language.function import PrimFunc

    if isinstance(found, (JITImpl, PrimFunc)):
        return found
    inner = getattr(found, "__dict__", {}).get("__wrapped__")
    return inner if isinstance(inner, JITImpl) else None


def _imported(path: Path) -> Any:
    """The module of a file, with its neighbours importable as for a script, here and in processes
    that this one starts."""
    spec = importlib.util.spec_from_file_location(f"kernels_of_{path.stem}", path)
    assert spec is not None  # its name ends as those of modules do
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.path.insert(0, str(path.parent))
    spec.loader.exec_module(module)
    return module


def built(
    found: Any, arguments: Mapping[str, Any], target: str | None = None, device: str | None = None
) -> JITKernel:
    """The compiled kernel of a function for these arguments."""
    from tile_frontend import jit_function as jit

    if not isinstance(found, jit.JITImpl):
        _none_of(found, arguments)
        return jit.compile(found, target=target, device=device)
    chosen = found.options
    if target is not None:
        chosen = replace(chosen, target=target)
    if device is not None:
        chosen = replace(chosen, device=device)
    return jit.JITImpl(found.fn, chosen, found.outer).compile(**arguments)


def _none_of(found: Any, arguments: Mapping[str, Any]) -> None:
    if arguments:
        raise TileError(
            "E2602",
            f"{found.function.name} takes no {next(iter(arguments))}",
            help="a @T.prim_func is compiled as it stands; give dynamic dimensions with --dim",
        )
