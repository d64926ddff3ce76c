"""Laws of the layout algebra, checked point by point on random digit lists of any radix."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tile_ir.diag import TileError
from tile_ir.layout import (
    HOLE,
    Axis,
    Digit,
    DigitLayout,
    FragmentLayout,
    Layout,
    MapLayout,
    Swizzle,
    TileLayout,
    broadcast,
    coalesce,
    coalesce_digits,
    complement,
    compose,
    conversion,
    convert_kind,
    cut_digits,
    extent_of,
    identity_map,
    inverse,
    make_layout,
    parse_layout,
    project,
    recognise,
    refine,
    refine_digits,
    rename,
    same_function,
    split,
    tabulate,
    transpose,
)

laws = settings(derandomize=True, max_examples=60, deadline=None)
FACTORS = (2, 3, 4, 5, 7)
EXTENTS = (1, 7, 12, 80, 144, 192)


def points(layout: Layout) -> itertools.product:
    return itertools.product(*map(range, layout.input_shape))


def value_table(digits: tuple[Digit, ...]) -> list[tuple[tuple[str | None, int], ...]]:
    """What a digit list means, written the slow way: per number, the total move along each axis."""
    out = []
    for number in range(extent_of(digits)):
        rest, total = number, dict.fromkeys(("m", "n", "k"), 0)
        for d in digits:
            rest, value = divmod(rest, d.extent)
            if d.axis is not None:
                total[d.axis] += value * d.stride
        out.append(tuple(total.items()))
    return out


@st.composite
def digit_lists(draw: st.DrawFn, axes: tuple[str | None, ...] = ("m", "n", None)) -> tuple:
    count = draw(st.integers(0, 4))
    digits = []
    for _ in range(count):
        axis = draw(st.sampled_from(axes))
        stride = 0 if axis is None else draw(st.integers(0, 12))
        extent = draw(st.sampled_from((1, *FACTORS)))
        if extent_of(digits) * extent <= 48:
            digits.append(Digit(extent, axis if stride else None, stride))
    return tuple(digits)


@st.composite
def factorings(draw: st.DrawFn, extent: int, axis: str) -> tuple[Digit, ...]:
    """Digits that fill an axis exactly, from small to large strides."""
    digits, stride = [], 1
    while extent > 1:
        divisors = [d for d in range(2, extent + 1) if extent % d == 0]
        factor = draw(st.sampled_from(divisors))
        digits.append(Digit(factor, axis, stride))
        extent, stride = extent // factor, stride * factor
    return tuple(digits)


@st.composite
def fragments(draw: st.DrawFn, shape: dict[str, int] | None = None) -> FragmentLayout:
    """Fragments that fill their box exactly, digits in any order, sometimes with copies."""
    if shape is None:
        extents = st.sampled_from((1, 2, 6, 7, 8, 12))
        shape = {"m": draw(extents), "n": draw(extents)}
    digits = [d for name, n in shape.items() for d in draw(factorings(n, name))]
    digits = draw(st.permutations(digits))
    thread = [d for d in digits if draw(st.booleans())]
    value = [d for d in digits if d not in thread]
    for copies in draw(st.lists(st.sampled_from((2, 3)), max_size=1)):
        thread.insert(draw(st.integers(0, len(thread))), Digit(copies))
    group = thread[-1:] if draw(st.booleans()) else []
    thread = thread[: len(thread) - len(group)]
    return FragmentLayout(
        thread=tuple(thread), value=tuple(value), group=tuple(group), outputs=tuple(shape)
    )


@st.composite
def tiles(
    draw: st.DrawFn, shape: dict[str, int] | None = None, swizzles: bool = False
) -> TileLayout:
    """Bijective tiles: each axis factored, the factors stacked into offsets in any order."""
    if shape is None:
        extents = st.sampled_from((1, 2, 6, 7, 8, 16))
        shape = {"m": draw(extents), "n": draw(extents)}
    lists = {name: list(draw(factorings(n, "offset"))) for name, n in shape.items()}
    slots = draw(st.permutations([(name, i) for name, ds in lists.items() for i in range(len(ds))]))
    stride = 1
    for name, i in slots:
        lists[name][i] = Digit(lists[name][i].extent, "offset", stride)
        stride *= lists[name][i].extent
    swizzle = (
        draw(st.sampled_from((None, Swizzle(1, 2, 2), Swizzle(3, 4, 3)))) if swizzles else None
    )
    axes = tuple(Axis(name, tuple(ds)) for name, ds in lists.items())
    return TileLayout(inputs=axes, swizzle=swizzle)


@st.composite
def any_layouts(draw: st.DrawFn) -> Layout:
    kind = draw(
        st.sampled_from(("tile", "fragment", "map", "loose tile", "loose fragment", "table"))
    )
    if kind == "tile":
        return draw(tiles(swizzles=True))
    if kind == "fragment":
        return draw(fragments())
    if kind == "map":
        axes = [Axis("x", draw(digit_lists())), Axis("y", draw(digit_lists()))]
        return make_layout(axes, draw(st.sampled_from((("m", "n"), ("n", "m"), ("k", "n", "m")))))
    if kind == "loose tile":
        offsets = digit_lists(axes=("offset", None))
        return TileLayout(inputs=(Axis("m", draw(offsets)), Axis("k", draw(offsets))))
    if kind == "loose fragment":
        used = (draw(digit_lists()), draw(digit_lists()))
        return FragmentLayout(thread=used[0], value=used[1], outputs=("n", "m"))
    entries = draw(st.lists(st.integers(HOLE, 23), min_size=24, max_size=24))
    return MapLayout(
        input_names=("thread", "value"),
        input_shape=(4, 6),
        output_names=("m", "n"),
        output_shape=(2, 12),
        table=tuple(sorted(entries)) if draw(st.booleans()) else tuple(entries),
    )


@given(any_layouts())
@settings(derandomize=True, max_examples=200, deadline=None)
def test_text_round_trips(layout):
    assert parse_layout(str(layout)) == layout
    assert str(parse_layout(str(layout))) == str(layout)


@given(any_layouts(), any_layouts())
@laws
def test_equal_layouts_have_equal_hashes(a, b):
    again = parse_layout(str(a))
    assert again == a
    assert hash(again) == hash(a)
    assert a != b or hash(a) == hash(b)


@given(digit_lists(), digit_lists())
@laws
def test_coalesced_digits_are_a_normal_form(a, b):
    short = coalesce_digits(a)
    assert value_table(short) == value_table(a)
    assert coalesce_digits(short) == short
    assert (value_table(a) == value_table(b)) == (coalesce_digits(a) == coalesce_digits(b))


@given(st.sampled_from(EXTENTS), st.data())
@laws
def test_refined_lists_mean_the_same_and_have_equal_radices(extent, data):
    a = data.draw(factorings(extent, "m").flatmap(st.permutations).map(tuple))
    b = data.draw(factorings(extent, "n").flatmap(st.permutations).map(tuple))
    pair = refine_digits(a, b)
    short = [coalesce_digits(ds) for ds in (a, b)]
    cuts = [extent_of(ds[:i]) for ds in short for i in range(len(ds) + 1)]
    divides = all(x % y == 0 or y % x == 0 for x in cuts for y in cuts)
    assert (pair is not None) == divides
    if pair is not None:
        assert [d.extent for d in pair[0]] == [d.extent for d in pair[1]]
        assert value_table(pair[0]) == value_table(a)
        assert value_table(pair[1]) == value_table(b)


@given(fragments({"m": 24}), fragments({"m": 24}))
@laws
def test_refined_layouts_are_the_same_functions(a, b):
    pair = refine(a, b)
    if a.input_shape != b.input_shape:
        assert pair is None
    if pair is not None:
        assert [[d.extent for d in x.digits] for x in pair[0].inputs] == [
            [d.extent for d in x.digits] for x in pair[1].inputs
        ]
        assert all(pair[0].evaluate(p) == a.evaluate(p) for p in points(a))
        assert all(pair[1].evaluate(p) == b.evaluate(p) for p in points(b))


@given(digit_lists(), st.integers(1, 30))
@laws
def test_cut_digits_are_the_parts_of_the_list(digits, extent):
    cut = cut_digits(digits, extent)
    if cut is not None:
        low, high = cut
        assert extent_of(low) == extent
        assert value_table((*low, *high)) == value_table(digits)
    elif extent in {extent_of(digits[:i]) for i in range(len(digits) + 1)}:
        pytest.fail("a cut between digits always exists")


@given(any_layouts())
@laws
def test_tables_agree_with_digits(layout):
    table = tabulate(layout)
    assert table.input_shape == layout.input_shape
    assert all(table.evaluate(p) == layout.evaluate(p) for p in points(layout))
    results = [layout.evaluate(p) for p in points(layout)]
    for target in itertools.product(*map(range, layout.output_shape)):
        expected = tuple(p for p, r in zip(points(layout), results, strict=True) if r == target)
        assert layout.preimages(target) == expected
        assert table.preimages(target) == expected


@given(any_layouts())
@laws
def test_terms_sum_to_the_value(layout):
    if not isinstance(layout, DigitLayout):
        return
    for point in points(layout):
        at = dict(zip(layout.input_names, point, strict=True))
        total = dict.fromkeys(layout.output_names, 0)
        for t in layout.terms():
            value = at[t.input] // t.divisor
            total[t.output] += (value if t.modulus is None else value % t.modulus) * t.stride
        assert tuple(total.values()) == layout.evaluate(point)


@given(any_layouts())
@laws
def test_injective_means_no_result_twice(layout):
    results = [r for r in map(layout.evaluate, points(layout)) if HOLE not in r]
    assert layout.is_injective() == (len(set(results)) == len(results))


@given(st.sampled_from(EXTENTS), st.sampled_from((1, 7, 8, 12)), st.data())
@settings(laws, max_examples=40)
def test_compose_is_pointwise(m, n, data):
    outer = data.draw(tiles({"m": m, "n": n}))
    inner = data.draw(fragments({"n": n, "m": m}))
    both = compose(outer, inner)
    order = [inner.outputs.index(name) for name in outer.input_names]
    for point in points(inner):
        middle = inner.evaluate(point)
        assert both.evaluate(point) == outer.evaluate([middle[i] for i in order])


@given(any_layouts(), any_layouts())
@laws
def test_compose_of_loose_layouts_is_pointwise(outer, inner):
    if set(outer.input_names) != set(inner.output_names) or inner.swizzle:
        with pytest.raises(TileError) as caught:
            compose(outer, inner)
        assert caught.value.code == "E0307"
        return
    both = compose(outer, inner)
    order = [inner.output_names.index(name) for name in outer.input_names]
    for point in points(inner):
        middle = [inner.evaluate(point)[i] for i in order]
        inside = all(0 <= x < e for x, e in zip(middle, outer.input_shape, strict=True))
        if inside:
            assert both.evaluate(point) == outer.evaluate(middle)


@given(st.data())
@laws
def test_compose_with_loose_inner_digits_is_pointwise(data):
    outer = data.draw(tiles({"m": 12, "n": 16}))
    inner = make_layout(
        [Axis("x", data.draw(digit_lists())), Axis("y", data.draw(digit_lists()))], ("m", "n")
    )
    both = compose(outer, inner)
    for point in points(inner):
        middle = inner.evaluate(point)
        if middle[0] < 12 and middle[1] < 16:
            assert both.evaluate(point) == outer.evaluate(middle)


@given(fragments(), st.data())
@laws
def test_identity_is_neutral(layout, data):
    after = compose(identity_map(layout.output_names, layout.output_shape), layout)
    before = compose(layout, identity_map(layout.input_names, layout.input_shape))
    assert coalesce(after) == coalesce(layout)
    assert coalesce(before) == coalesce(layout)


@given(tiles())
@laws
def test_inverse_of_inverse_is_the_layout(layout):
    back = inverse(layout)
    assert layout.is_bijective()
    assert all(back.evaluate(layout.evaluate(p)) == p for p in points(layout))
    assert same_function(inverse(back), layout)


@given(fragments())
@laws
def test_fragment_inverse_or_refusal(layout):
    if layout.replication > 1:
        with pytest.raises(TileError) as caught:
            inverse(layout)
        assert caught.value.code == "E0308"
        return
    back = inverse(layout)
    assert all(back.evaluate(layout.evaluate(p)) == p for p in points(layout))
    assert coalesce(inverse(back)) == coalesce(layout)


@given(any_layouts())
@laws
def test_inverse_of_injective_layouts_undoes_them(layout):
    if layout.swizzle is None and layout.is_injective():
        back = inverse(layout)
        for p in points(layout):
            result = layout.evaluate(p)
            assert HOLE in result or back.evaluate(result) == p


@given(st.sampled_from((1, 7, 80, 144)), st.integers(1, 3), st.data())
@laws
def test_complement_covers_the_box_once(extent, copies, data):
    digits = data.draw(factorings(extent * copies, "m"))
    kept = tuple(d for d in digits if data.draw(st.booleans()))
    layout = FragmentLayout(thread=kept, value=(), outputs=("m",))
    rest = complement(layout, (extent * copies,))
    met = sorted(
        layout.evaluate(p)[0] + rest.evaluate(q)[0] for p in points(layout) for q in points(rest)
    )
    assert met == list(range(extent * copies))


@given(fragments(), st.sampled_from(("m", "n")), st.booleans())
@laws
def test_project_keeps_the_other_coordinates(layout, axis, keep):
    at = layout.outputs.index(axis)
    small = project(layout, axis, keep=keep)
    assert (small.groups, small.threads) == (layout.groups, layout.threads)
    full: dict[tuple[int, int], set[tuple[int, ...]]] = {}
    for g, t, v in itertools.product(*map(range, (layout.groups, layout.threads, layout.values))):
        c = layout.coord(t, v, g)
        full.setdefault((g, t), set()).add((*c[:at], *((0,) if keep else ()), *c[at + 1 :]))
    for (g, t), held in full.items():
        mine = [small.coord(t, v, g) for v in range(small.values)]
        assert set(mine) == held
        assert len(mine) == len(held)
    assert project_table_agrees(layout, axis, keep)


def project_table_agrees(layout: FragmentLayout, axis: str, keep: bool) -> bool:
    """The table's projection holds the same sets per thread."""
    digits, table = project(layout, axis, keep=keep), project(tabulate(layout), axis, keep=keep)
    same = digits.output_names == table.output_names
    for lead in itertools.product(*map(range, digits.input_shape[:-1])):
        a = {digits.evaluate((*lead, v)) for v in range(digits.input_shape[-1])}
        b = {table.evaluate((*lead, v)) for v in range(table.input_shape[-1])}
        same = same and a == b
    return same


