"""The autotuner of the tile compiler: `@tile_tune.autotune(configs=...)`, and a `Tuner` to call.

Everything is imported when it is first asked for, so that naming the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tile_tune._version import __version__

if TYPE_CHECKING:
    from tile_tune.autotuned import Autotuned, autotune
    from tile_tune.configuration import Configuration
    from tile_tune.dask_executor import DaskExecutor
    from tile_tune.database import Database
    from tile_tune.derived_space import derive
    from tile_tune.executor import ProcessExecutor, TrialCrash, TrialTimeout
    from tile_tune.intervals import Interval
    from tile_tune.pruning import Limits
    from tile_tune.report import Result
    from tile_tune.searchers.base import Round, Searcher
    from tile_tune.space import Choice, Space
    from tile_tune.tables import export_table, import_table
    from tile_tune.tilelang_names import (
        AutoTuner,
        AutotuneResult,
        get_autotune_inputs,
        set_autotune_inputs,
    )
    from tile_tune.trial import Facts, Trial
    from tile_tune.tuner import Tuner

__all__ = [
    "AutoTuner",
    "AutotuneResult",
    "Autotuned",
    "Choice",
    "Configuration",
    "DaskExecutor",
    "Database",
    "Facts",
    "Interval",
    "Limits",
    "ProcessExecutor",
    "Result",
    "Round",
    "Searcher",
    "Space",
    "Trial",
    "TrialCrash",
    "TrialTimeout",
    "Tuner",
    "__version__",
    "autotune",
    "derive",
    "export_table",
    "get_autotune_inputs",
    "import_table",
    "set_autotune_inputs",
]

_HOMES = {
    "AutoTuner": "tile_tune.tilelang_names",
    "AutotuneResult": "tile_tune.tilelang_names",
    "Autotuned": "tile_tune.autotuned",
    "Choice": "tile_tune.space",
    "Configuration": "tile_tune.configuration",
    "DaskExecutor": "tile_tune.dask_executor",
    "Database": "tile_tune.database",
    "Facts": "tile_tune.trial",
    "Interval": "tile_tune.intervals",
    "Limits": "tile_tune.pruning",
    "ProcessExecutor": "tile_tune.executor",
    "Result": "tile_tune.report",
    "Round": "tile_tune.searchers.base",
    "Searcher": "tile_tune.searchers.base",
    "Space": "tile_tune.space",
    "Trial": "tile_tune.trial",
    "TrialCrash": "tile_tune.executor",
    "TrialTimeout": "tile_tune.executor",
    "Tuner": "tile_tune.tuner",
    "autotune": "tile_tune.autotuned",
    "derive": "tile_tune.derived_space",
    "export_table": "tile_tune.tables",
    "get_autotune_inputs": "tile_tune.tilelang_names",
    "import_table": "tile_tune.tables",
    "set_autotune_inputs": "tile_tune.tilelang_names",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
