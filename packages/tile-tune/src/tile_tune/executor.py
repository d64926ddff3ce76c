"""An executor whose tasks may crash, hang or leak.

`concurrent.futures.ProcessPoolExecutor` is broken for good once a worker dies, does not say whose
task it was, and cannot end a task that hangs. Here every worker serves one task at a time, so a
death has one culprit; it is replaced, and the others do not notice.
"""

from __future__ import annotations

import os
import pickle
import queue
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import weakref
from concurrent.futures import Executor, Future
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from multiprocessing.connection import Connection
from pathlib import Path
from time import monotonic
from typing import IO, TYPE_CHECKING, Any

from tile_ir.diag import TileError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["ProcessExecutor", "TrialCrash", "TrialTimeout"]

POLL_SECONDS = 0.1
"""How often a running task's memory is looked at."""
START_SECONDS = 120.0
"""What a new process may take, beyond the task's own time, to start and to import."""
START = "import sys; from tile_tune.worker import main; main(sys.argv[1:])"
"""Not `-m`: the module would be there twice, as itself and as `__main__`."""
LOG_BYTES = 400
"""Of what a dead worker wrote to its standard error, so much is quoted."""


class TrialCrash(TileError):
    """The process died while it ran the task (E2214)."""


class TrialTimeout(TileError):
    """The task was still running when its time was up, and its process was ended (E2215)."""


@dataclass(slots=True)
class _Task:
    future: Future[Any]
    request: bytes
    timeout: float | None


class ProcessExecutor(Executor):
    """Runs functions in processes of their own, which it replaces when they die.

    Args:
        workers: how many processes, each for one task at a time; they start when needed.
        timeout: seconds that a task may take, not counting imports, and from the last
            `worker.restart_clock()` in it; None for ever.
        environments: variables to set in each worker, in turn: one per device, say.
        memory_limit: bytes of resident memory at which a task is ended (where /proc tells it).
        memory_growth: bytes by which a worker may have grown before it is replaced after a task.

    A future's exception is what the function raised, `TrialCrash` or `TrialTimeout`.
    """

    def __init__(
        self,
        workers: int = 1,
        *,
        timeout: float | None = None,
        environments: Sequence[Mapping[str, str]] = (),
        memory_limit: int | None = None,
        memory_growth: int = 8 << 30,
    ) -> None:
        self.timeout = timeout
        self.workers = workers
        self._tasks: queue.SimpleQueue[_Task | None] = queue.SimpleQueue()
        self._closed = False
        self._lock = threading.Lock()
        self._pending: set[Future[Any]] = set()
        limits = (memory_limit, memory_growth)
        made = [
            _Worker(dict(environments[i % len(environments)]) if environments else {}, *limits)
            for i in range(workers)
        ]
        self._threads = [
            threading.Thread(target=_work, args=(w, self._tasks), daemon=True) for w in made
        ]
        for thread in self._threads:
            thread.start()
        self._made = made
        self._finish = weakref.finalize(self, _stop, made)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run `fn` in a worker; both have to be picklable."""
        return self.submit_within(self.timeout, fn, *args, **kwargs)

    def submit_within(
        self, seconds: float | None, fn: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> Future[Any]:
        """As `submit`, with a time limit for this task."""
        task = _Task(Future(), pickle.dumps((fn, args, kwargs)), seconds)
        with self._lock:
            if self._closed:
                raise RuntimeError("cannot schedule new futures after shutdown")
            self._pending.add(task.future)
        task.future.add_done_callback(self._pending.discard)
        self._tasks.put(task)
        return task.future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more tasks; end the workers when the submitted ones are done."""
        with self._lock:
            if not self._closed:
                self._closed = True
                for _ in self._threads:
                    self._tasks.put(None)
        if cancel_futures:
            for future in list(self._pending):
                future.cancel()
        if wait:
            for thread in self._threads:
                thread.join()
            self._finish()

    def kill(self) -> None:
        """End everything at once: tasks that run fail with `TrialCrash`, the others are
        cancelled."""
        self.shutdown(wait=False, cancel_futures=True)
        _stop(self._made)


def _work(worker: _Worker, tasks: queue.SimpleQueue[_Task | None]) -> None:
    while True:
        task = tasks.get()
        if task is None:
            worker.stop()
            return
        if not task.future.set_running_or_notify_cancel():
            continue
        try:
            is_result, value = worker.run(task)
        except BaseException as error:  # a future must end, whatever happened
            is_result, value = False, error
        if is_result:
            task.future.set_result(value)
        else:
            task.future.set_exception(value)
        del task, value


