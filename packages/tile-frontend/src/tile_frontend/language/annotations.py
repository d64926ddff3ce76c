"""What the user pins: layouts, values read outside a tensor, settings of the compilation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tile_frontend.trace import state
from tile_frontend.trace.buffers import BufferRef
from tile_frontend.trace.builder import converted
from tile_frontend.trace.values import static_int
from tile_ir.diag import TileError
from tile_ir.layout import Layout as IRLayout
from tile_ir.layout import fragment_from_function, from_function

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = [
    "Fragment",
    "Layout",
    "annotate_compile_flags",
    "annotate_dependent_launch",
    "annotate_l2_hit_ratio",
    "annotate_layout",
    "annotate_min_blocks_per_sm",
    "annotate_pass_configs",
    "annotate_restrict_buffers",
    "annotate_safe_value",
]


def _ints(shape: Any, what: str) -> tuple[int, ...]:
    items = shape if isinstance(shape, (tuple, list)) else (shape,)
    extents = [static_int(s) for s in items]
    if any(e is None or e < 1 for e in extents):
        raise TileError("E1414", f"{what} has shape {shape!r}", help="a shape of positive ints")
    return tuple(e for e in extents if e is not None)


class Layout:
    """Where the elements of a shared tile lie: `T.Layout(shape, lambda i, j: offset)`.

    The function gets Python ints and gives an offset, or several indices into a row-major box.

    Raises `TileError` E1414 for a bad shape; E0309, E0314, E0315 for functions that place no tile.
    Example: `T.Layout((64, 64), lambda i, j: i * 72 + j)`
    """

    def __init__(self, shape: Any, forward_fn: Callable[..., Any]) -> None:
        self.shape = _ints(shape, "T.Layout")
        self.fn = forward_fn

    def resolved(self, element_bits: int) -> IRLayout:
        """The layout of elements of that width."""
        return from_function(self.shape, self.fn, element_bits=element_bits)

    def index(self, *coordinates: int) -> Any:
        """Where the element at these coordinates lies."""
        return self.fn(*coordinates)


class Fragment:
    """Who holds the elements of a fragment: `T.Fragment(shape, forward_thread_fn=...,
    forward_index_fn=...)`.

    `forward_fn` gives (thread, index) at once. With `replicate` > 1 every function gets the number
    of the copy last.

    Raises `TileError` E1414 for a bad shape or without functions; E0309, E0314, E0315 as
    `T.Layout`.
    Example: `T.Fragment((64,), forward_fn=lambda i: (i, 0))`
    """

    def __init__(
        self,
        shape: Any,
        forward_fn: Callable[..., Any] | None = None,
        forward_thread_fn: Callable[..., Any] | None = None,
        replicate: int = 1,
        forward_index_fn: Callable[..., Any] | None = None,
    ) -> None:
        self.shape = _ints(shape, "T.Fragment")
        self.replicate = replicate
        self.fn = forward_fn or _joined(forward_thread_fn, forward_index_fn)

    @property
    def layout(self) -> IRLayout:
        """The layout for the IR."""
        return fragment_from_function(self.shape, self.fn, replicate=self.replicate)

    def resolved(self, element_bits: int) -> IRLayout:
        """The layout; it does not depend on the width."""
        return self.layout


def _joined(
    thread: Callable[..., Any] | None, index: Callable[..., Any] | None
) -> Callable[..., Any]:
    if thread is None or index is None:
        raise TileError(
            "E1414",
            "T.Fragment lacks a function",
            help="give forward_fn, or both forward_thread_fn and forward_index_fn",
        )
    return lambda *at: (thread(*at), index(*at))


def _buffer(x: Any, what: str) -> BufferRef:
    if isinstance(x, BufferRef):
        return x
    raise TileError(
        "E1405", f"{what} names {x!r}, which is no buffer", help="use the buffer itself as key"
    )


def annotate_layout(layouts: Mapping[Any, Any]) -> None:
    """Fix the layout of shared tiles (`T.Layout`, or a function of coordinates) and fragments
    (`T.Fragment`).

    Raises `TileError` E1414 when a layout does not fit its buffer, E1405 for a key that is no
    buffer.
    Example: `T.annotate_layout({S: T.Layout((64, 64), lambda i, j: i * 72 + j)})`
    """
    b = state.builder("T.annotate_layout")
    for key, given in layouts.items():
        buffer = _buffer(key, "T.annotate_layout").buffer
        shape = _ints(key.shape, "T.annotate_layout")
        if buffer.scope not in ("shared", "fragment"):
            raise TileError(
                "E1414",
                f"{buffer.name} is a {buffer.scope} buffer",
                help="layouts are chosen for shared tiles and fragments",
            )
        layout = _resolved(given, shape, buffer.dtype.storage_bits, buffer.scope)
        if tuple(layout.shape) != shape or layout.is_fragment != (buffer.scope == "fragment"):
            raise TileError(
                "E1414",
                f"the layout `{layout}` does not fit {key!r}",
                help="a shared tile takes a T.Layout, a fragment a T.Fragment, both of the "
                "buffer's shape",
            )
        b.patches.setdefault(buffer.name, {})["layout"] = layout


def _resolved(given: Any, shape: tuple[int, ...], bits: int, scope: str) -> IRLayout:
    if isinstance(given, IRLayout):
        return given
    if isinstance(given, (Layout, Fragment)):
        return given.resolved(bits)
    if callable(given):
        made = Layout(shape, given) if scope == "shared" else Fragment(shape, given)
        return made.resolved(bits)
    raise TileError(
        "E1414", f"{given!r} is no layout", help="use T.Layout, T.Fragment or a function"
    )


def annotate_safe_value(values: Mapping[Any, Any]) -> None:
    """What reads outside a global tensor give, instead of zero.

    Raises `TileError` E1405 for a key that is no buffer, E1414 for one that is not global.
    Example: `T.annotate_safe_value({A: 1.0})`
    """
    b = state.builder("T.annotate_safe_value")
    for key, value in values.items():
        buffer = _buffer(key, "T.annotate_safe_value").buffer
        if buffer.scope != "global":
            raise TileError(
                "E1414",
                f"{buffer.name} is a {buffer.scope} buffer",
                help="only reads outside a global tensor are defined",
            )
        b.patches.setdefault(buffer.name, {})["safe_value"] = converted(value, buffer.dtype)


def annotate_min_blocks_per_sm(n: int) -> None:
    """Ask that `n` blocks fit a processor at once, where a target bounds registers by it.

    Raises `TileError` E1302 outside a kernel, E1416 for a bad number.
    Example: `T.annotate_min_blocks_per_sm(2)`
    """
    b = state.builder("T.annotate_min_blocks_per_sm")
    scope = b.inside("kernel")
    count = static_int(n)
    if scope is None:
        b.need_kernel("T.annotate_min_blocks_per_sm")
        return
    if count is None or count < 1:
        raise TileError("E1416", f"T.annotate_min_blocks_per_sm({n!r})", help="a positive int")
    scope.facts["kernel"]["min_blocks"] = count


def annotate_dependent_launch(*unwritten: Any) -> None:
    """This kernel may begin before the kernel in front of it in its stream has ended, where a
    device can do that; it waits for its end before it uses global memory. Tensors that the kernel
    in front does not write (weights, say) may be named: what is read of them may come earlier.

    For another function's kernels only the emulator checks that promise, E2314.

    Raises `TileError` E1302 outside a kernel, E1405 for what is no buffer, E1414 for a buffer that
    is not global.
    Example: `T.annotate_dependent_launch(A)`
    """
    b = state.builder("T.annotate_dependent_launch")
    scope = b.inside("kernel")
    if scope is None:
        b.need_kernel("T.annotate_dependent_launch")
        return
    facts = scope.facts["kernel"]
    names = dict.fromkeys(facts.get("unwritten", ()))
    for given in unwritten:
        buffer = _buffer(given, "T.annotate_dependent_launch").buffer
        if buffer.scope != "global":
            raise TileError(
                "E1414",
                f"{buffer.name} is a {buffer.scope} buffer",
                help="only global tensors are shared with the kernel in front",
            )
        names[buffer.name] = None
    facts.update(dependent=True, unwritten=tuple(names))


def annotate_compile_flags(flags: str | Sequence[str]) -> None:
    """Further flags of the device compiler for this function.

    Raises nothing while tracing; the device compiler reports flags that it does not know.
    Example: `T.annotate_compile_flags("-O2")`
    """
    b = state.builder("T.annotate_compile_flags")
    items = (flags,) if isinstance(flags, str) else tuple(flags)
    b.settings["compile_flags"] = (*b.settings.get("compile_flags", ()), *items)


def annotate_pass_configs(configs: Mapping[Any, Any]) -> None:
    """Settings of another compiler's passes, as in `pass_configs=`, which win over these.

    Raises `TileError` E1003 outside a kernel function.
    Example: `T.annotate_pass_configs({"tl.device_compile_flags": "-O2"})`
    """
    b = state.builder("T.annotate_pass_configs")
    b.settings["pass_configs"] = {**b.settings.get("pass_configs", {}), **configs}


def annotate_restrict_buffers(*buffers: Any) -> None:
    """Say that these parameters may be one array, a hint without effect: one array may always be
    given for two parameters of the same extents, and arrays that overlap in part are refused by the
    call where one of them is written, E2018.

    Raises `TileError` E1405 for what is no buffer.
    Example: `T.annotate_restrict_buffers(A)`
    """
    for buffer in buffers:
        _buffer(buffer, "T.annotate_restrict_buffers")


def annotate_l2_hit_ratio(ratios: Mapping[Any, float]) -> None:
    """How much of a tensor to keep in the last cache, a hint without effect here.

    Raises `TileError` E1405 for a key that is no buffer.
    Example: `T.annotate_l2_hit_ratio({A: 0.5})`
    """
    for key in ratios:
        _buffer(key, "T.annotate_l2_hit_ratio")
