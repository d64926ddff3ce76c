"""What is tuned, in a form that goes to other processes: kernel, arguments, inputs, reference."""

from __future__ import annotations

import ast
import hashlib
import linecache
import pickle
from dataclasses import dataclass, replace
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

from tile_frontend.adapters import adapter_for, adapter_named
from tile_frontend.jit_function import JITImpl, Options, compile
from tile_frontend.kernel import JITKernel
from tile_frontend.language.function import PrimFunc
from tile_frontend.rewrite.source import function_node
from tile_ir.diag import TileError
from tile_ir.types import dtype
from tile_tune.handles import Handle, handle

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tile_tune.configuration import Configuration

__all__ = ["ArrayLike", "Problem", "compile_with", "problem_for", "with_options"]

SENT_BYTES = 16 << 20
"""Arrays of integers up to this size go to the workers as they are: they may be indices."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrayLike:
    """An array argument without its numbers: workers fill one like it. `data` holds them where they
    matter."""

    shape: tuple[int, ...]
    dtype: str
    library: str
    device: str
    data: Any = None

    @classmethod
    def of(cls, array: Any) -> ArrayLike:
        """Describe an array."""
        adapter = adapter_for(array)
        assert adapter is not None  # asked for arrays only
        info = adapter.inspect(array)
        is_small = not info.dtype.is_float and _bytes(info) <= SENT_BYTES
        data = _host_copy(array) if is_small else None
        kind = info.dtype.name
        return cls(
            shape=info.shape, dtype=kind, library=adapter.library, device=info.device, data=data
        )

    def make(self) -> Any:
        """A new array like it, on the first device of the kind, with its numbers if they are
        known."""
        empty = adapter_named(self.library).maker(self.shape, dtype(self.dtype), self.device)()
        if self.data is not None:
            self.fill(empty)
        return empty

    def shown(self) -> Any:
        """An array of the same extents and type whose numbers nobody looks at: on the host, where
        memory that is not touched costs nothing, if the host has the type."""
        try:
            return adapter_named("numpy").maker(self.shape, dtype(self.dtype), "cpu")()
        except TileError:
            return self.make()

    def fill(self, array: Any) -> None:
        """Write the known numbers into an array."""
        if self.library == "torch":
            import torch

            array.copy_(torch.from_numpy(self.data))
        else:
            array[...] = _as_library(self.library, self.data)


def _bytes(info: Any) -> int:
    count = 1
    for extent in info.shape:
        count *= extent
    return int(count * info.dtype.storage_bits // 8)


def _host_copy(array: Any) -> Any:
    import numpy as np

    array = array.detach().cpu() if hasattr(array, "detach") else array
    return np.array(array.get() if hasattr(array, "get") else array)


def _as_library(library: str, data: Any) -> Any:
    if library == "cupy":
        import cupy

        return cupy.asarray(data)
    return data


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing to tune.

    `arguments` are those of the kernel function that are not tuned, by name; `inputs`, `supply` and
    `reference` are handles of the user's functions, `tensors` what the inputs are like otherwise.
    `baseline` is the configuration whose outputs
    are the reference where there is no other. `options` are more of `tile.compile`.
    """

    kernel: Handle
    arguments: tuple[tuple[str, Any], ...] = ()
    target: Any = None
    device: str | None = None
    inputs: Handle | None = None
    supply: Handle | None = None
    tensors: tuple[ArrayLike, ...] = ()
    reference: Handle | None = None
    dims: tuple[tuple[str, int], ...] = ()
    tolerance: tuple[float, float] | None = None
    baseline: Configuration | None = None
    seed: int = 42

    @property
    def key(self) -> str:
        """A digest: workers keep what they made for a problem under it."""
        return hashlib.sha256(pickle.dumps(self)).hexdigest()[:20]


