"""Programs through the whole of a target, its compiler included, and run: on the host's processor,
in an emulator, or on a device.

Several programs become one function of several kernels, so that a compiler is started once for all
of them. Only where that function computes something else is each of its programs built alone.
"""

from __future__ import annotations

import dataclasses
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from tile_ir.core import Buffer, Function, Param
from tile_ir.diag import TileError
from tile_ir.expr import Expr, Var
from tile_ir.expr import rewrite as rewritten
from tile_ir.ops import Kernel
from tile_ir.plugin import load, resolve
from tile_ir.rewrite import bound_vars, declared, walk
from tile_ir.target import parse_target
from tile_ir.testing.host_memory import call_on_host
from tile_passes.base import PassContext, State
from tile_passes.fuzz.cases import Case, pipeline_of, spec_of
from tile_passes.fuzz.checks import Finding, oracle, said_of
from tile_passes.manager import run_pipeline
from tile_passes.renaming import with_names

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["built_change", "built_changes", "merged", "shows_when_built"]

_FAULTS = frozenset(f"E23{n:02}" for n in range(3, 12))
"""Codes with which an emulator reports what a kernel does wrong."""


def built_changes(cases: Sequence[Case], on: str | None = None) -> list[Finding | None]:
    """What is wrong with each of the cases once it is built for its target, through the target's
    own pipeline; all cases have the same target.

    `on` names what runs it instead of the target's own device: a plugin of the group
    `tile.devices`.
    """
    if len(cases) > 1:
        try:
            given = [case.inputs() for case in cases]
            got = _called(merged(cases), _prefixed(given), cases[0].target, on)
        except Exception:  # one of them is refused or wrong: the others have to be seen alone
            return [built_change(case, on) for case in cases]
        parts = [_part(got, n) for n in range(len(cases))]
        wrong = [
            said_of(case, part, oracle(case)) is not None
            for case, part in zip(cases, parts, strict=True)
        ]
        return [built_change(c, on) if bad else None for c, bad in zip(cases, wrong, strict=True)]
    return [built_change(case, on) for case in cases]


def built_change(case: Case, on: str | None = None) -> Finding | None:
    """What is wrong with one case once it is built; a program that is refused is not wrong."""
    want = oracle(case)
    finding = partial(Finding, position=len(case.pipeline.steps) - 1)
    try:
        got = _called(case.function, case.inputs(), case.target, on)
    except TileError as error:
        if error.code not in _FAULTS:
            return None
        return finding(kind="fault", where="run", message=f"{error.code}: {error.message}")
    except Exception as error:  # whatever a defect raises is what is looked for
        return finding(kind="crash", where="build", message=f"{type(error).__name__}: {error}")
    said = said_of(case, got, want)
    return None if said is None else finding(kind="built", where="run", message=said)


def shows_when_built(finding: Finding, on: str | None) -> Callable[[Case], bool]:
    """Whether a case, built, still does the same kind of wrong."""

    def shows(case: Case) -> bool:
        found = built_change(case, on)
        return found is not None and (found.kind, found.where) == (finding.kind, finding.where)

    return shows


def _called(fn: Function, args: Mapping[str, Any], target: str, on: str | None) -> dict[str, Any]:
    """Compile, build, load and call a function."""
    manifest, spec = load("tile.targets", parse_target(target).name), spec_of(target)
    state = run_pipeline(pipeline_of(target), State(function=fn), PassContext(target=spec)).state
    artifact = resolve(manifest.emit)(state.function, spec, state.plan)
    with TemporaryDirectory(prefix="tile-fuzz-") as folder:
        if on is not None:
            toolchain = runtime = resolve(load("tile.devices", on).factory)(manifest, spec)
        else:
            toolchain, runtime = (resolve(r)(spec) for r in (manifest.toolchain, manifest.runtime))
        path = Path(folder) / f"kernels{toolchain.suffix}"
        toolchain.compile(artifact, path)
        launch = runtime.load(artifact, path)
        if on is None and spec.family != "cpu":
            launch = runtime.on_host_arrays(launch)
        return call_on_host(launch, fn, args)


def merged(cases: Sequence[Case]) -> Function:
    """One function with the kernels of all; names of the n-th program begin with `p<n>_`."""
    parts = [_named(case.function, _prefix(n)) for n, case in enumerate(cases)]
    return Function(
        name="programs",
        params=tuple(p for fn in parts for p in fn.params),
        dims=tuple(d for fn in parts for d in fn.dims),
        results=tuple(r for fn in parts for r in fn.results),
        body=tuple(s for fn in parts for s in fn.body),
    )


def _prefix(number: int) -> str:
    return f"p{number}_"


def _prefixed(given: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {f"{_prefix(n)}{k}": v for n, args in enumerate(given) for k, v in args.items()}


def _part(got: Mapping[str, Any], number: int) -> dict[str, Any]:
    prefix = _prefix(number)
    return {k[len(prefix) :]: v for k, v in got.items() if k.startswith(prefix)}


def _named(fn: Function, prefix: str) -> Function:
    scalars = [p.scalar for p in fn.params if p.scalar is not None]
    bound = [v for s in walk(fn.body) for v in bound_vars(s)]
    vars_ = {v: Var(f"{prefix}{v.name}", v.dtype) for v in (*fn.dims, *scalars, *bound)}
    buffers = {name: f"{prefix}{name}" for name in declared(fn)}
    memo: dict[Expr, Expr] = {}

    def expr(e: Expr) -> Expr:
        return rewritten(e, lambda n: vars_.get(n) if isinstance(n, Var) else None, memo)

    def param(p: Param) -> Param:
        if p.scalar is not None:
            return Param(scalar=vars_[p.scalar])
        assert p.buffer is not None
        return Param(buffer=_buffer(p.buffer, prefix, expr))

    body = with_names(fn.body, vars_, buffers)
    return dataclasses.replace(
        fn,
        params=tuple(map(param, fn.params)),
        dims=tuple(vars_[d] for d in fn.dims),
        results=tuple(f"{prefix}{r}" for r in fn.results),
        body=tuple(
            dataclasses.replace(s, name=f"{prefix}{s.name}") if isinstance(s, Kernel) else s
            for s in body
        ),
    )


def _buffer(b: Buffer, prefix: str, expr: Callable[[Expr], Expr]) -> Buffer:
    strides = None if b.strides is None else tuple(map(expr, b.strides))
    shape = tuple(map(expr, b.shape))
    return dataclasses.replace(b, name=f"{prefix}{b.name}", shape=shape, strides=strides)
