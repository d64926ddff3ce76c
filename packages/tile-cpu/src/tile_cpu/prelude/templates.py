"""The hand-written C of this folder as templates: find the one that a name asks for, fill it in.

A file is read as blocks: a block is one definition with its comment, and an empty line ends it. In
a name, `DT` stands for any element type, `BYTE` for one that is kept in a byte, `FT` for a float
narrower than f32, `INT` for an integer (`SMALL`: of at most 16 bits), `UNIT` for any unit of a
packed operand, `CALL1` (2, 3) for a function of the C library with so many arguments, and `xN` for
any number of lanes. The instance is found from the name that a kernel calls: `tile_load_f16x8` is
`tile_load_DTxN` with DT = f16, N = 8.
In the text there are also words that follow from those (`vocabulary.DERIVED`):

    LANES, xH        the number of lanes; vectors of half as many
    IT, UT, CARRIER  the signed and unsigned integer as wide as DT, the C type that holds a DT
    IOTA, LOW, HIGH  0, 1, ..., N-1; its first and its second half (also EVEN, ODD, ALTERNATE)
    LOWEST, HIGHEST  the bounds of SMALL
    GROUP            how many elements along k a UNIT holds
    BUILTIN          the compiler's name of the library function at DT
    SHIFT, NAN_CODE  and the like: numbers of the float format FT (formats.py)

A definition that is written out for a type or a width wins over the template.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING

from tile_cpu.prelude.vocabulary import DERIVED, PARAMETERS
from tile_ir.diag import InternalError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["COMMENT", "Instance", "instantiate", "resolve"]

DEFINITION = re.compile(
    r"^(?:(?:TILE_FN|static void)\s+[\w\s*]*?(\w+)\(|typedef\s[^;]*?(\w+)(?:\s__attribute__.*)?;"
    r"|#define\s+(\w+)|static const\s+[\w\s]*?(\w+)\[)",
    re.MULTILINE,
)
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
SIGNATURE = re.compile(r"TILE_FN (\w+) \w+\(([^)]*)\)")
WIDTH = re.compile(r"x(\d+)(?=_|$)")
WORD = re.compile(r"(?<![A-Za-z0-9])[a-z][a-z0-9]*?(?=x(?:N|\d+)(?:_|$)|_|$)")
CAPITALS = "|".join(sorted({*PARAMETERS, *DERIVED, "LANES"} - {"xN", "xH"}, key=len, reverse=True))
TOKEN = re.compile(rf"x[NH](?![A-Za-z0-9])|(?<![A-Z])(?:{CAPITALS})(?![A-Z])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """A block of C and what its parameters are; `scalar_of` names the vector function whose
    one-lane form this is, if it is one."""

    text: str
    words: Mapping[str, str] = field(default_factory=dict)
    scalar_of: str | None = None


@cache
def _blocks() -> dict[str, str]:
    """Name of a definition or template -> its block, of every file."""
    found: dict[str, str] = {}
    for file in sorted(files(__package__).iterdir(), key=lambda f: f.name):
        if not file.name.endswith(".h") or file.name == "abi.h":
            continue
        for text in re.split(r"\n\s*\n", file.read_text(encoding="utf-8").strip()):
            found.update(dict.fromkeys(_defined(text), text))
    return found


def _defined(text: str) -> Iterator[str]:
    for groups in DEFINITION.findall(COMMENT.sub("", text)):
        yield next(filter(None, groups))


@lru_cache(maxsize=4096)
def resolve(name: str) -> Instance | None:
    """The definition that `name` asks for, None where the prelude has no such name.

    Preference: the name itself; templates, those with the fewest parameters first; the one-lane
    form of a vector function.
    """
    blocks = _blocks()
    for template, words in sorted(_opened(name), key=lambda pair: len(pair[1])):
        if template in blocks:
            return Instance(text=blocks[template], words=words)
    return None if WIDTH.search(name) else _scalar_form(name)


def _opened(name: str) -> list[tuple[str, Mapping[str, str]]]:
    """Every template that `name` may be an instance of, and what its parameters would be."""
    opened: list[tuple[str, Mapping[str, str]]] = [(name, {})]
    for width in WIDTH.finditer(name):
        template = f"{name[: width.start()]}xN{name[width.end() :]}"
        opened.append((template, {"LANES": width[1]}))
    for token, vocabulary in PARAMETERS.items():
        opened += [
            (
                f"{template[: word.start()]}{token}{template[word.end() :]}",
                {**bound, token: word[0]},
            )
            for template, bound in tuple(opened)
            for word in WORD.finditer(template)
            if word[0] in vocabulary
        ]
    return opened


def _scalar_form(name: str) -> Instance | None:
    vector = f"{name}x{2 if 'f64' in name else 4}"
    found = resolve(vector) if name.startswith("tile_") else None
    if found is None or not SIGNATURE.search(found.text):
        return None
    return Instance(text=found.text, words=found.words, scalar_of=vector)


def instantiate(instance: Instance) -> str:
    """The C text of a definition with its parameters filled in."""
    text = TOKEN.sub(lambda found: _fill(found[0], instance.words), instance.text)
    return text if instance.scalar_of is None else _one_lane(text, instance.scalar_of)


def _fill(token: str, words: Mapping[str, str]) -> str:
    if token in DERIVED:
        parameter, derive = DERIVED[token]
        return derive(words) if parameter in words else token
    return words.get(token, token)


def _one_lane(text: str, vector: str) -> str:
    """The scalar form of the function `vector`: arguments go into lane 0, lane 0 is the result."""
    found = SIGNATURE.search(text)
    if found is None:
        raise InternalError("E9001", f"{vector} has no scalar form")
    name, _, lanes = vector.rpartition("x")
    suffix = f"x{lanes}"
    parameters = [part.split() for part in found[2].split(",")]
    arguments = [f"({kind}){{{word}}}" if suffix in kind else word for kind, word in parameters]
    scalars = [f"{kind.replace(suffix, '_t')} {word}" for kind, word in parameters]
    return (
        f"TILE_FN {found[1].replace(suffix, '_t')} {name}({', '.join(scalars)}) "
        f"{{ return {vector}({', '.join(arguments)}){'[0]' if suffix in found[1] else ''}; }}"
    )
