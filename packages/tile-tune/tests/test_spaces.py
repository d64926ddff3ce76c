"""Configurations and spaces: texts, hashes, products, lists, constraints, neighbours, features."""

import pickle
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tile_ir.diag import TileError
from tile_tune import Choice, Configuration, Space
from tile_tune.configuration import as_configuration
from tile_tune.space import as_space

VALUES = st.one_of(
    st.booleans(), st.integers(-1000, 1000), st.text(max_size=5), st.none(), st.floats(0, 1)
)
MAPPINGS = st.dictionaries(st.sampled_from(["block_M", "stages", "k"]), VALUES, max_size=3)


@settings(derandomize=True, max_examples=60)
@given(MAPPINGS, MAPPINGS)
def test_a_configuration_survives_its_text_and_pickle(parameters, pins):
    made = Configuration.of(parameters, pins)
    again = Configuration.from_json(made.to_json())
    assert again == made
    assert hash(again) == hash(made)
    assert again.to_json() == made.to_json()
    assert pickle.loads(pickle.dumps(made)) == made


def test_order_does_not_matter_and_lists_are_tuples():
    a = as_configuration({"b": 1, "a": [1, 2], "plan": {"x.y": [3]}})
    assert a == Configuration.of({"a": (1, 2), "b": 1}, {"x.y": (3,)})
    assert str(a) == "a=(1, 2) b=1 x.y=(3,)"
    assert a.values == {"a": (1, 2), "b": 1, "x.y": (3,)}


@pytest.mark.parametrize("given_", [object(), {"block": object()}, 3])
def test_what_is_no_configuration(given_):
    with pytest.raises(TileError) as caught:
        as_configuration(given_)
    assert caught.value.code == "E2201"


def space():
    return Space.product(
        {"m": [16, 32, 64], "n": [16, 32], "kind": ["a", "b"]},
        {"k.depth": [None, 2, 3]},
        [lambda c: c["m"] * c["n"] <= 1024],
    )


def test_a_product_with_constraints():
    members = space().members
    assert len(members) == 5 * 2 * 3  # of the six tiles, 64x32 is too large
    assert space().bound == 36
    assert space().first() == Configuration.of({"m": 16, "n": 16, "kind": "a"})
    assert Configuration.of({"m": 32, "n": 32, "kind": "b"}, {"k.depth": 3}) in members


def test_members_are_those_that_the_constraint_allows():
    tiles = {(c.arguments["m"], c.arguments["n"]) for c in space()}
    assert tiles == {(16, 16), (16, 32), (32, 16), (32, 32), (64, 16)}


def test_a_dict_and_a_list_are_spaces():
    assert as_space({"m": [1, 2], "plan": {"p": [True]}}).members == (
        Configuration.of({"m": 1}, {"p": True}),
        Configuration.of({"m": 2}, {"p": True}),
    )
    listed = as_space([{"m": 2, "n": 8}, {"m": 1, "n": 4}, {"m": 2, "n": 8}])
    assert [str(c) for c in listed] == ["m=2 n=8", "m=1 n=4"]
    assert listed.choices == (Choice("m", (1, 2)), Choice("n", (4, 8)))


def test_neighbours_differ_in_one_axis():
    here = Configuration.of({"m": 32, "n": 16, "kind": "a"}, {"k.depth": 2})
    near = [str(c) for c in space().neighbours(here)]
    assert near == [
        "kind=a m=16 n=16 k.depth=2",
        "kind=a m=64 n=16 k.depth=2",
        "kind=a m=32 n=32 k.depth=2",
        "kind=b m=32 n=16 k.depth=2",
        "kind=a m=32 n=16",
        "kind=a m=32 n=16 k.depth=3",
    ]
    listed = as_space([{"m": 1, "n": 1}, {"m": 2, "n": 2}, {"m": 1, "n": 2}])
    assert listed.neighbours(listed.members[0]) == [Configuration.of({"m": 1, "n": 2})]


def test_features_are_logarithmic_coordinates_and_indicators():
    found = space().features(Configuration.of({"m": 32, "n": 32, "kind": "b"}, {"k.depth": 3}))
    assert found == [0.5, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0]


def test_a_large_space_is_sampled_without_being_listed():
    huge = Space.product(
        {f"x{i}": range(10) for i in range(12)}, constraints=[lambda c: c["x0"] > c["x1"]]
    )
    assert not huge.is_small
    drawn = huge.sample(random.Random(1), 20)
    assert len({*drawn}) == 20
    assert all(c.arguments["x0"] > c.arguments["x1"] for c in drawn)
    with pytest.raises(TileError, match="too many to list"):
        _ = huge.members


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: Space.product({"m": []}), "the axis m has no values"),
        (lambda: Space.of([]), "the list of configurations is empty"),
        (lambda: Space.product({"m": [1]}).where(lambda c: False).members, "no combination"),
        (lambda: Space.product({"m": [1]}).where(lambda c: c["o"]).members, "fails with KeyError"),
        (lambda: Space.of([{"m": 1}]).with_choices(Choice("n", (1,))), "takes no further axes"),
    ],
)
def test_empty_spaces_say_why(make, why):
    with pytest.raises(TileError, match=why) as caught:
        make()
    assert caught.value.code == "E2202"


def test_more_axes_replace_those_of_the_same_name():
    made = space().with_choices(Choice("m", (8,)), Choice("t", (1, 2)))
    assert [c.name for c in made.choices] == ["n", "kind", "k.depth", "m", "t"]
    assert made.bound == 2 * 2 * 3 * 1 * 2
