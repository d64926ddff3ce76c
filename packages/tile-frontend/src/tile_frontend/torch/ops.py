"""`tile.torch.op`: a kernel as an operator that torch can trace, differentiate and export.

The operator's schema, what it changes and the shapes of its results come from the kernel's program,
so nothing is written twice. A call of the operator is a call of the kernel: same checks, same
stream.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import torch

from tile_frontend import eager
from tile_frontend.bind import Binder
from tile_frontend.jit_function import JITImpl
from tile_frontend.kernel import JITKernel
from tile_frontend.specialize import frozen, read_call, scalars_of
from tile_frontend.torch.schema import Schema, changed, of_binder, of_function
from tile_frontend.trace.element_types import LONG_NAMES
from tile_ir.diag import TileError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tile_ir.types import DType

__all__ = ["Op", "op"]

_made: set[str] = set()
_NAME = re.compile(r"[A-Za-z_]\w*::[A-Za-z_]\w*\Z", re.ASCII)


def op(
    kernel: JITKernel | JITImpl | Callable[..., Any],
    name: str | None = None,
    mutates: Sequence[str] = (),
    **fixed: Any,
) -> Op:
    """Register a kernel as an operator of torch, and return what calls it.

    Args:
        kernel: a compiled kernel, or a `@tile.jit` function of the eager style, which is compiled
            for what it is called with; also one that `@tile.autotune` tunes.
        name: as in "mylib::rms_norm", by which exported programs find it; by default "tile::" and
            the function's name, with a number where that is taken.
        mutates: for a `@tile.jit` function, the tensors among its parameters that it writes to. A
            compiled kernel says so itself.
        fixed: Python arguments of a `@tile.jit` function that are the same in all calls, such as
            block sizes.

    Raises `TileError` E2030 for a function that does not say enough of itself, E2031 for a name
    that is taken.
    """
    program: _Compiled | _Traced
    if isinstance(kernel, JITKernel):
        program = _Compiled(kernel)
        called = kernel.function.name
    else:
        function = _function_of(kernel)
        program = _Traced(kernel, function, of_function(function, mutates, tuple(fixed)), fixed)
        called = function.fn.__name__
    return Op(_free_name(called) if name is None else _own_name(name), program)


def _function_of(kernel: Any) -> JITImpl:
    """The `@tile.jit` function, which decorators may be around."""
    found = kernel
    while not isinstance(found, JITImpl):
        found = getattr(found, "__wrapped__", None)
        if found is None:
            raise TileError(
                "E2030",
                f"{kernel!r} cannot be an operator: it is no kernel",
                help="pass a compiled kernel, or a function under @tile.jit",
            )
    return found


def _own_name(name: str) -> str:
    if not _NAME.match(name):
        why = "has no namespace" if "::" not in name else "is no name"
        raise TileError("E2031", f"the operator {name!r} {why}", help="write it as in mylib::name")
    space, _, own = name.partition("::")
    if name in _made or hasattr(getattr(torch.ops, space), own):  # of torch, or another library
        raise TileError("E2031", f"the operator {name!r} is taken", help="choose another name")
    _made.add(name)
    return name


def _free_name(called: str) -> str:
    name, number = f"tile::{called}", 1
    while name in _made:
        number += 1
        name = f"tile::{called}_{number}"
    _made.add(name)
    return name


class _Compiled:
    """A compiled kernel: one program for all calls."""

    def __init__(self, kernel: JITKernel) -> None:
        self.schema = of_binder(kernel.binder)
        self.run: Callable[..., Any] = kernel
        self._binder = kernel.binder

    def binder(self, args: Sequence[Any]) -> Binder:
        """What knows the parameters."""
        return self._binder


class _Traced:
    """A `@tile.jit` function: a program for each combination of types, sizes and values. `called`
    is what runs it: itself, or what is around it."""

    def __init__(
        self, called: Callable[..., Any], function: JITImpl, schema: Schema, fixed: dict[str, Any]
    ) -> None:
        self.called, self.schema, self.function, self.fixed = called, schema, function, fixed
        self._scalars = scalars_of(function.fn)
        self._binders: dict[Any, Binder] = {}

    def run(self, *args: Any) -> Any:
        """Call the function."""
        if not self.fixed:
            return self.called(*args)
        return self.called(**self.schema.named(args), **self.fixed)

    def binder(self, args: Sequence[Any]) -> Binder:
        """What knows the parameters of the program for these arguments, which is only traced.

        Numbers of run time are in no key: the program is the same for all, and torch may have
        nothing but a symbol for one."""
        jitted = self.function
        key = tuple(
            _layout(a) if isinstance(a, torch.Tensor) else frozen(name, a)
            for name, a in self.schema.named(args).items()
            if name not in self._scalars
        )
        found = self._binders.get(key)
        if found is None:
            sized = [_sized(a) if isinstance(a, torch.Tensor) else a for a in args]
            given = {**self.schema.named(sized), **self.fixed}
            call = read_call(jitted.fn, jitted.signature, (), given)
            consts = eager.determine(jitted.fn, call, jitted.outer)
            assert isinstance(consts, dict)  # the lazy style was refused
            traced = eager.traced(jitted.fn, call, jitted.outer, consts)
            kinds = {a.device.type for a in args if isinstance(a, torch.Tensor)}
            found = self._binders[key] = Binder(traced.function, tuple(sorted(kinds)) or ("cpu",))
            self._check(found)
        return found

    def _check(self, binder: Binder) -> None:
        written = changed(binder)
        if written != set(self.schema.changed):
            listed = ", ".join(repr(n) for n in sorted(written))
            raise TileError(
                "E2032",
                f"{self.function.fn.__name__} writes to {listed or 'none of its tensors'}",
                notes=(f"its operator was made with mutates={list(self.schema.changed)}",),
                help=f"make it with op(..., mutates=[{listed}])",
            )


def _sized(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor like this one, without memory, whose extents are numbers: a kernel of fixed sizes is
    for these."""
    dtype, shape, strides = _layout(tensor)
    return torch.empty_strided(shape, strides, dtype=dtype, device="meta")


