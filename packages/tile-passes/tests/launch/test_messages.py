"""What a compiler says is placed on the user's lines."""

import re
import sys

import pytest

from tile_passes.launch import programs
from tile_passes.launch.messages import Messages
from tile_passes.launch.programs import run_program

MESSAGES = Messages(
    placed=re.compile(r"^\S+:(?P<line>\d+): error: (?P<text>.*)$", re.M),
    unplaced=re.compile(r"^linker: (?P<text>.*)$", re.M),
    missing=re.compile("no such instruction"),
)
SOURCE = "void f() {\n  // user.py:7: y = x + z\n  y = x +;\n}\n"


def test_a_message_belongs_to_the_nearest_line_above():
    (found,) = MESSAGES.parse("k.cpp:3: error: expected a value\n", SOURCE)
    assert (found.text, found.line) == ("expected a value", 3)
    assert (found.span.file, found.span.line) == ("user.py", 7)


def test_a_message_above_all_marks_has_no_place():
    (found,) = MESSAGES.parse("k.cpp:1: error: bad\n", SOURCE)
    assert found.span is None


def test_a_refusal_shows_the_lines_and_the_options():
    error = MESSAGES.refusal("k.cpp:3: error: expected a value\nlinker: no f\n", SOURCE, "cc -O2")
    assert error.code == "E3002"
    assert error.message == "the compiler refused the kernel: expected a value"
    assert error.notes[0] == "user.py:7:1: expected a value [line 3: y = x +;]"
    assert error.notes[1:] == ("no f", "options: cc -O2")


def test_a_missing_instruction_has_its_own_code():
    error = MESSAGES.refusal("k.cpp:3: error: no such instruction: mma\n", SOURCE, "cc")
    assert error.code == "E3015"


def test_a_log_without_messages_is_shown_as_it_ends():
    error = MESSAGES.refusal("one\ntwo\nthree\nfour\n", SOURCE, "cc")
    assert error.notes == ("two", "three", "four", "options: cc")


def test_a_program_says_its_status_and_output(tmp_path):
    text = "import sys; print('out'); sys.stderr.write('err'); sys.exit(3)"
    assert run_program((sys.executable, "-c", text), str(tmp_path)) == (3, "out\nerr")


def test_a_program_that_hangs_is_ended(monkeypatch, tmp_path):
    monkeypatch.setattr(programs, "LIMIT_SECONDS", 0.2)
    command = (sys.executable, "-c", "import time; time.sleep(9)")
    assert run_program(command, str(tmp_path)) == (1, "error: no answer for 0.2 seconds")


def test_a_program_that_is_not_there(tmp_path):
    with pytest.raises(OSError, match="nowhere"):
        run_program((str(tmp_path / "nowhere"),), str(tmp_path))