@given(fragments({"m": 12}), st.sampled_from((1, 2, 3, 6, 8, 80)), st.sampled_from((0, 1)))
@laws
def test_broadcast_then_project_is_nothing(layout, extent, index):
    wide = broadcast(layout, "q", extent, index)
    assert wide.output_shape[wide.outputs.index("q")] == extent
    assert wide.size // wide.replication == 12 * extent
    assert same_function(project(wide, "q"), layout) or layout.values != project(wide, "q").values
    assert coalesce(project(wide, "q")) == coalesce(layout)
    for t, v, g in itertools.product(range(wide.threads), range(wide.values), range(wide.groups)):
        full = wide.coord(t, v, g)
        narrow = {layout.coord(t, u, g) for u in range(layout.values)}
        assert full[: wide.outputs.index("q")] + full[wide.outputs.index("q") + 1 :] in narrow
    table = broadcast(tabulate(layout), "q", extent, index)
    assert {table.evaluate(p) for p in points(table)} == set(
        itertools.product(*map(range, wide.output_shape))
    )


@given(fragments(), st.sampled_from(("m", "n")), st.sampled_from((1, 2, 3)))
@laws
def test_split_gives_each_group_its_slice(layout, axis, groups):
    whole = split(layout, axis, groups)
    at, step = layout.outputs.index(axis), layout.output_shape[layout.outputs.index(axis)]
    table = split(tabulate(layout), axis, groups)
    for p in points(layout):
        lead = p[0] if len(p) == 3 else 0
        for g in range(groups):
            expected = list(layout.evaluate(p))
            expected[at] += g * step
            number = g * layout.groups + lead
            assert whole.coord(p[-2], p[-1], number) == tuple(expected)
            assert table.coord(p[-2], p[-1], number) == tuple(expected)


