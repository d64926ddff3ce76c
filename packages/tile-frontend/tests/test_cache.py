"""The cache on disk: found again, complete or absent, and never in the way."""

import contextlib
import json
import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import tile_frontend as tile
import tile_frontend.language as T
from tile_frontend import cache, cache_commands, cache_index, cli, driver
from tile_ir.diag import TileError


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


def made(key, size=1000, **meta):
    def make(folder):
        (folder / "kernel").write_bytes(b"x" * size)
        return meta

    return cache.build(key, make)


def test_the_index_follows_the_folders(cache_folder):
    made("a" * 40, name="first", target="t", seconds=1.5)
    made("b" * 40, name="second")
    found = cache_index.rows(cache_folder)
    assert [(r.key[0], r.name, r.target, r.seconds) for r in found] == [
        ("a", "first", "t", 1.5),
        ("b", "second", "", 0.0),
    ]
    sizes = sum(p.stat().st_size for p in cache_folder.glob("*/*"))
    assert cache_index.total_bytes(cache_folder) == sum(r.bytes for r in found) == sizes
    cache.drop(cache.find("a" * 40))
    assert cache_index.total_bytes(cache_folder) == found[1].bytes
    shutil.rmtree(cache_folder / ("b" * 40))
    assert cache_index.total_bytes(cache_folder) == found[1].bytes  # as far as it knows
    assert cache_index.rows(cache_folder) == []
    assert cache_index.total_bytes(cache_folder) == 0


@pytest.mark.parametrize("damage", ["lost", "garbage", "another version", "a folder"])
def test_an_index_that_cannot_be_used_is_made_anew_or_done_without(cache_folder, damage):
    made("a" * 40, name="first")
    path = cache_index.path_of(cache_folder)
    if damage == "another version":
        with contextlib.closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA user_version = 99")
    elif damage == "garbage":
        path.write_bytes(b"no database" * 1000)
    else:
        path.unlink()
    if damage == "a folder":
        path.mkdir()
    made("b" * 40, name="second")
    assert [r.name for r in cache_index.rows(cache_folder)] == ["first", "second"]
    assert cache_index.total_bytes(cache_folder) > 2000
    assert cache.find("a" * 40) is not None


def test_what_a_killed_process_left_is_removed(cache_folder):
    code = (
        "import os, signal\n"
        "from tile_frontend import cache\n"
        "def make(folder):\n"
        "    (folder / 'half').write_text('')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "cache.build('killed', make)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False)
    assert done.returncode == -signal.SIGKILL
    assert [p.name[:7] for p in cache_folder.iterdir()] == [".killed"]

    def slow(folder):
        made("b" * 40)  # it must not take our own room for a dead one's
        (folder / "kernel").write_bytes(b"x")
        return {}

    cache.build("a" * 40, slow)
    assert sorted(p.name[0] for p in cache_folder.iterdir()) == ["a", "b"]


def test_a_kernel_removed_before_it_was_loaded_is_built_again(oracle, toolchain, monkeypatch):
    tile.compile(plus_one, target=oracle)
    original, removed = driver._restored, []

    def slow(entry):
        if not removed:
            removed.append(cache.drop(entry))
        return original(entry)

    monkeypatch.setattr(driver, "_restored", slow)
    assert works(tile.compile(plus_one, target=oracle))
    assert toolchain.compiled == 2


def test_threads_build_a_kernel_once(oracle, toolchain):
    with ThreadPoolExecutor(32) as pool:
        kernels = list(pool.map(lambda _: tile.compile(plus_one, target=oracle), range(32)))
    assert toolchain.compiled == 1
    assert sum(k.compiled.cached for k in kernels) == 31


def test_a_clock_that_was_set_back(cache_folder, monkeypatch):
    old = made("a" * 40)
    os.utime(old.file("entry.json"), (time.time() + 1e6,) * 2)
    monkeypatch.setattr(cache.knobs, "cache_limit_bytes", lambda: 2500)
    made("b" * 40)
    made("c" * 40)
    assert sorted(p.name[0] for p in cache_folder.iterdir()) == ["b", "c"]


def test_commands(oracle, cache_folder, tmp_path, capsys, monkeypatch):
    def run(*words):
        status = cli.main(["cache", *map(str, words)])
        return status, capsys.readouterr()

    kernel = tile.compile(plus_one, target=oracle)
    key = kernel.source_path.parent.name
    assert run("ls")[1].out.splitlines()[1].split()[-3:] == ["plus_one", "oracle", "-arch=oracle"]
    (row,) = json.loads(run("ls", "--json")[1].out)
    assert (row["key"], row["name"]) == (key, "plus_one")
    assert "file      kernel.tir" in run("show", key[:6])[1].out
    status, printed = run("show", "zz")
    assert status == 2
    assert "E2103" in printed.err
    archive = tmp_path / "kernels.zip"
    assert json.loads(run("export", archive, "--json")[1].out) == [key]
    assert run("prune")[1].out == "removed 1 kernels\n"
    assert run("import", archive)[1].out == "imported 1 kernels\n"
    assert run("import", archive)[1].out == "imported 0 kernels\n"
    again = tile.compile(plus_one, target=oracle)
    assert again.compiled.cached
    assert works(again)


@pytest.mark.parametrize("name", ["../evil", "a/../../b", "x" * 40 + "/k", "a" * 40 + "/b/c"])
def test_archives_stay_in_the_cache(cache_folder, tmp_path, name):
    file = tmp_path / "kernels.zip"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(name, b"")
    with pytest.raises(TileError) as info:
        cache_commands.import_entries(file)
    assert info.value.code == "E2104"
    file.write_bytes(b"no archive")
    with pytest.raises(TileError, match="no archive"):
        cache_commands.import_entries(file)


def test_damaged_archives_are_not_taken_over(oracle, cache_folder, tmp_path):
    tile.compile(plus_one, target=oracle)
    file, bad = tmp_path / "kernels.zip", tmp_path / "bad.zip"
    cache_commands.export_entries(file)
    with zipfile.ZipFile(file) as source, zipfile.ZipFile(bad, "w") as target:
        for name in source.namelist():
            target.writestr(name, source.read(name) + b" " * name.endswith(".tir"))
    cache_commands.prune(0)
    with pytest.raises(TileError, match="not what was stored"):
        cache_commands.import_entries(bad)
    assert list(cache_folder.iterdir()) == []


@pytest.mark.parametrize("name", ["a.py", "prelude/b.inc", "c.odd"])
def test_every_file_of_a_package_is_part_of_the_key(tmp_path, name):
    (tmp_path / "prelude").mkdir()
    before = driver._stamp(tmp_path)
    (tmp_path / "a.pyc").write_text("made by Python")
    assert driver._stamp(tmp_path) == before
    (tmp_path / name).write_text("edited")
    assert driver._stamp(tmp_path) != before
