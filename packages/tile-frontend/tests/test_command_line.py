"""The command `tile`: what each command prints for people and for programs, and its exit status."""

import io
import json
import os
import resource
import subprocess
import sys

import numpy as np
import pytest

from tile_frontend import cli, cli_doctor, cli_output, cli_run
from tile_ir import plugin
from tile_ir.diag import InternalError
from tile_ir.exit_status import ExitStatus, status_of
from tile_ir.plugin import CommandManifest

KERNELS = """
import tile_frontend as tile
import tile_frontend.language as T

print("imported")

@tile.jit
def filled(A, value=1.0):
    N = T.const("N")
    A: T.Tensor((N,), T.float32)
    with T.Kernel(N) as i:
        A[i] = value

@tile.jit
def doubled(A):
    N = T.const("N")
    A: T.Tensor((N,), T.bfloat16)
    B = T.empty((N,), T.bfloat16)
    with T.Kernel(N) as i:
        B[i] = A[i] + A[i]
    return B

n = T.dynamic("n")

@T.prim_func
def moved(A: T.Tensor((n,), T.float32), B: T.Tensor((n,), T.float32)):
    with T.Kernel(n) as i:
        B[i] = A[i]
"""


RAISES = """
import tile_frontend as tile
import tile_frontend.language as T

@tile.jit
def raises(A):
    A: T.Tensor((4,), T.float32)
    {}["absent"]
    with T.Kernel(4) as i:
        A[i] = 1
"""
PROGRAM = """\
tile.ir 1.0 tile

func @f(A: global f32[4]) {
  kernel @f {
    tiles (i) in (4) {
      store A[i] = 1.0 + 1.0 clip
    }
  }
}
"""


@pytest.fixture
def file(tmp_path, installed, monkeypatch):
    monkeypatch.setenv("TILE_CACHE_DIR", str(tmp_path / "cache"))
    path = tmp_path / "kernels.py"
    path.write_text(KERNELS)
    return path


@pytest.fixture
def tile(capsys):
    """Run a command: its exit status, what it printed, and what went to standard error."""

    def run(*words):
        capsys.readouterr()
        status = cli.main([str(w) for w in words])
        return status, *capsys.readouterr()

    return run


@pytest.fixture
def document(tile):
    """Run a command with --json: its exit status and the one document."""

    def run(*words):
        status, out, _ = tile(*words, "--json")
        return status, json.loads(out)

    return run


def test_compile(file, tile, document):
    status, out, err = tile("compile", f"{file}:filled", "N=4", "value=3", "--show", "ir")
    assert (status, err) == (0, "")
    assert "store A[i] = 3.0 clip" in out
    assert tile("compile", f"{file}:moved")[:2] == (0, "imported\n" + program_of(document, file))
    assert "kernel.speed" in tile("compile", f"{file}:moved", "--show", "plan")[1]
    status, found = document("compile", f"{file}:filled", "--arg", "N=4")
    assert (status, found["name"], found["target"]) == (0, "filled", "oracle -arch=oracle")
    assert "func @filled" in found["source"]
    written = file.parent / "out.txt"
    status, found = document("compile", f"{file}:moved", "-o", written)
    assert found["files"] == [str(written)]
    assert "func @moved" in written.read_text()


def program_of(document, file):
    return document("compile", f"{file}:moved")[1]["source"]


def test_run_compares_with_the_oracle(file, tile, document):
    status, out, _ = tile("run", f"{file}:doubled", "N=40")
    assert status == 0
    assert out.splitlines()[-2:] == ["B       bfloat16  40", "equal to the oracle at N=40"]
    status, found = document("run", f"{file}:moved", "--dim", "n=5")
    assert status == 0
    assert found["outputs"] == [{"name": "B", "dtype": "float32", "shape": [5]}]
    assert found["check"] == {"status": "equal", "sizes": {"n": 5}, "written": ["B"]}
    assert document("run", f"{file}:filled", "N=4", "value=2.5")[1]["check"]["written"] == ["A"]


