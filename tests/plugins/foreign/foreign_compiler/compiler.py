"""A compiler for sums of arrays: it makes tiles of any size, has the borrowed pass guard what
leaves an array, and runs the result."""

import itertools
import operator
import subprocess

from foreign_compiler.reader import Reader

OPERATORS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
             "//": operator.floordiv, "%": operator.mod, "<": operator.lt, "<=": operator.le,
             "and": lambda a, b: a and b}  # fmt: skip
CALLS = {"ceildiv": lambda a, b: -(-a // b), "min": min, "max": max, "f32": float}


def sum_of(names, tile):
    """The text of `total = a + b + ...`; nothing in it keeps the last tile inside of the arrays."""
    taken = ", ".join(f"{n}: global f32[n]" for n in (*names, "total"))
    value = " + ".join(f"{n}[block * {tile} + lane]" for n in names)
    return f"""tile.ir 1.0 tile
func @sum({taken}) dims (n) results (total) {{
  kernel @sum {{
    tiles (block) in (ceildiv(n, {tile})) {{
      parallel (lane) in ({tile}) {{ store total[block * {tile} + lane] = {value} clip }}
    }}
  }}
}}
"""


def borrow(text, passes, command):
    """The text after passes of the tile compiler, which runs as a program of its own."""
    run = [*command, "-", "-p", passes]
    return subprocess.run(run, input=text, capture_output=True, text=True, check=True).stdout


def execute(text, document, values):
    """Run the function of a text on lists and numbers by name, which it changes."""
    _, (_, body) = Reader(text, document).module()
    _run(body, dict(values))


def _run(body, values):
    for s in body[1:-1]:
        _STATEMENTS[s[0]](s, values)


def _loop(s, values):
    names, extents = (s[k][::2] for k in ("vars", "extents"))
    for point in itertools.product(*(range(_value(e, values)) for e in extents)):
        _run(s["body"], {**values, **dict(zip(names, point, strict=True))})


def _if(s, values):
    _run(s["then"] if _value(s["cond"], values) else s.get("orelse", ()), values)


def _store(s, values):
    name, _, index, _ = s["buffer"]
    at, value = _value(index, values), _value(s["value"], values)
    if "clip" in s.values() and not 0 <= at < len(values[name]):
        return  # what a clipped store does outside of its buffer
    values[name][_inside(at, values[name])] = value


def _let(s, values):
    values[s["var"] if isinstance(s["var"], str) else s["var"][0]] = _value(s["value"], values)


_STATEMENTS = {
    "kernel": lambda s, values: _run(s["body"], values),
    "tiles": _loop,
    "parallel": _loop,
    "if": _if,
    "store": _store,
    "let": _let,
    "assume": lambda s, values: None,
}


def _inside(at, array):
    if not 0 <= at < len(array):
        raise IndexError(f"element {at} of {len(array)}")
    return at


def _value(e, values):
    if isinstance(e, str):
        return values[e] if e in values else float(e) if "." in e else int(e)
    if len(e) == 1:
        return _value(e[0], values)
    if e[0] == "(":
        return _value(e[1], values)
    if e[1] == "[":
        return values[e[0]][_inside(_value(e[2], values), values[e[0]])]
    if e[0] == "select":
        return _value(e[4] if _value(e[2], values) else e[6], values)
    if e[1] == "(":
        return CALLS[e[0]](*(_value(a, values) for a in e[2:-1:2]))
    a, sign, b = e
    left = _value(a, values)
    return left if sign == "and" and not left else OPERATORS[sign](left, _value(b, values))
