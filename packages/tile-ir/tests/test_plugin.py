"""Discovery lists without importing, loads one at a time, and blames the right distribution."""

import pickle
import sys
import textwrap

import pytest

from tile_ir import plugin
from tile_ir.diag import TileError
from tile_ir.plugin import (
    GROUPS,
    DeviceManifest,
    DialectManifest,
    OpManifest,
    PassManifest,
    PluginError,
    TargetManifest,
    TunerManifest,
    discover,
    doctor_report,
    load,
    load_all,
    refresh,
    resolve,
)

GOOD = """
    from tile_ir.plugin import PassManifest
    MANIFEST = PassManifest(name="{name}", factory="math:sqrt", phase="legalize")
"""


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Return a function that puts a distribution with one plugin on the path."""
    monkeypatch.syspath_prepend(str(tmp_path))
    made = []

    def make(distribution, name, module, source, group="tile.passes", version="2.5"):
        info = tmp_path / f"{distribution}-{version}.dist-info"
        info.mkdir()
        head = f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n"
        (info / "METADATA").write_text(head)
        (info / "entry_points.txt").write_text(f"[{group}]\n{name} = {module}:MANIFEST\n")
        (tmp_path / f"{module}.py").write_text(textwrap.dedent(source).replace("{name}", name))
        made.append(module)
        refresh()

    refresh()
    yield make
    for module in made:
        sys.modules.pop(module, None)
    refresh()


def named(group, name):
    return [entry for entry in discover(group) if entry.name == name]


def test_listing_reads_metadata_only(install):
    install("acme-fold", "acme-fold", "acme_fold_module", "raise RuntimeError('imported')")
    (entry,) = named("tile.passes", "acme-fold")
    assert (entry.distribution, entry.version) == ("acme-fold", "2.5")
    assert entry.value == "acme_fold_module:MANIFEST"
    assert entry.origin == "acme-fold 2.5"
    assert "acme_fold_module" not in sys.modules


def test_listing_is_sorted_by_name(install):
    install("zz", "zz-pass", "zz_module", GOOD)
    install("aa", "aa-pass", "aa_module", GOOD)
    names = [entry.name for entry in discover("tile.passes")]
    assert names == sorted(names)
    assert {"aa-pass", "zz-pass"} <= set(names)


def test_loading_imports_the_selected_one_only(install):
    install("one", "one", "plugin_one", GOOD)
    install("two", "two", "plugin_two", GOOD)
    assert load("tile.passes", "one").name == "one"
    assert "plugin_one" in sys.modules
    assert "plugin_two" not in sys.modules


def test_metadata_is_read_once_until_refresh(install, monkeypatch):
    install("one", "one", "plugin_one", GOOD)
    discover("tile.passes")
    import importlib.metadata

    monkeypatch.setattr(importlib.metadata, "entry_points", None)
    assert named("tile.passes", "one")
    refresh()
    with pytest.raises(TypeError):
        discover("tile.passes")


def test_a_broken_plugin_names_its_distribution_version_and_cause(install):
    install("acme", "broken", "broken_module", "import no_such_dependency")
    with pytest.raises(PluginError) as caught:
        load("tile.passes", "broken")
    error = caught.value
    assert (error.code, error.name) == ("E0903", "broken")
    assert (error.distribution, error.version) == ("acme", "2.5")
    assert isinstance(error.cause, ModuleNotFoundError)
    assert str(error) == (
        "error[E0903]: plugin 'broken' of acme 2.5 cannot be loaded\n"
        "  = note: ModuleNotFoundError: No module named 'no_such_dependency'\n"
        "  = help: mend, update or uninstall acme; `tile doctor` lists every plugin"
    )


def test_a_broken_plugin_does_not_disturb_the_others(install):
    install("acme", "broken", "broken_module", "raise ValueError('boom')")
    install("good", "good", "good_module", GOOD)
    assert load("tile.passes", "good").name == "good"
    manifests, errors = load_all("tile.passes")
    assert "good" in [manifest.name for manifest in manifests]
    assert [error.name for error in errors] == ["broken"]


def test_a_repaired_plugin_loads_without_a_restart(install, tmp_path):
    install("acme", "late", "late_module", "raise ValueError('boom')")
    with pytest.raises(PluginError, match="ValueError: boom"):
        load("tile.passes", "late")
    # Another size, so that the byte code of the first text is not taken for it.
    (tmp_path / "late_module.py").write_text(textwrap.dedent(GOOD).replace("{name}", "late"))
    assert load("tile.passes", "late").phase == "legalize"


def test_two_claims_to_one_name_are_an_error_that_names_both(install):
    install("first-dist", "same", "first_module", GOOD)
    install("second-dist", "same", "second_module", GOOD, version="0.3")
    assert len(named("tile.passes", "same")) == 2
    with pytest.raises(PluginError) as caught:
        load("tile.passes", "same")
    assert caught.value.code == "E0904"
    assert caught.value.message == (
        "tile.passes name 'same' is claimed by first-dist 2.5 and second-dist 0.3"
    )


def test_an_unknown_name_gets_a_suggestion(install):
    install("acme", "unroll-more", "unroll_module", GOOD)
    with pytest.raises(TileError) as caught:
        load("tile.passes", "unrol-more")
    assert caught.value.code == "E0901"
    assert caught.value.message == "no plugin 'unrol-more' in the group tile.passes"
    assert "unroll-more" in caught.value.notes[0]
    assert caught.value.help.startswith("did you mean 'unroll-more'? ")


@pytest.mark.parametrize(
    ("source", "code", "why"),
    [
        ("MANIFEST = 3", "E0902", "is a int, expected a PassManifest"),
        ("", "E0903", "has no attribute 'MANIFEST'"),
        (GOOD.replace("{name}", "other"), "E0902", "installed as 'odd'"),
        (GOOD.replace("math:sqrt", "math.sqrt"), "E0902", "expected 'module:attr'"),
        (GOOD.replace("phase=", "plugin_api=99, phase="), "E0905", "speaks plugin API 99"),
    ],
)
def test_a_bad_manifest_keeps_its_own_code(install, source, code, why):
    install("odd-dist", "odd", "odd_module", source)
    with pytest.raises(PluginError, match="of odd-dist") as caught:
        load("tile.passes", "odd")
    assert caught.value.code == code
    assert why in caught.value.notes[0]


def test_a_manifest_is_accepted_in_the_place_of_a_name():
    mine = PassManifest(name="mine", factory=dict, phase="plan")
    assert load("tile.passes", mine) is mine
    with pytest.raises(TileError, match=r"tile.targets wants TargetManifest"):
        load("tile.targets", mine)


def test_unknown_group():
    with pytest.raises(TileError) as caught:
        discover("tile.targes")
    assert caught.value.code == "E0907"
    assert caught.value.help == f"the groups are {', '.join(GROUPS)}"


def test_plugin_errors_survive_pickling(install):
    install("acme", "broken", "broken_module", "raise ValueError('boom')")
    with pytest.raises(PluginError) as caught:
        load("tile.passes", "broken")
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)
    assert (again.distribution, again.version) == ("acme", "2.5")


def test_resolve_follows_dots_and_passes_callables_through():
    assert resolve("os:path.join") is __import__("os").path.join
    assert resolve(len) is len


@pytest.mark.parametrize("ref", ["no_such_module:x", "math:no_such_attribute"])
def test_resolve_says_what_is_missing(ref):
    with pytest.raises(TileError) as caught:
        resolve(ref)
    assert caught.value.code == "E0906"
    assert "no_such" in caught.value.notes[0]
    assert caught.value.__cause__ is not None


def test_doctor_reports_health_without_raising(install):
    install("acme", "broken", "broken_module", "raise ValueError('boom')")
    install("dangling", "dangling", "dangling_module", GOOD.replace("math:sqrt", "math:nothing"))
    install("good", "good", "good_module", GOOD)
    report = doctor_report()
    health = {status.entry.name: status.error for status in report.plugins}
    assert not report.ok
    assert health["good"] is None
    assert health["broken"].code == "E0903"
    assert health["dangling"].code == "E0906"
    assert "tile-ir" in dict(report.packages)
    assert report.python == sys.version.split()[0]


@pytest.mark.parametrize("name", ["", "Upper", "1st", "two words", "trailing-", None])
def test_names_are_checked(name):
    with pytest.raises(TileError, match="is not lower-case words") as caught:
        DeviceManifest(name=name, factory="a:b")
    assert caught.value.code == "E0902"


@pytest.mark.parametrize("ref", ["a.b", "a:b:c", "a b:c", "", None, 7])
def test_references_are_checked(ref):
    with pytest.raises(TileError, match="factory is") as caught:
        OpManifest(name="ops", factory=ref)
    assert caught.value.code == "E0902"


def test_a_pass_cannot_contradict_itself():
    with pytest.raises(TileError, match="before and after simplify"):
        PassManifest(
            name="p", factory=dict, phase="plan", before=("simplify",), after=("simplify",)
        )
    with pytest.raises(TileError, match="before or after itself"):
        PassManifest(name="p", factory=dict, phase="plan", after=("p",))
    with pytest.raises(TileError, match="not a phase name"):
        PassManifest(name="p", factory=dict, phase="No Phase")


def test_factories_are_those_given():
    target = TargetManifest(
        name="t", specs="m:a", pipeline="m:b", emit="m:c", toolchain="m:d", runtime="m:e"
    )
    assert list(target.factories()) == ["specs", "pipeline", "emit", "toolchain", "runtime"]
    assert target.emulate is None
    assert TunerManifest(name="t", factory=dict).factories() == {"factory": dict}


def test_equal_manifests_have_equal_hashes():
    one, two = (PassManifest(name="p", factory="m:f", phase="plan") for _ in range(2))
    assert one == two
    assert hash(one) == hash(two)


def test_importing_the_module_reads_no_metadata():
    import subprocess

    code = "import sys, tile_ir.plugin; assert 'importlib.metadata' not in sys.modules"
    done = subprocess.run([sys.executable, "-S", "-c", _with_path(code)], check=False)
    assert done.returncode == 0


def _with_path(code):
    from pathlib import Path

    return f"import sys; sys.path.insert(0, {str(Path(plugin.__file__).parents[1])!r}); {code}"


@pytest.mark.parametrize("names", [(), ("two words",), ("fine", "1st")])
def test_a_dialect_lists_names_of_python(names):
    with pytest.raises(TileError) as caught:
        DialectManifest(name="toy", lookup="toy:lookup", names=names)
    assert caught.value.code == "E0902"
    assert "names" in caught.value.message