def _layout(tensor: torch.Tensor) -> tuple[torch.dtype, tuple[int, ...], tuple[int, ...]]:
    return tensor.dtype, tuple(map(int, tensor.shape)), tuple(map(int, tensor.stride()))


class Op:
    """An operator of torch that runs a kernel. Call it as the kernel; several results are a tuple.

    `name` is its name in torch, `schema` what torch knows of it.
    """

    def __init__(self, name: str, program: _Compiled | _Traced) -> None:
        self.name, self.schema, self._program = name, program.schema, program
        self._torch = torch.library.custom_op(
            name, self._run, mutates_args=self.schema.changed, schema=str(self.schema)
        )
        self._torch.register_fake(self._shapes)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the kernel through torch."""
        return self._torch(*args, **kwargs)

    def _run(self, *args: Any) -> Any:
        if isinstance(self._program, _Traced) and self.schema.parameters:
            self._program.binder(args)
        found = self._program.run(*args)
        return tuple(found) if isinstance(found, list) else found

    def _shapes(self, *args: Any) -> Any:
        """Results without contents, for tracing."""
        binder = self._program.binder(args)
        device = next((a.device for a in args if isinstance(a, torch.Tensor)), None)
        made = [
            torch.empty(shape, dtype=_dtype(dtype), device=device)
            for shape, dtype in binder.results(self.schema.named(args))
        ]
        return tuple(made) if len(made) > 1 else (made[0] if made else None)

    def register_backward(
        self,
        backward: Callable[..., Any] | JITKernel | JITImpl,
        saves: Sequence[str] | None = None,
        gradients: Sequence[str] | None = None,
    ) -> Op:
        """Let torch differentiate the operator; returns it.

        `backward(*gradients of the results, *saved)` returns the gradients of the parameters named
        in `gradients` (by default all tensors), one tensor or several; a kernel is made an operator
        of its own. `saves` names the parameters, and results as "out0", "out1", ..., that it needs,
        by default all tensors.

        Raises `TileError` E2033 for an operator that writes to its arguments or for unknown names.
        """
        tensors = [p.name for p in self.schema.parameters if p.is_tensor]
        results = [f"out{i}" for i in range(self.schema.results)]
        saved = list(tensors if saves is None else saves)
        wanted = list(tensors if gradients is None else gradients)
        unknown = [n for n in saved if n not in (*tensors, *results)]
        unknown += [n for n in wanted if n not in tensors]
        if self.schema.changed or unknown:
            why = (
                f"it writes to {', '.join(self.schema.changed)}"
                if self.schema.changed
                else f"it has no {', '.join(unknown)}"
            )
            raise TileError(
                "E2033",
                f"{self.name} cannot be differentiated: {why}",
                help="return new tensors (T.empty), and name its own parameters and results",
            )
        if isinstance(backward, (JITKernel, JITImpl)):
            backward = op(backward, f"{self.name}_backward")
        rule = _Backward(backward, [p.name for p in self.schema.parameters], saved, wanted)
        self._torch.register_autograd(rule.gradients, setup_context=rule.save)
        return self

    def __repr__(self) -> str:
        return f"<operator {self.name}{self.schema}>"


class _Backward:
    """How the gradients of an operator's arguments are found."""

    def __init__(
        self, run: Callable[..., Any], names: list[str], saved: list[str], wanted: list[str]
    ) -> None:
        self.run, self.names, self.saved, self.wanted = run, names, saved, wanted

    def save(self, ctx: Any, inputs: Sequence[Any], output: Any) -> None:
        """Keep what the gradients need."""
        results = output if isinstance(output, (tuple, list)) else [output]
        known = {
            **dict(zip(self.names, inputs, strict=True)),
            **{f"out{i}": r for i, r in enumerate(results)},
        }
        ctx.save_for_backward(*(known[n] for n in self.saved))

    def gradients(self, ctx: Any, *given: Any) -> Any:
        """The gradients of all arguments, None for those that have none."""
        found = self.run(*(g.contiguous() for g in given), *ctx.saved_tensors)
        listed = list(found) if isinstance(found, (tuple, list)) else [found]
        if len(listed) != len(self.wanted):
            raise TileError(
                "E2033",
                f"a backward function returned {len(listed)} gradients, not {len(self.wanted)}",
                notes=(f"they are those of {', '.join(self.wanted)}",),
                help="name the parameters that it differentiates by in gradients=",
            )
        by_name = dict(zip(self.wanted, listed, strict=True))
        return tuple(by_name.get(n) for n in self.names)


def _dtype(dtype: DType) -> torch.dtype:
    name = "uint8" if dtype.storage_bits < 8 else LONG_NAMES[dtype.name]
    found: torch.dtype = getattr(torch, name)
    return found
