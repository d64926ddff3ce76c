"""Every public name of the language: documented, with an example that traces."""

import inspect
import re

import pytest

import tile_frontend.language as T
from tile_frontend.language.dtypes import OBJECTS
from tile_ir.diag import TileError
from tile_ir.verify import verify

EXAMPLE = re.compile(r"Example: `(.+?)`\s*$", re.MULTILINE | re.DOTALL)
OPERATIONS = sorted(n for n in T.__all__ if n not in OBJECTS)

# What examples may use: global A, B; shared S, S2; fragments F, F2 (tiles), R, J (rows of floats
# and ints); integers I; a mutable float x; acc, a reducer of 64 places (open
# unless the example opens it).
TEMPLATE = """
import tile_frontend.language as T

@T.prim_func
def example(
    A: T.Tensor((64, 64), T.float32),
    B: T.Tensor((64, 64), T.float32),
    G: T.Tensor((64, 64), T.int32),
):
    with T.Kernel(4, threads=256) as bx:
        S = T.alloc_shared((64, 64), T.float32)
        S2 = T.alloc_shared((64, 64), T.float32)
        F = T.alloc_fragment((64, 64), T.float32)
        R = T.alloc_fragment((64,), T.float32)
        I = T.alloc_shared((64, 64), T.int32)
        J = T.alloc_fragment((64,), T.int32)
        x = T.alloc_var(T.float32, init=0.5)
        acc = T.alloc_reducer((64,), T.float32)
        if "reducer_init" not in {example!r}:
            T.reducer_init(acc)
        T.copy(A, S)
        T.copy(A, S2)
        T.copy(A, F)
        T.copy(G, I)
        {example}
        if acc.epoch is not None:
            T.finalize_reducer(acc, R)
"""


def examples():
    for name in OPERATIONS:
        doc = inspect.getdoc(getattr(T, name)) or ""
        found = EXAMPLE.search(doc)
        yield pytest.param(name, found and " ".join(found[1].split()), id=name)


@pytest.mark.parametrize(("name", "example"), list(examples()))
def test_example_of_the_documentation_traces(name, example, tmp_path, load_text):
    assert example, f"T.{name} has no example"
    module = load_text(TEMPLATE.format(example=example))
    assert verify(module.example.function) == ()


@pytest.mark.parametrize("name", OPERATIONS)
def test_documentation_says_what_can_go_wrong(name):
    value = getattr(T, name)
    doc = inspect.getdoc(value)
    assert doc
    if inspect.isfunction(value):
        assert re.search(r"Raises|errors are those", doc), f"T.{name} does not say what it raises"


def test_every_type_is_there_by_its_names():
    assert T.float32 == "float32" == T.float32
    assert T.half is T.float16
    assert T.int is T.int32
    assert T.float8_e4m3 is T.float8_e4m3fn
    assert T.bfloat16x2.lanes == 2
    assert (T.float4_e2m1fn.bits, T.float4_e2m1fn.bytes) == (4, 1)
    assert T.dtype("float16") is T.float16
    assert T.dtype(float) is T.float32
    assert str(T.uint8) == "uint8"
    assert T.int8 != T.uint8
    assert {T.float16: 1}[T.dtype("half")] == 1


def test_types_are_called_to_make_values():
    assert T.float16(1.0).dtype is T.float16
    assert float(T.float16(0.1)) == 0.0999755859375
    assert int(T.int32(7.9)) == 7
    assert T.float32x4(1.0).dtype is T.float32x4


def test_integer_functions_fold_on_python_ints():
    assert T.ceildiv(7, 2) == 4
    assert T.ceildiv(7, -3) == -2
    assert T.floordiv(-7, 2) == -4
    assert T.floormod(-7, 2) == 1
    assert T.truncdiv(-7, 2) == -3
    assert T.truncmod(-7, 2) == -1
    assert T.align_up(100, 32) == 128
    assert (T.max(2, 3), T.min(2, 3)) == (3, 2)
    assert all(type(f(7, 2)) is int for f in (T.ceildiv, T.truncdiv, T.truncmod))


def test_symbolic_dimensions_come_in_tuples():
    m, n = T.dynamic("m, n")
    assert str(m.expr) == "m"
    assert str((m * n + 1).expr) == "m * n + 1"
    assert T.symbolic is T.dynamic


def test_misspelled_name_is_an_attribute_error_with_a_guess():
    with pytest.raises(AttributeError) as raised:
        T.alloc_fragmnt
    assert raised.value.code == "E1504"
    assert "T.alloc_fragment" in raised.value.help
    assert not hasattr(T, "no_such_name_at_all")


def test_names_of_hardware_exist_and_refuse():
    assert repr(T.tma_load) == "<T.tma_load, refused>"
    with pytest.raises(TileError) as raised:
        T.TensorCoreIntrinEmitter.ldmatrix_a
    assert raised.value.code == "E1502"
