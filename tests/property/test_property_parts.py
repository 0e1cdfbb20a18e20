"""The micro-batch: the fewest equal parts that fit, against brute force."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from headway.profile.parts import balanced


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    st.integers(1, 300),
    st.integers(0, 1000),
    st.lists(st.integers(0, 30), min_size=300, max_size=300),
    st.integers(0, 6000),
)
def test_the_fewest_equal_parts_that_fit(share: int, fixed: int, steps: list[int], capacity: int) -> None:
    sizes = [fixed]
    for step in steps:
        sizes.append(sizes[-1] + step)
    asked: list[int] = []

    def peak(samples: int) -> int:
        asked.append(samples)
        return sizes[samples]

    found = balanced(peak, share, capacity)
    fitting = [m for m in range(1, share + 1) if sizes[m] <= capacity]
    if not fitting:
        assert found.micro_batch == 0
        return
    fewest = -(-share // max(fitting))
    assert found.micro_batch == -(-share // fewest)
    assert found.predicted_bytes == sizes[found.micro_batch] <= capacity
    assert 0 <= found.fixed_bytes <= found.predicted_bytes
    assert len(asked) <= 20


def test_a_line_is_found_with_few_traces() -> None:
    asked: list[int] = []

    def peak(samples: int) -> int:
        asked.append(samples)
        return 1000 + 10 * samples

    found = balanced(peak, 4096, 1000 + 10 * 777)
    assert -(-4096 // found.micro_batch) == -(-4096 // 777)
    assert found.fixed_bytes == 1000
    assert len(asked) <= 5
