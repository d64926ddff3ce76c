"""Build what a benchmark will run, in as many processes as there are cores, before it measures.

The kernels go into the disk cache; the benchmark then finds them there. A kernel that cannot be
built is built again where it is used, which says why.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

Case = tuple[str, tuple[tuple[str, Any], ...], dict[str, Any]]
"""Name of a kernel of gpu_kernels, pinned decisions, the keywords that determine its build."""


def build(case: Case) -> str | None:
    """Compile one kernel; the error's first line where that fails."""
    import gpu_kernels

    name, plan, keywords = case
    try:
        gpu_kernels.kernel(name, plan).compile(**keywords)
    except Exception as error:  # told where the kernel is used
        return str(error).splitlines()[0]
    return None


def build_all(cases: Sequence[Case]) -> None:
    """Compile all of them and print what failed."""
    workers = min(len(cases), os.cpu_count() or 1)
    if not cases:
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        for case, failure in zip(cases, pool.map(build, cases), strict=True):
            if failure is not None:
                print(f"  {case[0]} {case[2]}: {failure}", flush=True)
