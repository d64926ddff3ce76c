"""C text that checks the arguments of one variant and finds its dimensions: the same equations, in
the same order, as a call in Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_frontend.bind import stored_extents
from tile_frontend.export.parameters import kinds_of, long_name
from tile_frontend.trace.indices import linear
from tile_ir.expr import Const, Expr, Var, free_vars
from tile_ir.opdef import Access
from tile_passes.emit.host_c_exprs import c_text
from tile_passes.emit.names import c_string

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from tile_frontend.bind import Binder
    from tile_ir.core import Buffer

__all__ = ["check_text"]


class _Equations:
    """The equations of a function: which tensor, which text of C has the value, what it must be."""

    def __init__(self, binder: Binder) -> None:
        self.dims = {d.name: i for i, d in enumerate(binder.function.dims)}
        self.buffers = [p.buffer for p in binder.function.params if p.buffer is not None]
        self.results = set(binder.function.results)

    def name(self, var: Var) -> str:
        """The text of a dimension."""
        return f"d[{self.dims[var.name]}]"

    def text(self, e: Expr) -> str:
        """An extent or stride in C."""
        return c_text(e, self.name)

    def all(self) -> Iterator[tuple[int, str, str, Expr, str]]:
        """Tensor, guard, value, declaration, what it is in words; inputs before outputs, as a call
        learns dimensions from inputs alone."""
        order = sorted(range(len(self.buffers)), key=lambda i: self.buffers[i].name in self.results)
        for i in order:
            yield from self._of(i, self.buffers[i])

    def _of(self, i: int, buffer: Buffer) -> Iterator[tuple[int, str, str, Expr, str]]:
        head = f"argument '{buffer.name}': "
        for axis, e in enumerate(stored_extents(buffer)):
            yield i, f"t[{i}]", f"t[{i}]->shape[{axis}]", e, f"{head}extent {axis}"
        for axis, e in enumerate(buffer.strides or ()):
            guard = f"t[{i}] && t[{i}]->shape[{axis}] > 1"
            value = f"tile_stride(t[{i}], {axis})"
            yield i, guard, value, e, f"{head}stride of axis {axis}"

    def solving(self) -> Iterator[str]:
        """A line for each dimension that an equation may tell."""
        for i, guard, value, e, what in self.all():
            if self.buffers[i].name in self.results:
                continue
            total = linear(e)
            for atom, factor in total.terms.items():
                if not isinstance(atom, Var):
                    continue
                others = {
                    v.name for other in total.terms if other is not atom for v in free_vars(other)
                }
                if atom.name in others:
                    continue
                rest = [f"{c} * {self.text(a)}" for a, c in total.terms.items() if a is not atom]
                known = "".join(f" && known[{self.dims[n]}]" for n in sorted(others))
                n = self.dims[atom.name]
                yield (
                    f"if ({guard} && !known[{n}]{known} && (status = tile_solve(&d[{n}], "
                    f"&known[{n}], {value}, {' + '.join([str(total.const), *rest])}, {factor}, "
                    f"{c_string(what)}, {c_string(str(e))}))) return status;"
                )

    def expecting(self) -> Iterator[str]:
        """A line for each equation."""
        seen: set[Expr] = set()
        for _, guard, value, e, what in self.all():
            code = 2005 if e in seen and not isinstance(e, Const) else 2004
            seen.add(e)
            yield (
                f"if ({guard} && (status = tile_expect({value}, {self.text(e)}, {code}, "
                f"{c_string(what)}, {c_string(str(e))}))) return status;"
            )


def check_text(symbol: str, binder: Binder) -> str:
    """C text of `SYMBOL_check` and `SYMBOL_results`, and of the table that they read."""
    equations = _Equations(binder)
    dims, count = len(equations.dims), len(equations.buffers)
    first = len(binder.function.params)
    places = [at for at, p in enumerate(binder.function.params) if p.buffer is not None]
    solving = [f"    {line}" for line in equations.solving()]
    lines = [
        *_tables(symbol, binder),
        f"static int32_t {symbol}_check(const tile_tensor *const *t, uint64_t *args,",
        "                               int32_t only_inputs) {",
        f"  int64_t d[{dims or 1}] = {{0}};",
        f"  char known[{dims or 1}] = {{0}};",
        f"  int32_t status = tile_check_types({symbol}_parameters, t, {count}, only_inputs);",
        "  if (status) return status;",
        "  (void)d, (void)known;",
        *(
            [f"  for (int32_t round = 0; round < {dims}; round++) {{", *solving, "  }"]
            if solving
            else []
        ),
        *(
            f"  if (!known[{i}]) return tile_refuse(2011, {c_string(_untold(n))});"
            for n, i in equations.dims.items()
        ),
        *(f"  {line}" for line in equations.expecting()),
        *(
            f"  args[{at}] = t[{i}] ? (uint64_t)(uintptr_t)tile_address(t[{i}]) : 0;"
            for i, at in enumerate(places)
        ),
        *(f"  args[{first + i}] = (uint64_t)d[{i}];" for i in equations.dims.values()),
        f"  return tile_check_places({symbol}_parameters, t, {count});",
        "}",
        "",
        *_results(symbol, binder, equations.text, equations.dims),
    ]
    return "\n".join(lines)


def _untold(name: str) -> str:
    return f"no argument determines the dimension {name}"


def _tables(symbol: str, binder: Binder) -> Iterator[str]:
    rows: list[str] = []
    for p, alignment in zip(binder.function.params, binder.alignments, strict=True):
        if p.buffer is None:
            continue
        b = p.buffer
        kinds = "".join(f"{{{k.code}, {k.bits}, {k.lanes}}}, " for k in kinds_of(b.dtype))
        table = f"{symbol}_{len(rows)}_kinds"
        yield f"static const struct tile_kind {table}[] = {{{kinds}{{255, 0, 0}}}};"
        is_used = bool(binder.touched.get(b.name, Access(0)))
        is_result = b.name in binder.function.results
        pitch = binder.pitches.get(b.name, 1)
        type_name = long_name(b.dtype) + (", packed in bytes" if b.dtype.storage_bits < 8 else "")
        numbers = (
            len(b.shape),
            int(is_used or is_result),
            int(is_result),
            int(b.strides is None),
            alignment,
            pitch,
            max(b.dtype.storage_bits, 8),
        )
        texts = (c_string(b.name), c_string(type_name), table, *map(str, numbers))
        rows.append(f"  {{{', '.join(texts)}}},")
    yield f"static const struct tile_parameter {symbol}_parameters[] = {{"
    yield from rows or ['  {"", "", NULL, 0, 0, 0, 0, 1, 1, 8},']
    yield "};"


def _results(
    symbol: str, binder: Binder, text: Callable[[Expr], str], dims: Mapping[str, int]
) -> Iterator[str]:
    first = len(binder.function.params)
    yield f"static void {symbol}_results(const uint64_t *args, tile_tensor *results) {{"
    yield f"  int64_t d[{len(dims) or 1}] = {{0}};"
    yield "  (void)d, (void)args, (void)results;"
    yield from (f"  d[{i}] = (int64_t)args[{first + i}];" for i in dims.values())
    named = {p.name: p.buffer for p in binder.function.params}
    for n, name in enumerate(binder.function.results):
        buffer = named[name]
        assert buffer is not None
        kind = kinds_of(buffer.dtype)[0]
        yield f"  results[{n}].ndim = {len(buffer.shape)};"
        yield f"  results[{n}].dtype.code = {kind.code};"
        yield f"  results[{n}].dtype.bits = {kind.bits};"
        yield f"  results[{n}].dtype.lanes = {kind.lanes};"
        for axis, e in enumerate(stored_extents(buffer)):
            yield f"  results[{n}].shape[{axis}] = {text(e)};"
    yield "}"
    yield ""
