"""Bytes as exact functions: found from six values, refused the word exact when another value differs."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.profile.extrapolate import deeper
from headway.profile.polynomial import SavedBytes, fit, saved_bytes_of
from headway.profile.step_types import StepPeak, Work, step_peak_of

POINTS = [(b, s) for b in (2, 3) for s in (16, 32, 64)]
OTHERS = [(5, 48), (7, 128)]


@given(st.lists(st.integers(0, 10**9), min_size=6, max_size=6))
def test_a_function_is_found_again(numbers):
    truth = SavedBytes(tuple(Fraction(n) for n in numbers), exact=True)
    found = fit({p: truth.at(*p) for p in POINTS}, {p: truth.at(*p) for p in OTHERS})
    assert found == truth
    assert saved_bytes_of(found.to_data()) == truth


def test_a_function_that_another_value_contradicts_is_not_exact():
    found = fit({(b, s): b * s for b, s in POINTS}, {(5, 48): 5 * 64})
    assert not found.exact
    assert found.error_percent == pytest.approx(25.0)


def test_points_that_say_too_little_are_refused():
    with pytest.raises(ValueError, match="determine"):
        fit({(2, s): s for s in (1, 2, 3, 4, 5, 6)}, {})
    with pytest.raises(ValueError, match="needed"):
        fit({(2, 1): 1}, {})


def step(layers):
    """Activations grow by 50 a layer, gradients by 60, from other starts: the peak moves with depth."""
    return StepPeak(
        rules="cuda",
        places={
            "loss": {"activations": 50 * layers, "loss_head": 300},
            "backward_end": {"activations": 50, "gradients": 60 * layers},
        },
        block_bytes=(40, *[50] * (layers - 1)),
        reserved_bytes=400 + 70 * layers,
        work=Work(10 * layers, 20 * layers, 0, 5 + layers),
    )


def test_a_deep_model_is_the_line_through_two_shallow_ones_also_where_the_peak_moves():
    found = deeper(step(2), step(4), (2, 4), 80)
    assert found.places == step(80).places
    assert (found.block_bytes, found.reserved_bytes, found.work) == (
        step(80).block_bytes,
        step(80).reserved_bytes,
        step(80).work,
    )
    assert (step(2).peak_place, found.peak_place, found.peak_phase) == ("loss", "backward_end", "backward")
    assert "extrapolated to 80" in found.basis


def test_a_step_survives_its_json():
    peak = step(3)
    assert step_peak_of(peak.to_data()) == peak
    assert sum(peak.by_category.values()) == peak.peak_bytes == max(peak.by_phase.values())
