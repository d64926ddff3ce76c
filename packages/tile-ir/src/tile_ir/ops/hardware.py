"""What one thread does with counted barriers, bulk copies and asynchronous instructions.

Lowering to threads turns roles, channels and issues into these; each is one or a few instructions
of the machine, so that an emitter has no decisions left. A shared buffer that an engine or an
asynchronous atom touches keeps its tile form, with the slots of a ring as its first axis. Barriers,
groups and register limits may be the user's own, at every stage: before there is a thread index
each thread of the block, or of the role around it, does what they say.
"""

from __future__ import annotations

from tile_ir.core import Region
from tile_ir.expr import Expr
from tile_ir.opdef import READ, WRITE, Stmt, attr, op, operand
from tile_ir.ops.schedule import SIMT


@op("barriers", syntax="barriers $name: [$count] arrivals $arrivals")
class Barriers(Stmt):
    """Declare `count` counted barriers from byte `offset` of the block's shared memory.

    The current phase of one ends when it has `arrivals` arrivals and all bytes announced for it
    have come. `each`, where given, is the number of arrivals of every barrier by itself. `scope`:
    threads of the `block` arrive, or of every block of the `cluster`. One thread initialises them
    here, before which nothing of the kernel may run but bindings and declarations; others may use
    them after the next `sync` of their scope.

    Example: `barriers full: [4] arrivals 1 offset = 196608`.
    """

    name: str = attr()
    count: int = attr()
    arrivals: int = attr()
    each: tuple[int, ...] = attr(())
    offset: int = attr(0)
    scope: str = attr("block")


@op("barrier_arrive", syntax="barrier_arrive $barrier[$index]")
class BarrierArrive(Stmt):
    """One arrival; what this thread did before is visible to who waits. With `peer`, at the same
    barrier of the block of that rank in the cluster. Before there is a thread index, `one` has one
    thread arrive for all that come here, once they are done with what stands before.

    `wide`, here and at the wait: what threads of the whole cluster wrote is visible too, not only
    what was read is done with."""

    barrier: str = attr()
    index: Expr = operand(READ)
    peer: Expr | None = operand(READ, None)
    one: bool = attr(False)
    wide: bool = attr(False)


@op("barrier_expect", syntax="barrier_expect $barrier[$index] bytes $bytes")
class BarrierExpect(Stmt):
    """One arrival, and the phase ends only when `bytes` more bytes have been copied onto it. With
    `silent` it is no arrival: that comes by itself. `one` is that of `barrier_arrive`."""

    barrier: str = attr()
    index: Expr = operand(READ)
    bytes: int = attr()
    silent: bool = attr(False)
    one: bool = attr(False)


@op("barrier_wait", syntax="barrier_wait $barrier[$index] phase $parity")
class BarrierWait(Stmt):
    """Until the phase of that parity has ended. The first phase has parity 0; before it ends, a
    wait for parity 1 returns at once."""

    barrier: str = attr()
    index: Expr = operand(READ)
    parity: Expr = operand(READ)
    wide: bool = attr(False)


@op("box_load", syntax="box_load $src -> $dst onto $barrier[$index]", stages=SIMT)
class BoxLoad(Stmt):
    """The calling thread starts the bulk copy of one box from global to shared memory.

    Its bytes count towards the barrier's phase. Elements outside `src`'s buffer arrive as zero.
    `dst` is contiguous but for its layout's swizzle. `multicast`: bit mask of the blocks of the
    cluster that get the box, each at the same place and on its own barrier. `eviction` is the hint
    of `copy`.

    Example: `box_load A[bx * 128 : +128, k * 64 : +64] -> A_s[s, :, :] onto full[s]`.
    """

    src: Region = operand(READ)
    dst: Region = operand(WRITE)
    barrier: str = attr()
    index: Expr = operand(READ)
    multicast: Expr | None = operand(READ, None)
    eviction: str = attr("normal")


@op("box_store", syntax="box_store $src -> $dst", stages=SIMT)
class BoxStore(Stmt):
    """The calling thread starts the bulk copy of one box from shared to global memory, into its
    engine's open group. Elements outside `dst`'s buffer are not written.

    With `reduce` each element is combined into `dst`'s, indivisibly: `add` is all that engines know
    for floating-point numbers.
    """

    src: Region = operand(READ)
    dst: Region = operand(WRITE)
    reduce: str = attr("")


@op("async_copy", syntax="async_copy $src -> $dst", stages=SIMT)
class AsyncCopy(Stmt):
    """The calling thread starts a copy of 4, 8 or 16 contiguous bytes from global to shared memory,
    into its engine's open group; where not `where`, zeros arrive and `src` is not read."""

    src: Region = operand(READ)
    dst: Region = operand(WRITE)
    where: Expr | None = operand(READ, None)


@op("commit_group", syntax="commit_group $engine")
class CommitGroup(Stmt):
    """Close the group of what the calling thread has started on an engine: a copy engine of the
    description, or `mma` for its asynchronous matrix instructions."""

    engine: str = attr()


@op("register_limit", syntax="register_limit $count")
class RegisterLimit(Stmt):
    """From here on the threads of this role use at most `count` registers each; `grow` where that
    is more than before. All warps of a group come to it together."""

    count: int = attr()
    grow: bool = attr(False)


@op("wait_dependency", syntax="wait_dependency", stages=SIMT)
class WaitDependency(Stmt):
    """Until the kernel in front of a dependent one has ended and what it wrote is visible to this
    thread; at once elsewhere."""


@op("launch_dependents", syntax="launch_dependents", stages=SIMT)
class LaunchDependents(Stmt):
    """A dependent kernel behind this one may begin once every block has come here or ended. It says
    nothing about memory: who begins early waits for the end of this kernel."""


@op("copy_peer", syntax="copy_peer $src -> $dst at $peer")
class CopyPeer(Stmt):
    """Put a tile into the shared memory of the block of rank `peer` in the cluster: into its buffer
    of the name in `dst`. All threads that come here do it together.

    With `index` the bytes count towards the phase of that block's barrier `onto`, which has
    announced them; without, it sees them behind the next `sync cluster`.

    Example: `copy_peer s[:] -> t[:] at 1`.
    """

    src: Region = operand(READ)
    dst: Region = operand(WRITE)
    peer: Expr = operand(READ)
    onto: str = attr("")
    index: Expr | None = operand(READ, None)


@op("matrix_store", syntax="matrix_store $src -> $row", stages=SIMT)
class MatrixStore(Stmt):
    """The lanes of a warp together put 8x8 matrices of 16-bit elements from registers into shared
    memory: what `matrix_load` with the same regions would bring back.

    Example: `matrix_store c_r[0 : +8] -> C_s[at : +8]`.
    """

    src: Region = operand(READ)
    row: Region = operand(WRITE)
    transpose: bool = attr(False)
