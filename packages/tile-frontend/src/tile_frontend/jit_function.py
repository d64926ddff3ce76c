"""`@tile.jit` and `tile.compile`: when what is traced, compiled, remembered and run."""

from __future__ import annotations

import ast
import copyreg
import functools
import inspect
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any

from tile_frontend import driver, eager, knobs, parallel_compile
from tile_frontend.adapters import adapter_for, describe
from tile_frontend.calls import Leading, quick_call
from tile_frontend.jit_errors import no_function, too_deep
from tile_frontend.kernel import MOST_SHAPES, JITKernel
from tile_frontend.language.function import PrimFunc
from tile_frontend.pass_configs import read_pass_configs
from tile_frontend.rewrite.source import function_node
from tile_frontend.specialize import Call, frozen, read_call, scalars_of, unfit
from tile_frontend.target_select import select
from tile_frontend.trace.places import here
from tile_frontend.variants import Row, Variants, asked_text, not_built, row_of, signature_text
from tile_ir.diag import TileError
from tile_ir.text import parse_function, print_function

if TYPE_CHECKING:
    from tile_ir.core import Function

__all__ = ["JITImpl", "compile", "jit", "par_compile"]


@dataclass(frozen=True, slots=True)
class Options:
    """How to compile: outputs by position, target, pins of the Plan, numerics, flags of the device
    compiler.

    `debug_root_path` receives program and source of every kernel.
    """

    out_idx: Any = None
    target: Any = None
    plan: Mapping[str, Any] | None = None
    numerics: str | None = None
    compile_flags: Any = None
    debug_root_path: str | None = None
    device: str | None = None
    pass_configs: Mapping[Any, Any] | None = None


def compile(
    func: PrimFunc | JITImpl,
    out_idx: int | Sequence[int] | None = None,
    execution_backend: str | None = None,
    target: Any = None,
    target_host: Any = None,
    verbose: bool | None = None,
    pass_configs: Mapping[Any, Any] | None = None,
    compile_flags: str | Sequence[str] | None = None,
    plan: Mapping[str, Any] | None = None,
    numerics: str | None = None,
    debug_root_path: str | None = None,
    device: str | None = None,
) -> JITKernel:
    """Compile a `@T.prim_func` and return the kernel.

    Args:
        func: the traced function.
        out_idx: position(s) of parameters that the runtime allocates and the call returns;
            negatives count from the end.
        target: "cpu", "cpu -arch=x86-64-v4", a mapping, a manifest; None follows TILE_TARGET, then
            where the arrays of an eager call are, then what is at hand.
        plan: decisions to pin, by the keys that `kernel.explain()` shows.
        numerics: "default" or "strict": whether floating-point work may be reordered.
        compile_flags: further flags of the device compiler.
        debug_root_path: a folder for the program's and the source's text.
        device: what runs the kernel instead of the target's own device: "emulator".
        pass_configs: settings of another compiler's passes; those without a meaning here warn
            with the reason (E1119).
        execution_backend, target_host, verbose: accepted for compatibility, without effect.

    Raises `TileError`: E1108 for a bad out_idx, and whatever verifier, passes and toolchain refuse.
    """
    if isinstance(func, JITImpl):
        return func.compile()
    if not isinstance(func, PrimFunc):
        raise TileError(
            "E1114",
            f"tile.compile got an object of type {type(func).__name__}",
            here(),
            help="pass a function under @T.prim_func, or call a @tile.jit function",
        )
    options = Options(
        out_idx, target, plan, numerics, compile_flags, debug_root_path, device, pass_configs
    )
    return _compile(func, options)


@dataclass(frozen=True, slots=True)
class _Request:
    """What is compiled: the program with its outputs, flags, a folder for texts."""

    function: Function
    flags: tuple[str, ...]
    folder: str | None


def _request(func: PrimFunc, options: Options) -> _Request:
    function = with_outputs(func.function, options.out_idx)
    if options.numerics is not None:
        function = replace(function, numerics=_numerics(options.numerics))
    settings = read_pass_configs(func.settings.get("pass_configs"), options.pass_configs)
    flags = (
        *_flags(func.settings.get("compile_flags")),
        *settings.compile_flags,
        *_flags(options.compile_flags),
    )
    return _Request(function, flags, options.debug_root_path or settings.debug_root_path)


