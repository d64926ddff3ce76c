"""Checks run while the device's compiler does, and what they find comes first."""

from __future__ import annotations

import threading

import pytest

from tile_frontend.beside import beside, checks_first
from tile_ir.diag import InternalError, TileError


def refuse() -> None:
    raise TileError("E0703", "the program is wrong")


def test_checks_and_the_body_run_at_the_same_time() -> None:
    checked, compiled = threading.Event(), threading.Event()

    def check() -> None:
        assert compiled.wait(10)
        checked.set()

    with beside([check]):
        compiled.set()
        assert checked.wait(10)


def test_a_failed_check_is_raised_in_the_callers_thread_after_the_body() -> None:
    done = []
    with pytest.raises(TileError, match="the program is wrong"), beside([refuse]):
        done.append(threading.current_thread())
    assert done == [threading.main_thread()]


def test_the_checks_say_why_the_body_failed() -> None:
    with pytest.raises(TileError, match="the program is wrong"), beside([refuse]):
        raise InternalError("E9001", "tripped over it")
    with pytest.raises(TileError, match="the program is wrong"), checks_first([refuse]):
        raise InternalError("E9001", "tripped over it")


def test_an_error_of_the_body_alone_stays() -> None:
    ran: list[int] = []
    for guard in (beside, checks_first):
        with pytest.raises(ZeroDivisionError), guard([lambda: ran.append(1)]):
            raise ZeroDivisionError
    assert ran == [1, 1]


def test_the_first_failed_check_ends_them() -> None:
    ran: list[int] = []
    with pytest.raises(TileError, match="the program is wrong"):
        with beside([lambda: ran.append(1), refuse, lambda: ran.append(2)]):
            pass
    assert ran == [1]