def _stop(workers: Sequence[_Worker]) -> None:
    for worker in workers:
        worker.is_over = True
        worker.end_process()


class _Worker:
    """One process, and the connection to it."""

    def __init__(self, extra: dict[str, str], memory_limit: int | None, growth: int) -> None:
        self.extra = extra
        self.memory_limit = memory_limit
        self.growth = growth
        self.process: subprocess.Popen[bytes] | None = None
        self.connection: Connection | None = None
        self.log: IO[bytes] | None = None
        self.start_bytes = 0
        self.is_over = False
        """Whether its process, also one that starts this moment, has to end."""

    def run(self, task: _Task) -> tuple[bool, Any]:
        """Whether it is a result, and it or the exception. The process is gone after a crash."""
        process, connection = self._started()
        limit = task.timeout
        end = inf if limit is None else monotonic() + limit + START_SECONDS
        message = b""
        try:
            connection.send_bytes(task.request)
            while not message:
                if connection.poll(POLL_SECONDS):
                    message = connection.recv_bytes()
                    end = inf if limit is None else monotonic() + limit
                elif monotonic() > end:
                    return False, self._timed_out(limit)
                elif self.is_over:
                    return False, self._crashed("it was ended")
                elif self._is_too_large(process.pid):
                    return False, self._crashed("it took more memory than a trial may")
            answer: tuple[bool, Any] = pickle.loads(message)
        except (EOFError, OSError):
            return False, self._crashed(_how_it_ended(process))
        if _resident(process.pid) > self.start_bytes + self.growth:
            self.stop()  # it leaks: the next task gets a fresh one
        return answer

    def _started(self) -> tuple[subprocess.Popen[bytes], Connection]:
        if self.process is not None and self.connection is not None and self.process.poll() is None:
            return self.process, self.connection
        self.stop()
        ours, theirs = socket.socketpair()
        self.log = tempfile.TemporaryFile()  # noqa: SIM115 -- open as long as the process runs
        command = [sys.executable, "-c", START, str(theirs.fileno()), str(os.getpid())]
        self.process = subprocess.Popen(
            command,
            pass_fds=(theirs.fileno(),),
            stdin=subprocess.DEVNULL,
            stdout=self.log,
            stderr=self.log,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(_found(sys.path)), **self.extra},
            start_new_session=True,  # so that a compiler that it started ends with it
        )
        theirs.close()
        self.connection = Connection(ours.detach())
        self.connection.send_bytes(pickle.dumps(sys.path))
        self.start_bytes = _resident(self.process.pid)
        return self.process, self.connection

    def _timed_out(self, seconds: float | None) -> TrialTimeout:
        self.stop()
        return TrialTimeout(
            "E2215",
            f"it did not end within {seconds:g} s",
            help="give the trial more time (`timeout=`) if it may take so long",
        )

    def _crashed(self, how: str) -> TrialCrash:
        tail = self._tail()
        self.stop()
        notes = (f"it wrote: {tail}",) if tail else ()
        return TrialCrash(
            "E2214",
            f"the process died: {how}",
            notes=notes,
            help="the candidate is left out; run it alone to see why",
        )

    def _tail(self) -> str:
        if self.log is None:
            return ""
        end = self.log.seek(0, os.SEEK_END)
        self.log.seek(max(0, end - LOG_BYTES))
        return self.log.read().decode(errors="replace").strip()

    def _is_too_large(self, pid: int) -> bool:
        return self.memory_limit is not None and _resident(pid) > self.memory_limit

    def end_process(self) -> None:
        """End the process and whatever it started, from any thread. The connection is left to the
        thread that works: the number of a file closed under it may be another one's by then."""
        process = self.process
        if process is not None and process.returncode is None:
            with suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            process.kill()
            process.wait()

    def stop(self) -> None:
        """End the process and close what belongs to it; of the thread that works."""
        self.end_process()
        self.process = None
        for held in (self.connection, self.log):
            if held is not None:
                held.close()
        self.connection = self.log = None


def _found(path: Sequence[str]) -> list[str]:
    """The search path as a variable holds it: this package has to be found before it arrives."""
    return [p for p in path if p and os.pathsep not in p]


def _how_it_ended(process: subprocess.Popen[bytes]) -> str:
    try:
        code = process.wait(5)
    except subprocess.TimeoutExpired:
        return "it closed its connection"
    if code < 0:
        with suppress(ValueError):
            return signal.Signals(-code).name
    return f"exit status {code}"


def _resident(pid: int) -> int:
    """Bytes of resident memory of a process; 0 where the system does not say."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text("ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
