"""A performance model of scheduled programs: seconds by term, what bounds a kernel, and when each
role and engine is busy.

`predict` counts what a program asks of each part of the machine and runs one core of it in
simulation: roles, channels and engines as the program has them, costs from the target's
description, engines in order of arrival as in the planner's own search for a schedule. Nothing is
known of a kernel but its program; constants stand in the descriptions.
"""

from tile_passes.model.gap import Gap, gap
from tile_passes.model.predict import predict
from tile_passes.model.prediction import KernelPrediction, Prediction, Term
from tile_passes.model.timeline import chrome_trace, timeline_svg

__all__ = [
    "Gap",
    "KernelPrediction",
    "Prediction",
    "Term",
    "chrome_trace",
    "gap",
    "predict",
    "timeline_svg",
]
