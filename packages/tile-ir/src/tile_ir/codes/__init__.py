"""The catalogue of diagnostic codes: each has a title, an explanation with what to do, and most an
example that a test runs. `tile explain CODE` prints it."""

from __future__ import annotations

import importlib
import json
import pkgutil
import re
from dataclasses import dataclass
from importlib.resources import files

__all__ = ["Page", "areas", "catalogue", "page", "rule"]


_SENTENCE = re.compile(r"(?<=[.;])\s+(?=[A-Z`/%])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What is known of one code. `example` is a program or a call that raises it, in `language`
    ("python", or "text" for programs as the reader takes them); both are empty where it takes more
    than a few lines to see."""

    code: str
    title: str
    text: str
    language: str = ""
    example: str = ""

    def render(self) -> str:
        """The page as plain text, its example indented."""
        parts = [f"{self.code}: {self.title}", self.text]
        if self.example:
            lines = "\n".join(f"    {line}".rstrip() for line in self.example.splitlines())
            parts.append(f"For example:\n\n{lines}")
        return "\n\n".join(parts)


def catalogue() -> dict[str, tuple[str, str]]:
    """Every code of the installed areas: code -> (title, explanation)."""
    found = {code: entry for codes in areas().values() for code, entry in codes.items()}
    return dict(sorted(found.items()))


def rule(code: str) -> str:
    """The first sentence of a code's explanation, which is the rule that was broken; empty for a
    code that the catalogue does not have."""
    _, text = catalogue().get(code, ("", ""))
    return _SENTENCE.split(text, maxsplit=1)[0].rstrip(".")


def areas() -> dict[str, dict[str, tuple[str, str]]]:
    """What each area is about -> its codes, the areas by their first codes."""
    found: dict[str, dict[str, tuple[str, str]]] = {}
    for area in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{area.name}")
        about = " ".join(re.split(r"[:;.]", module.__doc__ or "")[0].split())
        about = about.removeprefix("Codes of ")
        found[about[:1].upper() + about[1:]] = dict(sorted(module.CODES.items()))
    return dict(sorted(found.items(), key=lambda item: next(iter(item[1]))))


def page(code: str) -> Page:
    """The page of a code. Raises KeyError for one that the catalogue does not have."""
    title, text = catalogue()[code]
    shown = json.loads(files(__name__).joinpath("examples.json").read_text(encoding="utf-8"))
    example = shown.get(code, {"language": "", "text": ""})
    return Page(
        code=code, title=title, text=text, language=example["language"], example=example["text"]
    )
