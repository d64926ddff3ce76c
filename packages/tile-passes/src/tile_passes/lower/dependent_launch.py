"""Place what a kernel does that begins before the kernel in front of it has ended.

It stands behind the lowering to threads, where every access to memory is explicit. Each thread
waits in front of the first statement that may touch global memory, so only what comes before
overlaps: the start of the blocks, barriers, tensor maps. Where an engine's thread also brings
buffers that the kernel in front does not write, those get a thread of their own that does not
wait: it fills the ring as far as that goes, and the barrier of a stage counts both threads.
Dependents are let go behind the wait: then all kernels in front have ended, so that what a
dependent reads early need only be left alone by the kernel right in front of it.

    pipeline: lower-threads,dependent-launch
    before:
        tile.ir 1.1 tile
        func @f(A: global f32[128], C: global f32[128]) {
          kernel @f dependent {
            tiles (bx) in (1) {
              alloc x: fragment f32[128]
              copy A[:] -> x[:]
              copy x[:] -> C[:]
            }
          }
        }
    after:
        func @f(A: global f32[128], C: global f32[128]) {
          kernel @f dependent {
            tiles (bx) in (1) {
              let tid = thread_index()
              alloc x: local f32[1]
              wait_dependency
              launch_dependents
              store x[0] = A[tid]
              store C[tid] = x[0]
            }
          }
        }
"""

from __future__ import annotations

from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING

from tile_ir.expr import loads
from tile_ir.opdef import Access
from tile_ir.ops import (
    Alloc,
    Barriers,
    Kernel,
    LaunchDependents,
    Let,
    RegisterLimit,
    Sync,
    Tiles,
    View,
    WaitDependency,
)
from tile_ir.rewrite import all_effects, declared, map_stmts, replace, walk, with_body
from tile_passes.base import Pass
from tile_passes.emit.captures import loops_over_tiles
from tile_passes.lower.early_loads import split_producer
from tile_passes.naming import Names

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tile_ir.core import Buffer, Function
    from tile_ir.opdef import Body, Stmt
    from tile_passes.base import PassContext
    from tile_passes.plan.model import Plan

__all__ = ["PASS", "dependent_launch"]

FEATURE = "dependent_launch"
"""Devices that have such launches; elsewhere kernels run one after the other."""
_BEFORE_MEMORY = (Alloc, Barriers, RegisterLimit, Sync, View)


def dependent_launch(fn: Function, cx: PassContext, plan: Plan) -> Function:
    """Place the waits of dependent kernels, and where they and kernels in front let others go."""
    kernels = [s for s in walk(fn.body) if isinstance(s, Kernel)]
    chosen = _chosen(kernels)
    if not chosen or not cx.target.has(FEATURE):
        return fn
    names, buffers = Names.of(fn), declared(fn)
    written = {k.name: _written(k) for k in kernels}

    def visit(s: Stmt) -> Stmt | None:
        if not isinstance(s, Kernel) or s.name not in chosen:
            return None
        others = {n for k, found in written.items() if k != s.name for n in found}
        early = _views_of(s, frozenset({*s.unwritten} - others))
        return replace(s, body=_placed(s, s.body, early, names, buffers))

    return with_body(fn, map_stmts(fn.body, visit))


def _chosen(kernels: list[Kernel]) -> frozenset[str]:
    """Kernels that wait, and kernels that let others go: those in front of one that waits too."""
    in_front = (a.name for a, b in pairwise(kernels) if b.dependent)
    return frozenset([*(k.name for k in kernels if k.dependent or k.triggers), *in_front])


def _written(kernel: Kernel) -> frozenset[str]:
    views = {s.buffer.name: s.source for s in walk(kernel.body) if isinstance(s, View)}
    found = (e.buffer for e in all_effects(kernel.body) if e.access is not Access.READ)
    return frozenset(views.get(n, n) for n in found)


def _views_of(kernel: Kernel, names: frozenset[str]) -> frozenset[str]:
    """The buffers, and what views of them are called."""
    views = (s for s in walk(kernel.body) if isinstance(s, View))
    return names | {s.buffer.name for s in views if s.source in names}


def _placed(
    kernel: Kernel,
    body: Body,
    early: frozenset[str],
    names: Names,
    buffers: Mapping[str, Buffer],
) -> Body:
    """A body with the statements behind what touches no global memory."""
    at = next((i for i, s in enumerate(body) if not _before_memory(s)), len(body))
    rest = body[at:]
    if rest and isinstance(rest[0], Tiles) and not loops_over_tiles(kernel, rest[0]):
        inner = _placed(kernel, rest[0].body, early, names, buffers)
        return (*body[:at], replace(rest[0], body=inner), *rest[1:])
    wait = (WaitDependency(),) if kernel.dependent else ()
    if early and wait:
        threads = prod(kernel.threads)
        made = split_producer(body[:at], rest, early, threads, names, buffers, wait)
        if made is not None:
            return made
    return (*body[:at], *wait, LaunchDependents(), *rest)


def _before_memory(s: Stmt) -> bool:
    return isinstance(s, _BEFORE_MEMORY) or (isinstance(s, Let) and not loads(s.value))


PASS = Pass(name="dependent-launch", phase="lower", rewrite=dependent_launch, doc=__doc__)
