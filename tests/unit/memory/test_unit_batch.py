from __future__ import annotations

import memory_models as models
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from headway.memory.batch import Gauge, Room, agreed, corrected
from headway.memory.recipe import Recipe
from headway.memory.step import Step


def test_a_step_that_fitted_goes_on_as_planned() -> None:
    assert corrected(8, 90, Room(predicted_bytes=50, fixed_bytes=10, capacity_bytes=100)) == 8


@given(st.integers(1, 4096), st.integers(0, 10**9), st.integers(1, 10**9), st.integers(0, 10**9))
def test_a_correction_never_grows_and_fits_by_its_own_measure(
    micro: int, fixed: int, capacity: int, more: int
) -> None:
    measured = fixed + more
    after = corrected(micro, measured, Room(0, fixed, capacity))
    assert 1 <= after <= micro
    if measured > capacity and after > 1:
        assert fixed + after * (measured - fixed) / micro <= capacity + 1
        assert after < micro


def _loss(model, part):
    return model(**part).loss


def _step(capacity: int) -> Step:
    room = Room(predicted_bytes=1, fixed_bytes=0, capacity_bytes=capacity)
    return Step(models.model("bert"), torch.optim.AdamW, Recipe(micro_batch=4), room=room)


def test_a_first_step_beyond_the_room_lowers_the_micro_batch_once() -> None:
    step = _step(capacity=1)
    step(models.batch(samples=64, length=64), _loss)
    assert step.first_step is not None
    assert step.first_step.measured_bytes > 1
    assert (step.first_step.before, step.first_step.after, step.recipe.micro_batch) == (4, 1, 1)
    first = step.first_step
    step(models.batch(), _loss)
    assert step.first_step is first


def test_a_first_step_within_the_room_changes_nothing() -> None:
    step = _step(capacity=10**12)
    step(models.batch(), _loss)
    assert step.recipe.micro_batch == 4


def test_a_gauge_sees_what_was_freed_again() -> None:
    torch.ones(80 * 2**20).sum()  # a peak of before does not count
    gauge = Gauge(torch.device("cpu"))
    torch.ones(40 * 2**20).sum()
    assert gauge.peak_bytes() == pytest.approx(160 * 2**20, rel=0.2)


def test_alone_a_worker_agrees_with_itself() -> None:
    assert agreed(3, torch.device("cpu"), least=True) == 3