def test_run_compares_large_tensors_at_smaller_sizes(file, document, monkeypatch):
    monkeypatch.setattr(cli_run, "ELEMENTS", 100)
    monkeypatch.setattr(cli_run, "SMALL", 16)
    at = ("run", f"{file}:doubled", "N=70")
    assert document(*at)[1]["check"]["sizes"] == {"N": 22}
    assert document(*at, "--check", "always")[1]["check"]["sizes"] == {"N": 70}
    assert document(*at, "--check-arg", "N=3")[1]["check"]["sizes"] == {"N": 3}
    assert document(*at, "--check", "never")[1]["check"] == {
        "status": "skipped",
        "reason": "as asked",
    }
    monkeypatch.setattr(cli_run, "ELEMENTS", 40)
    reason = document(*at)[1]["check"]["reason"]
    assert reason == "44 elements are many for it; name smaller sizes by --check-arg"


def test_run_finds_wrong_values(file, tile, monkeypatch):
    def wrong(case):
        return {"B": np.full(4, 7, np.float32)}

    monkeypatch.setattr(cli_run.Case, "expected", wrong)
    status, out, _ = tile("run", f"{file}:moved", "--dim", "n=4")
    assert status == ExitStatus.FOUND
    assert "DIFFERENT from the oracle at n=4" in out
    assert "differs in 4 of 4 elements" in out


def test_bench(file, tile, document):
    status, found = document("bench", f"{file}:moved", "--dim", "n=4", "--seconds", "0.01")
    assert (status, found["input_bytes"], found["clock"]) == (0, 32, "event")
    times = found["milliseconds"]
    assert 0 < times["20%"] <= times["median"] <= times["80%"]
    out = tile("bench", f"{file}:moved", "--dim", "n=4", "--seconds", "0.01")[1]
    assert out.splitlines()[2].split()[:3] == ["median", "ms", "20%"]
    for seconds in ("0", "-1", "nan", "inf", "soon"):
        with pytest.raises(SystemExit) as caught:
            tile("bench", f"{file}:moved", "--seconds", seconds)
        assert caught.value.code == ExitStatus.USAGE


def test_explain(file, tile, document):
    status, out, _ = tile("explain", "e1401")
    assert status == 0
    assert out.startswith("E1401: tiles of different extents\n\n")
    assert "For example:" in out
    assert "T.copy" in out
    assert document("explain", "E1401")[1]["title"] == "tiles of different extents"
    assert document("explain", "E1401")[1]["language"] == "python"
    status, out, err = tile("explain", "E1699")
    assert (status, out) == (ExitStatus.USAGE, "")
    assert "error[E2604]: there is no code E1699" in err
    assert "near it: E1601" in err
    status, found = document("explain", f"{file}:moved")
    assert [d["key"] for d in found["decisions"]][-1] == "kernel.speed"
    assert document("explain", f"{file}:moved", "--key", "kernel.none")[1]["decisions"] == []
    assert "not fast: 2 not built" in tile("explain", f"{file}:moved")[1]


@pytest.mark.parametrize(
    ("words", "status", "code"),
    [
        (("compile", "nowhere.py"), ExitStatus.USAGE, "E1116"),
        (("compile", "{file}:absent"), ExitStatus.USAGE, "E1116"),
        (("compile", "{file}"), ExitStatus.USAGE, "E1116"),
        (("compile", "{file}:filled", "N"), ExitStatus.USAGE, "E2602"),
        (("compile", "{file}:moved", "N=4"), ExitStatus.USAGE, "E2602"),
        (("compile", "{file}:moved", "--target", "nope"), ExitStatus.USAGE, "E0901"),
        (("compile", "{file}:filled"), ExitStatus.REFUSED, "E1104"),
        (("compile", "{file}:filled", "N=8", "Q=9"), ExitStatus.REFUSED, "E1111"),
        (("run", "{file}:moved"), ExitStatus.USAGE, "E2602"),
        (("bench", "{file}:moved"), ExitStatus.REFUSED, "E2011"),
        (("cache", "show", "nokey"), ExitStatus.USAGE, "E2103"),
    ],
)
def test_errors(file, tile, words, status, code):
    words = [w.replace("{file}", str(file)) for w in words]
    got, out, err = tile(*words)
    assert (got, f"error[{code}]" in err) == (status, True), err
    assert __file__ not in err  # who calls the command is not to blame
    assert "error" not in out
    got, out, err = tile(*words, "--json")
    assert (got, json.loads(out)["error"]["code"]) == (status, code)
    assert f"error[{code}]" in err


