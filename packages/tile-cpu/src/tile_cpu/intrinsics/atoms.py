"""Matrix micro-kernels as C text, generated from a description's matrix atoms.

A kernel keeps an m x n block of the result in vector registers and adds to it, for each unit along
k, the outer product of m broadcast units of A and one packed row of B. What was measured (Zen 4, 2
FMA pipes; peak of one core 117 GFLOP/s):

* A is best left as a row-major tile, copied with a padded row length: broadcast loads at constant
  offsets from one pointer run at 100% of the peak, exactly as packed columns of A do, and the copy
  is a plain one. The padding (one vector) keeps rows of a power-of-two length out of the same cache
  set.
* B is packed into panels of n columns, each panel contiguous along k. One panel streams from the
  second-level cache (5 bytes a cycle), the m rows of A stay in the first: so panels are the inner
  loop and rows the outer one.
* The block of C is loaded before the loop and stored after it: from k = 256 on that is hidden, at
  k = 64 it costs 6%.

The loop nest around them: a worker takes a strip of `block_n` columns, packs B of the whole strip
once (it may outgrow the second-level cache: it is read once for every block of rows), walks down
the rows in blocks of `block_m`, and for each block of k copies A and calls the tile kernel on a C
tile that stays in the cache. The jobs of one strip have neighbouring numbers, so the strip's B
stays with its worker. One core, size 1024, against OpenBLAS (f32) and oneDNN (bf16), medians of 40
runs of all in turn:

    block m, n, k    f32    bf16
    112 512 1024     1.06   1.03
    112 512 512      1.04   1.01
    128 256 256      1.00   0.96
    128 128 128      0.95   0.91
    128 128 32       0.82   0.75

So blocks should be wide and deep, m best a multiple of the atom's. On two cores strips of 512
columns hold up (f32 1.05, bf16 0.97 to 0.99); with one strip for both workers each packs all of B
(bf16 0.92).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_cpu.ahead import UNIT_BYTES
from tile_cpu.intrinsics.steps import Step, step_of
from tile_cpu.intrinsics.tile_units import tile_unit_needs, tile_unit_source
from tile_cpu.prelude.vocabulary import UNIT_GROUPS
from tile_ir.diag import InternalError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tile_ir.target import MatrixAtom, TargetSpec

__all__ = ["atom_lanes", "atom_needs", "atom_source", "pack_names"]

SUM_BYTES = {"f64": 8, "f32": 4, "i32": 4}
LINE_UNITS = 64 // UNIT_BYTES
"""Units of A in a line of memory, where its rows lie there as they are packed."""
AHEAD_OF_ROWS = "ahead && j == 0 ? ahead + i * ahead_ld : 0"
"""Lines are fetched once: while rows meet the first panel."""
CHAINS = 4
"""Sums of a column that are kept apart, so that none waits for the one before it."""
PANELS = 16
"""Panels whose column sums are kept at once, where a step has a bias: they are formed once for all
rows of the tile, and 2 KB beside the rows of A stay in the nearest cache.
"""


def atom_lanes(atom: MatrixAtom, spec: TargetSpec) -> int:
    """Lanes of the vectors that `atom` computes with."""
    return spec.vector_unit.bytes // SUM_BYTES[atom.accumulator.dtype]


def pack_names(atom: MatrixAtom, spec: TargetSpec) -> dict[str, str]:
    """Names of the packing functions that fill the operands of `atom`, for `pieces_for`.

    Keys: `a` (A stored with k contiguous, into a row-major tile), `a_t` (A stored with m
    contiguous, into a column tile: a single panel), `b` (B stored with n contiguous), `b_t` (B
    stored with k contiguous).
    """
    step = step_of(atom, spec.features)
    lanes = atom_lanes(atom, spec)
    a, b = f"{atom.a.dtype}_{step.a_unit}x{lanes}", f"{atom.b.dtype}_{step.b_unit}x{lanes}"
    return {
        "a": f"tile_pack_rows_{a}",
        "a_t": f"tile_pack_panels_{a}",
        "b": f"tile_pack_panels_{b}",
        "b_t": f"tile_pack_panels_t_{b}",
    }


def atom_needs(atom: MatrixAtom, spec: TargetSpec) -> set[str]:
    """Names of the prelude that the text of `atom_source` uses."""
    step, n = step_of(atom, spec.features), atom_lanes(atom, spec)
    if step.instruction:
        return tile_unit_needs(step)
    vectors = {f"{unit}x{n}" for unit in (step.a_unit, step.b_unit, step.sum_type)}
    functions = {f"tile_{verb}_{step.sum_type}x{n}" for verb in ("load", "store")}
    call, _, rest = step.expression.format(c="", x="", y="", n=n).partition("(")
    dots = {call} if rest else set()
    return vectors | functions | dots | {f"tile_splat_{step.a_unit}x{n}", "TILE_FN"}


def atom_source(
    atom: MatrixAtom,
    spec: TargetSpec,
    name: str | None = None,
    a_row: int = 1,
    a_step: int | None = None,
    ahead: bool = False,
) -> str:
    """C text of the micro-kernel of `atom` and of its loop over a tile; needs `atom_needs`.

    `a_row` and `a_step` are the distances, in units, between rows of A and between units along k:
    (row length, 1) for a row-major tile, (1, rows) for a column tile; they are constants of the
    text, so that all loads of A have constant offsets. Defines, with U, V the units and S the type
    of the sum:

        NAME(int64_t k, const U *a, const V *b, S *c, int64_t ldc, int32_t mr, int32_t nr,
             int32_t accumulate)
            c[0:mr, 0:nr] = a[0:mr, 0:k] * b[0:k, 0:nr], added to c if `accumulate`;
            1 <= mr <= m, 1 <= nr <= n, k in elements. b is one panel, aligned to a vector. Where
            the step has a bias, an argument `const S *bias` more has what is to be taken away from
            each column.
        NAME_tile(int64_t m, int64_t n, int64_t k, const U *a, const V *b, int64_t b_panel, S *c,
             int64_t ldc, int32_t accumulate)
            the same for a whole tile; panels of b are `b_panel` units apart.

    With `ahead` both take `const char *ahead, int64_t ahead_ld` too: rows of memory, `ahead_ld`
    bytes apart, of which as many lines are fetched as a has; NULL for none.

    Where k is no multiple of the unit, the missing elements of b's last unit are zero.
    """
    step, lanes = step_of(atom, spec.features), atom_lanes(atom, spec)
    stem = name or atom.name
    if step.instruction:
        if a_step not in (None, 1):
            raise InternalError("E9001", f"{atom.name} reads rows of A, not columns")
        return tile_unit_source(stem, atom, step, a_row, ahead)
    kernel = _Kernel(stem, step, lanes, atom.m, atom.n, a_row, a_step or atom.m, ahead)
    parts = [*(kernel.rows(r) for r in kernel.row_counts()), kernel.edges()]
    parts += [kernel.column_bias(), kernel.tile_in_parts()] if step.bias else [kernel.tile()]
    return "\n\n".join(parts) + "\n"


class _Kernel:
    """Prints one micro-kernel; the fields are what the texts share."""

    def __init__(
        self,
        name: str,
        step: Step,
        lanes: int,
        m: int,
        n: int,
        a_row: int,
        a_step: int,
        ahead: bool,
    ) -> None:
        self.name, self.step, self.lanes, self.m, self.n = name, step, lanes, m, n
        self.a_row, self.a_step = a_row, a_step
        self.vectors = range(n // lanes)
        self.a_type, self.b_type = f"{step.a_unit}_t", f"{step.b_unit}_t"
        self.sum = step.sum_type
        self.group = UNIT_GROUPS[step.a_unit]
        self.ahead = ", const char *ahead, int64_t ahead_ld" if ahead else ""
        self.more = (f", const {self.sum}_t *bias" if step.bias else "") + self.ahead
        """The parameters that not every kernel has."""

    def row_counts(self) -> list[int]:
        """Numbers of rows that have a text: m, then powers of two, from which any rest is
        composed."""
        powers = [1 << e for e in range(8) if 1 << e < self.m]
        return [*sorted(powers), self.m]

    def rows(self, count: int) -> str:
        """The kernel for exactly `count` rows and all n columns."""
        return "\n".join(
            (
                f"TILE_FN void {self.name}_rows{count}(int64_t units, const {self.a_type} *a,",
                f"    const {self.b_type} *b, {self.sum}_t *c, int64_t ldc, int32_t accumulate"
                f"{self.more}) {{",
                *self._start(count),
                *self._loop(count),
                *self._finish(count),
                "}",
            )
        )

    def _vector(self, unit: str) -> str:
        return f"{unit}x{self.lanes}"

    def _start(self, count: int) -> Iterator[str]:
        vector = self._vector(self.sum)
        for i in range(count):
            names = ", ".join(f"c{i}_{j} = {{0}}" for j in self.vectors)
            yield f"  {vector} {names};"
        yield "  if (accumulate) {"
        for i in range(count):
            yield "    " + " ".join(f"c{i}_{j} = {self._load(i, j)};" for j in self.vectors)
        yield "  }"

    def _load(self, i: int, j: int) -> str:
        return f"tile_load_{self._vector(self.sum)}(c + {i} * ldc + {j * self.lanes})"

    def _loop(self, count: int) -> Iterator[str]:
        """The loop along k. A line of the block ahead is as long as LINE_UNITS units."""
        if not self.ahead:
            yield "  for (int64_t p = 0; p < units; p++) {"
            yield from self._body(count)
            yield "  }"
            return
        yield "  for (int64_t p = 0; p < units;) {"
        yield f"    int64_t stop = units - p < {LINE_UNITS} ? units : p + {LINE_UNITS};"
        yield "    if (ahead)"
        yield f"      for (int64_t r = 0; r < {count}; r++)"
        yield f"        __builtin_prefetch(ahead + r * ahead_ld + p * {UNIT_BYTES}, 0, 2);"
        yield "    for (; p < stop; p++) {"
        yield from (f"  {line}" for line in self._body(count))
        yield "    }"
        yield "  }"

    def _body(self, count: int) -> Iterator[str]:
        b, x = self._vector(self.step.b_unit), self._vector(self.step.a_unit)
        yield f"    {b} {self._row_of_b()};"
        yield f"    {x} x;"
        for i in range(count):
            products = " ".join(self._multiply(f"c{i}_{j}", "x", j) for j in self.vectors)
            yield f"    x = tile_splat_{x}(a[{i * self.a_row}]); {products}"
        yield f"    a += {self.a_step};"
        yield f"    b += {self.n};"

    def _row_of_b(self) -> str:
        b = self._vector(self.step.b_unit)
        reads = (f"b{j} = *(const {b} *)(b + {j * self.lanes})" for j in self.vectors)
        return ", ".join(reads)

    def _multiply(self, c: str, x: str, j: int) -> str:
        return f"{c} = {self.step.expression.format(c=c, x=x, y=f'b{j}', n=self.lanes)};"

    def _finish(self, count: int) -> Iterator[str]:
        for i in range(count):
            yield "  " + " ".join(self._store(i, j) for j in self.vectors)

    def _store(self, i: int, j: int) -> str:
        value, vector = f"c{i}_{j}", self._vector(self.sum)
        if self.step.bias:
            value += f" - tile_load_{vector}(bias + {j * self.lanes})"
        at = f"c + {i} * ldc + {j * self.lanes}"
        return f"tile_store_{vector}({at}, {value});"

    def edges(self) -> str:
        """Any number of rows and columns, composed of the kernels for exact numbers of rows."""
        head = (
            f"static inline void {self.name}(int64_t k, const {self.a_type} *a, "
            f"const {self.b_type} *b, {self.sum}_t *c,\n    int64_t ldc, int32_t mr, int32_t nr, "
            f"int32_t accumulate{self.more}) {{"
        )
        return "\n".join((head, *self._destination(), *self._short(), "}"))

    def _destination(self) -> Iterator[str]:
        """Where the result goes. Fewer columns: compute all beside C, copy those that exist."""
        n = self.n
        yield f"  int64_t units = (k + {self.group - 1}) / {self.group};"
        align = self.lanes * SUM_BYTES[self.sum]
        yield f"  {self.sum}_t edge[{self.m * n}] __attribute__((aligned({align})));"
        yield f"  int32_t narrow = nr < {n}, rows = mr;"
        yield f"  {self.sum}_t *out = narrow ? edge : c, *at = out;"
        yield f"  int64_t ld = narrow ? {n} : ldc;"
        yield "  if (narrow && accumulate)"
        yield "    for (int32_t i = 0; i < mr; i++)"
        yield f"      for (int32_t j = 0; j < nr; j++) edge[i * {n} + j] = c[i * ldc + j];"

    def _short(self) -> Iterator[str]:
        more = self._arguments("bias", "ahead")
        for count in reversed(self.row_counts()):
            yield f"  if (rows >= {count}) {{"
            yield f"    {self.name}_rows{count}(units, a, b, at, ld, accumulate{more});"
            yield f"    a += {count * self.a_row}; at += {count} * ld; rows -= {count};"
            if self.ahead:
                yield f"    if (ahead) ahead += {count} * ahead_ld;"
            yield "  }"
        yield "  if (narrow)"
        yield "    for (int32_t i = 0; i < mr; i++)"
        yield f"      for (int32_t j = 0; j < nr; j++) c[i * ldc + j] = edge[i * {self.n} + j];"

    def _arguments(self, bias: str, ahead: str) -> str:
        """What a call passes for the parameters that not every kernel has."""
        return (f", {bias}" if bias and self.step.bias else "") + (
            f", {ahead}, ahead_ld" * bool(self.ahead)
        )

    def tile(self) -> str:
        """The loop over a tile: panels of B inside, so that m rows of A stay in the nearest
        cache."""
        m, n, ahead = self.m, self.n, self._arguments("", AHEAD_OF_ROWS)
        return f"""\
