"""Golden texts: the fixture `golden` compares a text with `tests/golden/<module>/<test>.<ext>`.

Register with `pytest_plugins = ["tile_ir.testing.golden"]` in the top `conftest.py`. A missing
golden fails with a hint, `--update-golden` writes what is wrong or missing, and a golden that no
test of its module used fails the session, so that none outlives its test.
"""

from __future__ import annotations

import difflib
import re
from pathlib import Path

import pytest

__all__ = ["Golden", "golden"]

_UNSAFE = re.compile(r"[^A-Za-z0-9._+=-]+")
_PROPERTY = "golden"
_SHOWN = 60


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--update-golden`."""
    parser.addoption(
        "--update-golden", action="store_true", help="write golden files instead of comparing"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Watch for goldens that are no longer used."""
    config.pluginmanager.register(_Unused(config), "tile-golden-unused")


def folder_of(test_file: Path) -> Path:
    """Where the goldens of a test module lie: `golden/<module>` in the nearest `tests` folder above
    it.
    """
    tests = next((p for p in test_file.parents if p.name == "tests"), test_file.parent)
    return tests / "golden" / test_file.stem


class Golden:
    """Compares texts with their goldens; one per test. Call it with `name` for each further text of
    a test.
    """

    def __init__(self, node: pytest.Item, update: bool) -> None:
        self._node, self._update = node, update

    def path(self, ext: str = "tir", name: str = "") -> Path:
        """The file of this test's golden. Characters that file names lack become `_`."""
        stem = self._node.name if not name else f"{self._node.name}.{name}"
        clean = _UNSAFE.sub("_", stem.replace("[", "-").replace("]", "")).strip("_")
        return folder_of(self._node.path) / f"{clean}.{ext}"

    def __call__(self, text: str, ext: str = "tir", name: str = "") -> None:
        """Fail unless the golden holds `text` (a final newline aside)."""
        __tracebackhide__ = True
        path = self.path(ext, name)
        self._node.user_properties.append((_PROPERTY, str(path)))
        text = text.rstrip("\n") + "\n"
        if self._update:
            _write(path, text)
            return
        if not path.exists():
            pytest.fail(f"no golden {path}\nrun with --update-golden to write it", pytrace=False)
        want = path.read_text(encoding="utf-8")
        if want != text:
            pytest.fail(f"{path} differs:\n{_difference(want, text)}", pytrace=False)


def _write(path: Path, text: str) -> None:
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _difference(want: str, got: str) -> str:
    lines = list(
        difflib.unified_diff(want.splitlines(), got.splitlines(), "golden", "now", lineterm="")
    )
    more = [f"... {len(lines) - _SHOWN} more lines"] if len(lines) > _SHOWN else []
    hint = "run with --update-golden if the new text is right"
    return "\n".join([*lines[:_SHOWN], *more, hint])


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """`golden(text, ext="tir", name="")`: compare a text with the file of this test."""
    return Golden(request.node, bool(request.config.getoption("--update-golden")))


class _Unused:
    """Finds goldens of modules that ran as a whole, passed, and used other files."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.used: dict[Path, set[Path]] = {}
        self.broken: set[Path] = set()
        self.unused: list[Path] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note what a test used. A controller of several workers gets the reports of all."""
        module = self.config.rootpath / report.nodeid.partition("::")[0]
        files = self.used.setdefault(module, set())
        if not report.passed:
            self.broken.add(module)
        files.update(Path(str(v)) for k, v in report.user_properties if k == _PROPERTY)

    def _partial(self) -> bool:
        option = self.config.option
        chosen = any("::" in arg for arg in self.config.args)
        flags = ("keyword", "markexpr", "lf", "failedfirst", "deselect", "stepwise")
        return chosen or any(getattr(option, flag, None) for flag in flags)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail the session when goldens were left over."""
        if hasattr(self.config, "workerinput") or self._partial() or session.shouldstop:
            return
        for module in self.used.keys() - self.broken:
            present = {p for p in folder_of(module).glob("*") if p.is_file()}
            self.unused += sorted(present - self.used[module])
        if self.unused and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """List them."""
        for path in self.unused:
            terminalreporter.write_line(f"UNUSED GOLDEN {path}: delete it", red=True)
