"""Every package has the same shape and says the same kind of thing about itself."""

import ast
import sys
from importlib import import_module, metadata

import pytest

from tile_ir.plugin import GROUPS, discover, resolve

if sys.version_info >= (3, 11):
    import tomllib
else:
    tomllib = pytest.importorskip("tomli", reason="Python 3.10 reads TOML with tomli only")


def project(folder):
    """Return the package's pyproject table."""
    return tomllib.loads((folder / "pyproject.toml").read_text())


def test_files_are_where_everybody_looks(folder, module, root):
    for name in ("README.md", "CHANGELOG.md", "LICENSE", "pyproject.toml"):
        assert (folder / name).is_file(), name
    assert (folder / "src" / module / "py.typed").is_file()
    assert list((folder / "tests").rglob("test_*.py"))
    assert (folder / "LICENSE").read_bytes() == (root / "LICENSE").read_bytes()
    assert [path.name for path in (folder / "src").iterdir() if path.is_dir()] == [module]


def test_metadata_is_uniform(folder):
    table = project(folder)["project"]
    assert table["name"] == folder.name
    assert table["requires-python"] == ">=3.10"
    assert table["license"] == "Apache-2.0"
    assert table["dynamic"] == ["version"]
    assert "test" in table["optional-dependencies"]
    assert folder.name in (folder / "README.md").read_text().splitlines()[0]


def test_siblings_are_pinned_compatibly_and_dependencies_go_one_way(folder):
    order = ["tile-ir", "tile-passes", "tile-frontend", "tile-tune"]
    rank = {name: order.index(name) for name in order}
    targets = {"tile-cpu", "tile-cuda", "tile-rocm", "tile-metal"}
    mine = rank.get(folder.name, 2)
    for requirement in project(folder)["project"]["dependencies"]:
        if not requirement.startswith("tile-"):
            assert ">=" in requirement, requirement
            continue
        name, _, version = requirement.partition("~=")
        assert version == "0.1", requirement
        assert name not in targets
        assert rank[name] < mine, requirement


def test_version_is_one_value(folder, module):
    versions = import_module(f"{module}._version").__version__
    assert metadata.version(folder.name) == versions
    assert f"## {versions}" in (folder / "CHANGELOG.md").read_text()


def test_all_is_sorted_complete_and_importable(module):
    package = import_module(module)
    names = package.__all__
    assert len(set(names)) == len(names)
    assert names == sorted(names, key=_constants_classes_rest)
    for name in names:
        getattr(package, name)


def _constants_classes_rest(name):
    kind = 0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2
    return kind, name


def test_public_names_are_documented(module):
    """Classes and functions in `__all__`, and their public methods; inherited text counts."""
    import inspect

    package = import_module(module)
    silent = []
    for name in package.__all__:
        value = getattr(package, name)
        if not (inspect.isclass(value) or inspect.isfunction(value)):
            continue
        silent += [name] if not inspect.getdoc(value) else []
        for method, member in vars(value).items() if inspect.isclass(value) else ():
            is_public = inspect.isfunction(member) and not method.startswith("_")
            if is_public and not inspect.getdoc(getattr(value, method)):
                silent.append(f"{name}.{method}")
    assert silent == []


def test_init_holds_imports_only(folder, module):
    source = (folder / "src" / module / "__init__.py").read_text()
    tree = ast.parse(source)
    assert len(source.splitlines()) <= 120
    for node in tree.body:
        # A lazy __getattr__ is the one function that an __init__ may hold.
        is_lazy = isinstance(node, ast.FunctionDef) and node.name in {"__getattr__", "__dir__"}
        plain = (ast.Expr, ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign, ast.If)
        assert is_lazy or isinstance(node, plain), ast.unparse(node)[:80]


@pytest.mark.parametrize("group", sorted(GROUPS))
def test_every_entry_point_resolves(group, folders):
    ours = {path.name for path in folders}
    for entry in discover(group):
        if entry.distribution in ours:
            manifest = resolve(entry.value)
            assert isinstance(manifest, GROUPS[group])
            assert manifest.name == entry.name
            for ref in manifest.factories().values():
                assert callable(resolve(ref)) or resolve(ref) is not None


def test_console_scripts_resolve():
    scripts = {point.name: point for point in metadata.entry_points(group="console_scripts")}
    for name in ("tile", "tile-opt"):
        assert callable(scripts[name].load())


def test_the_workspace_lists_every_package(root, folders):
    """mypy and import-linter cannot expand a pattern; a forgotten package would go unchecked."""
    table = tomllib.loads((root / "pyproject.toml").read_text())["tool"]
    modules = {path.name.replace("-", "_") for path in folders}
    sources = {f"$MYPY_CONFIG_FILE_DIR/packages/{path.name}/src" for path in folders}
    assert set(table["importlinter"]["root_packages"]) == modules
    assert set(table["mypy"]["mypy_path"]) == sources


def test_the_tools_are_as_strict_as_promised(root):
    table = tomllib.loads((root / "pyproject.toml").read_text())["tool"]
    words = "E F I UP B C4 C90 D1 RUF PT TID SIM PIE PERF TC ERA ANN"
    promised = set(words.split())
    assert promised <= set(table["ruff"]["lint"]["select"])
    assert table["ruff"]["line-length"] == 100
    assert table["ruff"]["lint"]["mccabe"]["max-complexity"] == 10
    assert table["mypy"]["strict"] is True
    assert table["pytest"]["ini_options"]["filterwarnings"] == ["error"]
    assert table["pytest"]["ini_options"]["xfail_strict"] is True