static void {self.name}_tile(int64_t m, int64_t n, int64_t k, const {self.a_type} *a, \
const {self.b_type} *b,
    int64_t b_panel, {self.sum}_t *c, int64_t ldc, int32_t accumulate{self.ahead}) {{
  for (int64_t i = 0; i < m; i += {m})
    for (int64_t j = 0; j < n; j += {n})
      {self.name}(k, a + i * {self.a_row}, b + j / {n} * b_panel, c + i * ldc + j, ldc,
          m - i < {m} ? m - i : {m}, n - j < {n} ? n - j : {n}, accumulate{ahead});
}}"""

    def column_bias(self) -> str:
        """What the units of A with 128 added give too much: 128 times the sums of b's columns."""
        vector, a_unit = self._vector(self.sum), self._vector(self.step.a_unit)
        sums = [[f"s{chain}_{j}" for j in self.vectors] for chain in range(CHAINS)]
        zeros = ", ".join(f"{name} = {{0}}" for chain in sums for name in chain)
        total = (" + ".join(names) for names in zip(*sums, strict=True))
        stores = (
            f"tile_store_{vector}(out + {j * self.lanes}, {value});"
            for j, value in zip(self.vectors, total, strict=True)
        )
        return "\n".join(
            (
                f"TILE_FN void {self.name}_bias(int64_t units, const {self.b_type} *b, "
                f"{self.sum}_t *out) {{",
                f"  {vector} {zeros};",
                f"  {a_unit} x = tile_splat_{a_unit}(0x80808080);",
                f"  for (; units >= {CHAINS}; units -= {CHAINS}) {{",
                *(line for chain in sums for line in self._add_up(chain)),
                "  }",
                "  for (; units; units--) {",
                *self._add_up(sums[0]),
                "  }",
                "  " + " ".join(stores),
                "}",
            )
        )

    def _add_up(self, sums: list[str]) -> Iterator[str]:
        """One row of b, added to the sums of its columns."""
        row = (
            f"*(const {self._vector(self.step.b_unit)} *)(b + {j * self.lanes})"
            for j in self.vectors
        )
        form = self.step.expression
        for name, b in zip(sums, row, strict=True):
            yield f"    {name} = {form.format(c=name, x='x', y=b, n=self.lanes)};"
        yield f"    b += {self.n};"

    def tile_in_parts(self) -> str:
        """The loop over a tile, as many panels at a time as have their column sums at hand."""
        m, n, width = self.m, self.n, PANELS * self.n
        more = self._arguments("bias + (j - part)", AHEAD_OF_ROWS)
        return f"""\
static void {self.name}_tile(int64_t m, int64_t n, int64_t k, const {self.a_type} *a, \
const {self.b_type} *b,
    int64_t b_panel, {self.sum}_t *c, int64_t ldc, int32_t accumulate{self.ahead}) {{
  {self.sum}_t bias[{width}];
  for (int64_t part = 0; part < n; part += {width}) {{
    int64_t end = n - part < {width} ? n : part + {width};
    for (int64_t i = 0; i < m; i += {m})
      for (int64_t j = part; j < end; j += {n}) {{
        const {self.b_type} *panel = b + j / {n} * b_panel;
        if (i == 0)
          {self.name}_bias((k + {self.group - 1}) / {self.group}, panel, bias + (j - part));
        {self.name}(k, a + i * {self.a_row}, panel, c + i * ldc + j, ldc,
            m - i < {m} ? m - i : {m}, n - j < {n} ? n - j : {n}, accumulate{more});
      }}
  }}
}}"""
