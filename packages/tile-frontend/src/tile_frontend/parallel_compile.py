"""Compile many kernels at once in processes of their own, which leave them in the cache on disk.

Passes hold the interpreter's lock, so threads would take turns. Programs cross as text: nothing of
the caller's module is imported or run again, and kernels defined in a script, a notebook or a
closure are built like any other. A compiler that crashes takes one process with it, and only the
kernel that it was given is lost.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import threading
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from tile_frontend import driver
from tile_frontend.target_select import select
from tile_frontend.trace.places import here
from tile_ir.diag import TileError
from tile_ir.text import parse_function

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from tile_frontend.kernel import JITKernel

__all__ = ["Task", "build_ahead", "compile_all", "serve"]

_WORKER = "from tile_frontend.parallel_compile import serve; serve()"
_LIMIT = 64
"""Processes at most, whatever the number of processors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A kernel to build: its name, program, target and device by name, pins, compiler flags."""

    name: str
    text: str
    target: str
    device: str | None
    plan: Mapping[str, Any] | None
    flags: tuple[str, ...]


def compile_all(
    tasks: Sequence[Task | None],
    get: Callable[[int], JITKernel],
    workers: int | None = None,
    ignore_error: bool = False,
    progress: bool | None = None,
) -> list[JITKernel | None]:
    """What `get` gives for the number of each task, after those that can be built in processes
    were; where that is not so (None), threads call `get` alone.

    With `ignore_error` a failed one is None in the list; else the first error is raised, E2405
    where a process died. Raises `TileError` E1503 for a number of workers below one.
    """
    _check_workers(workers)
    ahead = [i for i, task in enumerate(tasks) if task is not None]
    died: dict[int, TileError] = {}
    if len(ahead) > 1:
        found = build_ahead([task for task in tasks if task is not None], workers, progress)
        died = {ahead[i]: error for i, error in found.items()}

    def one(i: int) -> JITKernel | None:
        try:
            if i in died:
                raise died[i]
            return get(i)
        except Exception:  # a bad configuration may break the function's own Python
            if ignore_error:
                return None
            raise

    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(one, range(len(tasks))))


def _check_workers(workers: Any) -> None:
    if workers is not None and (not isinstance(workers, int) or workers < 1):
        raise TileError(
            "E1503",
            f"num_workers={workers!r}",
            here(),
            help="it is a number from one up, or None for as many as there are processors",
        )


def build_ahead(
    tasks: Sequence[Task], workers: int | None = None, progress: bool | None = None
) -> dict[int, TileError]:
    """Build tasks into the cache; by number, those whose process died, with E2405.

    A kernel that the compiler refuses is left out without a word: who asks for it again gets the
    error, with the user's lines in it. `progress` shows a bar on standard error; None: on a
    terminal. Where the caller is interrupted, the processes are killed and the interruption goes
    on.
    """
    count = min(workers or len(_processors()), len(tasks), _LIMIT)
    crashed: dict[int, TileError] = {}
    pool = _Pool()
    shown = _progress(progress, len(tasks))
    with shown as advance, ThreadPoolExecutor(max(count, 1)) as threads:
        futures: dict[Future[None], int] = {}
        try:
            futures = {threads.submit(pool.build, task): i for i, task in enumerate(tasks)}
            left = set(futures)
            while left:
                done, left = wait(left, return_when=FIRST_COMPLETED)
                for future in done:
                    advance(tasks[futures[future]].name)
                    error = future.exception()
                    if isinstance(error, TileError):
                        crashed[futures[future]] = error
                    elif error is not None:
                        raise error
        except BaseException:
            for future in futures:
                future.cancel()
            pool.kill()
            raise
        finally:
            pool.close()
    return crashed


def _processors() -> Sequence[int]:
    affinity = getattr(os, "sched_getaffinity", None)
    return list(affinity(0)) if affinity else range(os.cpu_count() or 1)


class _Pool:
    """A process for each thread that asks for one."""

    def __init__(self) -> None:
        self._own = threading.local()
        self._lock = threading.Lock()
        self._all: list[subprocess.Popen[bytes]] = []
        self._closed = False

    def build(self, task: Task) -> None:
        """Have this thread's process build a task, unless a pin is a value that cannot cross: who
        asks for the kernel gets the error. Raises TileError E2405 where the process died."""
        try:
            sent = pickle.dumps(task)
        except (pickle.PicklingError, AttributeError, TypeError):
            return
        process = self._process()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(sent)
            process.stdin.flush()
            pickle.load(process.stdout)
        except (OSError, EOFError, pickle.UnpicklingError) as cause:
            self._own.process = None
            raise _died(task, process.wait()) from cause

    def _process(self) -> subprocess.Popen[bytes]:
        found: subprocess.Popen[bytes] | None = getattr(self._own, "process", None)
        if found is not None:
            return found
        with self._lock:
            # A session of its own: an interrupt from the terminal is ours to pass on.
            found = subprocess.Popen(
                [sys.executable, "-c", _WORKER],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
            )
            self._all.append(found)
            if self._closed:
                _kill(found)
        self._own.process = found
        return found

    def kill(self) -> None:
        """End all processes and what they run, at once."""
        with self._lock:
            self._closed = True
            for process in self._all:
                _kill(process)

    def close(self) -> None:
        """Let the processes end."""
        for process in self._all:
            for stream in (process.stdin, process.stdout):
                assert stream is not None
                with contextlib.suppress(OSError):
                    stream.close()
            process.wait()


def _kill(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(OSError):
        # The group has the compiler that it runs as well.
        os.killpg(process.pid, signal.SIGKILL) if os.name == "posix" else process.kill()


def _died(task: Task, status: int) -> TileError:
    how = f"with status {status}"
    if status < 0:
        how = f"by {signal.Signals(-status).name}"
    return TileError(
        "E2405",
        f"the process that compiled {task.name} ended {how}",
        notes=("the other kernels were built",),
        help="SIGKILL is mostly the system out of memory: use fewer workers. Else compile this "
        "kernel by itself to see what the compiler says.",
    )


def serve() -> None:
    """What a process of the pool does: build tasks from standard input until it ends."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what compilers print must not be taken for an answer
    while True:
        try:
            task: Task = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        with contextlib.suppress(Exception):  # whoever asks for the kernel gets the error
            target = select(task.target).on(task.device)
            driver.compile_function(parse_function(task.text), target, task.plan, task.flags)
        pickle.dump(None, answers)
        answers.flush()


@contextlib.contextmanager
def _progress(asked: bool | None, total: int) -> Iterator[Callable[[str], None]]:
    """What to call when a kernel is done: moves a bar, with rich where it is installed."""
    is_shown = sys.stderr.isatty() if asked is None else asked
    if not is_shown or total == 0:
        yield lambda name: None
        return
    if find_spec("rich") is None:
        done = iter(range(1, total + 1))
        yield lambda name: print(f"[{next(done)}/{total}] {name}", file=sys.stderr)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("compiling"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
               TextColumn("{task.description}"))  # fmt: skip
    with Progress(*columns, console=Console(stderr=True)) as bar:
        row = bar.add_task("", total=total)
        yield lambda name: bar.update(row, advance=1, description=name)
