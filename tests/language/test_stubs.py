"""What editors know of the language: every name, with the text that explains it."""

import ast

import pytest

import tile_frontend.language as T
from tile_frontend.language.dialects import dialect_names
from tile_frontend.language.refused import refused_names


@pytest.fixture(scope="module")
def folder(root):
    """Where the stubs of the language's module lie."""
    return root / "packages" / "tile-frontend" / "src" / "tile_frontend" / "language"


def body_of(path):
    return ast.parse(path.read_text("utf-8")).body


def test_the_stub_is_what_the_language_has(generated):
    assert generated("stubs") == []


def test_every_name_is_in_the_stub(folder):
    body = body_of(folder / "__init__.pyi")
    imported = {a.asname for n in body if isinstance(n, ast.ImportFrom) for a in n.names}
    assert {*T.__all__, *dialect_names(), *refused_names()} <= imported
    (exported,) = (n.value for n in body if isinstance(n, ast.AnnAssign))
    assert ast.literal_eval(exported) == T.__all__


@pytest.mark.parametrize(
    ("part", "name"),
    [
        ("types", "float16"),
        ("functions", "exp"),
        ("of_devices", "cluster_sync"),
        ("refused", "tcgen05_gemm"),
    ],
)
def test_every_name_of_a_part_says_what_it_is(folder, part, name):
    body = body_of(folder / "stubs" / f"{part}.pyi")
    told = {n.name: ast.get_docstring(n) or "" for n in body if isinstance(n, ast.FunctionDef)}
    for node, after in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, ast.AnnAssign):
            told[node.target.id] = ast.literal_eval(after.value)
    assert name in told
    assert all(len(text) > 4 for text in told.values())
