"""Large pages for outputs: what is asked of the system, and that a hint never fails."""

from __future__ import annotations

import mmap
import sys

import pytest

from tile_frontend.adapters import huge_pages
from tile_frontend.adapters.huge_pages import LEAST_BYTES, advise_huge_pages

MIB = 1 << 20


@pytest.fixture
def asked(monkeypatch):
    calls: list[tuple[int, int, int]] = []
    monkeypatch.setattr(huge_pages, "_madvise", lambda: lambda *a: calls.append(a))
    monkeypatch.setattr(sys, "platform", "linux")
    return calls


def test_whole_large_pages_are_asked_for(asked):
    advise_huge_pages(7 * MIB + 64, 16 * MIB)
    assert asked == [(8 * MIB, 15 * MIB + 64, 14)]


def test_small_blocks_and_other_systems_are_left_alone(asked, monkeypatch):
    advise_huge_pages(8 * MIB, LEAST_BYTES - 1)
    monkeypatch.setattr(sys, "platform", "darwin")
    advise_huge_pages(8 * MIB, 16 * MIB)
    assert asked == []


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="madvise is asked for on Linux")
def test_the_constant_is_that_of_the_system():
    assert getattr(mmap, "MADV_HUGEPAGE", 14) == 14


def test_memory_that_is_not_there_is_no_error():
    assert advise_huge_pages(1 << 46, 64 * MIB) is None
