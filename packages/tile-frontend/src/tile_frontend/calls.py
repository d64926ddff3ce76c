"""The code of a call, made for one kind of arguments: no loop, no look-up and no function call that
could be spared.

A launch takes the driver a few microseconds, and a loop over arguments with a function call for
each of their properties as much again. What is made here is checked all the same: a call compares
types, extents, strides and devices of its arguments with those that were checked.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

from tile_frontend.adapters import NO_ADDRESS, adapter_for, code_of, memory_of
from tile_frontend.overlaps import check_apart
from tile_frontend.trace.values import dtype as ElementType

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tile_frontend.bind import Prepared

__all__ = ["Alike", "Ready", "alike_of", "key_function", "key_texts"]

_PLAIN = (bool, int, str, type(None), ElementType)
"""Python values that never change and mean the same where they and their types are equal."""

_MOST_SEEN, _MOST_COMPARED = 64, 24
"""How many combinations of addresses are known by heart, and how many pairs of arguments are
compared before anything is called."""

_LAST = "last"
"""The name of the bytes of the last call's arguments."""

_UNLIKE = "(AttributeError, TypeError, ValueError, RuntimeError)"
"""What reading the properties of an array of another kind raises, or of too few arguments."""


@cache
def _code(text: str) -> CodeType:
    """The code of the function that a text defines; equal texts are compiled once."""
    return next(c for c in compile(text, "<call>", "exec").co_consts if isinstance(c, CodeType))


