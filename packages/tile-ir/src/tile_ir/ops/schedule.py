"""What planning makes explicit: roles, channels between them, asynchronous issue and settlement,
synchronization.

A channel is a bounded FIFO of slots between a producer end and a consumer end. Each end keeps its
own cursor, which runs on across loops and tiles. An asynchronous operation completes into a channel
(commit by its engine) or into a token, never both; its effects last until then.
"""

from __future__ import annotations

from dataclasses import dataclass

from tile_ir.core import Region, Stage
from tile_ir.expr import Expr, Var
from tile_ir.opdef import READ, WRITE, Body, Stmt, attr, binds, op, operand, region

MATRIX = "mma"
"""The engine of asynchronous matrix products."""

BULK, RUNS = "bulk", "runs"
"""Copy engines by what they do, before a target is known: boxes by one thread, runs by all."""

LATE = frozenset({Stage.SCHEDULED, Stage.SIMT})
SCHEDULED = frozenset({Stage.SCHEDULED})
SIMT = frozenset({Stage.SIMT})


@dataclass(frozen=True, slots=True)
class End:
    """One end of a channel: a role's warps arriving `arrivals` times per slot, or an engine that
    completes by itself.

    With `per_group` each group of warps of the role keeps this end for itself, on its share of the
    slots' rows, and meets only itself. Text: `role compute arrivals 4`, `role compute arrivals 1
    per group`, `engine copy`.
    """

    kind: str
    name: str
    arrivals: int = 0
    per_group: bool = False


@op(
    "channel",
    syntax="channel $name: ring($depth) carries ($carries) from $producer to $consumer",
    stages=SCHEDULED,
)
class Channel(Stmt):
    """Declare a channel; `carries` names the buffers whose slots it guards (none: pure tokens).

    `filled` slots are committed at the start. `bytes` is what one filling brings when an engine
    counts bytes.
    """

    name: str = attr()
    depth: int = attr()
    carries: tuple[str, ...] = attr()
    producer: End = attr()
    consumer: End = attr()
    scope: str = attr("block")
    filled: int = attr(0)
    bytes: int = attr(0)


@op("role", syntax="role $name $body")
class Role(Stmt):
    """Warps with their own copy of the control flow; `groups` of them run it on slices of tile axis
    `axis`.

    `group` binds the group's index. `elect` lets one thread per warp run it. `registers` is the
    per-thread limit (0: none).

    A kernel's own roles stand side by side in its tile loop and share out the block's threads in
    their order, each taking `threads` of them.

    Example: `role ws1 threads = 128 { barrier_wait full[0] phase 0 }`.
    """

    name: str = attr()
    threads: int = attr(0)
    warps: int = attr(0)
    groups: int = attr(1)
    axis: str = attr("")
    elect: int = attr(0)
    registers: int = attr(0)
    group: Var | None = binds(None)
    body: Body = region()


@op("acquire", syntax="acquire $channel", stages=SCHEDULED)
class Acquire(Stmt):
    """Producer: wait for a free slot; it becomes the current one, contents undefined."""

    channel: str = attr()


@op("commit", syntax="commit $channel", stages=SCHEDULED)
class Commit(Stmt):
    """Producer: hand the current slot over, once the operations issued into it are complete."""

    channel: str = attr()


@op("wait", syntax="wait $channel", stages=SCHEDULED)
class Wait(Stmt):
    """Consumer: wait for the next filled slot; it becomes the current one."""

    channel: str = attr()


@op("release", syntax="release $channel", stages=SCHEDULED)
class Release(Stmt):
    """Consumer: give back the oldest slot not yet released."""

    channel: str = attr()


@op("issue", syntax="issue $engine $body")
class Issue(Stmt):
    """Start the one statement in `body` on an engine; its effects last until settled, or until
    `onto` is committed.

    With `index`, `onto` names counted barriers: the bytes are announced at that one, whose phase
    then ends only when they have come. Until a target is known an engine is called by what it
    does: `bulk` brings boxes for one thread, `runs` short runs for every thread.

    `multicast` > 1: as many blocks of the cluster issue the very same copy at the same point of
    their programs; each may bring one part of the box to all of them, so that a slot is free only
    when all have released it.

    `mask` has a bit for each block of the cluster that gets one box together: all of them issue it,
    the first one brings what it names to the same place of each, and every one's barrier counts
    the bytes. Blocks outside bring their own. With `untold` the kernel has announced the bytes.

    Example: `issue copy onto = ab { copy A[0 : +64] -> A_s@ab[:] }`.
    """

    engine: str = attr()
    onto: str = attr("")
    index: Expr | None = operand(READ, None)
    multicast: int = attr(1)
    mask: int = attr(0)
    untold: bool = attr(False)
    body: Body = region()


