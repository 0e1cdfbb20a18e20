"""The simulated caching allocator does what PyTorch's documentation and source say of the real one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.errors import UserError
from headway.profile.allocator import MIB, AllocatorSettings, rounded, settings_of, simulate
from headway.profile.reserved import History, movements
from headway.profile.step_types import Movement

PLAIN = AllocatorSettings()
EXPANDABLE = AllocatorSettings(expandable_segments=True)


def moves(*sizes, stream=0):
    return [Movement(number, size, stream) for number, size in enumerate(sizes)]


@pytest.mark.parametrize(
    ("size", "divisions", "expected"),
    [
        (1, 1, 512),
        (512, 1, 512),
        (513, 1, 1024),
        (1200, 4, 1536),
        (4 * MIB, 4, 4 * MIB),
        (5 * MIB + 1, 4, 6 * MIB),
    ],
)
def test_requests_are_rounded(size, divisions, expected):
    assert rounded(size, divisions) == expected


@pytest.mark.parametrize(
    ("sizes", "segments"),
    [
        ((1000,), 2 * MIB),
        ((MIB, MIB), 2 * MIB),
        ((MIB, MIB, 512), 4 * MIB),
        ((MIB + 1,), 20 * MIB),
        ((9 * MIB, 9 * MIB), 20 * MIB),
        ((9 * MIB, 9 * MIB, 9 * MIB), 40 * MIB),
        ((10 * MIB,), 10 * MIB),
        ((11 * MIB + 1,), 12 * MIB),
    ],
)
def test_segments_have_the_documented_sizes(sizes, segments):
    assert simulate(moves(*sizes), PLAIN).reserved_bytes == segments


def test_a_freed_block_is_used_again_only_on_its_own_stream():
    first = [Movement(0, 30 * MIB), Movement(0, -30 * MIB)]
    assert simulate([*first, Movement(1, 30 * MIB)], PLAIN).reserved_bytes == 30 * MIB
    assert simulate([*first, Movement(1, 30 * MIB, 1)], PLAIN).reserved_bytes == 60 * MIB


def test_what_segments_cannot_join_expandable_ones_do():
    held = [Movement(0, 40 * MIB), Movement(1, 40 * MIB), Movement(0, -40 * MIB), Movement(1, -40 * MIB)]
    wanted = Movement(2, 80 * MIB)
    assert simulate([*held, wanted], PLAIN).reserved_bytes == 160 * MIB
    assert simulate([*held, wanted], EXPANDABLE).reserved_bytes == 80 * MIB


def test_expandable_segments_grow_by_pages():
    assert simulate(moves(21 * MIB), EXPANDABLE).reserved_bytes == 40 * MIB
    assert simulate(moves(21 * MIB, 18 * MIB), EXPANDABLE).reserved_bytes == 40 * MIB
    assert simulate(moves(512), EXPANDABLE).reserved_bytes == 2 * MIB


def test_a_block_above_the_split_limit_stays_whole():
    limited = AllocatorSettings(max_split_bytes=50 * MIB)
    held = [Movement(0, 100 * MIB), Movement(0, -100 * MIB), Movement(1, 30 * MIB)]
    assert simulate(held, PLAIN).reserved_bytes == 100 * MIB
    assert simulate(held, limited).reserved_bytes == 130 * MIB


@pytest.mark.parametrize("settings", [PLAIN, EXPANDABLE])
def test_at_the_capacity_unused_memory_is_given_back_first(settings):
    held = [Movement(0, 60 * MIB), Movement(0, -60 * MIB), Movement(1, 80 * MIB, 1)]
    assert simulate(held, settings, 100 * MIB).fits
    assert not simulate([held[0], held[2]], settings, 100 * MIB).fits


@given(
    st.lists(st.tuples(st.integers(1, 80 * MIB), st.integers(0, 2), st.booleans()), min_size=1, max_size=60),
    st.sampled_from(
        [PLAIN, EXPANDABLE, AllocatorSettings(max_split_bytes=20 * MIB), AllocatorSettings(False, None, 4)]
    ),
)
def test_what_is_reserved_holds_what_is_in_use(requests, settings):
    sequence, live, total, peak = [], [], 0, 0
    for number, (size, stream, drop) in enumerate(requests):
        sequence.append(Movement(number, size, stream))
        live.append(sequence[-1])
        total += size
        peak = max(peak, total)
        if drop:
            gone = live.pop(0)
            total -= gone.bytes
            sequence.append(Movement(gone.block, -gone.bytes, gone.stream))
    found = simulate(sequence, settings)
    assert found.fits
    assert found.reserved_bytes >= found.allocated_bytes >= peak
    assert found.reserved_bytes % (2 * MIB) == 0


def test_settings_come_from_a_recipe_and_unknown_ones_are_refused():
    pairs = (("expandable_segments", "True"), ("max_split_size_mb", "128"), ("roundup_power2_divisions", "4"))
    assert settings_of(pairs) == AllocatorSettings(True, 128 * MIB, 4)
    for pair in (("backend", "cudaMallocAsync"), ("expandable_segments", "yes")):
        with pytest.raises(UserError, match=pair[0]):
            settings_of((pair,))


def test_optimizer_states_come_with_the_first_update_and_stay():
    history = History(
        resident=(Movement(0, 8),),
        states=(Movement(1, 16),),
        step=(Movement(2, 4), Movement(2, -4), Movement(3, 2), Movement(3, -2)),
        update=2,
    )
    found = movements(history, steps=2)
    assert [move.bytes for move in found] == [8, 4, -4, 16, 2, -2, 4, -4, 2, -2]
    assert len({move.block for move in found}) == 6
    assert sum(move.bytes for move in found) == 24