def _compile(func: PrimFunc, options: Options, device: str | None = None) -> JITKernel:
    request = _request(func, options)
    function, flags, folder = request.function, request.flags, request.folder
    try:
        target = select(options.target, device).on(options.device)
        kernel = JITKernel.build(function, target, options.plan, flags)
    except TileError as error:
        raise error.at(here()) from error.__cause__
    except RecursionError:
        raise too_deep(function) from None
    if folder is not None:
        _write_debug(kernel, Path(folder))
    return kernel


def restored(
    text: str,
    target: str,
    device: str | None,
    plan: Mapping[str, Any] | None,
    flags: Sequence[str],
    frozen: bool = False,
    has_plain: bool = False,
) -> JITKernel:
    """The kernel that was pickled as this program, for this target and device; frozen as it was,
    with the plain variant where it had been built."""
    options = Options(target=target, plan=plan, compile_flags=tuple(flags), device=device)
    kernel = _compile(PrimFunc(parse_function(text)), options)
    if frozen and has_plain and kernel.has_plain:
        kernel.plain.freeze()
    return kernel.freeze() if frozen else kernel


def _pickled(kernel: JITKernel) -> Any:
    """A kernel crosses to another process as its program; there it comes from the cache, or is
    compiled for that machine if the target named no architecture."""
    stand_in, request = kernel.target.stand_in, str(kernel.target.request)
    device = None if stand_in is None else stand_in.name
    state = (kernel.is_frozen, len(kernel.variants()) > 1)
    return restored, (print_function(kernel.function), request, device, *kernel.made_with, *state)


copyreg.pickle(JITKernel, _pickled)


def _numerics(given: str) -> str:
    if given not in ("default", "strict"):
        raise TileError("E1503", f"numerics={given!r}", help='it is "default" or "strict"')
    return given


def _flags(given: Any) -> tuple[str, ...]:
    if given is None:
        return ()
    return (given,) if isinstance(given, str) else tuple(given)


def _write_debug(kernel: JITKernel, root: Path) -> None:
    root.mkdir(parents=True, exist_ok=True)
    (root / f"{kernel.function.name}.tir").write_text(kernel.ir, "utf-8")
    source = root / f"{kernel.function.name}{kernel.source_path.suffix}"
    source.write_text(kernel.kernel_source, "utf-8")


def with_outputs(function: Function, out_idx: int | Sequence[int] | None) -> Function:
    """The function with the parameters at `out_idx` as outputs.

    Raises `TileError` E1108 for positions that do not exist, are scalars, or add to those of
    T.empty.
    """
    if out_idx is None:
        return function
    positions = [out_idx] if isinstance(out_idx, int) else list(out_idx)
    count = len(function.params)
    bad = [i for i in positions if not -count <= i < count]
    names = tuple(function.params[i].name for i in positions if i not in bad)
    scalars = [p.name for p in function.params if p.name in names and p.scalar is not None]
    if bad or scalars or function.results or len(set(names)) != len(names):
        raise TileError(
            "E1108",
            f"out_idx={out_idx!r} does not name outputs of {function.name}",
            here(),
            notes=(
                f"its parameters are {', '.join(p.name for p in function.params)}",
                *(
                    [f"T.empty already makes {', '.join(function.results)} outputs"]
                    if function.results
                    else []
                ),
            ),
            help=f"use distinct positions of tensors, from {-count} to {count - 1}, or T.empty, "
            "not both",
        )
    return replace(function, results=names)


def par_compile(
    funcs: Iterable[PrimFunc],
    num_workers: int | None = None,
    ignore_error: bool = False,
    progress: bool | None = None,
    **options: Any,
) -> list[JITKernel | None]:
    """Compile several functions at once in processes, which leave them in the cache on disk, and
    load them here; `options` are those of `tile.compile`.

    `progress` shows a bar, None: on a terminal. With `ignore_error` a failed one is None in the
    list; else the first error is raised, E2405 where a process died.
    """
    made = list(funcs)
    asked = Options(**{k: v for k, v in options.items() if k in Options.__dataclass_fields__})
    tasks = [_task(func, asked, None) for func in made]
    return parallel_compile.compile_all(
        tasks, lambda i: compile(made[i], **options), num_workers, ignore_error, progress
    )


