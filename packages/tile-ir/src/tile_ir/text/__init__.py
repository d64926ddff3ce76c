"""The canonical text of programs (GRAMMAR.md); printing and parsing are inverse to each other."""

from tile_ir.expr import print_with
from tile_ir.text.parser import parse_expr, parse_function, parse_module
from tile_ir.text.printer import print_expr, print_function, print_module, print_stmt

print_with(print_expr)

__all__ = [
    "parse_expr",
    "parse_function",
    "parse_module",
    "print_expr",
    "print_function",
    "print_module",
    "print_stmt",
]
