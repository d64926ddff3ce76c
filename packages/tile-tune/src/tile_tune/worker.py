"""A worker process: it answers one request after the other.

It is meant to die: candidates crash, hang and leak in it. So it holds nothing that anybody else
needs, and ends by itself when its parent is gone, even while a kernel loops for ever (a thread
looks; a launch releases the interpreter lock).
"""

from __future__ import annotations

import os
import pickle
import sys
import threading
import traceback
from multiprocessing.connection import Connection
from typing import Any

__all__ = ["main", "restart_clock", "serve"]

PARENT_CHECK_SECONDS = 1.0
_SERVED: list[Connection] = []
"""The connection of this process, where it is a worker."""


def restart_clock() -> None:
    """Let the time limit of the running task count from now: what was done so far (imports, inputs,
    the reference) is not the candidate's. Without effect outside of a worker."""
    for connection in _SERVED:
        connection.send_bytes(b"")


def serve(connection: Connection) -> None:
    """Receive `(function, args, kwargs)`, send `(True, result)` or `(False, exception)`, until the
    other side closes. An empty message in between restarts the clock of the task."""
    _SERVED.append(connection)
    while True:
        try:
            request = connection.recv_bytes()
        except (EOFError, OSError):
            return
        connection.send_bytes(_answer(request))


def _answer(request: bytes) -> bytes:
    try:
        function, args, kwargs = pickle.loads(request)  # which imports what they need
        restart_clock()
        return pickle.dumps((True, function(*args, **kwargs)))
    except BaseException as error:  # the parent decides; SystemExit of a candidate is its error too
        return _failure(error)


def _failure(error: BaseException) -> bytes:
    text = "".join(traceback.format_exception(type(error), error, error.__traceback__)[-3:])
    error.__traceback__ = None
    try:
        made = pickle.dumps((False, error))
        pickle.loads(made)
    except Exception:  # an exception need not survive the way
        return pickle.dumps((False, RuntimeError(text)))
    return made


def _watch_parent(parent: int) -> None:
    def look() -> None:
        while os.getppid() == parent:
            wake.wait(PARENT_CHECK_SECONDS)
        os._exit(0)

    wake = threading.Event()
    threading.Thread(target=look, daemon=True).start()


def main(argv: list[str]) -> None:
    """Serve on the connection whose file descriptor is the first argument; the second is the
    process to outlive by no more than a second."""
    _watch_parent(int(argv[1]))
    connection: Any = Connection(int(argv[0]))
    # A worker must not start to tune what it imports.
    os.environ["TILE_TUNE"] = "off"
    sys.path[:] = pickle.loads(connection.recv_bytes())
    serve(connection)