@op("group", syntax="group $engine -> $token", stages=SCHEDULED)
class Group(Stmt):
    """Close the operations issued on `engine` since the last group and name them."""

    engine: str = attr()
    token: str = attr()


@op("settle", syntax="settle $token", stages=SCHEDULED)
class Settle(Stmt):
    """Wait for a group and all older ones of its engine; `back` names an earlier group of that name
    (0 is the last).

    With `read` only the sources are done with (they may be overwritten); the results are not yet
    visible.
    """

    token: str = attr()
    back: int = attr(0)
    read: bool = attr(False)


@op("settle_count", syntax="settle_count $engine <= $pending")
class SettleCount(Stmt):
    """Wait until at most `pending` groups of the engine are unfinished."""

    engine: str = attr()
    pending: int = attr()
    read: bool = attr(False)


@op("pin", syntax="pin $value before $engine", stages=LATE)
class Pin(Stmt):
    """`value` is computed before the next wait for `engine`, even by a compiler that starts waits
    early. It means nothing else: a target whose compiler keeps their order may leave it out.

    Example: `pin total[:] before mma`.
    """

    value: Region = operand(READ)
    engine: str = attr()


@op("sync", syntax="sync $scope")
class Sync(Stmt):
    """Barrier of the threads of a `group`, `role`, `block` or `cluster`; orders their accesses to
    memory.

    In one thread's program a barrier of some of a block's threads has a number `id` (from 1) and
    says how many `threads` come to it; the barriers of the block's groups have the numbers from
    `id` on. That of a cluster may be taken apart: with `part = arrive` nobody waits, and the next
    one with `part = wait` waits for the arrivals of all.
    """

    scope: str = attr("block")
    id: int = attr(0)
    threads: int = attr(0)
    part: str = attr("")


@op("fence", syntax="fence $before -> $after", stages=LATE)
class Fence(Stmt):
    """Order this thread's accesses through one proxy before later ones through another. Example:
    `fence generic -> async`."""

    before: str = attr("generic")
    after: str = attr("async")


@op("convert", syntax="convert $src -> $dst", stages=SCHEDULED)
class Convert(Stmt):
    """Copy between layouts of one tile: `by` renaming registers, shuffles, or through shared
    memory."""

    src: Region = operand(READ)
    dst: Region = operand(WRITE)
    by: str = attr("shared")


@op("atom", syntax="atom $name $a, $b -> $c", stages=LATE)
class Atom(Stmt):
    """One matrix instruction or micro-kernel of the target description: c (+)= a @ b over the
    regions' extents.

    Where `init` holds c's old contents are not read. Operand order follows the logical axes a[m,
    k], b[k, n], c[m, n]; `transpose_a`, `transpose_b` say that a region is stored [k, m], [n, k].
    In one thread's program an asynchronous atom reads `b` and `a` from regions of shared tiles, or
    `a` from the thread's registers, and `c` is in the thread's registers.
    """

    name: str = attr()
    a: Region = operand(READ)
    b: Region = operand(READ)
    c: Region = operand(READ | WRITE)
    init: Expr | None = operand(READ, None)
    transpose_a: bool = attr(False)
    transpose_b: bool = attr(False)


@op("matrix_load", syntax="matrix_load $row -> $dst", stages=SIMT)
class MatrixLoad(Stmt):
    """The lanes of a warp together bring 8x8 matrices of 16-bit elements from shared memory into
    registers.

    Lane l names row l % 8 of matrix l // 8, 8 elements in a row of memory. Of each matrix lane l
    gets elements 2 * (l % 4) and the next one of row l // 4, or of column l // 4 with `transpose`;
    `dst` has 2 elements for each of 1, 2 or 4 matrices.

    Example: `matrix_load A_s[at : +8] -> a_r[0 : +8]`.
    """

    row: Region = operand(READ)
    dst: Region = operand(WRITE)
    transpose: bool = attr(False)
