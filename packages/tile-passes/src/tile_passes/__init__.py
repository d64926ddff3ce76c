"""Target-neutral passes: analyses, legalization, planning, expansion, lowering, C-family emission.

`base` says what a pass is, `pipeline` how passes are ordered, `manager` runs them.
"""

from tile_passes._version import __version__
from tile_passes.base import PHASES, Pass, PassContext, State
from tile_passes.default import default_pipeline
from tile_passes.manager import Outcome, Timing, run_pipeline
from tile_passes.pipeline import Pipeline, Step, parse_pipeline
from tile_passes.plan.model import Candidate, Decision, Plan, PlanValue
from tile_passes.registry import known_passes, with_third_party

__all__ = [
    "PHASES",
    "Candidate",
    "Decision",
    "Outcome",
    "Pass",
    "PassContext",
    "Pipeline",
    "Plan",
    "PlanValue",
    "State",
    "Step",
    "Timing",
    "__version__",
    "default_pipeline",
    "known_passes",
    "parse_pipeline",
    "run_pipeline",
    "with_third_party",
]
