"""Target descriptions: strict reading with lines, round trips, requests, lookups."""

import pickle
import textwrap
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tile_ir.diag import TileError
from tile_ir.layout.parse import parse_layout
from tile_ir.plugin import TargetManifest
from tile_ir.target import (
    CopyEngine,
    MatrixAtom,
    Operand,
    Scope,
    Table,
    TargetRequest,
    TargetSpec,
    find_spec,
    load_spec,
    parse_target,
    spec_files,
)
from tile_ir.testing.specs import toy_folder, toy_spec

MINIMAL = "name: t\narch: a\nfamily: gpu\n"


def rejected(text):
    """Return the error that reading `text` raises."""
    with pytest.raises(TileError) as caught:
        load_spec(textwrap.dedent(text))
    return caught.value


# --- the invented architectures --------------------------------------------------------------


@pytest.mark.parametrize("arch", ["async", "sync", "plain"])
def test_toy_descriptions_round_trip(arch):
    spec = toy_spec(arch)
    again = load_spec(spec.to_yaml())
    assert again == spec
    assert hash(again) == hash(spec)
    assert pickle.loads(pickle.dumps(spec)) == spec
    assert str(spec) == f"toy -arch={arch}"


def test_async_toy_says_what_planners_ask():
    spec = toy_spec("async")
    assert (spec.warp_width, spec.group_warps, spec.max_threads) == (32, 4, 1024)
    assert spec.capacity("shared") == 227 * 1024
    assert spec.registers.per_thread - spec.registers.reserve == 227
    (load,) = [e for e in spec.engines("global", "shared") if e.completion == "barrier"]
    assert (load.name, load.elect, load.multicast) == ("box_load", True, True)
    (atom,) = spec.atoms("f16", "f16", "f32")
    assert (atom.m, atom.k, atom.engine, atom.threads) == (64, 16, "async", 128)
    assert atom.a.homes == ("shared", "register")
    assert spec.barriers["phase"].transactions
    assert spec.has("shuffle")
    assert not spec.has("telepathy")
    assert spec.lanes("f16") == 2
    assert spec.lanes("f32") == 1
    assert spec.rates.clock_hz == 1.755e9
    assert spec.rates.math["exp2"] == 8


def test_plain_toy_has_no_say_in_where_pieces_land():
    spec = toy_spec("plain")
    assert [e.lane_linear for e in spec.engines("global", "shared")] == [True]
    assert not any(e.lane_linear for e in toy_spec("sync").copy.values())
    assert {atom.threads for atom in spec.matrix.values()} == {spec.warp_width} == {64}


def test_sync_toy_counts_groups_and_multiplies_at_once():
    spec = toy_spec("sync")
    assert [e.completion for e in spec.engines("global", "shared")] == ["counted"]
    assert {atom.engine for atom in spec.matrix.values()} == {"sync"}
    assert {atom.threads for atom in spec.matrix.values()} == {32}
    assert spec.cluster.blocks == 1
    assert "phase" not in spec.barriers


@pytest.mark.parametrize("arch", ["async", "sync", "plain"])
def test_register_layouts_cover_their_operands(arch):
    """Threads times values of a layout are the elements of the operand."""
    for atom in toy_spec(arch).matrix.values():
        shapes = {"a": atom.m * atom.k, "b": atom.k * atom.n, "accumulator": atom.m * atom.n}
        for name, elements in shapes.items():
            text = atom.layout(name)
            if text:
                assert parse_layout(text).size == elements, (atom.name, name)


# --- matrix atoms --------------------------------------------------------------------------------


def atom(**changes):
    half = Operand(dtype="f16", layout="k ({k}:1) m ({m*k/1}:1)")
    wide = Operand(dtype="f32", layout="value ({n/8}:n*8)")
    base = MatrixAtom(name="x", m=16, n=24, k=8, a=half, b=half, accumulator=wide, n_step=8)
    return replace(base, **changes)


