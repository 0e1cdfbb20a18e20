"""Every sample of an epoch goes to one rank, and going on anywhere gives the batches that were left."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.train.batches import Sampler

SIZES = st.tuples(st.integers(1, 4), st.integers(1, 4), st.integers(0, 40), st.integers(0, 1000))


def batches(sampler, size, batch, seed, epochs):
    return sampler.batches(range(size), batch, seed=seed, epochs=epochs, collate=list)


@settings(max_examples=60, deadline=None)
@given(SIZES)
def test_ranks_share_each_epoch_without_overlap(case):
    world, batch, extra, seed = case
    size = world * batch + extra
    per_epoch = size // (world * batch)
    ranks = [list(batches(Sampler(rank, world), size, batch, seed, 2)) for rank in range(world)]
    assert {len(rank) for rank in ranks} == {2 * per_epoch}
    for epoch in range(2):
        seen = [i for rank in ranks for one in rank[epoch * per_epoch : (epoch + 1) * per_epoch] for i in one]
        assert len(seen) == len(set(seen)) == per_epoch * world * batch
        assert set(seen) <= set(range(size))


@settings(max_examples=60, deadline=None)
@given(SIZES, st.data())
def test_going_on_from_any_position_gives_the_remaining_batches(case, data):
    world, batch, extra, seed = case
    size = world * batch + extra
    whole = list(batches(Sampler(0, world), size, batch, seed, 3))
    done = data.draw(st.integers(0, len(whole)))
    first = Sampler(0, world)
    assert list(itertools.islice(batches(first, size, batch, seed, 3), done)) == whole[:done]
    second = Sampler(0, world)
    second.load(first.state())
    assert list(batches(second, size, batch, seed, 3)) == whole[done:]


def test_epochs_and_seeds_shuffle_anew():
    one, two = list(batches(Sampler(0, 1), 64, 64, 1, 2))
    assert one != two
    assert list(batches(Sampler(0, 1), 64, 64, 2, 1)) != [one]
    assert list(batches(Sampler(0, 1), 64, 64, 1, 1)) == [one]


def test_without_a_number_of_epochs_it_goes_on():
    assert len(list(itertools.islice(batches(Sampler(0, 1), 4, 2, 0, None), 101))) == 101


def test_too_few_samples_are_refused_not_looped_over():
    with pytest.raises(ValueError, match="3 samples"):
        next(batches(Sampler(0, 2), 3, 2, 0, None))


def test_batches_are_collated_to_tensors_by_default():
    (batch,) = Sampler(0, 1).batches([1.0, 2.0], 2, seed=0, epochs=1, collate=None)
    assert batch.shape == (2,)
