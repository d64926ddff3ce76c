"""The tile IR: what a program is. Text, verifier, layouts, targets and the oracle are subpackages.

`build` makes expressions, `ops` holds the statements, `text` prints and parses, `verify` checks,
`interp` runs (needs numpy), `layout`, `target`, `plugin` and `testing` are what their names say.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tile_ir._version import __version__

if TYPE_CHECKING:
    from tile_ir.core import (
        SCOPES,
        Buffer,
        Function,
        Module,
        Param,
        Range,
        Region,
        Stage,
    )
    from tile_ir.diag import Diagnostic, InternalError, Severity, Span, TileError
    from tile_ir.expr import (
        Binary,
        Bitcast,
        Broadcast,
        Call,
        Cast,
        Const,
        Expr,
        Load,
        Ramp,
        Select,
        Slot,
        Unary,
        Var,
    )
    from tile_ir.opdef import OPS, Access, Body, Effect, OpDef, Stmt
    from tile_ir.types import ALL_DTYPES, DType, dtype

__all__ = [
    "ALL_DTYPES",
    "OPS",
    "SCOPES",
    "Access",
    "Binary",
    "Bitcast",
    "Body",
    "Broadcast",
    "Buffer",
    "Call",
    "Cast",
    "Const",
    "DType",
    "Diagnostic",
    "Effect",
    "Expr",
    "Function",
    "InternalError",
    "Load",
    "Module",
    "OpDef",
    "Param",
    "Ramp",
    "Range",
    "Region",
    "Select",
    "Severity",
    "Slot",
    "Span",
    "Stage",
    "Stmt",
    "TileError",
    "Unary",
    "Var",
    "__version__",
    "dtype",
]

_HOMES = {
    "tile_ir.core": "SCOPES Buffer Function Module Param Range Region Stage",
    "tile_ir.diag": "Diagnostic InternalError Severity Span TileError",
    "tile_ir.expr": "Binary Bitcast Broadcast Call Cast Const Expr Load Ramp Select Slot Unary Var",
    "tile_ir.opdef": "OPS Access Body Effect OpDef Stmt",
    "tile_ir.types": "ALL_DTYPES DType dtype",
}
"""Where each name lives; the module is imported when the name is first asked for."""


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names.split():
            return getattr(import_module(module), name)
    raise AttributeError(f"module 'tile_ir' has no attribute {name!r}")
