"""Matrix kernels for units that multiply whole tiles (AMX), as C text.

A tile register holds 16 rows of 64 bytes: 16x16 sums, 16 units of 16 rows of A, or 16 units along k
of 16 columns of B. Of the eight there are, a kernel keeps four tiles of sums and loads two of A and
two of B for its four multiplications of 16 cycles. What it reads is what the kernels of vectors
read: A row-major with padded rows, B in panels, whose rows a tile takes with a distance between
them. So only the edges are its own business:

* rows: the tiles of the last rows of a block have as many rows as there are;
* columns: packing has filled the panel with zeros, sums beyond the edge are made beside C;
* k: the last units go through memory that is filled up with zeros.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tile_cpu.ahead import UNIT_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tile_cpu.intrinsics.steps import Step
    from tile_ir.target import MatrixAtom

__all__ = ["TILE_ROWS", "tile_unit_needs", "tile_unit_source"]

TILE_ROWS = 16
"""Rows of a tile register, and units in one of them."""
TILES_OF_A, TILES_OF_B = (4, 5), (6, 7)
"""Registers of the operands; those of the sums come before them, row by row."""
VERBS = ("load", "store", "zero", "multiply", "rows", "last_rows", "last_units")


def tile_unit_needs(step: Step) -> set[str]:
    """Names of the prelude that the text of `tile_unit_source` uses."""
    types = {f"{unit}_t" for unit in (step.a_unit, step.b_unit, step.sum_type)}
    return {f"tile_amx_{verb}" for verb in VERBS} | types | {"TILE_FN"}


def tile_unit_source(name: str, atom: MatrixAtom, step: Step, a_row: int, ahead: bool) -> str:
    """C text of the micro-kernel of `atom` and of its loop over a tile, which has the parameters
    that `atoms.atom_source` describes; rows of A are `a_row` units apart."""
    kernel = _Kernel(name, step, atom.m // TILE_ROWS, atom.n // TILE_ROWS, a_row, ahead)
    shapes = [(m, n) for m in range(1, kernel.down + 1) for n in range(1, kernel.across + 1)]
    parts = [*(kernel.block(*shape) for shape in shapes), kernel.edges(), kernel.tile()]
    return "\n\n".join(parts) + "\n"


@dataclass(frozen=True, slots=True)
class _Kernel:
    """Prints one micro-kernel; `down` and `across` are its tiles of sums."""

    name: str
    step: Step
    down: int
    across: int
    a_row: int
    ahead: bool

    @property
    def _operands(self) -> str:
        return f"const {self.step.a_unit}_t *a, const {self.step.b_unit}_t *b"

    @property
    def _ahead(self) -> str:
        return ", const char *ahead, int64_t ahead_ld" if self.ahead else ""

    def block(self, m: int, n: int) -> str:
        """The kernel for m x n tiles of sums; the last of them may have fewer than 16 rows, which
        the registers know."""
        sums = self.step.sum_type
        return "\n".join(
            (
                f"TILE_FN void {self.name}_{m}x{n}(int64_t units, {self._operands}, {sums}_t *c,",
                f"    int64_t ldc, int32_t rows, int32_t accumulate{self._ahead}) {{",
                "  if (accumulate) {",
                *(f"    {line}" for line in self._sums("load", m, n)),
                "  } else {",
                f"    {' '.join(f'tile_amx_zero({t});' for t in range(m * n))}",
                "  }",
                *self._loop(m, n),
                *self._last_units(m, n),
                *(f"  {line}" for line in self._sums("store", m, n)),
                "}",
            )
        )

    def _sums(self, verb: str, m: int, n: int) -> Iterator[str]:
        for i in range(m):
            places = (f"c + {i * TILE_ROWS} * ldc + {j * TILE_ROWS}" for j in range(n))
            yield " ".join(
                f"tile_amx_{verb}({i * n + j}, {at}, ldc * sizeof *c);"
                for j, at in enumerate(places)
            )

    def _loop(self, m: int, n: int) -> Iterator[str]:
        """The loop along k. A line of the block ahead is as long as a row of a tile."""
        yield "  int64_t p = 0;"
        yield f"  for (; p + {TILE_ROWS} <= units; p += {TILE_ROWS}) {{"
        if self.ahead:
            yield "    if (ahead)"
            yield "      for (int64_t r = 0; r < rows; r++)"
            yield f"        __builtin_prefetch(ahead + r * ahead_ld + p * {UNIT_BYTES}, 0, 2);"
        width = self.across * TILE_ROWS
        yield from self._multiply(m, n, "a + p", self.a_row, f"b + p * {width}")
        yield "  }"

    def _multiply(self, m: int, n: int, a: str, a_row: int, b: str) -> Iterator[str]:
        """One step of 16 units along k: every operand is loaded just before its first use."""
        for i in range(m):
            at = f"{a} + {i * TILE_ROWS * a_row}" if i else a
            yield f"    tile_amx_load({TILES_OF_A[i]}, {at}, {a_row * UNIT_BYTES});"
            for j in range(n):
                if i == 0:
                    at = f"{b} + {j * TILE_ROWS}" if j else b
                    bytes_ = self.across * TILE_ROWS * UNIT_BYTES
                    yield f"    tile_amx_load({TILES_OF_B[j]}, {at}, {bytes_});"
                tiles = f"{i * n + j}, {TILES_OF_A[i]}, {TILES_OF_B[j]}"
                yield f"    tile_amx_multiply({self.step.instruction}, {tiles});"

    def _last_units(self, m: int, n: int) -> Iterator[str]:
        width = self.across * TILE_ROWS
        aligned = "__attribute__((aligned(64)))"
        yield "  if (p < units) {"
        yield f"    int32_t last_a[{m * TILE_ROWS * TILE_ROWS}] {aligned};"
        yield f"    int32_t last_b[{TILE_ROWS * width}] {aligned};"
        yield f"    tile_amx_last_rows(a + p, {self.a_row}, rows, units - p, last_a);"
        yield f"    tile_amx_last_units(b + p * {width}, units - p, {width}, last_b);"
        yield from self._multiply(m, n, "last_a", TILE_ROWS, "last_b")
        yield "  }"

    def edges(self) -> str:
        """Rows and columns up to the atom's. Fewer columns than the tiles have: compute all of them
        beside C, copy those that exist."""
        width, sums = self.across * TILE_ROWS, self.step.sum_type
        more = ", ahead, ahead_ld" if self.ahead else ""
        calls = "\n".join(
            f"  {'else ' if m * n > 1 else ''}if (down == {m} && across == {n})\n"
            f"    {self.name}_{m}x{n}(units, a, b, out, ld, mr, accumulate{more});"
            for m in range(1, self.down + 1)
            for n in range(1, self.across + 1)
        )
        return f"""\
