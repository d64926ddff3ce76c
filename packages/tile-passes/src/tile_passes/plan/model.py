"""The Plan's classes, where planning looks for them; they live below the passes, which carry it."""

from __future__ import annotations

from tile_passes.decisions import Candidate, Decision, Plan, PlanValue

__all__ = ["Candidate", "Decision", "Plan", "PlanValue"]