def _task(func: Any, options: Options, device: str | None) -> parallel_compile.Task | None:
    """A kernel for another process; None where it is built already, or cannot be built there or
    not at all (who asks for it gets the error)."""
    if not isinstance(func, PrimFunc) or knobs.cache_disabled():
        return None
    try:
        request = _request(func, options)
        target = select(options.target, device).on(options.device)
        if not target.is_installed:
            return None
        if driver.is_built(request.function, target, options.plan, request.flags):
            return None
    except TileError:
        return None
    return parallel_compile.Task(
        name=request.function.name,
        text=print_function(request.function),
        target=str(target.request),
        device=options.device,
        plan=options.plan,
        flags=request.flags,
    )


def jit(
    func: Any = None,
    *,
    out_idx: int | Sequence[int] | None = None,
    target: Any = None,
    target_host: Any = None,
    execution_backend: str | None = None,
    verbose: bool | None = None,
    pass_configs: Mapping[Any, Any] | None = None,
    debug_root_path: str | None = None,
    compile_flags: str | Sequence[str] | None = None,
    plan: Mapping[str, Any] | None = None,
    numerics: str | None = None,
    device: str | None = None,
) -> Any:
    """Decorate a kernel function, in one of two styles.

    Eager: the body is the kernel; calling it with arrays compiles (once) and runs it, and returns
    its outputs. Lazy: the function returns a `@T.prim_func`; calling it with Python arguments
    returns a compiled kernel.

    The options are those of `tile.compile`; out_idx belongs to the lazy style.
    """
    options = Options(
        out_idx, target, plan, numerics, compile_flags, debug_root_path, device, pass_configs
    )
    outer = sys._getframe(1)

    def decorate(fn: FunctionType) -> JITImpl:
        if not isinstance(fn, FunctionType):
            raise no_function(fn)
        local = dict(outer.f_locals) if "<locals>" in fn.__qualname__ else {}
        return JITImpl(fn, options, local)

    return decorate if func is None else decorate(func)


