"""Factory cannot be resolved."""

from tile_ir.plugin import resolve

resolve("math:no_such_function")