@dataclass(frozen=True, slots=True)
class _Parts:
    """A kernel function whose name leads nowhere, by value: with its text, for a kernel is traced
    from its source, which the other side need not have. `options` is None for a plain function."""

    fn: Any
    options: Options | None
    outer: Mapping[str, Any]
    file: str
    lines: tuple[str, ...]

    @classmethod
    def of(cls, kernel: JITImpl | FunctionType) -> _Parts:
        """Take a kernel function apart."""
        fn = kernel.fn if isinstance(kernel, JITImpl) else kernel
        file = fn.__code__.co_filename
        lines = tuple(linecache.getlines(file, fn.__globals__))
        if not isinstance(kernel, JITImpl):
            return cls(fn, None, {}, file, lines)
        used = {n.id for n in ast.walk(function_node(fn)) if isinstance(n, ast.Name)}
        outer = {name: value for name, value in kernel.outer.items() if name in used}
        return cls(fn, kernel.options, outer, file, lines)

    def whole(self) -> Any:
        """Put it together; the text is found under the file's name."""
        linecache.cache[self.file] = (len(self.lines), None, list(self.lines), self.file)
        self.fn.__code__ = _from_file(self.fn.__code__, self.file)
        return self.fn if self.options is None else JITImpl(self.fn, self.options, self.outer)


def _from_file(code: CodeType, file: str) -> CodeType:
    """Code, and the functions in it, as compiled from a file; on its way it forgot which."""
    inner = (_from_file(c, file) if isinstance(c, CodeType) else c for c in code.co_consts)
    return code.replace(co_filename=file, co_consts=tuple(inner))


def kernel_handle(kernel: Any) -> Handle:
    """The handle of what is tuned. Raises `TileError` E2203."""
    has_parts = isinstance(kernel, (JITImpl, FunctionType))
    return handle(kernel, (lambda: _Parts.of(kernel)) if has_parts else None)


def problem_for(
    kernel: Any,
    arguments: Mapping[str, Any],
    inputs: Callable[..., Any] | None = None,
    reference: Callable[..., Any] | None = None,
    **others: Any,
) -> Problem:
    """Describe a problem; arrays among the arguments are replaced by what they are like."""
    described = {n: ArrayLike.of(v) if adapter_for(v) else v for n, v in arguments.items()}
    return Problem(
        kernel=kernel_handle(kernel),
        arguments=tuple(described.items()),
        inputs=None if inputs is None else handle(inputs),
        reference=None if reference is None else handle(reference),
        **others,
    )


def with_options(
    kernel: JITImpl, pins: Mapping[str, Any], target: Any = None, device: str | None = None
) -> JITImpl:
    """The kernel function with more pins, and another target or device where one is given."""
    options = kernel.options
    changed = replace(
        options,
        plan={**(options.plan or {}), **pins} or None,
        target=options.target if target is None else target,
        device=options.device if device is None else device,
    )
    return kernel if changed == options else JITImpl(kernel.fn, changed, kernel.outer)


def compile_with(
    kernel: Any,
    configuration: Configuration,
    arguments: Mapping[str, Any],
    target: Any = None,
    device: str | None = None,
) -> JITKernel:
    """Compile a configuration.

    `kernel` is a `@tile.jit` function, a function that returns a `@T.prim_func` or a compiled
    kernel, or a `@T.prim_func` itself. Raises `TileError` for what the compiler refuses, E2201 for
    a configuration that the kernel does not take.
    """
    pins = configuration.plan
    kernel = kernel.whole() if isinstance(kernel, _Parts) else kernel
    if isinstance(kernel, JITImpl):
        given = {**arguments, **configuration.arguments}
        return with_options(kernel, pins, target, device).compile(**given)
    made = kernel
    if not isinstance(kernel, PrimFunc):
        made = kernel(**arguments, **configuration.arguments)
    if isinstance(made, PrimFunc) and (made is not kernel or not configuration.parameters):
        return compile(made, target=target, device=device, plan=pins or None)
    if isinstance(made, JITKernel) and not pins:
        return made
    raise TileError(
        "E2201",
        f"{configuration} does not fit {getattr(kernel, '__name__', kernel)!r}",
        help="parameters need a function that takes them, pins one that returns a @T.prim_func or "
        "is under @tile.jit",
    )