class JITImpl:
    """A function under `@tile.jit`, and the kernels that it has been compiled to."""

    __slots__ = ("__call__", "__dict__", "__weakref__")

    __call__: Callable[..., Any]
    """Eager: run on arrays. Lazy: the kernel for these Python arguments. A slot, as a kernel's."""

    def __init__(self, fn: FunctionType, options: Options, outer: Mapping[str, Any]) -> None:
        functools.update_wrapper(self, fn)
        self.__call__ = self._general
        self.fn = fn
        self.options = options
        self.outer = outer
        self.signature = inspect.signature(fn)
        self._lock = threading.RLock()
        self._calls: dict[Any, Any] = {}
        self._quick: dict[Any, Callable[..., Any]] = {}
        self._renewals = 8
        self._kernels: dict[Any, JITKernel] = {}
        self._reused: dict[Any, int] = {}
        self._frozen = False

    def __reduce__(self) -> str:
        """A decorated function crosses to another process by its name, as any function."""
        return self.fn.__qualname__

    @functools.cached_property
    def is_lazy(self) -> bool:
        """Whether the function defines a `@T.prim_func`, which calling it returns compiled."""
        node = function_node(self.fn)
        inner = (n for n in ast.walk(node) if isinstance(n, ast.FunctionDef) and n is not node)
        return any(_names_prim_func(d) for n in inner for d in n.decorator_list)

    @functools.cached_property
    def _scalars(self) -> Mapping[str, Any]:
        """The parameters whose values come with each launch."""
        return {} if self.is_lazy else scalars_of(self.fn)

    def _general(self, *args: Any, **kwargs: Any) -> Any:
        """A call with any arguments."""
        try:
            key = self._key(args, kwargs)
            run = self._calls.get(key)
        except TileError:  # an argument that cannot be hashed: resolving it says which
            key, run = None, None
        if run is None:
            run = self._resolve(args, kwargs)
            if key is not None:
                if len(self._calls) >= MOST_SHAPES:
                    self._calls.clear()
                    self._quick.clear()
                self._calls[key] = run
        if not kwargs and key is not None:
            self._follow(key, run, args)
        return run(args, kwargs)

    def _key(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """What tells a call from others: of values that come with each launch only their types."""
        scalars = self._scalars
        if not scalars:
            named = ((k, describe_call(v)) for k, v in kwargs.items())
            return (tuple([describe_call(a) for a in args]), *named)
        given = [*zip(self.signature.parameters, args, strict=False), *kwargs.items()]
        described = ((n, type(v) if n in scalars else describe_call(v)) for n, v in given)
        return (len(args), *described)

    def _follow(self, key: Any, run: Any, args: Sequence[Any]) -> None:
        """From now on take the short way for calls like this one. A comparison that was too strict
        for it is made anew, a few times."""
        quick = self._quick.get(key)
        if quick is not None and (quick is not self.__call__ or not self._renewals):
            self.__call__ = quick
            return
        if quick is not None:
            self._renewals -= 1
        quick = quick_call(run, args, self._general)
        if quick is not None:
            self.__call__ = self._quick[key] = quick

    def _resolve(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        call = read_call(self.fn, self.signature, args, kwargs)
        if not self.is_lazy:
            if not call.arrays and (call.consts or call.absent):
                raise TileError(
                    "E1111",
                    f"{self.fn.__name__} was called without its tensors {', '.join(call.absent)}",
                    here(),
                    help="pass them, or use .compile(M=...) to get the kernel without running it",
                )
            if call.unset:
                raise unfit(self.fn, f"missing a required argument: {call.unset[0]!r}")
            made = self._eager_kernel(call)
            if isinstance(made, JITKernel):
                return _runner(made, self.signature, args, kwargs)
            return lambda _args, _kwargs, made=made: self._compiled(made)
        kernel = self._lazy_kernel(args, kwargs)
        return lambda _args, _kwargs: kernel

    def _eager_kernel(self, call: Call) -> JITKernel | PrimFunc:
        found = eager.determine(self.fn, call, self.outer)
        if isinstance(found, PrimFunc):
            return found
        if self.options.out_idx is not None:
            raise TileError(
                "E1108",
                f"out_idx belongs to the lazy style, but {self.fn.__name__} is written in the "
                "eager style",
                help="return outputs made by T.empty(...)",
            )
        # An array that speaks DLPack need not name its type; the key of a call then stands for it.
        dtypes = tuple(
            (name, getattr(a, "dtype", None) or describe(a)) for name, a in call.arrays.items()
        )
        device = _device_of(call.arrays.values())
        key = (call.static_key, tuple(sorted(found.items())), dtypes, device)
        with self._lock:
            if key not in self._kernels:
                func = eager.traced(self.fn, call, self.outer, found)
                self._kernels[key] = self._compiled(func, device)
            else:
                self._reused[key] = self._reused.get(key, 0) + 1
            return self._kernels[key]

    def _lazy_kernel(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> JITKernel:
        bound = self.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        key = tuple((n, frozen(n, v)) for n, v in bound.arguments.items())
        with self._lock:
            if key not in self._kernels:
                self._kernels[key] = self._compiled(self._lazy_function(args, kwargs))
            else:
                self._reused[key] = self._reused.get(key, 0) + 1
            return self._kernels[key]

    def _lazy_function(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> PrimFunc:
        made = self.fn(*args, **kwargs)
        if not isinstance(made, PrimFunc):
            raise TileError(
                "E1115",
                f"{self.fn.__name__} returns {made!r}",
                help="a lazy @tile.jit function returns the @T.prim_func that it defines",
            )
        return made

    def _compiled(self, func: PrimFunc, device: str | None = None) -> JITKernel:
        return self._found(func) if self._frozen else _compile(func, self.options, device)

    def _found(self, func: PrimFunc) -> JITKernel:
        """The kernel of a program that was built before, perhaps for other kinds of arguments.
        Raises TileError E2404 where there is none."""
        function = _request(func, self.options).function
        for kernel in self._kernels.values():
            if kernel.function == function:
                return kernel
        built = tuple(dict.fromkeys(signature_text(k.function) for k in self._kernels.values()))
        raise not_built(function, f"for {signature_text(function)}", built)

    def freeze(self) -> JITImpl:
        """Build nothing from now on: arguments that need a variant which was not built raise E2404,
        which names it. Returns the function."""
        with self._lock:
            self._frozen = True
            for kernel in self._kernels.values():
                kernel.freeze()
        return self

    def variants(self) -> Variants:
        """What was built and why, in the order in which it was asked for."""
        with self._lock:
            found: list[Row] = []
            for key, kernel in self._kernels.items():
                asked, reused = asked_text(key), self._reused.get(key, 0)
                found += [row_of(kernel, asked, reused), *kernel.variants().rows[1:]]
        return Variants(tuple(found))

    def export(self, path: str | Path, format: str = "so", **options: Any) -> Path:
        """Write every kernel that was built as one library; see `JITKernel.export`."""
        from tile_frontend.export import export  # who runs kernels need not load it

        return export(tuple(self._kernels.values()), path, format, **options)

    # -- without running

    def get_tir(self, *args: Any, **kwargs: Any) -> PrimFunc:
        """The traced function for these arguments; T.const dimensions are given by name."""
        if self.is_lazy:
            return self._lazy_function(args, kwargs)
        call = read_call(self.fn, self.signature, args, kwargs)
        found = eager.determine(self.fn, call, self.outer)
        if isinstance(found, PrimFunc):
            return found
        return eager.traced(self.fn, call, self.outer, found)

    def compile(self, *args: Any, **kwargs: Any) -> JITKernel:
        """The compiled kernel for these arguments, without running it: `matmul.compile(M=1024,
        N=1024, K=1024)`.
        """
        if self.is_lazy:
            return self._lazy_kernel(args, kwargs)
        call = read_call(self.fn, self.signature, args, kwargs)
        made = self._eager_kernel(call)
        return made if isinstance(made, JITKernel) else self._compiled(made)

    def get_kernel_source(self, *args: Any, **kwargs: Any) -> str:
        """The generated source for these arguments."""
        return self.compile(*args, **kwargs).get_kernel_source()

    def par_compile(
        self,
        configs: Iterable[Any],
        num_workers: int | None = None,
        ignore_error: bool = False,
        progress: bool | None = None,
    ) -> list[JITKernel | None]:
        """Compile for several sets of arguments (dicts of keywords, or tuples) in processes; see
        `tile.par_compile`."""
        listed = list(configs)
        tasks = [_task(self._ahead(c), self.options, self._device_in(c)) for c in listed]

        def get(i: int) -> JITKernel:
            args, kwargs = _arguments(listed[i])
            return self.compile(*args, **kwargs)

        return parallel_compile.compile_all(tasks, get, num_workers, ignore_error, progress)

    def _ahead(self, config: Any) -> PrimFunc | None:
        """The function for a set of arguments, None where it has none or may not be built."""
        args, kwargs = _arguments(config)
        try:
            return None if self._frozen else self.get_tir(*args, **kwargs)
        except Exception:  # compiling it raises the same, where it counts
            return None

    def _device_in(self, config: Any) -> str | None:
        args, kwargs = _arguments(config)
        return _device_of([*args, *kwargs.values()])


def _arguments(config: Any) -> tuple[Sequence[Any], Mapping[str, Any]]:
    return ((), config) if isinstance(config, Mapping) else (config, {})


def _device_of(arrays: Iterable[Any]) -> str | None:
    """The kind of memory that all arrays are in; None where they differ or there are none."""
    adapters = ((adapter_for(a), a) for a in arrays)
    kinds = {found.inspect(a).device for found, a in adapters if found is not None}
    return kinds.pop() if len(kinds) == 1 else None


def describe_call(x: Any) -> Any:
    """The key of an argument in the table of past calls."""
    adapter = adapter_for(x)
    return frozen("", x) if adapter is None else adapter.describe(x)


def _names_prim_func(decorator: ast.expr) -> bool:
    if isinstance(decorator, ast.Call):
        decorator = decorator.func
    name = decorator.attr if isinstance(decorator, ast.Attribute) else getattr(decorator, "id", "")
    return name == "prim_func"


def _runner(
    kernel: JITKernel, signature: inspect.Signature, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Callable[[Sequence[Any], Mapping[str, Any]], Any]:
    """Run the kernel on the tensors among the arguments of any call that looks like this one."""
    order = list(signature.parameters)
    wanted = kernel.binder.names
    defaults = {
        n: p.default
        for n, p in signature.parameters.items()
        if p.default is not inspect.Parameter.empty
    }

    def named(args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
        given = {**defaults, **dict(zip(order, args, strict=False)), **kwargs}
        return [given.get(n) for n in wanted]

    ready = kernel.ready(named(args, kwargs))
    count = len(wanted)
    if list(wanted) == order[:count] and len(args) >= count:
        return Leading(ready)
    run = ready.run()
    return lambda args, kwargs: run(*named(args, kwargs))
