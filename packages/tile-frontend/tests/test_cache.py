"""The cache on disk: found again, complete or absent, and never in the way."""

import json
import os
import stat
import subprocess
import sys

import numpy as np
import pytest

import tile_frontend as tile
import tile_frontend.language as T
from tile_frontend import cache


@T.prim_func
def plus_one(A: T.Tensor((4,), T.int32)):
    with T.Kernel(4) as i:
        A[i] = A[i] + 1


def works(kernel):
    a = np.zeros(4, np.int32)
    kernel(a)
    return a.tolist() == [1, 1, 1, 1]


def test_second_compilation_is_a_lookup(oracle, toolchain, cache_folder):
    first = tile.compile(plus_one, target=oracle)
    second = tile.compile(plus_one, target=oracle)
    assert toolchain.compiled == 1
    assert (first.compiled.cached, second.compiled.cached) == (False, True)
    assert works(second)
    assert second.plan == first.plan
    assert second.kernel_source == first.kernel_source
    assert [p.name for p in cache_folder.iterdir()] == [second.source_path.parent.name]


def test_whatever_changes_the_kernel_changes_the_key(oracle, toolchain):
    tile.compile(plus_one, target=oracle)
    tile.compile(plus_one, target=oracle, numerics="strict")
    tile.compile(plus_one, target=oracle, compile_flags="-O1")
    assert toolchain.compiled == 3


@pytest.mark.parametrize("damage", ["truncate", "remove", "garble the record"])
def test_damaged_entry_is_built_anew(oracle, toolchain, cache_folder, damage):
    kernel = tile.compile(plus_one, target=oracle)
    folder = kernel.source_path.parent
    if damage == "truncate":
        (folder / "kernel.tir").write_bytes(b"")
    elif damage == "remove":
        (folder / "kernel.tir").unlink()
    else:
        (folder / "entry.json").write_text("{")
    with pytest.warns(cache.CacheWarning, match="E2102"):
        again = tile.compile(plus_one, target=oracle)
    assert toolchain.compiled == 2
    assert works(again)
    assert tile.compile(plus_one, target=oracle).compiled.cached


def test_disabled_cache_writes_nothing(oracle, toolchain, cache_folder, monkeypatch):
    monkeypatch.setenv("TILE_DISABLE_CACHE", "1")
    assert works(tile.compile(plus_one, target=oracle))
    assert works(tile.compile(plus_one, target=oracle))
    assert toolchain.compiled == 2
    assert not cache_folder.exists()


def test_folder_that_cannot_be_made(oracle, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TILE_CACHE_DIR", str(tmp_path / "file"))
    with pytest.warns(cache.CacheWarning, match="E2101"):
        kernel = tile.compile(plus_one, target=oracle)
    assert works(kernel)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_read_only_folder(oracle, cache_folder):
    cache_folder.mkdir(parents=True)
    cache_folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
    with pytest.warns(cache.CacheWarning, match="E2101"):
        kernel = tile.compile(plus_one, target=oracle)
    assert works(kernel)
    cache_folder.chmod(stat.S_IRWXU)


def test_full_disk(oracle, toolchain, cache_folder, monkeypatch):
    original = toolchain.compile

    def full(self, artifact, out):
        if cache_folder in out.parents:
            raise OSError(28, "No space left on device")
        original(self, artifact, out)

    monkeypatch.setattr(toolchain, "compile", full)
    with pytest.warns(cache.CacheWarning, match="No space left"):
        kernel = tile.compile(plus_one, target=oracle)
    assert works(kernel)
    assert list(cache_folder.iterdir()) == []


def test_oldest_kernels_go_first(cache_folder, monkeypatch):
    monkeypatch.setattr(cache.knobs, "cache_limit_bytes", lambda: 2500)

    def make(folder):
        (folder / "kernel").write_bytes(b"x" * 1000)
        return {}

    for n, key in enumerate(("first", "second", "third")):
        entry = cache.build(key, make)
        os.utime(entry.file("entry.json"), (n, n))
    assert cache.find("first") is None
    assert cache.find("second") is not None
    assert cache.find("third") is not None


def test_failed_build_leaves_nothing(cache_folder):
    def fail(folder):
        (folder / "half").write_text("")
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        cache.build("key", fail)
    assert list(cache_folder.iterdir()) == []


def test_race_for_one_key(cache_folder):
    def make(folder):
        (folder / "kernel").write_text("same")
        return {"n": 1}

    def slower(folder):
        cache.build("key", make)
        return make(folder)

    assert cache.build("key", slower).meta["n"] == 1
    assert cache.find("key").file("kernel").read_text() == "same"
    assert [p.name for p in cache_folder.iterdir()] == ["key"]


def test_keys_tell_parts_apart():
    assert cache.key_of("ab", "c") != cache.key_of("a", "bc")
    assert cache.key_of("ab", "c") == cache.key_of("ab", "c")


def test_entry_is_plain_json(oracle):
    kernel = tile.compile(plus_one, target=oracle)
    meta = json.loads((kernel.source_path.parent / "entry.json").read_text())
    assert meta["entry"] == "plus_one"
    assert set(meta["files"]) == {"kernel.tir", "source.txt"}


def test_key_is_the_same_in_every_process(tmp_path):
    """Sets and dicts print in another order from process to process unless one sorts them."""
    program = (
        "from tile_frontend import driver, target_select\n"
        "from tile_frontend.cache import key_of\n"
        "import conftest\n"
        "t = target_select.select(conftest.MANIFEST)\n"
        "print(key_of(*driver._versions('oracle'), driver._described(t.spec)))\n"
    )
    here = os.path.dirname(__file__)
    keys = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=here,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(keys) == 1