def test_exceptions_of_the_users_code(tmp_path, tile, document):
    (tmp_path / "neighbour.py").write_text("value = 1\n")
    path = tmp_path / "broken.py"
    path.write_text("import neighbour\n\n1 / (neighbour.value - 1)\n")
    status, _, err = tile("run", path)
    assert status == ExitStatus.REFUSED
    assert "error[E2601]: an exception left the kernel's file" in err
    assert "ZeroDivisionError: division by zero" in err
    assert f"{path}:3" in err
    assert str(tmp_path) not in sys.path
    path.write_text(RAISES)
    status, found = document("compile", f"{path}:raises")
    assert (status, found["error"]["code"]) == (ExitStatus.REFUSED, "E2601")
    assert found["error"]["notes"][0] == "KeyError: 'absent'"


def test_exceptions_of_our_code(file, document, monkeypatch):
    monkeypatch.setattr("tile_frontend.cli_compile._about", int)
    status, found = document("compile", f"{file}:moved")
    assert status == ExitStatus.INTERNAL
    assert found["error"]["code"] is None
    assert found["error"]["message"].startswith("int() argument must be")


def test_statuses_of_errors(tile, monkeypatch):
    def run(error):
        def command(options):
            raise error

        monkeypatch.setattr(cli_doctor, "_targets", command)
        return tile("targets")

    assert run(InternalError("E9001", "ours"))[0] == ExitStatus.INTERNAL
    assert run(KeyboardInterrupt())[::2] == (ExitStatus.INTERRUPTED, "KeyboardInterrupt\n")
    assert run(FileNotFoundError("no file"))[0] == ExitStatus.USAGE
    assert status_of(ValueError()) == ExitStatus.INTERNAL
    for words in ((), ("nonsense",), ("run",), ("compile", "x", "--show", "all")):
        with pytest.raises(SystemExit) as caught:
            tile(*words)
        assert caught.value.code == ExitStatus.USAGE


def test_doctor(tile, document, installed):
    status, out, _ = tile("doctor")
    assert status in (ExitStatus.DONE, ExitStatus.FOUND)
    assert "package   tile-frontend" in out
    assert "default   oracle -arch=oracle" in out
    found = document("doctor")[1]
    assert found["default"] == "oracle -arch=oracle"
    assert "tile-frontend" in found["packages"]
    assert found["absent"]["cpu"] == 'pip install "tile-frontend[cpu]"'
    assert "terminal" not in found["absent"]


def test_targets(tile, document):
    lines = tile("targets")[1].splitlines()
    assert lines[0].split() == ["target", "here", "architectures"]
    assert lines[1].split() == ["oracle", "oracle", "oracle"]
    status, found = document("targets")
    (oracle,) = found["targets"]
    assert (status, oracle["architectures"], oracle["here"]) == (0, ["oracle"], "oracle")


@pytest.fixture(autouse=True)
def the_oracle_is_installed(installed):
    pass


def test_passes(tmp_path, tile, document):
    path = tmp_path / "f.tir"
    path.write_text(PROGRAM)
    status, found = document("opt", path, "-p", "simplify")
    assert (status, found["module"]) == (0, tile("opt", path, "-p", "simplify")[1][:-1])
    assert list(found["seconds"][0]) == ["simplify"]
    assert {"pass", "phase", "doc"} == set(document("opt", "--list")[1][0])
    assert tile("opt", path, "-p", "nope")[0] == ExitStatus.REFUSED
    assert tile("opt", tmp_path / "absent.tir")[0] == ExitStatus.USAGE


