"""What a test needs of the machine: without it the test is skipped, the summary says what was not
proved, and `--error-on-skip` makes it a failure, for machines that are there to prove it.

Register with `pytest_plugins = ["tile_ir.testing.requires"]`; without that `requires` merely skips.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["requires"]

_missing: Counter[str] = Counter()
_strict = False


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--error-on-skip`."""
    parser.addoption(
        "--error-on-skip",
        action="store_true",
        help="fail where `requires` would skip: the machine is meant to have everything",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Remember the option, for `requires` is called from anywhere in a test."""
    global _strict
    _strict = bool(config.getoption("--error-on-skip"))


def requires(what: str, available: bool | Callable[[], object]) -> None:
    """Skip the running test unless `available` (called if it can be) holds; `what` names it in the
    report.

    A callable that raises counts as not available, and its error is quoted.
    """
    __tracebackhide__ = True
    reason = _why_not(available)
    if reason is None:
        return
    _missing[what] += 1
    text = f"needs {what}{reason}"
    if _strict:
        pytest.fail(text, pytrace=False)
    pytest.skip(text)


def _why_not(available: bool | Callable[[], object]) -> str | None:
    if not callable(available):
        return None if available else ""
    try:
        return None if available() else ""
    except Exception as cause:
        return f": {cause}".splitlines()[0]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what this machine could not prove."""
    for what, count in sorted(_missing.items()):
        terminalreporter.write_line(f"NOT PROVED HERE: {count} tests need {what}", yellow=True)