static inline void {self.name}(int64_t units, {self._operands}, {sums}_t *c,
    int64_t ldc, int32_t mr, int32_t nr, int32_t accumulate{self._ahead}) {{
  {sums}_t edge[{self.down * TILE_ROWS * width}] __attribute__((aligned(64)));
  int32_t down = (mr + {TILE_ROWS - 1}) / {TILE_ROWS};
  int32_t across = (nr + {TILE_ROWS - 1}) / {TILE_ROWS};
  int32_t narrow = nr % {TILE_ROWS} != 0;
  {sums}_t *out = narrow ? edge : c;
  int64_t ld = narrow ? {width} : ldc;
  if (narrow && accumulate)
    for (int32_t i = 0; i < mr; i++)
      for (int32_t j = 0; j < nr; j++) edge[i * {width} + j] = c[i * ldc + j];
{calls}
  if (narrow)
    for (int32_t i = 0; i < mr; i++)
      for (int32_t j = 0; j < nr; j++) c[i * ldc + j] = edge[i * {width} + j];
}}"""

    def tile(self) -> str:
        """The loop over a tile: panels of B inside, so that the rows of A stay in the nearest
        cache. Rows that fill no tile come last."""
        m, n, group = self.down * TILE_ROWS, self.across * TILE_ROWS, self.step.group
        more = ", ahead && j == 0 ? ahead + i * ahead_ld : 0, ahead_ld" if self.ahead else ""
        return f"""\
static void {self.name}_tile(int64_t m, int64_t n, int64_t k, {self._operands},
    int64_t b_panel, {self.step.sum_type}_t *c, int64_t ldc, int32_t accumulate{self._ahead}) {{
  int64_t units = (k + {group - 1}) / {group}, whole = m / {TILE_ROWS} * {TILE_ROWS};
  for (int64_t i = 0, rows; i < m; i += rows) {{
    rows = i == whole ? m - i : whole - i < {m} ? whole - i : {m};
    if (i == whole) tile_amx_rows((int32_t)rows);
    for (int64_t j = 0; j < n; j += {n})
      {self.name}(units, a + i * {self.a_row}, b + j / {n} * b_panel, c + i * ldc + j, ldc,
          (int32_t)rows, n - j < {n} ? n - j : {n}, accumulate{more});
  }}
  if (whole < m) tile_amx_rows({TILE_ROWS});
}}"""
