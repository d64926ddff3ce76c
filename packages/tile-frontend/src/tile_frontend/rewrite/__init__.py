"""Rewriting a kernel function once per code object, so that executing it traces it.

Control flow, lazy operators and assignments of the function's AST become calls on a frame
(`trace.frame`); all else is left as it is and therefore stays ordinary Python at trace time.
"""

from tile_frontend.rewrite.compiled import Rewritten, rewritten

__all__ = ["Rewritten", "rewritten"]
