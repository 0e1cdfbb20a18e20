"""The predicted peak of a step against the real CPU allocator's: families, techniques, numbers of workers."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks" / "memory"))
import peak_cases

pytestmark = pytest.mark.real
CASES = peak_cases.cases()


def test_there_are_enough_configurations():
    assert len(CASES) >= 24
    assert len({case.name for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_prediction_is_within_half_a_percent(case):
    assert peak_cases.predicted(case) == pytest.approx(peak_cases.measured(case), rel=0.005)
