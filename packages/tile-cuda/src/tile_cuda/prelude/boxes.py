"""Bulk copies of boxes of one to five axes: wrappers that differ in the number of coordinates.

The text of an instruction is that of `cp.async.bulk.tensor` and `cp.reduce.async.bulk.tensor` in
the PTX ISA. Coordinates are innermost first; what lies outside of the tensor arrives as zeros, and
is dropped by stores.
"""

from __future__ import annotations

__all__ = ["box_blocks"]

RANKS = (1, 2, 3, 4, 5)
POLICIES = ("first", "last")
"""What the second-level cache gives up first, and last."""
COORDINATES = "xyzwv"
_LOADED = "global.tile.mbarrier::complete_tx::bytes"


def box_blocks() -> dict[str, str]:
    """Name of a definition -> its text, for every kind and rank."""
    found: dict[str, str] = {}
    for policy in POLICIES:
        found[f"tile_evict_{policy}"] = _policy(policy)
    for rank in RANKS:
        for policy in ("", *POLICIES):
            hint = f"_{policy}" if policy else ""
            found[f"tile_box_load{hint}_{rank}d"] = _load(rank, False, policy)
            found[f"tile_box_multicast{hint}_{rank}d"] = _load(rank, True, policy)
        found[f"tile_box_store_{rank}d"] = _store(rank, "store", "cp.async.bulk.tensor", "")
        found[f"tile_box_add_{rank}d"] = _store(rank, "add", "cp.reduce.async.bulk.tensor", ".add")
        found[f"tile_box_prefetch_{rank}d"] = _prefetch(rank)
    return found


def _policy(policy: str) -> str:
    """A hint for the second-level cache, which holds for all of an access."""
    return "\n".join(
        [
            f"TILE_FN unsigned long long tile_evict_{policy}() {{",
            "  unsigned long long hint;",
            f'  asm("createpolicy.fractional.L2::evict_{policy}.b64 %0, 1.0;" : "=l"(hint));',
            "  return hint;",
            "}",
        ]
    )


def _load(rank: int, multicast: bool, policy: str) -> str:
    """One thread copies a box to shared memory; its bytes arrive at `bar`, or with `mask` at the
    same place and barrier of several blocks."""
    kind = "multicast" if multicast else "load"
    masked = ".multicast::cluster" if multicast else ""
    # Where a GPU has no clusters the wider name costs a check and a call before every copy.
    where = "cluster" if multicast else "cta"
    code = f"cp.async.bulk.tensor.{rank}d.shared::{where}.{_LOADED}{masked}"
    inputs = ['"r"(tile_shared(dst))', '"l"(map)', '"r"(tile_shared(bar))', *_inputs(rank)]
    more = ['"h"(mask)'] if multicast else []
    if policy:
        kind, code = f"{kind}_{policy}", f"{code}.L2::cache_hint"
        more.append(f'"l"(tile_evict_{policy}())')
    tail = "".join(f", %{rank + 3 + i}" for i in range(len(more)))
    return _function(
        f"tile_box_{kind}_{rank}d(void *dst, const tile_tensor_map *map, void *bar, {_names(rank)}"
        + (", unsigned short mask)" if multicast else ")"),
        f"{code} [%0], [%1, {_slots(rank, 3)}], [%2]{tail};",
        [*inputs, *more],
    )


def _store(rank: int, kind: str, code: str, how: str) -> str:
    """Shared memory to a box, into the thread's open group."""
    return _function(
        f"tile_box_{kind}_{rank}d(const tile_tensor_map *map, const void *src, {_names(rank)})",
        f"{code}.{rank}d.global.shared::cta{how}.tile.bulk_group [%0, {_slots(rank, 2)}], [%1];",
        ['"l"(map)', '"r"(tile_shared(src))', *_inputs(rank)],
    )


def _prefetch(rank: int) -> str:
    """A box to the second-level cache."""
    return _function(
        f"tile_box_prefetch_{rank}d(const tile_tensor_map *map, {_names(rank)})",
        f"cp.async.bulk.prefetch.tensor.{rank}d.L2.global.tile [%0, {_slots(rank, 1)}];",
        ['"l"(map)', *_inputs(rank)],
    )


def _function(head: str, code: str, inputs: list[str]) -> str:
    return "\n".join(
        [
            f"TILE_FN void {head} {{",
            f'  asm volatile("{code}"',
            f"               ::{', '.join(inputs)}",
            '               : "memory");',
            "}",
        ]
    )


def _names(rank: int) -> str:
    return ", ".join(f"int {c}" for c in COORDINATES[:rank])


def _inputs(rank: int) -> list[str]:
    return [f'"r"({c})' for c in COORDINATES[:rank]]


def _slots(rank: int, first: int) -> str:
    return "{" + ", ".join(f"%{first + i}" for i in range(rank)) + "}"
