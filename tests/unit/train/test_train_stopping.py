"""However two ranks interleave, they stop after the same step."""

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from headway.runs.environment import request_stop
from headway.train.stopping import StopSignal

LAST = 12


class Rank:
    """A rank goes join → (exchange) → check, step after step; an exchange ends when both have joined."""

    def __init__(self, control, rank):
        self.signal = StopSignal(control, rank)
        self.step, self.joined, self.stopped = 0, 0, None

    def move(self, other):
        if self.stopped is not None:
            return False
        if self.joined == self.step:
            if self.step == LAST:
                self.stopped = "end"
                return True
            self.joined += 1
            return True
        if other.joined >= self.joined:
            self.step += 1
            if self.signal.reached(self.step):
                self.stopped = self.step
            return True
        return False  # waits in the exchange


@settings(max_examples=400, deadline=None)
@given(st.lists(st.booleans(), max_size=80), st.integers(0, 60))
def test_both_ranks_stop_after_the_same_step(order, asked_at):
    with tempfile.TemporaryDirectory() as folder:
        control = Path(folder)
        ranks = [Rank(control, 0), Rank(control, 1)]
        moves = [*order, *([False, True] * 4 * LAST)]
        for number, which in enumerate(moves):
            if number == asked_at:
                request_stop(control)
            ranks[which].move(ranks[not which])
            assert abs(ranks[0].step - ranks[1].step) <= 1
        first, second = (rank.stopped for rank in ranks)
        assert first == second is not None


@given(st.integers(1, 20))
def test_a_stop_is_obeyed_one_step_after_it_is_seen(seen):
    with tempfile.TemporaryDirectory() as folder:
        control = Path(folder)
        lead, other = StopSignal(control, 0), StopSignal(control, 1)
        assert not lead.reached(seen - 1)
        request_stop(control)
        assert not other.reached(seen)
        assert not lead.reached(seen)
        assert not other.reached(seen)
        assert lead.reached(seen + 1)
        assert other.reached(seen + 1)


def test_without_a_request_or_a_supervisor_nothing_stops(tmp_path):
    assert not StopSignal(None, 0).reached(10**9)
    assert not StopSignal(tmp_path, 0).reached(1)
    assert list(tmp_path.iterdir()) == []
