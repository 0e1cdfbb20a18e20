"""The recompute solver against brute force."""

from __future__ import annotations

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from headway.memory.budget import Option, least_recompute, segments_of
from headway.memory.recipe import Recipe

KEEPS = ("all", "matmul+attention", "attention", "nothing")
option = st.builds(Option, st.sampled_from(KEEPS), st.integers(0, 40), st.integers(0, 9).map(float))
blocks = st.lists(st.lists(option, min_size=1, max_size=4), min_size=1, max_size=5)


def _total(choice: tuple[Option, ...]) -> tuple[float, int]:
    return sum(o.recompute_cost for o in choice), sum(o.kept_bytes for o in choice)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(blocks, st.integers(0, 160))
def test_the_choice_is_the_best_of_all(options: list[list[Option]], budget: int) -> None:
    fitting = [_total(c) for c in itertools.product(*options) if _total(c)[1] <= budget]
    found = least_recompute(options, budget)
    if not fitting:
        assert found is None
        return
    assert found is not None
    # A keep may stand for several options of a block: the cheapest way to read the answer is compared.
    readings = itertools.product(
        *([o for o in os if o.keep == k] for os, k in zip(options, found, strict=True))
    )
    assert min(_total(c) for c in readings if _total(c)[1] <= budget) == min(fitting)


def test_eighty_like_blocks_are_mixed_at_a_budget() -> None:
    block = [Option("all", 100, 0.0), Option("matmul+attention", 40, 1.0), Option("nothing", 2, 9.0)]
    found = least_recompute([block] * 80, 80 * 70)
    assert found is not None
    assert {keep: found.count(keep) for keep in set(found)} == {"all": 40, "matmul+attention": 40}
    recipe = Recipe(recompute=segments_of(found))
    assert recipe.keeps(80) == found
