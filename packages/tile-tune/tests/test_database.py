"""The database under races, kills, damage, a full disk and folders that cannot be written."""

import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
import warnings
from pathlib import Path

import pytest

from tile_ir.diag import TileError
from tile_tune import Configuration, Database, Trial, export_table, import_table
from tile_tune.database import DatabaseWarning, Record
from tile_tune.identity import Key
from tile_tune.tables import Table


def key(**changed):
    named = {"kernel": "matmul", "digest": "d1", "bucket": "A:f32[64x64]", "target": "cpu | X"}
    return Key(**{**named, "versions": '{"tile-ir": "0.1.0"}', **changed})


def record(block=64, ms=1.5, **changed):
    return Record(
        key=key(**changed),
        configuration=Configuration.of({"block": block, "dtype": "float16"}, {"m.k": (1, 2)}),
        milliseconds=ms,
        low=ms * 0.9,
        high=ms * 1.1,
        provenance={"searcher": "guided", "ties": []},
    )


@pytest.fixture
def database(tmp_path):
    return Database(tmp_path / "deep" / "tuning.sqlite3")


def test_what_is_stored_is_found_with_its_provenance(database):
    assert database.find(key()) is None
    stood = database.record(record())
    found = database.find(key())
    assert stood == found
    assert found.configuration == record().configuration
    assert (found.milliseconds, found.low, found.high) == (1.5, 1.35, 1.6500000000000001)
    assert found.provenance == {"searcher": "guided", "ties": []}
    assert found.source == str(database.path)
    for other in ({"digest": "d2"}, {"bucket": "x"}, {"target": "y"}, {"versions": "{}"}):
        assert database.find(key(**other)) is None


def test_the_first_of_two_stands_unless_it_is_replaced(database):
    database.record(record(64))
    assert database.record(record(128)).configuration.arguments["block"] == 64
    stood = database.record(record(128), replace_old=True)
    assert stood.configuration.arguments["block"] == 128
    database.forget(key())
    assert database.find(key()) is None


def test_trials_and_failures_are_kept(database):
    c = Configuration.of
    trials = [
        Trial(configuration=c({"block": 32}), samples=(3.0, 2.0, 4.0)),
        Trial(configuration=c({"block": 16}), status="crashed", reason="SIGSEGV"),
        Trial(configuration=c({"block": 64}), samples=(1.5,)),
    ]
    database.record(record(), trials)
    assert database.trials(key()) == [
        (c({"block": 64}), "measured", 1.5, ""),
        (c({"block": 32}), "measured", 3.0, ""),
        (c({"block": 16}), "crashed", None, "SIGSEGV"),
    ]
    other = key(bucket="other")
    database.record_failure(other, "job 1", "E2204: nothing works")
    assert database.failure(other, "job 1") == "E2204: nothing works"
    assert database.failure(other, "job 2") is None


