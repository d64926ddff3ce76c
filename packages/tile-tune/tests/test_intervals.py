"""Intervals of medians, against what is known of them; ratios of samples taken in turns."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tile_tune.intervals import interval, ratio_interval


def test_six_samples_give_their_range_and_nine_leave_out_the_extremes():
    # 1 - 2/2**6 = 0.96875; 1 - 2*(1 + 9)/2**9 = 0.9609375
    six = interval([5, 1, 2, 3, 4, 6])
    assert (six.median, six.low, six.high, six.confidence) == (3.5, 1, 6, 0.96875)
    nine = interval(range(9))
    assert (nine.median, nine.low, nine.high, nine.confidence) == (4, 1, 7, 0.9609375)


def test_few_samples_say_how_sure_they_are():
    assert interval([2.0]).confidence == 0.0
    assert interval([1.0, 3.0]).confidence == 0.5
    assert interval([1.0, 2.0, 9.0]) == interval([9.0, 1.0, 2.0])
    assert interval([1.0, 2.0, 9.0]).confidence == 0.75


@settings(derandomize=True, max_examples=80)
@given(st.lists(st.floats(0.1, 100), min_size=1, max_size=40))
def test_the_median_lies_within_and_one_outlier_changes_little(samples):
    found = interval(samples)
    assert min(samples) <= found.low <= found.median <= found.high <= max(samples)
    if len(samples) >= 9:
        assert interval([*samples[1:], 1e9]).high <= max(samples)


def test_the_interval_holds_the_median_as_often_as_it_says():
    rng = random.Random(7)
    hits = 0
    for _ in range(2000):
        found = interval([rng.expovariate(1.0) for _ in range(15)])
        hits += found.low <= 0.6931471805599453 <= found.high
    assert hits / 2000 == pytest.approx(found.confidence, abs=0.015)
    assert found.confidence == pytest.approx(0.9648, abs=1e-4)


def test_ratios_cancel_what_disturbs_both():
    rng = random.Random(3)
    mood = [1 + 2 * rng.random() for _ in range(21)]
    a = [1.00 * m * (1 + rng.uniform(-0.002, 0.002)) for m in mood]
    b = [1.02 * m * (1 + rng.uniform(-0.002, 0.002)) for m in mood]
    assert interval(a).overlaps(interval(b))
    ratio = ratio_interval(b, a)
    assert 1.015 < ratio.low < ratio.high < 1.025
