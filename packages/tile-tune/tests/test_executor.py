"""Tasks that crash, hang, leak or fail: each future tells, and the others do not notice."""

import ctypes
import math
import operator
import os
import time
from concurrent.futures import Executor, wait

import pytest

from tile_tune import ProcessExecutor, TrialCrash, TrialTimeout


@pytest.fixture
def pool():
    with ProcessExecutor(2, timeout=20) as made:
        yield made


def test_it_is_an_executor(pool):
    assert isinstance(pool, Executor)
    assert list(pool.map(math.factorial, [3, 4, 5])) == [6, 24, 120]
    assert pool.submit(int, "ff", base=16).result() == 255


def test_a_crash_has_one_culprit_and_the_worker_is_replaced(pool):
    crash = pool.submit(ctypes.string_at, 0)
    fine = [pool.submit(operator.mul, i, i) for i in range(6)]
    leaves = pool.submit(os._exit, 3)
    with pytest.raises(TrialCrash, match="SIGSEGV") as caught:
        crash.result()
    assert caught.value.code == "E2214"
    assert [f.result() for f in fine] == [0, 1, 4, 9, 16, 25]
    with pytest.raises(TrialCrash, match="exit status 3"):
        leaves.result()


def test_a_task_that_hangs_is_ended_with_what_it_started(pool):
    begin = time.monotonic()
    hangs = pool.submit_within(0.5, os.system, "sleep 600")
    with pytest.raises(TrialTimeout, match=r"within 0\.5 s") as caught:
        hangs.result()
    assert caught.value.code == "E2215"
    assert time.monotonic() - begin < 15
    assert pool.submit(operator.add, 1, 2).result() == 3


def test_exceptions_arrive_as_they_were_raised(pool):
    with pytest.raises(ZeroDivisionError, match="division"):
        pool.submit(operator.truediv, 1, 0).result()
    with pytest.raises(SystemExit):
        pool.submit(exit, 1).result()


def test_what_a_dead_process_wrote_is_quoted(pool):
    code = "import os, sys; os.write(2, b'out of paper'); os.kill(os.getpid(), 9)"
    with pytest.raises(TrialCrash, match="SIGKILL") as caught:
        pool.submit(exec, code).result()
    assert caught.value.notes == ("it wrote: out of paper",)


def test_memory_is_bounded_and_a_leaky_worker_replaced():
    hog = "x = bytearray(1 << 29); import time; time.sleep(60)"
    with ProcessExecutor(1, memory_limit=300 << 20, memory_growth=100 << 20) as pool:
        with pytest.raises(TrialCrash, match="more memory"):
            pool.submit(exec, hog).result()
        first = pool.submit(os.getpid).result()
        assert pool.submit(os.getpid).result() == first
        leak = "import sys; sys.kept = bytearray(b'x') * (200 << 20)"
        pool.submit(exec, leak).result()
        assert pool.submit(os.getpid).result() != first


def test_workers_have_their_own_variables():
    environments = [{"DEVICE": "0"}, {"DEVICE": "1"}]
    with ProcessExecutor(2, environments=environments) as pool:
        futures = [
            pool.submit(
                eval, "(__import__('time').sleep(0.5), __import__('os').environ['DEVICE'])[1]"
            )
            for _ in range(2)
        ]
        assert {f.result() for f in futures} == {"0", "1"}


def test_shutdown_takes_no_more_and_cancels_what_waits():
    pool = ProcessExecutor(1)
    running = pool.submit(time.sleep, 0.3)
    waiting = pool.submit(time.sleep, 60)
    pool.shutdown(wait=True, cancel_futures=True)
    wait([running, waiting])
    assert waiting.cancelled()
    with pytest.raises(RuntimeError, match="after shutdown"):
        pool.submit(operator.add, 1, 2)


def test_kill_ends_everything_at_once():
    begin = time.monotonic()
    pool = ProcessExecutor(1)
    assert pool.submit(operator.add, 1, 1).result() == 2
    running, waiting = pool.submit(time.sleep, 600), pool.submit(time.sleep, 600)
    time.sleep(0.2)
    pool.kill()
    with pytest.raises(TrialCrash):
        running.result(20)
    assert waiting.cancelled()
    assert time.monotonic() - begin < 60


@pytest.mark.parametrize("delay", [0, 0.02, 0.1, 0.4])
def test_a_pool_killed_at_any_moment_ends_its_threads(delay):
    """An exception in one of them would be a warning, and so an error."""
    pool = ProcessExecutor(2)
    running = [pool.submit(time.sleep, 600) for _ in range(3)]
    time.sleep(delay)
    pool.kill()
    pool.shutdown(wait=True)
    assert all(f.done() for f in running)
    assert all(w.connection is None and w.process is None for w in pool._made)


IN_STAGES = "from tile_tune.worker import restart_clock\nimport time\nfor _ in range(4):\n"


def test_the_clock_restarts_where_the_task_says_so(pool):
    stages = IN_STAGES + "    time.sleep(0.4); restart_clock()"
    assert pool.submit_within(1.2, exec, stages).result() is None
    with pytest.raises(TrialTimeout):
        pool.submit_within(1.2, exec, "import time; time.sleep(60)").result()


def test_a_worker_does_not_outlive_its_parent():
    code = (
        "import os, time; from tile_tune import ProcessExecutor;"
        "pool = ProcessExecutor(1); print(pool.submit(os.getpid).result(), flush=True);"
        "pool.submit(time.sleep, 600); time.sleep(0.3); os.kill(os.getpid(), 9)"
    )
    import subprocess
    import sys

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == -9
    worker = int(done.stdout)
    end = time.monotonic() + 10
    while time.monotonic() < end and _is_alive(worker):
        time.sleep(0.1)
    assert not _is_alive(worker)


def _is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:  # a zombie is dead
        return file.read().rpartition(")")[2].split()[0] != "Z"
