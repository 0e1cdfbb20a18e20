"""The transition table, retries and ids."""

import re
from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.errors import StateError
from headway.runs.ids import BACKEND_NAME_LENGTH, RUN_ID, SLUG_LENGTH, backend_name, new_run_id, slug
from headway.runs.states import (
    DEFAULT_RETRIES,
    HOLDS_MACHINES,
    TERMINAL,
    TRANSITIONS,
    FailureClass,
    RetryRule,
    RunState,
    check_transition,
    retry_rule,
)

STATES = st.sampled_from(list(RunState))


def test_every_state_has_its_row():
    assert set(TRANSITIONS) == set(RunState)


@pytest.mark.parametrize("state", sorted(TERMINAL))
def test_nothing_leaves_a_terminal_state_without_resume(state):
    assert TRANSITIONS[state] == frozenset()
    for target in RunState:
        with pytest.raises(StateError):
            check_transition(state, target)


def test_resume_opens_failed_and_cancelled_to_queued_and_nothing_else():
    allowed = []
    for source in RunState:
        for target in RunState:
            try:
                check_transition(source, target, resume=True)
            except StateError:
                continue
            if target not in TRANSITIONS[source]:
                allowed.append((source, target))
    assert allowed == [(RunState.FAILED, RunState.QUEUED), (RunState.CANCELLED, RunState.QUEUED)]


@pytest.mark.parametrize("state", sorted(set(RunState) - TERMINAL))
def test_every_open_state_can_end_at_once_as_each_loss(state):
    assert {RunState.FAILED, RunState.CANCELLED, RunState.EXPIRED} <= TRANSITIONS[state]


@pytest.mark.parametrize("state", sorted(set(RunState) - TERMINAL))
def test_every_open_state_reaches_success(state):
    seen, todo = {state}, deque([state])
    while todo:
        for target in TRANSITIONS[todo.popleft()] - seen:
            seen.add(target)
            todo.append(target)
    assert RunState.SUCCEEDED in seen


def test_every_state_is_reached_from_queued():
    seen, todo = {RunState.QUEUED}, deque([RunState.QUEUED])
    while todo:
        for target in TRANSITIONS[todo.popleft()] - seen:
            seen.add(target)
            todo.append(target)
    assert seen == set(RunState)


def test_a_run_never_succeeds_before_it_started():
    early = {RunState.QUEUED, RunState.ADMITTED, RunState.PROVISIONING, RunState.SUSPENDED}
    assert all(RunState.SUCCEEDED not in TRANSITIONS[state] for state in early)


def test_queued_suspended_and_ended_runs_hold_no_machines():
    assert set(RunState) - HOLDS_MACHINES == TERMINAL | {RunState.QUEUED, RunState.SUSPENDED}


@given(st.lists(STATES, max_size=40))
def test_a_random_walk_stays_in_the_table_and_stops_at_the_first_end(targets):
    state = RunState.QUEUED
    ended = False
    for target in targets:
        if target not in TRANSITIONS[state]:
            with pytest.raises(StateError, match=f"{state.value}.*{target.value}") as caught:
                check_transition(state, target)
            assert caught.value.exit_code == 2
            continue
        check_transition(state, target)
        assert not ended
        state = target
        ended = state.is_terminal


def test_each_failure_class_has_a_rule():
    assert set(DEFAULT_RETRIES) == set(FailureClass)


def test_what_the_user_must_mend_is_not_tried_again():
    for failure in (FailureClass.USER, FailureClass.OOM, FailureClass.IMAGE, FailureClass.BUDGET):
        assert DEFAULT_RETRIES[failure].budget == 0


@given(st.sampled_from(list(FailureClass)), st.integers(0, 2000))
def test_backoff_never_shrinks_and_never_passes_its_longest(failure, earlier):
    rule = DEFAULT_RETRIES[failure]
    now, then = rule.wait_seconds(earlier), rule.wait_seconds(earlier + 1)
    assert 0 <= now <= then <= rule.longest_wait_seconds


def test_backoff_doubles():
    rule = RetryRule(5, 1.5, 10.0)
    assert [rule.wait_seconds(n) for n in range(5)] == [1.5, 3.0, 6.0, 10.0, 10.0]


@given(st.sampled_from(list(FailureClass)), st.integers(0, 100))
def test_the_jobs_own_budget_replaces_the_default_of_its_class_only(failure, budget):
    for other in FailureClass:
        rule = retry_rule(other, {failure.value: budget})
        expected = budget if other is failure else DEFAULT_RETRIES[other].budget
        assert rule.budget == expected
        assert rule.first_wait_seconds == DEFAULT_RETRIES[other].first_wait_seconds


@given(st.text(), st.binary(min_size=7, max_size=7))
def test_any_name_makes_an_id_that_ray_and_kubernetes_take(name, randomness):
    run_id = new_run_id(name, randomness)
    assert RUN_ID.fullmatch(run_id), run_id
    assert len(run_id) <= 37
    assert run_id[0].isascii()
    assert run_id[0].isalpha()
    assert re.fullmatch(r"[a-z]([-a-z0-9]*[a-z0-9])?", run_id)
    assert len(backend_name(run_id, 9999)) <= BACKEND_NAME_LENGTH


@given(st.text())
def test_a_slug_is_short_and_stable(name):
    made = slug(name)
    assert 0 < len(made) <= SLUG_LENGTH
    assert slug(made) == made
    assert "--" not in made
    assert not made.endswith("-")


@given(st.binary(min_size=7, max_size=7), st.binary(min_size=7, max_size=7))
def test_ids_differ_wherever_their_fifty_bits_differ(left, right):
    low = (1 << 50) - 1
    same = int.from_bytes(left, "big") & low == int.from_bytes(right, "big") & low
    assert (new_run_id("x", left) == new_run_id("x", right)) is same


@pytest.mark.parametrize("name", ["x" * 26, "x" * 25 + "-y", "7" * 30, "Été 2026: BERT!", "日本", ""])
def test_ids_of_awkward_names(name):
    assert RUN_ID.fullmatch(new_run_id(name, b"\xff" * 7))
