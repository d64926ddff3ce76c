"""Trials on a Dask cluster: a `distributed.Client` as an executor.

Each trial runs in a process of its own on the Dask worker, so a candidate that crashes or hangs
takes neither the worker nor its other tasks. A worker that is lost with its machine is Dask's
matter: the task goes to another one, `retries` times.
"""

from __future__ import annotations

import threading
from concurrent.futures import Executor, Future
from typing import TYPE_CHECKING, Any

from tile_ir.diag import TileError
from tile_tune.executor import ProcessExecutor

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["DaskExecutor", "isolated"]

_LOCAL = threading.local()
"""On a Dask worker: each of its threads has its own process for trials, for one device."""


def isolated(seconds: float | None, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Run on a Dask worker: the function in a process of its own, kept for the next trial."""
    pool = getattr(_LOCAL, "pool", None)
    if pool is None:
        pool = _LOCAL.pool = ProcessExecutor(1)
    try:
        return pool.submit_within(seconds, fn, *args, **kwargs).result()
    except TileError as error:
        return _Raised(error)  # data: Dask need not know that the candidate failed


class _Raised:
    """An exception on its way back."""

    __slots__ = ("error",)

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __getstate__(self) -> BaseException:
        return self.error

    def __setstate__(self, state: BaseException) -> None:
        self.error = state


class DaskExecutor(Executor):
    """Runs trials on the workers of a `distributed.Client`.

    Args:
        client: connected to a scheduler (`dask scheduler` and `dask worker`, or `LocalCluster`).
        resources: what a worker must offer, as it was started with: `{"H200": 1}` for
            `dask worker --resources H200=1`. It tags workers by kind of device.
        retries: how often a trial is started again when its worker is lost.
        timeout: seconds for a task; the tuner gives its own.

    Raises `TileError` E2212 when `distributed` is not installed.
    """

    def __init__(
        self,
        client: Any,
        *,
        resources: Mapping[str, float] | None = None,
        retries: int = 3,
        timeout: float | None = None,
    ) -> None:
        try:
            import distributed
        except ImportError as cause:
            raise TileError(
                "E2212",
                "distributed is not installed",
                help='pip install "tile-tune[dask]"',
            ) from cause
        self.client = client
        self.resources = dict(resources or {})
        self.retries = retries
        self.timeout = timeout
        self._lost: type[BaseException] = distributed.KilledWorker

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run `fn` on some worker."""
        return self.submit_within(self.timeout, fn, *args, **kwargs)

    def submit_within(
        self, seconds: float | None, fn: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> Future[Any]:
        """As `submit`, with a time limit for the task, which counts from when it starts."""
        made: Future[Any] = Future()
        made.set_running_or_notify_cancel()
        # Impure: the same measurement twice is two measurements.
        remote = self.client.submit(
            isolated,
            seconds,
            fn,
            *args,
            pure=False,
            retries=self.retries,
            resources=self.resources or None,
            **kwargs,
        )
        remote.add_done_callback(lambda done: self._finish(done, made))
        return made

    def _finish(self, remote: Any, made: Future[Any]) -> None:
        try:
            found = remote.result()
        except self._lost as error:
            made.set_exception(
                TileError(
                    "E2211",
                    f"its workers were lost, {self.retries + 1} times: {error}",
                    help="look at the workers' logs; raise `retries=` if they come and go",
                )
            )
        except BaseException as error:  # whatever a cluster may raise, the future must end
            made.set_exception(error)
        else:
            if isinstance(found, _Raised):
                made.set_exception(found.error)
            else:
                made.set_result(found)