@given(any_layouts())
@laws
def test_transpose_and_rename_move_names_only(layout):
    if not (layout.is_fragment or layout.output_names == ("offset",)):
        return
    order = layout.axes[::-1]
    flipped = transpose(layout, order)
    assert flipped.axes == order
    assert transpose(flipped, layout.axes) == layout
    for p in points(layout):
        if layout.is_fragment:
            assert flipped.evaluate(p) == layout.evaluate(p)[::-1]
        else:
            assert flipped.evaluate(p[::-1]) == layout.evaluate(p)
    there = {name: f"{name}_2" for name in layout.axes}
    back = {b: a for a, b in there.items()}
    assert rename(rename(layout, there), back) == layout


@given(tiles())
@laws
def test_recognise_reads_the_digits_back(layout):
    assert recognise(tabulate(layout)) == coalesce(layout)


@given(fragments())
@laws
def test_recognise_reads_fragments_back(layout):
    found = recognise(tabulate(layout))
    # A table has no way to leave the group's input out, so compare as functions.
    assert isinstance(found, FragmentLayout)
    assert coalesce(found) == coalesce(layout)


def kind_by_points(src: FragmentLayout, dst: FragmentLayout, warp: int) -> str:
    """The definition of the conversion kinds, by looking at every place."""
    held: dict[tuple[int, ...], list[tuple[int, int, int]]] = {}
    for p in itertools.product(*map(range, (src.groups, src.threads, src.values))):
        held.setdefault(src.coord(p[1], p[2], p[0]), []).append(p)
    order = [dst.outputs.index(name) for name in src.outputs]
    register: dict[int, set[int]] = {}
    kinds = {"identity"}
    for g, t, v in itertools.product(*map(range, (dst.groups, dst.threads, dst.values))):
        found = dst.coord(t, v, g)
        choices = held[tuple(found[i] for i in order)]
        mine = [c for c in choices if c[:2] == (g, t)]
        near = [c for c in choices if c[0] == g and c[1] // warp == t // warp]
        register.setdefault(v, set()).update({c[2] for c in choices})
        if not mine:
            kinds.add("shuffle" if near else "shared")
        elif mine[0][2] != v:
            kinds.add("rename")
    if "shared" in kinds or any(len(numbers) > 1 for numbers in register.values()):
        return "shared"
    if "shuffle" in kinds:
        return "shuffle"
    same = "rename" not in kinds and src.values == dst.values
    return "identity" if same else "rename"


@given(
    st.sampled_from(({"m": 12}, {"m": 4, "n": 6}, {"m": 16})), st.sampled_from((1, 4)), st.data()
)
@settings(derandomize=True, max_examples=150, deadline=None)
def test_conversion_kind_is_right(shape, warp, data):
    src, dst = data.draw(fragments(shape)), data.draw(fragments(shape))
    found = convert_kind(src, dst, warp_width=warp)
    expected = kind_by_points(src, dst, warp)
    ranks = ("identity", "rename", "shuffle", "shared")
    assert ranks.index(found) >= ranks.index(expected)
    source = conversion(src, dst, warp_width=warp).source
    if source is None:
        assert found == "shared"
        return
    alike = (dst.threads, dst.groups) == (src.threads, src.groups)
    if alike and (src.threads <= warp or src.threads % warp == 0) and found != expected:
        pytest.fail(f"{src} to {dst}: {found} instead of {expected}")
    order = [dst.outputs.index(name) for name in src.outputs]
    for g, t, v in itertools.product(*map(range, (dst.groups, dst.threads, dst.values))):
        place = source.coord(t, v, g)
        there = src.coord(place[-2], place[-1], place[0] if len(place) == 3 else 0)
        wanted = dst.coord(t, v, g)
        assert there == tuple(wanted[i] for i in order)