def _made(
    names: dict[str, Any], function: str, parameters: Sequence[str], lines: Sequence[str]
) -> Callable[..., Any]:
    """A function of these lines, whose global names are `names`: a call copies every variable of
    a function around it, and there may be dozens."""
    kept = [f"global {name}" for name in (_LAST,) if name in names]
    text = "\n".join([f"def {function}({', '.join(parameters)}):", *_inside([*kept, *lines])])
    # The interpreter keeps in the code where it found a name: it is not shared between functions.
    return FunctionType(_code(text).replace(), names)


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
    own code in terms of p0, p1, ..., they stand in place of a call; `packing` is then the first of
    these lines, if that makes bytes `packed` of the arguments. `odd` gets arguments that are
    not aligned.
    """

    prepared: Prepared
    launch: Callable[..., None]
    constants: Sequence[int]
    odd: Callable[..., Any]

    def run(self) -> Callable[..., Any]:
        """A function of arguments like these, which makes outputs, launches, and gives the outputs;
        only addresses and scalars are checked."""
        names, lines = self.body()
        return _made(names, "run", self._inputs(), lines)

    def bound(self, args: Sequence[Any], others: Callable[..., Any]) -> Callable[..., Any]:
        """A function that, called without arguments, takes these, whose addresses are known: it
        holds their memory. A call with arguments goes to `others`."""
        names, again = self._again(args)
        names["others"] = others
        # A function of its own: a call clears every local variable of a function, used or not.
        made = _made(names, "run", ["*args"], ["if args:", "    return others(*args)", *again])
        made.held = tuple(memory_of(a) for a in args)  # type: ignore[attr-defined]
        return made

    def checked(
        self,
        texts: Sequence[str],
        key: tuple[Any, ...],
        others: tuple[Callable[..., Any], Callable[..., Any]],
        alike: Alike | None = None,
    ) -> Callable[..., Any]:
        """The same as `run`, but for any arguments: of `others`, the first gets those whose key is
        another, the second those whose addresses turn out to need more than code. Where a library
        can compare its arrays in one call (`alike`), the key is only built for those which that
        finds different."""
        names, lines = self.body(["return general(*args)"])
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
        names.update(zip(("key", "other", "general"), (key, *others), strict=True))
        if alike is not None:
            arrays = ", ".join(inputs[i] for i in alike.places)
            names.update(alike=alike.compare, renewed=alike.renewed)
            names.update({f"type{i}": kind for i, kind in alike.kinds.items()})
            kinds = "".join(f" and type({inputs[i]}) is type{i}" for i in alike.kinds)
            # A tuple that is there already need not be made anew.
            given = "*args" if len(alike.places) == len(inputs) else arrays
            compared = [
                "global alike",
                "try:",
                f"    {_unpacked(inputs)}",
                f"    same = alike({given}){kinds}",
                f"except {_UNLIKE}:",
                "    same = False",
                "if same:",
                *_inside([*self.body(sure=True)[1], "return"]),
                *compared,
                f"alike = renewed(alike, ({arrays},))",
            ]
        return _made(names, "call", ["*args"], [*compared, *lines])

    def _inputs(self) -> list[str]:
        return [f"a{i}" for i in range(self.prepared.count)]

    def _outputs(self) -> list[str]:
        return [f"o{i}" for i in range(len(self.prepared.outputs))]

    def body(
        self, lost: Sequence[str] | None = None, sure: bool = False
    ) -> tuple[dict[str, Any], list[str]]:
        """Code in terms of the arguments a0, a1, ..., and what its names stand for; `lost` stands
        where code finds no address. `sure`: all have one where the arguments at hand had."""
        inputs, outputs = self._inputs(), self._outputs()
        names: dict[str, Any] = {"odd": self.odd, "no_address": NO_ADDRESS}
        lines = self._taken(inputs, names, lost, sure)
        lines += self._made_outputs(names)
        lines += self._looked_at(names)
        lines += self._launched(names)
        return names, [*lines, *_given(outputs)]

    def _looked_at(self, names: dict[str, Any]) -> list[str]:
        """Code that looks at the addresses: for such as need other code, and for memory that two
        arguments share. Those of the caller's that were seen before are not looked at again."""
        own = [i for i, s in enumerate(self.prepared.slots) if s.at < self.prepared.count]
        made = [i for i in range(len(self.prepared.slots)) if i not in own]
        pairs = self.prepared.pairs
        if not pairs:
            return self._aligned([*own, *made])
        places = {i for p in pairs for i in (p.first, p.second)}
        key = sorted(places | {i for i in own if self.prepared.slots[i].alignment > 1})
        names.update(seen=set(), most=_MOST_SEEN, apart=partial(check_apart, pairs))
        close = " or ".join(f"{p.low} < p{p.second} - p{p.first} < {p.high}" for p in pairs)
        addresses = ", ".join(f"p{i}" if i in places else "0" for i in range(max(places) + 1))
        looked = [
            *self._aligned(own),
            f"if {close}:" if len(pairs) <= _MOST_COMPARED else "if True:",
            f"    apart(({addresses},))",
            "if len(seen) >= most:",
            "    seen.clear()",
            "seen.add(at)",
        ]
        packing = getattr(self.launch, "packing", None)
        if packing is None:
            found = [f"at = ({''.join(f'p{i}, ' for i in key)})", "if at not in seen:"]
            return [*found, *_inside(looked), *self._aligned(made)]
        # Bytes that are there anyway are compared with the last call's faster than numbers.
        names[_LAST] = None
        found = [packing, f"if packed != {_LAST}:", "    at = packed", "    if at not in seen:"]
        known = [*_inside(_inside(looked)), f"    {_LAST} = packed"]
        return [*self._aligned(made), *found, *known]

    def _aligned(self, places: Sequence[int]) -> list[str]:
        """Code that turns to `odd` where one of these addresses is not aligned."""
        by_alignment: dict[int, list[str]] = {}
        for i in places:
            alignment = self.prepared.slots[i].alignment
            if alignment > 1:
                by_alignment.setdefault(alignment, []).append(f"p{i}")
        lines = []
        for alignment, values in by_alignment.items():
            lines.append(f"if ({' | '.join(values)}) & {alignment - 1}:")
            lines.append(f"    return odd({', '.join(self._inputs())})")
        return lines

    def _made_outputs(self, names: dict[str, Any]) -> list[str]:
        """Code that makes the outputs and takes them."""
        outputs = self._outputs()
        names.update(zip((f"make_{o}" for o in outputs), self.prepared.outputs, strict=True))
        return [*(f"{o} = make_{o}()" for o in outputs), *self._taken(outputs, names)]

    def _taken(
        self,
        arrays: Sequence[str],
        names: dict[str, Any],
        lost: Sequence[str] | None = None,
        known: bool = False,
    ) -> list[str]:
        """Code that takes the arguments of these names, inputs or outputs, for the entry."""
        given = [*self._inputs(), *self._outputs()]
        slots = [(i, s) for i, s in enumerate(self.prepared.slots) if given[s.at] in arrays]
        sure: list[str] = []
        unsure: list[str] = []
        instead: list[str] = []
        for i, slot in slots:
            names[f"take{i}"] = slot.take
            careful = f"p{i} = take{i}({given[slot.at]})"
            if slot.code is None:
                sure.append(careful)
                continue
            names.update(slot.code.names)
            if known and slot.code.alike:
                sure.append(f"p{i} = {slot.code.alike.format(given[slot.at])}")
                continue
            text = f"p{i} = {slot.code.address.format(given[slot.at])}"
            (unsure if slot.code.may_fail else sure).append(text)
            instead += [careful] * slot.code.may_fail
        if not unsure:
            return sure
        tried = ["try:", *_inside(unsure), "except no_address:", *_inside(lost or instead)]
        return [*tried, *sure]

    def _again(self, args: Sequence[Any]) -> tuple[dict[str, Any], Sequence[str]]:
        """Code that launches with these arguments, without outputs."""
        slots, outputs = self.prepared.slots, self._outputs()
        values = [s.take(args[s.at]) if s.at < len(args) else None for s in slots]
        check_apart(self.prepared.pairs, values)
        kept: dict[str, Any] = {}
        pairs = zip(values, slots, strict=True)
        if any(s.alignment > 1 and v is not None and v % s.alignment for v, s in pairs):
            kept.update(odd=self.odd, whole=args)
            return kept, ["return odd(*whole)"]
        launch = getattr(self.launch, "fixed", None)
        if launch is not None and not outputs:
            ready = launch(values)
            return dict(ready.names), ready.lines
        kept.update({f"v{i}": v for i, v in enumerate(values)})
        lines = [f"p{i} = v{i}" for i, s in enumerate(slots) if s.at < len(args)]
        lines += self._made_outputs(kept)
        lines += self._launched(kept)
        return kept, [*lines, *_given(outputs)]

    def _launched(self, names: dict[str, Any]) -> Sequence[str]:
        own: Sequence[str] | None = getattr(self.launch, "lines", None)
        if own is not None:
            names.update(self.launch.names)  # type: ignore[attr-defined]  # it goes with `lines`
            packed = hasattr(self.launch, "packing") and bool(self.prepared.pairs)
            return own[packed:]
        names["entry"] = self.launch
        values = [f"p{i}" for i in range(len(self.prepared.slots))]
        for i, constant in enumerate(self.constants):
            names[f"c{i}"] = constant
            values.append(f"c{i}")
        return [f"entry({', '.join(values)})"]