def test_commands_of_other_distributions(tile, monkeypatch, capsys):
    def add(parser):
        parser.add_argument("--json", action="store_true")
        parser.set_defaults(run=lambda options: print("hello") or ExitStatus.FOUND)

    def broken(parser):
        raise AssertionError("it is not asked for")

    manifests = {
        "greet": CommandManifest(name="greet", description="say hello", factory=add),
        "other": CommandManifest(name="other", description="do more", factory=broken),
    }
    entries = [
        plugin.Entry(group="tile.commands", name=n, value="x:y", distribution="d", version="1")
        for n in (*manifests, "torn")
    ]

    def load(group, name):
        if name == "torn":
            raise plugin.PluginError("torn", "d", "1", ValueError("bad"))
        return manifests[name]

    monkeypatch.setattr(cli, "discover", lambda group: entries)
    monkeypatch.setattr(cli, "load", load)
    assert tile("greet") == (ExitStatus.FOUND, "hello\n", "")
    with pytest.raises(SystemExit):
        tile("--help")
    out = " ".join(capsys.readouterr().out.split())
    assert "greet say hello" in out
    assert "torn broken: plugin 'torn' of d 1 cannot be loaded" in out


def test_tables_are_drawn_on_a_terminal(monkeypatch):
    pytest.importorskip("rich")

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stdout", Terminal())
    table = cli_output.Table(head=("name", "kind"), rows=[("[red]x", "f32[4]")])
    cli_output.show(False, None, table, "done")
    drawn = sys.stdout.getvalue()
    assert "──" in drawn
    assert "[red]x" in drawn
    assert drawn.endswith("done\n")
    monkeypatch.setattr(cli_output, "find_spec", lambda name: None)
    monkeypatch.setattr(sys, "stdout", Terminal())
    cli_output.show(False, None, table)
    assert sys.stdout.getvalue() == "name    kind\n[red]x  f32[4]\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(tile, document, shell):
    pytest.importorskip("argcomplete")
    status, out, _ = tile("completion", shell)
    assert status == 0
    assert "_ARGCOMPLETE" in out
    assert document("completion", shell)[1] == {"shell": shell, "script": out[:-1]}


def test_completion_without_its_library(tile, monkeypatch):
    monkeypatch.setattr("tile_frontend.cli_completion.find_spec", lambda name: None)
    status, _, err = tile("completion", "bash")
    assert status == ExitStatus.USAGE
    assert "error[E2603]" in err
    assert 'pip install "tile-frontend[terminal]"' in err


@pytest.mark.parametrize(
    ("typed", "offered"),
    [("tile do", {"doctor"}), ("tile cache sh", {"show"}), ("tile run k.py --che", {"--check"})],
)
def test_the_shell_is_answered(tmp_path, typed, offered):
    pytest.importorskip("argcomplete")
    answer = tmp_path / "answer"
    asked = {
        "_ARGCOMPLETE": "1",
        "COMP_LINE": typed,
        "COMP_POINT": str(len(typed)),
        "_ARGCOMPLETE_STDOUT_FILENAME": str(answer),
        "_ARGCOMPLETE_IFS": "\n",
    }
    program = [sys.executable, "-c", "from tile_frontend.cli import main; main()"]
    subprocess.run(program, env={**os.environ, **asked}, check=False, capture_output=True)
    found = {line.strip() for line in answer.read_text().split("\n")}
    assert offered <= found
    assert all(f.startswith(typed.split()[-1]) for f in found)


def test_help_is_there_at_once():
    program = (
        "import sys; sys.argv = ['tile', '--help']\n"
        "from tile_frontend.cli import main\n"
        "try: main()\n"
        "except SystemExit: print(*{n.partition('.')[0] for n in sys.modules}, file=sys.stderr)"
    )
    seconds = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    heavy = {"numpy", "yaml", "sqlite3", "tile_passes", "tile_cpu", "rich", "torch"}
    assert set(done.stderr.split()) & heavy == set()
    assert min(seconds) < 0.15  # of a processor: what others do there does not count
