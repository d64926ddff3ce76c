"""Conformance of targets and passes: pytest classes that a plugin subclasses in three lines, and a
command that prints a table and writes JSON.

    from tile_ir.testing.conformance import TargetConformance
    class TestMine(TargetConformance):
        target = "mine"

    from tile_ir.testing.conformance import PassConformance
    class TestMyPass(PassConformance):
        plugin = "my-pass"

    python -m tile_ir.testing.conformance mine --level run --json mine.json

A target is tested in levels: its manifest, emission, its toolchain, results against the oracle,
time. What the machine lacks degrades the levels above it to skips that the summary reports (see
`tile_ir.testing.requires`).
"""

from tile_ir.testing.conformance.base import Conformance, Refused
from tile_ir.testing.conformance.passes import PassConformance
from tile_ir.testing.conformance.report import Finding, Report, examine
from tile_ir.testing.conformance.targets import TargetConformance

__all__ = [
    "Conformance",
    "Finding",
    "PassConformance",
    "Refused",
    "Report",
    "TargetConformance",
    "examine",
]