def test_a_family_of_widths_gives_each_width():
    family = atom()
    assert family.widths() == (8, 16, 24)
    assert [family.at_n(n).layout("accumulator") for n in family.widths()] == [
        "value (1:n*8)",
        "value (2:n*8)",
        "value (3:n*8)",
    ]
    assert family.at_n(16).widths() == (16,)
    with pytest.raises(TileError, match="does not exist at n = 12"):
        family.at_n(12)


def test_braces_hold_one_product_or_quotient():
    square = Operand(dtype="f16", layout="({m*k}:1, {k}:{n/3})")
    assert atom(a=square).layout("a") == "(128:1, 8:8)"
    for wrong in ("{n/5}", "{m+n}", "{}", "{q}"):
        with pytest.raises(TileError, match="atom x"):
            atom(a=replace(square, layout=wrong)).layout("a")


def test_atoms_are_offered_fastest_first():
    half, wide = Operand(dtype="f16"), Operand(dtype="f32")
    table = Table(
        {
            name: MatrixAtom(name=name, m=1, n=1, k=1, a=half, b=half, accumulator=wide, rate=rate)
            for name, rate in [("slow", 1.0), ("fast", 4.0)]
        }
    )
    spec = replace(load_spec(MINIMAL), matrix=table)
    assert [a.name for a in spec.atoms("f16", "f16", "f32")] == ["fast", "slow"]
    assert spec.atoms("f32", "f32", "f32") == ()


# --- strict reading ------------------------------------------------------------------------------


def test_a_minimal_description_has_the_documented_defaults():
    spec = load_spec(MINIMAL)
    assert spec == TargetSpec(name="t", arch="a", family="gpu")
    assert (spec.warp_width, spec.capacity("shared"), spec.vector_unit.bytes) == (1, 0, 0)
    assert spec.to_yaml() == MINIMAL


@pytest.mark.parametrize(
    ("text", "code", "line", "message"),
    [
        (MINIMAL + "warp_widht: 32\n", "E0912", 4, "TargetSpec has no key 'warp_widht'"),
        (MINIMAL + "rates:\n  clock: 1\n", "E0912", 5, "Rates has no key 'clock'"),
        (MINIMAL + "warp_width: wide\n", "E0913", 4, "expected a whole number, found 'wide'"),
        (MINIMAL + "warp_width: 1.5\n", "E0913", 4, "expected a whole number, found '1.5'"),
        (MINIMAL + "warp_width: [1]\n", "E0913", 4, "expected a whole number, found a sequence"),
        (MINIMAL + "warp_width: true\n", "E0913", 4, "expected a whole number, found 'true'"),
        (MINIMAL + "rates: {cores: 2, issue: x}\n", "E0913", 4, "expected a number, found 'x'"),
        (MINIMAL + "features: shuffle\n", "E0913", 4, "expected a list, found 'shuffle'"),
        (MINIMAL + "scopes: [a]\n", "E0913", 4, "expected a mapping, found a sequence"),
        (MINIMAL + "cluster: {multicast: 1}\n", "E0913", 4, "expected true or false, found '1'"),
        (
            MINIMAL.replace("gpu", "fpga"),
            "E0913",
            3,
            "expected one of gpu, cpu, found 'fpga'",
        ),
        (MINIMAL + "max_threads: 0\n", "E0913", 1, "max_threads must be at least warp_width"),
        ("name: t\nfamily: cpu\n", "E0914", 1, "TargetSpec needs the key 'arch'"),
        (MINIMAL + "scopes:\n  s: {bytes: 1}\n", "E0914", 5, "Scope needs the key 'shared_by'"),
        (MINIMAL + "arch: b\n", "E0914", 4, "key 'arch' is given twice"),
        ("name: [\n", "E0911", 2, "not YAML"),
        ("- a\n- b\n", "E0911", 1, "expected a mapping"),
    ],
)
def test_mistakes_are_placed(text, code, line, message):
    error = rejected(text)
    assert (error.code, error.span.line) == (code, line)
    assert message in error.message


