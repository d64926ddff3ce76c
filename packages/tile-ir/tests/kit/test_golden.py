"""The golden fixture and `requires`, in sessions of their own."""

import subprocess
import sys
import textwrap

import pytest

CONFTEST = 'pytest_plugins = ["tile_ir.testing.golden", "tile_ir.testing.requires"]'
TWO = """
    def test_one(golden):
        golden("first\\nsecond")

    def test_two(golden):
        golden("text", ext="c")
        golden("other", name="more")
"""


@pytest.fixture
def project(tmp_path):
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "tests").mkdir()

    class Project:
        goldens = tmp_path / "tests" / "golden" / "test_it"

        def write(self, text):
            (tmp_path / "tests" / "test_it.py").write_text(textwrap.dedent(text))

        def run(self, *flags):
            command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *flags]
            return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)

    return Project()


def test_missing_written_compared_and_unused(project):
    project.write(TWO)
    missing = project.run()
    assert missing.returncode == 1
    assert "no golden" in missing.stdout
    assert "--update-golden to write it" in missing.stdout

    assert project.run("--update-golden").returncode == 0
    names = sorted(p.name for p in project.goldens.iterdir())
    assert names == ["test_one.tir", "test_two.c", "test_two.more.tir"]
    assert (project.goldens / "test_one.tir").read_text() == "first\nsecond\n"
    assert project.run().returncode == 0

    project.write(TWO.replace("second", "changed"))
    differs = project.run()
    assert differs.returncode == 1
    assert "-second" in differs.stdout
    assert "+changed" in differs.stdout

    project.write(TWO.replace('golden("other", name="more")', "pass"))
    unused = project.run()
    assert unused.returncode == 1
    assert "UNUSED GOLDEN" in unused.stdout
    assert "test_two.more.tir" in unused.stdout
    assert project.run("-k", "test_one").returncode == 0  # a part of a module proves nothing


def test_parameters_name_their_files(project):
    project.write(
        """
        import pytest

        @pytest.mark.parametrize("x", ["a/b", "c d"])
        def test_p(golden, x):
            golden(x)
        """
    )
    assert project.run("--update-golden").returncode == 0
    names = sorted(p.name for p in project.goldens.iterdir())
    assert names == ["test_p-a_b.tir", "test_p-c_d.tir"]


def test_requires_skips_reports_and_may_fail(project):
    project.write(
        """
        from tile_ir.testing.requires import requires

        def broken():
            raise OSError("no such tool")

        def test_here():
            requires("arithmetic", True)

        def test_not_here():
            requires("a frobnicator", broken)
        """
    )
    done = project.run("-rs")
    assert done.returncode == 0
    assert "needs a frobnicator: no such tool" in done.stdout
    assert "NOT PROVED HERE: 1 tests need a frobnicator" in done.stdout
    strict = project.run("--error-on-skip")
    assert strict.returncode == 1
    assert "1 failed, 1 passed" in strict.stdout
