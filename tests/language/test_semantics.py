"""docs/semantics.md: each rule has a number of its own, and a test or a refused program."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("tests/language", "tests/e2e", "tests/emulate", "packages/tile-frontend/tests")
TEXT = (ROOT / "docs" / "semantics.md").read_text("utf-8")
RULES = re.findall(r"^\| (4\.\d+\.\d+) \| (.+?) \| `(.+?)` \|$", TEXT, re.MULTILINE)


@pytest.mark.parametrize(("number", "meaning", "shown"), RULES, ids=[r[0] for r in RULES])
def test_a_rule_is_held(number, meaning, shown):
    if "::" not in shown:
        assert (ROOT / "tests" / "errors" / shown).exists()
        assert shown[:5] in meaning
        return
    file, test = shown.split("::")
    places = [ROOT / folder / file for folder in FOLDERS]
    text = "".join(path.read_text("utf-8") for path in places if path.exists())
    body = re.search(rf"^def {test}\(.*?(?=^\S|\Z)", text, re.MULTILINE | re.DOTALL)
    assert body, f"there is no {shown}"
    assert re.search(r"\bassert\w*|\brun\(|raises", body[0]), f"{shown} asserts nothing"


def test_numbers_count_up_within_each_section():
    rows = re.findall(r"^\| (4\.[\d.]+) \|", TEXT, re.MULTILINE)
    assert rows == [number for number, *_ in RULES]
    numbers = [tuple(map(int, number.split("."))) for number in rows]
    assert numbers == sorted(set(numbers))
    assert [section for _, section, rule in numbers if rule == 1] == list(range(1, 11))
    assert len(numbers) >= 120
