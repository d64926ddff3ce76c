"""Registers of tiles under a schedule, counted by hand for a loop of five products."""

from __future__ import annotations

import pytest

from tile_passes.plan.lifetimes import Held, registers_alive
from tile_passes.plan.schedule import Node, Problem, Schedule

P, DP, WEIGHTS, DV, DS, DK, SHARE, DQ, ADD = range(9)
NODES = tuple(
    Node(name, 100.0, name in ("p", "dp", "dv", "dk", "dq"))
    for name in ("p", "dp", "weights", "dv", "ds", "dk", "share", "dq", "add")
)
BACKWARD = Problem(
    NODES,
    (),
    {
        P: frozenset({WEIGHTS}),
        DP: frozenset({DS}),
        DV: frozenset({WEIGHTS}),
        DK: frozenset({DS}),
        DQ: frozenset({ADD}),
    },
)
"""Attention backward: scores and their gradients by products, then sums of three kinds."""

TILES = (
    Held(registers=128, nodes=(DV, DK), fresh=False),
    Held(registers=32, nodes=(P, WEIGHTS), fresh=True),
    Held(registers=32, nodes=(DP, DS), fresh=True),
    Held(registers=16, nodes=(WEIGHTS, DV, DS), fresh=True),
    Held(registers=16, nodes=(DS, DK, SHARE), fresh=True),
    Held(registers=32, nodes=(DQ, ADD), fresh=True),
)
"""The sums, the scores, their gradients, both of these as operands, and a tile that leaves."""


def alive(order: tuple[int, ...], late: frozenset[int] = frozenset()) -> int:
    stage = tuple(int(k in late) for k in range(len(NODES)))
    return registers_alive(BACKWARD, Schedule(stage, order, 0.0, 0.0), TILES)


@pytest.mark.parametrize(
    ("order", "late", "registers"),
    [
        ((P, DP, WEIGHTS, DV, DS, DK, SHARE, DQ, ADD), (), 192),
        ((P, DP, DK, WEIGHTS, DV, DS, SHARE, DQ, ADD), (DK,), 208),
        ((P, WEIGHTS, DP, DK, DQ, DV, DS, SHARE, ADD), (DK, DQ, ADD), 224),
    ],
)
def test_overlap_costs_registers(
    order: tuple[int, ...], late: tuple[int, ...], registers: int
) -> None:
    assert alive(order, frozenset(late)) == registers


def test_a_statement_that_ends_one_tile_and_begins_another_needs_the_larger() -> None:
    problem = Problem((Node("a", 1.0, False), Node("b", 1.0, False), Node("c", 1.0, False)), (), {})
    tiles = (
        Held(registers=32, nodes=(0, 1), fresh=True),
        Held(registers=20, nodes=(1, 2), fresh=True),
    )
    assert registers_alive(problem, Schedule((0, 0, 0), (0, 1, 2), 0.0, 0.0), tiles) == 32


def test_an_operand_is_held_until_its_product_has_settled() -> None:
    """The product in flight reads the first tile while the second one is made."""
    nodes = (Node("fill", 1.0, False), Node("product", 9.0, True), Node("other", 1.0, False))
    tiles = (
        Held(registers=16, nodes=(0, 1), fresh=True),
        Held(registers=8, nodes=(2,), fresh=True),
    )
    schedule = Schedule((0, 0, 0), (0, 1, 2), 0.0, 0.0)
    waits = Problem(nodes, (), {1: frozenset({0})})
    assert registers_alive(waits, schedule, tiles) == 24
    assert registers_alive(Problem(nodes, (), {1: frozenset({2})}), schedule, tiles) == 24
