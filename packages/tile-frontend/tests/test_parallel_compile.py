"""Kernels compiled in other processes: they come from the cache, a process that dies is told of, an
interruption leaves none behind."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from tile_frontend import parallel_compile
from tile_frontend.parallel_compile import Task, build_ahead
from tile_ir.diag import TileError

SERVE = """
import os, pickle, signal, sys, time
from tile_frontend.parallel_compile import Task
while True:
    try:
        task = pickle.load(sys.stdin.buffer)
    except EOFError:
        break
    print(f"pid {os.getpid()}", file=sys.stderr, flush=True)
    if task.text == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if task.text == "exit":
        os._exit(3)
    if task.text == "hang":
        open(os.environ["HUNG"], "w").write(str(os.getpid()))
        time.sleep(600)
    pickle.dump(None, sys.stdout.buffer)
    sys.stdout.buffer.flush()
"""


def task(text):
    return Task(name=f"kernel_{text}", text=text, target="any", device=None, plan=None, flags=())


@pytest.fixture
def served(monkeypatch):
    """Processes that do what a task's text says instead of compiling it."""
    monkeypatch.setattr(parallel_compile, "_WORKER", SERVE)


def test_a_process_that_dies_loses_its_own_kernel_only(served):
    texts = ["fine", "crash", "fine", "exit", "fine", "fine"]
    died = build_ahead([task(t) for t in texts], workers=2, progress=False)
    assert sorted(died) == [1, 3]
    assert {e.code for e in died.values()} == {"E2405"}
    assert died[1].message == "the process that compiled kernel_crash ended by SIGSEGV"
    assert died[3].message == "the process that compiled kernel_exit ended with status 3"


@pytest.mark.parametrize("workers", [0, -1, "2"])
def test_a_number_of_processes_is_one_or_more(workers):
    with pytest.raises(TileError, match="E1503"):
        parallel_compile.compile_all([task("a")], int, workers)


def test_progress_counts_kernels(served, capfd, monkeypatch):
    monkeypatch.setattr(parallel_compile, "find_spec", lambda name: None)
    build_ahead([task("fine"), task("fine")], workers=1, progress=True)
    lines = [x for x in capfd.readouterr().err.splitlines() if not x.startswith("pid")]
    assert lines == ["[1/2] kernel_fine", "[2/2] kernel_fine"]


def test_the_bar_of_rich_goes_to_the_end(served, capfd):
    pytest.importorskip("rich")
    build_ahead([task("fine"), task("fine")], workers=1, progress=True)
    assert "2/2" in capfd.readouterr().err


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_an_interruption_ends_every_process(served, tmp_path, monkeypatch):
    hung = tmp_path / "hung"
    monkeypatch.setenv("HUNG", str(hung))

    def interrupt():
        while not (hung.exists() and hung.read_text()):
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    # Shells start what runs in the background deaf to interrupts.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Thread(target=interrupt, daemon=True).start()
    started = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            build_ahead([task("hang"), task("fine")], workers=2, progress=False)
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - started < 60
    assert not is_alive(int(hung.read_text()))


SCRIPT = """
import tile_frontend as tile
import tile_frontend.language as T


@tile.jit(target="cpu")
def scale(A, factor):
    M = T.const("M")
    A: T.Tensor((M,), T.float32)
    B = T.empty((M,), T.float32)
    with T.Kernel(1, threads=32):
        for i in T.Parallel(M):
            B[i] = A[i] * factor
    return B


print("main runs")
made = scale.par_compile([dict(M=m, factor=2.0) for m in (4, 6)] + [dict(M=4, factor="x")],
                         num_workers=2, ignore_error=True)
print([k and k.compiled.cached for k in made])
import numpy as np
print(made[1](np.ones(6, np.float32)).sum())
try:
    scale.par_compile([dict(M=4, factor="x"), dict(M=5, factor=2.0)])
except Exception as error:
    print(type(error).__name__)
"""


def test_a_script_without_a_guard_gets_its_kernels_from_the_cache(tmp_path):
    """Its module is not run again in the processes, and errors are raised where they were made."""
    pytest.importorskip("tile_cpu")
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert done.stdout == "main runs\n[True, True, None]\n12.0\nTileError\n", done.stderr
    assert done.stderr == ""


def test_a_pin_that_cannot_cross_is_left_to_who_asks_for_the_kernel(served):
    """The others are built; the value is refused, or not, where the kernel is compiled."""
    odd = Task(name="odd", text="fine", target="any", device=None, plan={"k": lambda: 0}, flags=())
    assert build_ahead([odd, task("fine"), task("crash")], workers=1, progress=False).keys() == {2}
