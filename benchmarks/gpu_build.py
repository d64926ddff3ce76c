"""Build what a benchmark will run, in as many processes as there are cores, before it measures.

The kernels go into the disk cache; the benchmark then finds them there. A kernel that cannot be
built is built again where it is used, which says why.

A folder of kernels can also be prepared on a machine without a GPU and used on another one. The
cache's own keys hold times of files and the compiler's path, which differ between machines; in such
a folder the keys hold the contents of the sources instead, and no compiler, so that a kernel is
found exactly where it would be built from the same text.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

Case = tuple[str, tuple[tuple[str, Any], ...], dict[str, Any]]
"""Name of a program of gpu_programs, pinned decisions, the keywords that determine its build."""

PREPARED = "TILE_PREPARED_DIR"
"""The environment's name for the folder of prepared kernels; child processes see it too."""


def use_prepared(folder: Path | str) -> None:
    """Look for kernels in `folder`, and put new ones there, under keys of every machine."""
    os.environ[PREPARED] = os.environ["TILE_CACHE_DIR"] = str(Path(folder).resolve())
    follow_environment()


def follow_environment() -> None:
    """Use the folder that the environment names, if it does."""
    if PREPARED not in os.environ:
        return
    from tile_cuda.driver import CudaToolchain
    from tile_frontend import driver

    driver._versions = _contents  # type: ignore[assignment]
    CudaToolchain.fingerprint = _any_compiler  # type: ignore[method-assign]


@cache
def _contents(target: str) -> tuple[str, ...]:
    """The contents of the packages that determine what a program compiles to."""
    import tile_ir
    import tile_passes
    from tile_frontend import cache as disk

    own = __import__(f"tile_{target}")
    parts = []
    for package in (tile_ir, tile_passes, own):
        folder = Path(package.__file__ or "").parent
        files = [p for p in sorted(folder.rglob("*")) if p.is_file() and p.suffix != ".pyc"]
        parts += [f"{p.relative_to(folder)} {disk.digest_of(p)}" for p in files]
    return (disk.key_of(*parts),)


def _any_compiler(self: Any, strict: bool = False) -> str:
    return f"prepared {strict}"


def build(case: Case, target: str = "cuda") -> str | None:
    """Compile one kernel; the error's first line where that fails."""
    import gpu_programs

    follow_environment()
    name, plan, keywords = case
    try:
        gpu_programs.program(name, plan, target).compile(**keywords)
    except Exception as error:  # told where the kernel is used
        return str(error).splitlines()[0]
    return None


def build_all(
    cases: Sequence[Any], make: Callable[[Any], str | None] = build, workers: int | None = None
) -> int:
    """Compile all of them, print what failed, and return how many did."""
    count = min(len(cases), workers or os.cpu_count() or 1)
    if not cases:
        return 0
    failed = 0
    with ProcessPoolExecutor(count, mp_context=get_context("spawn")) as pool:
        for case, failure in zip(cases, pool.map(make, cases), strict=True):
            if failure is not None:
                print(f"  {case}: {failure}", flush=True)
                failed += 1
    return failed