def test_unknown_keys_get_a_suggestion():
    assert rejected(MINIMAL + "max_thread: 3\n").help.startswith("did you mean 'max_threads'? ")


@pytest.mark.parametrize("dtype", ["float16", "f17"])
def test_operand_types_are_canonical(dtype):
    head = "matrix:\n  x:\n    {m: 1, n: 1, k: 1, b: {dtype: f16}, accumulator: {dtype: f32},\n"
    error = rejected(f"{MINIMAL}{head}     a: {{dtype: {dtype}}}}}\n")
    assert error.span.line == 7
    assert dtype in error.message


def test_copy_engines_name_scopes_that_exist():
    error = rejected(
        MINIMAL
        + "scopes: {global: {shared_by: device}}\n"
        + "copy: {c: {source: global, destination: shared, completion: none}}\n"
    )
    assert error.code == "E0913"
    assert error.message == "copy engine c names the scope 'shared'"


def test_table_entries_are_named_by_their_key():
    spec = load_spec(MINIMAL + "scopes: {shared: {shared_by: block, bytes: 0x100}}\n")
    assert spec.scopes["shared"] == Scope(name="shared", shared_by="block", bytes=256)


def test_numbers_may_have_an_exponent_without_sign():
    assert load_spec(MINIMAL + "rates: {clock_hz: 1.5e9}\n").rates.clock_hz == 1.5e9


# --- files ---------------------------------------------------------------------------------------


def test_a_missing_file_is_an_error_of_its_own(tmp_path):
    with pytest.raises(TileError, match="cannot be read") as caught:
        load_spec(tmp_path / "none.yaml")
    assert caught.value.code == "E0910"


