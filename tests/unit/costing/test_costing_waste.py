"""Time is classed without remainder, and what was kept is judged by what later attempts built on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.costing.usage import PhaseSpan
from headway.costing.waste import AttemptOutcome, AttemptSteps, Waste, classify, outcomes

KINDS = ["provision", "boot", "restore", "train", "eval", "checkpoint", "idle", "something-else"]
SPANS = st.lists(
    st.builds(PhaseSpan, st.sampled_from(KINDS), st.integers(-100, 1100), st.integers(-100, 1100)),
    max_size=12,
)
STEPS = st.none() | st.integers(0, 1000)
OUTCOMES = st.builds(AttemptOutcome, st.booleans(), STEPS, STEPS)
WON = AttemptOutcome(True, 10, 10)


@given(SPANS, st.integers(0, 1000), st.integers(0, 1000), OUTCOMES)
def test_classes_sum_to_the_attempt_and_none_is_negative(spans, start, length, outcome):
    parts = classify(spans, start, start + length, outcome)
    assert sum(parts.values()) == length
    assert all(part >= 0 for part in parts.values())
    assert set(parts) == set(Waste)


def only(parts):
    return {waste.value: part for waste, part in parts.items() if part}


def test_phases_count_as_what_they_are():
    spans = [
        PhaseSpan("provision", 0, 10),
        PhaseSpan("boot", 10, 30),
        PhaseSpan("restore", 30, 35),
        PhaseSpan("train", 35, 80),
        PhaseSpan("eval", 80, 85),
        PhaseSpan("checkpoint", 85, 88),
        PhaseSpan("idle", 88, 90),
    ]
    expected = {"restart": 35, "useful": 50, "checkpoint": 3, "idle": 12}
    assert only(classify(spans, 0, 100, WON)) == expected


def test_phases_are_cut_at_the_edges_of_the_attempt():
    spans = [PhaseSpan("boot", -50, 10), PhaseSpan("train", 10, 500)]
    assert only(classify(spans, 0, 100, WON)) == {"restart": 10, "useful": 90}


def test_time_in_two_phases_counts_once():
    spans = [PhaseSpan("boot", 0, 60), PhaseSpan("train", 40, 100)]
    assert only(classify(spans, 0, 100, WON)) == {"restart": 60, "useful": 40}


def test_a_phase_that_ends_before_it_starts_has_no_length():
    spans = [PhaseSpan("boot", 60, 20), PhaseSpan("train", 20, 100)]
    assert only(classify(spans, 0, 100, WON)) == {"useful": 80, "idle": 20}


def test_a_script_without_phases_is_useful_after_provisioning():
    spans = [PhaseSpan("provision", 0, 10), PhaseSpan("boot", 10, 100)]
    assert only(classify(spans, 0, 100, AttemptOutcome(True, None, None))) == {"restart": 10, "useful": 90}


def test_an_attempt_of_which_nothing_was_kept_is_failed_whole():
    spans = [PhaseSpan("provision", 0, 10), PhaseSpan("train", 10, 100)]
    for outcome in (
        AttemptOutcome(False, None, None),
        AttemptOutcome(False, 10, 0),
        AttemptOutcome(False, 0, 0),
    ):
        assert only(classify(spans, 0, 100, outcome)) == {"failed": 100}


def test_training_beyond_what_was_kept_is_replay():
    spans = [PhaseSpan("train", 0, 100)]
    assert only(classify(spans, 0, 100, AttemptOutcome(False, 10, 7))) == {"useful": 70, "replay": 30}


def run(*attempts):
    return [
        (item.executed_steps, item.retained_steps)
        for item in outcomes([AttemptSteps(*one) for one in attempts])
    ]


@pytest.mark.parametrize(
    ("attempts", "expected"),
    [
        ([(0, 100, 100, True)], [(100, 100)]),
        ([(0, 100, None, True)], [(100, 100)]),
        ([(0, 57, 50, False)], [(57, 50)]),
        ([(0, 57, None, False)], [(57, 0)]),
        ([(0, 57, 50, False), (50, 100, 100, True)], [(57, 50), (50, 50)]),
        ([(0, 57, 50, False), (40, 100, 100, True)], [(57, 40), (60, 60)]),
        ([(0, 57, 50, False), (0, 100, 100, True)], [(57, 0), (100, 100)]),
        ([(0, None, None, True)], [(None, None)]),
        ([(0, None, None, False)], [(None, None)]),
        ([(0, 57, 50, False), (50, None, None, False)], [(57, 50), (None, None)]),
        ([(0, 57, 50, False), (50, 55, None, False)], [(57, 50), (5, 0)]),
        (
            [(0, 100, 90, False), (90, 150, 140, False), (50, 200, 200, True)],
            [(100, 50), (60, 0), (150, 150)],
        ),
        (
            [(0, 100, 90, False), (90, 150, 140, False), (140, 200, 200, True)],
            [(100, 90), (60, 50), (60, 60)],
        ),
        ([], []),
    ],
)
def test_what_a_run_keeps_of_its_attempts(attempts, expected):
    assert run(*attempts) == expected


@given(st.lists(st.tuples(st.integers(0, 100), STEPS, STEPS, st.booleans()), max_size=6))
def test_never_more_is_kept_than_was_done(attempts):
    for executed, retained in run(*attempts):
        assert (executed is None) == (retained is None)
        assert executed is None or 0 <= retained <= executed