def _inside(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _given(outputs: Sequence[str]) -> list[str]:
    """What a call gives."""
    listed = ", ".join(outputs)
    return [f"return {listed}" if len(outputs) == 1 else f"return [{listed}]"] if outputs else []


class Leading:
    """Runs on the first `count` arguments of a call; the others are Python values."""

    __slots__ = ("count", "ready", "run")

    def __init__(self, ready: Ready) -> None:
        self.ready, self.run, self.count = ready, ready.run(), ready.prepared.count

    def __call__(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Run on a call's arguments."""
        return self.run(*args[: self.count])


def quick_call(run: Any, args: Sequence[Any], other: Callable[..., Any]) -> Any:
    """A call for arguments like these: the same Python values after arrays of which their library
    says in one call that they are alike, or whose keys are the same; any other call goes to
    `other`. None where there is none.
    """
    if not isinstance(run, Leading) or not all(type(a) in _PLAIN for a in args[run.count :]):
        return None
    is_array = [adapter_for(a) is not None for a in args]
    scalars = {s.at for s in run.ready.prepared.slots if s.scalar}
    if not args or is_array != [i < run.count and i not in scalars for i in range(len(args))]:
        return None
    compared = _comparison(is_array, args)
    if compared is None:
        return None
    same, known = compared
    names, lines = run.ready.body(["return other(*args)"])
    inputs = [f"a{i}" for i in range(len(args))]
    for i in range(run.count, len(args)):
        known |= {f"type{i}": type(args[i]), f"v{i}": args[i]}
        same += f" and type(a{i}) is type{i} and a{i} == v{i}"
    names.update(known, other=other)
    before = [
        "try:",
        f"    {_unpacked(inputs)}",
        f"    same = not named and {same}",
        f"except {_UNLIKE}:",
        "    same = False",
        "if not same:",
        "    return other(*args, **named)",
    ]
    return _made(names, "call", ["*args", "**named"], [*before, *lines])


def _comparison(is_array: Sequence[bool], args: Sequence[Any]) -> tuple[str, dict[str, Any]] | None:
    """Code that is true of arrays a0, a1, ... like these, and what its names stand for; None where
    there is none."""
    alike, arrays = alike_of(is_array, args), [f"a{i}" for i, array in enumerate(is_array) if array]
    if alike is not None:
        return f"alike({', '.join(arrays)})", {"alike": alike.compare}
    given = [a for a, array in zip(args, is_array, strict=True) if array]
    texts = key_texts([True] * len(arrays), given)
    if texts is None:
        return None
    key = key_function(texts)(*given)
    return f"{_key(texts, arrays)} == key", {"key": key}


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
        code = code_of(arg) if array else None
        if array and code is None:
            return None
        texts.append("type({0})" if code is None else code.key)
    return tuple(texts)
