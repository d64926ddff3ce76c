"""Schedules that say which warps do what, beside a program that says what is done.

The program means the same with and without one. How roles are divided is planned here
(`kernel.explain()`, and pins of it), so a schedule is checked for what contradicts itself and has
no other effect.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar

from tile_frontend.language.barriers import in_kernel
from tile_frontend.language.roles import ws
from tile_ir.diag import TileError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

__all__ = [
    "WSID",
    "WSInstr",
    "WSOpRef",
    "WSPipeline",
    "WSRole",
    "WSSchedule",
    "WSScope",
    "WSSync",
    "WSSyncKind",
    "WarpSpecialize",
    "annotate_ws_schedule",
    "ws_op",
]

_WARPS_OF_A_GROUP = 4


class _Key(str):
    """The key of annotations that names an operation for a schedule.

    Raises nothing. Example: `T.copy(A, S, annotations={T.WSID: "load"})`
    """

    __slots__ = ()


WSID = _Key("tl.ws_op_id")

WarpSpecialize = ws


class WSInstr:
    """A step of a role: a `T.WSOpRef` or a `T.WSSync`. Raises nothing. Example: `T.WSInstr`"""

    __slots__ = ()


class WSSyncKind(Enum):
    """What an end of a pipeline waits for, or says. Raises nothing. Example: `T.WSSyncKind`"""

    PRODUCER_ACQUIRE = "producer_acquire"
    PRODUCER_COMMIT = "producer_commit"
    CONSUMER_WAIT = "consumer_wait"
    CONSUMER_RELEASE = "consumer_release"


@dataclass(frozen=True, slots=True)
class WSSync(WSInstr):
    """A step of one end of a pipeline.

    Raises `TileError` E1518 (with the schedule) for a pipeline that it lacks.
    Example: `T.WSSync.producer_acquire("tiles")`
    """

    kind: WSSyncKind
    pipeline: str
    stage: int = 0

    @classmethod
    def producer_acquire(cls, pipeline: str, stage: int = 0) -> WSSync:
        """The producer waits for a free slot."""
        return cls(WSSyncKind.PRODUCER_ACQUIRE, pipeline, stage)

    @classmethod
    def producer_commit(cls, pipeline: str, stage: int = 0) -> WSSync:
        """The producer hands a slot over."""
        return cls(WSSyncKind.PRODUCER_COMMIT, pipeline, stage)

    @classmethod
    def consumer_wait(cls, pipeline: str, stage: int = 0) -> WSSync:
        """The consumer waits for a filled slot."""
        return cls(WSSyncKind.CONSUMER_WAIT, pipeline, stage)

    @classmethod
    def consumer_release(cls, pipeline: str, stage: int = 0) -> WSSync:
        """The consumer gives a slot back."""
        return cls(WSSyncKind.CONSUMER_RELEASE, pipeline, stage)


@dataclass(frozen=True, slots=True)
class WSOpRef(WSInstr):
    """An operation of the program, by the name that `T.ws_op` or the annotation `T.WSID` gave it.

    Raises nothing. Example: `T.WSOpRef("load")`
    """

    op_id: str


@dataclass(frozen=True, slots=True)
class WSPipeline:
    """Buffers with `depth` versions that go from one role to another.

    Raises `TileError` E1518 (with the schedule) for no versions.
    Example: `T.WSPipeline("tiles", [S], 2)`
    """

    name: str
    buffers: Sequence[Any]
    depth: int


@dataclass(frozen=True, slots=True)
class WSRole:
    """The warps from `warps_lo` to before `warps_hi`.

    Raises `TileError` E1518 (with the schedule) for warps that it lacks.
    Example: `T.WSRole("producer", warps_lo=4, warps_hi=8)`
    """

    name: str
    warps_lo: int = field(kw_only=True)
    warps_hi: int = field(kw_only=True)
    max_nreg: int = field(default=0, kw_only=True)


@dataclass(frozen=True, slots=True)
class WSScope:
    """What each role does in a loop, or at the outermost level.

    Raises `TileError` E1518 (with the schedule) for roles and pipelines that it lacks.
    Example: `T.WSScope(T.WSScope.ROOT, {"producer": ["load"]})`
    """

    ROOT: ClassVar[str] = "root"

    id: str
    bodies: Mapping[str, Sequence[Any]]


@dataclass(frozen=True, slots=True)
class WSSchedule:
    """Roles, the pipelines between them, and what each does where.

    Raises `TileError` E1518 (at `T.annotate_ws_schedule`) where it contradicts itself.
    Example: `T.WSSchedule(8, [], [], [])`
    """

    num_warps: int
    roles: Sequence[WSRole]
    pipelines: Sequence[WSPipeline]
    scopes: Sequence[WSScope]


def annotate_ws_schedule(schedule: WSSchedule) -> None:
    """Say which warps do what. Accepted once it is found to make sense: roles are planned here.

    Raises `TileError` E1518 for a schedule that contradicts itself, E1302 outside a kernel.
    Example: `T.annotate_ws_schedule(T.WSSchedule(8, [], [], []))`
    """
    in_kernel("T.annotate_ws_schedule")
    try:
        why = _contradiction(schedule)
    except (AttributeError, TypeError) as error:
        why = f"a part of it is of another type ({error})"
    if why:
        raise TileError(
            "E1518",
            f"T.annotate_ws_schedule: {why}",
            help="mend it, or leave it out: roles are planned, and kernel.explain() lists the plan",
        )


def _contradiction(s: Any) -> str:
    """What is wrong with a schedule, empty where nothing is."""
    if not isinstance(s, WSSchedule):
        return f"{s!r} is no T.WSSchedule"
    if s.num_warps < 1 or s.num_warps % _WARPS_OF_A_GROUP:
        return f"{s.num_warps} warps are no multiple of {_WARPS_OF_A_GROUP}"
    names = [role.name for role in s.roles]
    if len({*names}) < len(names):
        return f"two roles have one name: {', '.join(names)}"
    taken: dict[int, str] = {}
    for role in s.roles:
        if not 0 <= role.warps_lo < role.warps_hi <= s.num_warps:
            return f"role {role.name} has the warps {role.warps_lo} to {role.warps_hi}"
        for warp in range(role.warps_lo, role.warps_hi):
            if warp in taken:
                return f"warp {warp} is in the roles {taken[warp]} and {role.name}"
            taken[warp] = role.name
    for pipeline in s.pipelines:
        if pipeline.depth < 1:
            return f"pipeline {pipeline.name} has {pipeline.depth} versions"
    return _unknown(s)


def _unknown(s: WSSchedule) -> str:
    """What a schedule names and has not."""
    roles, pipelines = {r.name for r in s.roles}, {p.name for p in s.pipelines}
    for scope in s.scopes:
        for role, steps in scope.bodies.items():
            if role not in roles:
                return f"there is no role {role}"
            for step in steps:
                if isinstance(step, WSSync) and step.pipeline not in pipelines:
                    return f"there is no pipeline {step.pipeline}"
    return ""


class ws_op:
    """`with T.ws_op("load"):` names the statements in it for a schedule; it changes nothing.

    Raises `TileError` E1302 outside a kernel.
    Example: `T.ws_op("load")`
    """

    def __init__(self, op_id: str) -> None:
        in_kernel("T.ws_op")
        self.op_id = op_id

    def __enter__(self) -> None:
        """Nothing."""

    def __exit__(
        self, kind: type[BaseException] | None, error: object, trace: TracebackType | None
    ) -> None:
        """Nothing."""