def run(code, **options):
    text = "import sys\nfrom tile_tune import *\nfrom tile_tune.database import Record\n"
    text += "from tile_tune.identity import Key\n" + textwrap.dedent(code)
    return subprocess.Popen(
        [sys.executable, "-c", text, *options.pop("args", ())],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


WRITER = """
path, me, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
base = Database(path)
for i in range(count):
    for bucket in (f"own {me} {i}", f"shared {i}"):
        key = Key(kernel="k", digest="d", bucket=bucket, target="t", versions="{}")
        made = Record(key=key, configuration=Configuration.of({"by": me}), milliseconds=1.0,
                      low=1.0, high=1.0)
        stood = base.record(made)
        print(bucket, stood.configuration.arguments["by"], flush=True)
"""


def test_racing_processes_lose_nothing_and_agree(tmp_path):
    path = tmp_path / "tuning.sqlite3"
    running = [run(WRITER, args=(str(path), str(i), "3")) for i in range(6)]
    lines = []
    for process in running:
        out, err = process.communicate(timeout=60)
        assert (process.returncode, err) == (0, "")
        lines += out.splitlines()
    records = {r.key.bucket: r.configuration.arguments["by"] for r in Database(path).records()}
    assert len(records) == 6 * 3 + 3
    for line in lines:
        bucket, _, by = line.rpartition(" ")
        assert records[bucket] == int(by), bucket


def test_killed_writers_leave_whole_rows_and_no_lock(tmp_path):
    path = tmp_path / "tuning.sqlite3"
    said = []
    for i in range(3):
        process = run(WRITER, args=(str(path), str(i), "100000"))
        said += [process.stdout.readline() for _ in range(6)]
        time.sleep(0.02 * i)
        process.send_signal(signal.SIGKILL)
        said += process.communicate()[0].splitlines(keepends=True)
    stored = {r.key.bucket for r in Database(path).records()}
    whole = [line for line in said if line.endswith("\n")]
    assert {line.rpartition(" ")[0] for line in whole} <= stored
    begin = time.monotonic()
    Database(path).record(record())
    assert time.monotonic() - begin < 5
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()


def test_a_damaged_file_is_moved_aside_and_begun_anew(database):
    database.record(record())
    database.path.write_bytes(b"this is no database, and long enough to be looked at" * 50)
    with pytest.warns(DatabaseWarning, match="E2207.*damaged"):
        assert database.find(key()) is None
    aside = list(database.path.parent.glob("*.damaged-*"))
    assert len(aside) == 1
    assert aside[0].read_bytes().startswith(b"this is no database")
    assert database.record(record(32)).configuration.arguments["block"] == 32


def test_a_damaged_row_counts_as_absent(database):
    database.record(record())
    with sqlite3.connect(database.path) as connection:
        connection.execute("UPDATE choices SET milliseconds = 0.001")
    connection.close()
    with pytest.warns(DatabaseWarning, match="a row of .* for matmul is damaged"):
        assert database.find(key()) is None


def test_where_nothing_can_be_written_the_choice_stays_in_the_process(tmp_path):
    (tmp_path / "file").write_text("")
    base = Database(tmp_path / "file" / "tuning.sqlite3")
    with pytest.warns(DatabaseWarning, match="E2206.*cannot be written"):
        assert base.record(record()) == record()
    assert base.find(key()) == record()
    assert base.records() == [record()]


FULL = """
import resource, signal, warnings
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
path, block = sys.argv[1], "x" * 4000
base = Database(path)
def made(i):
    key = Key(kernel="k", digest="d", bucket=f"{i} {block}", target="t", versions="{}")
    return Record(key=key, configuration=Configuration(), milliseconds=1.0, low=1.0, high=1.0)
base.record(made(0))
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    for i in range(1, 40):
        assert base.record(made(i)) == made(i) or base.find(made(i).key)
print(any("E2206" in str(w.message) for w in seen), all(base.find(made(i).key) for i in range(40)))
"""


def test_a_full_disk_keeps_what_was_stored_and_the_process_going(tmp_path):
    path = tmp_path / "tuning.sqlite3"
    process = run(FULL, args=(str(path),))
    out, err = process.communicate(timeout=60)
    assert out == "True True\n", err
    stored = Database(path).records()
    assert 0 < len(stored) < 40
    assert Database(path).record(record()) == Database(path).find(key())


def test_a_folder_that_cannot_be_written_is_read(database):
    database.record(record())
    os.chmod(database.path, 0o444)
    os.chmod(database.path.parent, 0o555)
    try:
        assert Database(database.path).find(key()).configuration == record().configuration
    finally:
        os.chmod(database.path.parent, 0o755)


def test_a_newer_file_is_left_alone(database):
    database.record(record())
    with sqlite3.connect(database.path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    before = database.path.read_bytes()
    with pytest.warns(DatabaseWarning, match="E2208.*version 99"):
        assert database.find(key()) is None
    with pytest.warns(DatabaseWarning, match="E2208"):
        database.record(record(32))
    assert database.path.read_bytes() == before


def test_a_file_that_is_held_for_long_is_given_up(database, monkeypatch):
    import tile_tune.database as module

    database.record(record())
    monkeypatch.setattr(module, "BUSY_SECONDS", 0.1)
    holder = sqlite3.connect(database.path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    with pytest.warns(DatabaseWarning, match="E2206"):
        assert database.record(record(32, bucket="b")).configuration.arguments["block"] == 32
    holder.execute("ROLLBACK")
    holder.close()
    assert database.find(key()) is not None


# -- tables


def test_a_table_goes_out_and_comes_back(database, tmp_path):
    database.record(record())
    database.record(record(128, 0.25, bucket="other"))
    path = tmp_path / "table.yaml"
    assert export_table(path, database, lambda r: r.milliseconds > 1) == 1
    assert export_table(path, database) == 2
    other = Database(tmp_path / "other.sqlite3")
    assert import_table(path, other) == 2
    assert [r.row() for r in other.records()] == [r.row() for r in database.records()]


def test_a_table_is_looked_up_whatever_the_versions(database, tmp_path):
    database.record(record())
    export_table(tmp_path / "t.yaml", database)
    found = Table.load(tmp_path / "t.yaml").find(key(versions='{"tile-ir": "9.9"}'))
    assert found.configuration == record().configuration
    assert found.source == str(tmp_path / "t.yaml")
    assert Table.load(tmp_path / "t.yaml").find(key(bucket="x")) is None


HAND_WRITTEN = """\
tile-tune: 1
entries:
- kernel: matmul
  bucket: "A:f32[64x64]"
  target: cpu | X
  parameters: {block: 256}
  milliseconds: 1e-3
"""


def test_an_entry_by_hand_goes_by_the_kernels_name(tmp_path):
    path = tmp_path / "hand.yaml"
    path.write_text(HAND_WRITTEN)
    found = Table.load(path).find(key(digest="anything"))
    assert found.configuration == Configuration.of({"block": 256})
    assert found.milliseconds == 0.001
    assert Table.load(path).find(key(kernel="conv")) is None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("entries: []", "'tile-tune' is missing"),
        ("tile-tune: 2\nentries: []", "its format is 2, expected 1"),
        ("tile-tune: 1\nentries: [{kernel: a}]", "is missing"),
        ("tile-tune: [", "while parsing"),
        ("- 1", "list indices"),
        ("tile-tune: 1\nentries: [3]", "'int' object"),
    ],
)
def test_malformed_tables(tmp_path, text, why):
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    with pytest.raises(TileError, match="cannot be used") as caught:
        Table.load(path)
    assert caught.value.code == "E2210"
    assert why in caught.value.notes[0]


def test_a_table_inside_a_package(tmp_path, monkeypatch):
    package = tmp_path / "shipped_tables"
    (package / "h").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "h" / "t.yaml").write_text(HAND_WRITTEN)
    monkeypatch.syspath_prepend(tmp_path)
    assert len(Table.load("shipped_tables:h/t.yaml").records) == 1
    with pytest.raises(TileError, match=r"shipped_tables:none\.yaml"):
        Table.load("shipped_tables:none.yaml")


def test_no_warning_where_nothing_is_wrong(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        base = Database(tmp_path / "a.sqlite3")
        base.find(key())
        base.record(record())
        base.records()
    assert sorted(p.name for p in Path(tmp_path).iterdir()) == ["a.sqlite3"]
