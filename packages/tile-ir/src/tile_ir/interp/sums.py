"""The meaning of sums over the blocks of a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tile_ir.interp.compiler import Step, rule
from tile_ir.interp.compute import checked, define
from tile_ir.interp.regions import writing
from tile_ir.interp.scheduler import Blocked
from tile_ir.ops import Combine

if TYPE_CHECKING:
    from tile_ir.interp.compiler import Compiler, Waiting
    from tile_ir.interp.machine import Env


@rule(Combine)
def combine(cx: Compiler, s: Combine) -> Step:
    """The first block waits for what the others bring, the others go on."""
    dst, rank = writing(cx, s.dst), cx.expr(s.rank)

    def run(env: Env) -> Waiting:
        first, others = env.block.peers[0], len(env.block.peers) - 1
        brought, own = first.brought.setdefault(s.inbox.buffer, {}), int(rank(env))
        if own != 0:
            brought[own] = np.array(checked(env, dst))
            return None
        if len(brought) < others:
            yield Blocked("combine", s.span, lambda: len(brought) == others)
        total = np.array(checked(env, dst))
        for k in sorted(brought):
            total = total + brought[k].astype(total.dtype)
        view = dst.view(env)
        view[...] = total.reshape(view.shape)
        define(env, dst)
        return None

    return Step(run, blocking=True)
