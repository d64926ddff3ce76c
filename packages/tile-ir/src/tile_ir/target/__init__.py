"""Targets: the description of an architecture as data, and the text by which a user names one."""

from tile_ir.target.load import find_spec, load_spec, spec_files
from tile_ir.target.matrix import Home, MatrixAtom, Operand
from tile_ir.target.memory import Barrier, Cluster, CopyEngine, Registers, Scope, VectorUnit
from tile_ir.target.request import TargetRequest, parse_target
from tile_ir.target.spec import Rates, TargetSpec, ToolchainHints
from tile_ir.typed_yaml import Table

__all__ = [
    "Barrier",
    "Cluster",
    "CopyEngine",
    "Home",
    "MatrixAtom",
    "Operand",
    "Rates",
    "Registers",
    "Scope",
    "Table",
    "TargetRequest",
    "TargetSpec",
    "ToolchainHints",
    "VectorUnit",
    "find_spec",
    "load_spec",
    "parse_target",
    "spec_files",
]
