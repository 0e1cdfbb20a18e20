"""Batches in an order that depends only on the seed, split over ranks, resumable at any position."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch


class Sampler:
    """Position in a seeded shuffle: epoch and global batch; what is dropped is the ragged end of an epoch."""

    def __init__(self, rank: int, world_size: int) -> None:
        self._rank = rank
        self._world_size = world_size
        self.epoch = 0
        self.index = 0

    def state(self) -> dict[str, int]:
        """What a checkpoint keeps."""
        return {"epoch": self.epoch, "index": self.index}

    def load(self, state: dict[str, int]) -> None:
        """Go to where a checkpoint was."""
        self.epoch, self.index = state["epoch"], state["index"]

    def batches(
        self,
        data: Sequence[Any],
        batch_size: int,
        *,
        seed: int,
        epochs: int | None,
        collate: Callable[[list[Any]], Any] | None,
    ) -> Iterator[Any]:
        """This rank's batches from the present position on; `epochs` None goes on for ever.

        Raises:
            ValueError: the data do not fill one global batch.
        """
        global_batch = batch_size * self._world_size
        per_epoch = len(data) // global_batch
        if per_epoch == 0:
            raise ValueError(f"{len(data)} samples do not fill {self._world_size} batches of {batch_size}")
        while epochs is None or self.epoch < epochs:
            generator = torch.Generator().manual_seed(seed * 1_000_003 + self.epoch)
            order = torch.randperm(len(data), generator=generator).tolist()
            while self.index < per_epoch:
                first = self.index * global_batch + self._rank * batch_size
                chosen = [data[i] for i in order[first : first + batch_size]]
                # The position moves on before the batch is used: a checkpoint taken after the step
                # then names the next batch.
                self.index += 1
                yield collate(chosen) if collate is not None else torch.utils.data.default_collate(chosen)
            self.epoch += 1
            self.index = 0
