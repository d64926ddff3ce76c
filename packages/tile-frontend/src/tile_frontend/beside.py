"""Checks beside the device's compiler.

A device's compiler takes most of a first call and does not hold the interpreter. What is only a
check of the program, and changes nothing, runs in another thread meanwhile.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tile_passes.manager import Check

__all__ = ["beside", "checks_first"]


@contextmanager
def beside(checks: Sequence[Check]) -> Iterator[None]:
    """Run the checks, in order, in a thread while the body runs; leaves when both are done.

    Raises what the first check that fails raises, also where the body fails: an error that a
    compiler finds in such a program follows from it.
    """
    failed: list[BaseException] = []

    def run() -> None:
        try:
            for check in checks:
                check()
        except BaseException as error:  # raised again in the caller's thread
            failed.append(error)

    thread = threading.Thread(target=run, name="tile-checks")
    thread.start()
    try:
        yield
    except Exception:
        thread.join()
        if failed:
            raise failed[0] from failed[0].__cause__
        raise
    finally:
        thread.join()
    if failed:
        raise failed[0]


@contextmanager
def checks_first(checks: Sequence[Check]) -> Iterator[None]:
    """Where the body fails, checks that were put off get the word first: they say what is wrong
    with the program, and the body tripped over it."""
    try:
        yield
    except Exception:
        for check in checks:
            check()
        raise
