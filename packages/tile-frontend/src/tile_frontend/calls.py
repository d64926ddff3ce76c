"""The code of a call, made for one kind of arguments: no loop, no look-up and no function call that
could be spared.

A launch takes the driver a few microseconds, and a loop over arguments with a function call for
each of their properties as much again. What is made here is checked all the same: a call compares
types, extents, strides and devices of its arguments with those that were checked.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from tile_frontend.adapters import adapter_for
from tile_frontend.trace.values import dtype as ElementType

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tile_frontend.bind import Prepared

__all__ = ["Alike", "Ready", "alike_of", "key_function", "key_texts"]

_PLAIN = (bool, int, str, type(None), ElementType)
"""Python values that never change and mean the same where they and their types are equal."""

_UNLIKE = "(AttributeError, TypeError, ValueError)"
"""What reading the properties of an array of another kind raises, or of too few arguments."""


@cache
def _factory(text: str) -> Callable[..., Any]:
    """The function `made` that a text defines; equal texts are compiled once."""
    namespace: dict[str, Any] = {}
    exec(text, namespace)  # our own text: names are numbered, nothing in it is the user's
    made: Callable[..., Any] = namespace["made"]
    return made


def _made(
    names: dict[str, Any], function: str, parameters: Sequence[str], lines: Sequence[str]
) -> Callable[..., Any]:
    """A function of these lines, in which `names` are those of a function around it."""
    text = "\n".join(
        [
            f"def made({', '.join(names)}):",
            f"    def {function}({', '.join(parameters)}):",
            *(f"        {line}" for line in lines),
            f"    return {function}",
        ]
    )
    made: Callable[..., Any] = _factory(text)(**names)
    return made


@dataclass(slots=True)
class Alike:
    """A library's own comparison of arrays with those of an earlier call.

    `places` are the arrays among the arguments, `kinds` the types of all others. A comparison may
    be stricter than a key (torch's tells tensors with gradients apart): then it is made anew from
    the arguments at hand, a few times, so that arguments which alternate do not pay for it.
    """

    places: tuple[int, ...]
    kinds: Mapping[int, type]
    make: Callable[[Sequence[Any]], Callable[..., bool]]
    compare: Callable[..., bool]
    left: int = 8

    def renewed(self, compare: Callable[..., bool], arrays: Sequence[Any]) -> Callable[..., bool]:
        """What to compare with from now on."""
        if self.left == 0:
            return compare
        self.left -= 1
        return self.make(arrays)


def alike_of(is_array: Sequence[bool], args: Sequence[Any]) -> Alike | None:
    """The comparison with these arguments; None where their library has none."""
    places = tuple(i for i, array in enumerate(is_array) if array)
    adapters = {adapter_for(args[i]) for i in places}
    make = getattr(adapters.pop(), "comparison", None) if len(adapters) == 1 else None
    compare = make([args[i] for i in places]) if make is not None else None
    if make is None or compare is None:
        return None
    kinds = {i: type(args[i]) for i, array in enumerate(is_array) if not array}
    return Alike(places, kinds, make, compare)


@dataclass(frozen=True, slots=True)
class Ready:
    """Checked arguments and what launches arguments like them.

    `launch` takes addresses and scalars, then `constants`; where it has `lines` and `names`, its
    own code in terms of p0, p1, ..., they stand in place of a call. `odd` gets arguments that are
    not aligned.
    """

    prepared: Prepared
    launch: Callable[..., None]
    constants: Sequence[int]
    odd: Callable[..., Any]

    def run(self) -> Callable[..., Any]:
        """A function of arguments like these, which makes outputs, launches, and gives the outputs;
        only addresses and scalars are checked."""
        names, lines = self._body()
        return _made(names, "run", self._inputs(), lines)

    def checked(
        self,
        texts: Sequence[str],
        key: tuple[Any, ...],
        other: Callable[..., Any],
        alike: Alike | None = None,
    ) -> Callable[..., Any]:
        """The same, but for any arguments: those whose key is another go to `other`. Where a
        library can compare its arrays in one call (`alike`), the key is only built for those
        which that finds different."""
        names, lines = self._body()
        inputs = self._inputs()
        compared = [
            "try:",
            f"    {_unpacked(inputs)}",
            f"    same = {_key(texts, inputs)} == key",
            f"except {_UNLIKE}:",
            "    same = False",
            "if not same:",
            "    return other(*args)",
        ]
        names.update(key=key, other=other)
        if alike is not None:
            arrays = ", ".join(inputs[i] for i in alike.places)
            names.update(alike=alike.compare, renewed=alike.renewed)
            names.update({f"type{i}": kind for i, kind in alike.kinds.items()})
            kinds = "".join(f" and type({inputs[i]}) is type{i}" for i in alike.kinds)
            compared = [
                "nonlocal alike",
                "try:",
                f"    {_unpacked(inputs)}",
                f"    same = alike({arrays}){kinds}",
                f"except {_UNLIKE}:",
                "    same = False",
                "if not same:",
                *(f"    {line}" for line in compared),
                f"    alike = renewed(alike, ({arrays},))",
            ]
        return _made(names, "call", ["*args"], [*compared, *lines])

    def _inputs(self) -> list[str]:
        return [f"a{i}" for i in range(self.prepared.count)]

    def _body(self) -> tuple[dict[str, Any], list[str]]:
        """Code in terms of the arguments a0, a1, ..., and what its names stand for."""
        inputs, prepared = self._inputs(), self.prepared
        outputs = [f"o{i}" for i in range(len(prepared.outputs))]
        given = [*inputs, *outputs]
        names: dict[str, Any] = {"odd": self.odd}
        names.update(zip((f"make_{o}" for o in outputs), prepared.outputs, strict=True))
        lines = [f"{o} = make_{o}()" for o in outputs]
        by_alignment: dict[int, list[str]] = {}
        for i, slot in enumerate(prepared.slots):
            names[f"take{i}"] = slot.take
            lines.append(f"p{i} = {slot.text.format(given[slot.at], f'take{i}')}")
            if slot.alignment > 1:
                by_alignment.setdefault(slot.alignment, []).append(f"p{i}")
        for alignment, values in by_alignment.items():
            lines.append(f"if ({' | '.join(values)}) & {alignment - 1}:")
            lines.append(f"    return odd({', '.join(inputs)})")
        lines += self._launched(names)
        if outputs:
            listed = ", ".join(outputs)
            lines.append(f"return {listed}" if len(outputs) == 1 else f"return [{listed}]")
        return names, lines

    def _launched(self, names: dict[str, Any]) -> Sequence[str]:
        own: Sequence[str] | None = getattr(self.launch, "lines", None)
        if own is not None:
            names.update(self.launch.names)  # type: ignore[attr-defined]  # it goes with `lines`
            return own
        names["entry"] = self.launch
        values = [f"p{i}" for i in range(len(self.prepared.slots))]
        for i, constant in enumerate(self.constants):
            names[f"c{i}"] = constant
            values.append(f"c{i}")
        return [f"entry({', '.join(values)})"]


@dataclass(frozen=True, slots=True)
class Leading:
    """Runs on the first `count` arguments of a call; the others are Python values."""

    run: Callable[..., Any]
    count: int

    def __call__(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Run on a call's arguments."""
        return self.run(*args[: self.count])


def quick_call(run: Any, args: Sequence[Any], other: Callable[..., Any]) -> Any:
    """A call for arguments like these: the same Python values after arrays of which their library
    says in one call that they are alike; any other call goes to `other`. None where there is none.
    """
    if not isinstance(run, Leading) or not all(type(a) in _PLAIN for a in args[run.count :]):
        return None
    is_array = [adapter_for(a) is not None for a in args]
    if not args or is_array != [i < run.count for i in range(len(args))]:
        return None
    alike = alike_of(is_array, args)
    if alike is None:
        return None
    inputs = [f"a{i}" for i in range(len(args))]
    arrays = ", ".join(inputs[: run.count])
    values = {f"v{i}": args[i] for i in range(run.count, len(args))}
    names = {"run": run.run, "other": other, "alike": alike.compare, **values}
    names.update({f"type{i}": kind for i, kind in alike.kinds.items()})
    equal = "".join(f" and type(a{i}) is type{i} and a{i} == v{i}" for i in alike.kinds)
    lines = [
        "try:",
        f"    {_unpacked(inputs)}",
        f"    same = not named and alike({arrays}){equal}",
        f"except {_UNLIKE}:",
        "    same = False",
        f"return run({arrays}) if same else other(*args, **named)",
    ]
    return _made(names, "call", ["*args", "**named"], lines)


def _unpacked(inputs: Sequence[str]) -> str:
    return f"{''.join(f'{name}, ' for name in inputs) or '() '}= args"


def _key(texts: Sequence[str], inputs: Sequence[str]) -> str:
    parts = (text.format(name) for text, name in zip(texts, inputs, strict=True))
    return f"({''.join(f'{part}, ' for part in parts)})"


def key_function(texts: Sequence[str]) -> Callable[..., Any]:
    """What gives the key of a call's arguments, None for those of another kind."""
    inputs = [f"a{i}" for i in range(len(texts))]
    lines = [
        "try:",
        f"    {_unpacked(inputs)}",
        f"    return {_key(texts, inputs)}",
        f"except {_UNLIKE}:",
        "    return None",
    ]
    return _made({}, "key", ["*args"], lines)


def key_texts(is_array: Sequence[bool], args: Sequence[Any]) -> tuple[str, ...] | None:
    """The code of each argument's part of a key, in which {0} is the argument; None where a library
    has no such code."""
    texts = []
    for array, arg in zip(is_array, args, strict=True):
        text = getattr(adapter_for(arg), "key_text", None) if array else "type({0})"
        if text is None:
            return None
        texts.append(text)
    return tuple(texts)
