"""Whole numbers split so that nothing is lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.costing.split import split
from headway.errors import DataError

WEIGHTS = st.dictionaries(st.integers(0, 30), st.integers(0, 10**15), min_size=1)
TOTALS = st.integers(-(10**21), 10**21)


@given(TOTALS, WEIGHTS)
def test_parts_sum_to_the_whole_and_miss_their_share_by_less_than_one(total, weights):
    whole = sum(weights.values())
    if whole == 0:
        weights = {**weights, 0: 1}
        whole = 1
    parts = split(total, weights)
    assert sum(parts.values()) == total
    assert list(parts) == list(weights)
    for key, part in parts.items():
        assert abs(part * whole - total * weights[key]) < whole
        assert weights[key] or part == 0


@given(st.integers(0, 10**9), st.lists(st.integers(1, 100), min_size=2, max_size=6))
def test_the_first_named_wins_a_tie(total, weights):
    named = dict(enumerate(weights))
    parts = split(total, named)
    for early, weight in named.items():
        for late in range(early + 1, len(weights)):
            if weight == named[late]:
                assert parts[early] >= parts[late]


@given(TOTALS, WEIGHTS)
def test_the_same_question_has_the_same_answer_in_any_order_but_for_ties(total, weights):
    weights = {**weights, 99: 1}
    back = dict(reversed(list(weights.items())))
    there, again = split(total, weights), split(total, back)
    assert sum(there.values()) == sum(again.values()) == total
    assert all(abs(there[key] - again[key]) <= 1 for key in weights)
    assert split(total, weights) == there


@given(st.dictionaries(st.integers(), st.just(0)))
def test_nothing_splits_into_nothing(weights):
    assert split(0, weights) == weights


@pytest.mark.parametrize("weights", [{}, {"a": 0}, {"a": 0, "b": 0}])
def test_something_cannot_be_split_by_nothing(weights):
    with pytest.raises(DataError):
        split(1, weights)


@given(TOTALS, WEIGHTS, st.integers(-(10**6), -1))
def test_a_negative_weight_is_refused(total, weights, negative):
    with pytest.raises(DataError):
        split(total, {**weights, "bad": negative})
