"""What it takes to get from one fragment layout to another.

Both layouts are cut into common digits by composing the source's inverse with the destination: the
result tells, digit by digit, from which thread and register each value comes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from tile_ir.layout.algebra import compose_digits, inverse_digits
from tile_ir.layout.base import GROUP, THREAD, VALUE, Axis, Layout
from tile_ir.layout.digits import Digit, Digits, coalesce_digits, cut_digits, places
from tile_ir.layout.fragment import FragmentLayout

ConversionKind: TypeAlias = Literal["identity", "rename", "shuffle", "shared"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversion:
    """How values get from one layout to another.

    `source` maps each destination (group, thread, value) to the (group, thread, value) of the
    source that holds its element; it is None where digits cannot tell, and the conversion then goes
    through shared memory.
    """

    kind: ConversionKind
    source: FragmentLayout | None


def convert_kind(src: Layout, dst: Layout, *, warp_width: int = 1) -> ConversionKind:
    """Return what a conversion takes, from free to dear.

    * identity: every value is in its register already;
    * rename: it is in the same thread, in a register whose number does not depend on the thread;
    * shuffle: it is in a register of the same number in some thread of the same warp of
      `warp_width` threads;
    * shared: anything else, and whatever digits cannot decide.

    Without `warp_width` no exchange between threads is assumed, so the answer is never too cheap.
    """
    return conversion(src, dst, warp_width=warp_width).kind


def conversion(src: Layout, dst: Layout, *, warp_width: int = 1) -> Conversion:
    """Return the kind of a conversion with the digits that explain it; see `convert_kind`."""
    if not (isinstance(src, FragmentLayout) and isinstance(dst, FragmentLayout)):
        return Conversion(kind="identity" if src == dst else "shared", source=None)
    source = _source(src, dst)
    if source is None:
        return Conversion(kind="shared", source=None)
    return Conversion(kind=_kind(src, source, warp_width), source=source)


def _source(src: FragmentLayout, dst: FragmentLayout) -> FragmentLayout | None:
    """Return destination place -> source place; of copies, the thread's own."""
    sizes = dict(zip(src.outputs, src.output_shape, strict=True))
    wanted = dict(zip(dst.outputs, dst.output_shape, strict=True))
    if sizes.keys() != wanted.keys() or any(wanted[name] > sizes[name] for name in sizes):
        return None
    back = inverse_digits(src)
    places_of = None if back is None else compose_digits(back, dst)
    if places_of is None:
        return None
    found = {axis.name: axis.digits for axis in places_of.inputs}
    for name, digits in ((GROUP, src.group), (THREAD, src.thread)):
        for place, d in zip(places(digits), digits, strict=True):
            if d.is_replica and name in found:
                found[name] = _own_copy(found[name], name, place, d.extent)
    return FragmentLayout(
        group=found.get(GROUP, ()),
        thread=coalesce_digits(found[THREAD]),
        value=coalesce_digits(found[VALUE]),
        outputs=places_of.output_names,
    )


def _own_copy(digits: Digits, name: str, place: int, extent: int) -> Digits:
    """Let threads read their own copy: fill a range that moves nowhere with `name` itself."""
    below = cut_digits(digits, place)
    here = None if below is None else cut_digits(below[1], extent)
    if below is None or here is None or any(not d.is_replica for d in here[0]):
        return digits
    return (*below[0], Digit(extent, name, place), *here[1])


def _kind(src: FragmentLayout, source: FragmentLayout, warp_width: int) -> ConversionKind:
    threads_stay = _moves_to_itself(source.group, GROUP) and _moves_to_itself(source.thread, THREAD)
    if threads_stay and all(d.axis in (VALUE, None) for d in source.value):
        whole = source.values == src.values and _moves_to_itself(source.value, VALUE)
        return "identity" if whole else "rename"
    return "shuffle" if _within_warps(source, warp_width) else "shared"


def _moves_to_itself(digits: Digits, name: str) -> bool:
    own = (Axis(name, digits).extent, name, 1)
    return coalesce_digits(digits) == coalesce_digits([Digit(*own)])


def _within_warps(source: FragmentLayout, warp_width: int) -> bool:
    """Whether every value comes from its own warp, from a register that the value alone decides."""
    cut = cut_digits(source.thread, min(warp_width, source.threads))
    if cut is None or not _moves_to_itself(source.group, GROUP):
        return False
    lanes, warps = cut
    shift = tuple(
        Digit(d.extent, d.axis, d.stride // warp_width) for d in warps if d.axis == THREAD
    )
    whole = all(d.axis == THREAD and d.stride % warp_width == 0 for d in warps)
    from_threads = [d for d in (*lanes, *source.value) if d.axis == THREAD]
    return (
        whole
        and _moves_to_itself(shift, THREAD)
        and all(d.axis in (THREAD, None) for d in lanes)
        and all(d.axis != GROUP for d in source.value)
        and sum(d.reach for d in from_threads) < warp_width
    )