def test_files_are_read_again_when_they_change(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text(MINIMAL)
    assert load_spec(path).warp_width == 1
    assert load_spec(path) is load_spec(str(path))
    path.write_text(MINIMAL + "warp_width: 32\nmax_threads: 64\n")
    assert load_spec(path).warp_width == 32


def test_errors_in_files_name_the_file(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text(MINIMAL + "warp_width: x\n")
    with pytest.raises(TileError) as caught:
        load_spec(path)
    assert (caught.value.span.file, caught.value.span.col) == (str(path), 12)
    assert "warp_width: x" in str(caught.value)


def test_extends_merges_mappings_and_replaces_the_rest(tmp_path):
    base = MINIMAL + "aliases: [x]\nfeatures: [f, g]\nrates: {cores: 4, issue: 2}\n"
    (tmp_path / "base.yaml").write_text(base)
    over = "extends: base\narch: b\nfeatures: [h]\nrates: {cores: 8}\n"
    (tmp_path / "b.yaml").write_text(over)
    spec = load_spec(tmp_path / "b.yaml")
    assert (spec.name, spec.arch, spec.aliases) == ("t", "b", ("x",))
    assert spec.features == {"h"}
    assert (spec.rates.cores, spec.rates.issue) == (8, 2)


def test_an_error_in_the_base_is_placed_there(tmp_path):
    (tmp_path / "base.yaml").write_text(MINIMAL + "nonsense: 1\n")
    (tmp_path / "b.yaml").write_text("extends: base\narch: b\n")
    with pytest.raises(TileError) as caught:
        load_spec(tmp_path / "b.yaml")
    assert (caught.value.span.file, caught.value.span.line) == (str(tmp_path / "base.yaml"), 4)


def test_circles_of_extends_are_refused(tmp_path):
    (tmp_path / "a.yaml").write_text("extends: b\n")
    (tmp_path / "b.yaml").write_text("extends: a\n")
    with pytest.raises(TileError, match="extend each other"):
        load_spec(tmp_path / "a.yaml")


# --- requests ------------------------------------------------------------------------------------


def test_requests_are_parsed():
    request = parse_target("cpu -arch=x86-64-v4 -threads=2 -fast")
    assert (request.name, request.arch) == ("cpu", "x86-64-v4")
    assert request.options == {"threads": "2", "fast": "true"}
    assert str(request) == "cpu -arch=x86-64-v4 -fast=true -threads=2"
    assert parse_target(request) is request
    assert parse_target("cpu") == TargetRequest(name="cpu")
    assert parse_target({"kind": "cpu", "arch": "v3", "threads": 2}) == parse_target(
        "cpu -arch=v3 -threads=2"
    )


@pytest.mark.parametrize(
    "text", ["", "CPU", "cpu arch=x", "cpu -", "cpu -arch=a -arch=b", "-arch=a", "cpu -o=a -o=b"]
)
def test_malformed_requests(text):
    with pytest.raises(TileError) as caught:
        parse_target(text)
    assert caught.value.code == "E0915"
    assert caught.value.help == "write the target as in 'cpu -arch=x86-64-v4'"


words = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True)
values = st.from_regex(r"[A-Za-z0-9_.+-]{1,12}", fullmatch=True)


@given(words, st.none() | values, st.dictionaries(words.filter(lambda w: w != "arch"), values))
def test_requests_round_trip(name, arch, options):
    request = TargetRequest(name=name, arch=arch, options=Table(options))
    again = parse_target(str(request))
    assert again == request
    assert hash(again) == hash(request)


# --- lookups -------------------------------------------------------------------------------------


def manifest(**changes):
    none = "tile_ir.nothing:nothing"
    base = TargetManifest(
        name="toy", specs=toy_folder, pipeline=none, emit=none, toolchain=none, runtime=none
    )
    return replace(base, **changes)


def test_descriptions_are_found_by_architecture():
    assert set(spec_files(manifest())) == {"async", "sync", "plain"}
    assert find_spec(manifest(), parse_target("toy -arch=sync")) is toy_spec("sync")


def test_a_file_named_after_its_architecture_is_the_only_one_read(tmp_path):
    (tmp_path / "a.yaml").write_text(MINIMAL + "aliases: [other]\n")
    (tmp_path / "broken.yaml").write_text("name: [")
    here = manifest(specs=lambda: tmp_path)
    assert find_spec(here, parse_target("toy -arch=a")).arch == "a"
    with pytest.raises(TileError, match="not YAML"):
        find_spec(here, parse_target("toy -arch=other"))


def test_an_alias_finds_its_description(tmp_path):
    (tmp_path / "a.yaml").write_text(MINIMAL + "aliases: [other]\n")
    here = manifest(specs=lambda: tmp_path)
    assert find_spec(here, parse_target("toy -arch=other")).arch == "a"


def test_the_host_answers_when_no_architecture_is_named():
    here = manifest(host_arch=lambda: "async")
    assert find_spec(here, parse_target("toy")) is toy_spec("async")
    assert find_spec(here, parse_target("toy -arch=sync")) is toy_spec("sync")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("toy", "target 'toy' needs an architecture"),
        ("toy -arch=z", "target 'toy' has no architecture 'z'"),
    ],
)
def test_unknown_architectures_list_the_known(text, message):
    with pytest.raises(TileError) as caught:
        find_spec(manifest(), parse_target(text))
    assert (caught.value.code, caught.value.message) == ("E0916", message)
    assert caught.value.notes == ("described: async, plain, sync",)


# --- tables --------------------------------------------------------------------------------------


@given(st.dictionaries(words, st.integers()))
def test_tables_are_mappings_with_a_hash(items):
    table, backwards = Table(items), Table(dict(reversed(items.items())))
    assert dict(table) == items
    assert list(table) == list(items)
    assert table == backwards
    assert hash(table) == hash(backwards)
    assert pickle.loads(pickle.dumps(table)) == table


def test_tables_cannot_be_changed():
    table = Table(a=1)
    with pytest.raises(TypeError):
        table["a"] = 2
    assert repr(table) == "Table({'a': 1})"


def test_parts_compare_by_value():
    one, two = (
        CopyEngine(name="c", source="global", destination="shared", completion="none")
        for _ in range(2)
    )
    assert one == two
    assert hash(one) == hash(two)
