"""What editors know of the language: every name, with the text that explains it."""

import ast

import pytest

import tile_frontend.language as T
from tile_frontend.language.dialects import dialect_names
from tile_frontend.language.refused import refused_names


@pytest.fixture(scope="module")
def stub(root):
    """The stub of the language's module."""
    folder = root / "packages" / "tile-frontend" / "src" / "tile_frontend" / "language"
    return ast.parse((folder / "__init__.pyi").read_text("utf-8"))


def test_the_stub_is_what_the_language_has(generated):
    assert generated("stubs") == []


def test_every_name_is_in_the_stub_and_says_what_it_is(stub):
    imported = {a.asname for n in stub.body if isinstance(n, ast.ImportFrom) for a in n.names}
    functions = [n for n in stub.body if isinstance(n, ast.FunctionDef)]
    assert all(len(ast.get_docstring(n) or "") > 4 for n in functions)
    declared = {}
    for node, after in zip(stub.body, [*stub.body[1:], None], strict=True):
        if isinstance(node, ast.AnnAssign) and node.target.id != "__all__":
            declared[node.target.id] = ast.literal_eval(after.value)
    assert all(len(text) > 4 for text in declared.values())
    known = {*imported, *declared, *(n.name for n in functions)}
    wanted = {*T.__all__, *dialect_names(), *refused_names()}
    assert wanted <= known
    assert "exp" in known
    assert "tcgen05_gemm" in declared
