"""One optimizer step as a recipe says: micro-batches, precision, exchange of gradients, update."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any, cast

import torch
from torch import Tensor, nn

from headway.errors import UserError
from headway.memory.applied import Applied, apply_recipe
from headway.memory.batch import FirstStep, Gauge, Room, agreed, check_first_step
from headway.memory.optimizers import InBackward, InHostMemory, MakeOptimizer
from headway.memory.recipe import Recipe
from headway.memory.sharding import distribute, sharded_optimizer
from headway.memory.step_state import load_whole_state, whole_state

LossOf = Callable[[nn.Module, Any], Tensor]
_TYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}


class Step:
    """A model, its optimizer and how a batch goes through them.

    `applied` says what the recipe changed in the model.
    """

    def __init__(
        self,
        model: nn.Module,
        make: MakeOptimizer,
        recipe: Recipe,
        *,
        workers_in_node: int | None = None,
        applied: Applied | None = None,
        room: Room | None = None,
        on_first_step: Callable[[FirstStep], None] | None = None,
    ) -> None:
        """Apply the recipe (unless it is `applied` already); `make` makes an optimizer for parameters.

        With `room`, the micro-batch is agreed with the other workers, and lowered once if the first step
        took more than there is; `on_first_step` hears of it.

        Raises:
            UserError: the recipe contradicts itself, or no parameter is trained.
        """
        self.recipe = recipe
        self.applied: Applied = applied or apply_recipe(model, recipe)
        self.model = distribute(model, recipe, workers_in_node=workers_in_node)
        trained = [p for p in self.model.parameters() if p.requires_grad]
        if not trained:
            raise UserError("memory.nothing_trained")
        self.optimizer: Any = _optimizer(self.model, trained, make, recipe)
        self._device = trained[0].device.type
        self.first_step: FirstStep | None = None
        self._room = room
        self._on_first_step = on_first_step
        if room is not None and recipe.micro_batch is not None:
            least = agreed(recipe.micro_batch, trained[0].device, least=True)
            self.recipe = replace(recipe, micro_batch=least)
        self._scaler = torch.amp.GradScaler(self._device, enabled=self._scales())

    def state_dict(self) -> dict[str, Any]:
        """Model, optimizer and loss scale; collective: every worker must call it, rank 0 has all of it."""
        return {
            **whole_state(self.model, self.optimizer, self.recipe),
            "scaler": self._scaler.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """What `state_dict` gave on rank 0, also of another number of workers."""
        load_whole_state(self.model, self.optimizer, self.recipe, state)
        self._scaler.load_state_dict(state["scaler"])

    def _scales(self) -> bool:
        return self.recipe.precision == "fp16" and self._device != "cpu"

    def autocast(self) -> AbstractContextManager[Any]:
        """The recipe's precision for a forward pass; FSDP casts by itself."""
        dtype = _TYPES.get(self.recipe.precision)
        if dtype is None or self.recipe.sharding in {"fsdp", "hsdp"}:
            return nullcontext()
        return torch.autocast(self._device, dtype=dtype)

    def backward(self, batch: Any, loss_of: LossOf) -> Tensor:  # noqa: ANN401 - the user's own type
        """Gradients of a batch (this worker's share), part by part; gives the mean loss, detached.

        `loss_of(model, part)` is a mean over the part's samples. Gradients are exchanged with the last part.
        """
        parts = list(split(batch, self.recipe.micro_batch))
        whole = sum(size for size, _part in parts)
        total: Tensor | None = None
        for index, (size, part) in enumerate(parts):
            with self._exchange(last=index == len(parts) - 1), self.autocast():
                loss = loss_of(self.model, part) * (size / whole)
                self._scaler.scale(loss).backward()
            found = loss.detach()
            total = found if total is None else total + found
        assert total is not None
        return total

    def __call__(self, batch: Any, loss_of: LossOf) -> Tensor:  # noqa: ANN401 - the user's own type
        """A whole step; gives the mean loss over this worker's samples."""
        gauge = self._first_gauge()
        loss = self.backward(batch, loss_of)
        if self._scales():
            self._scaler.step(self.optimizer)
            self._scaler.update()
        else:
            self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        if gauge is not None:
            self._check_first_step(gauge, loss.device)
        return loss

    def _first_gauge(self) -> Gauge | None:
        if self._room is None or self.recipe.micro_batch is None or self.first_step is not None:
            return None
        resident = sum(p.numel() * p.element_size() for p in self.model.parameters())
        return Gauge(next(self.model.parameters()).device, resident)

    def _check_first_step(self, gauge: Gauge, device: torch.device) -> None:
        if self._room is None or self.recipe.micro_batch is None:
            return
        self.first_step = check_first_step(self.recipe.micro_batch, gauge, self._room, device)
        self.recipe = replace(self.recipe, micro_batch=self.first_step.after)
        if self._on_first_step is not None:
            self._on_first_step(self.first_step)

    def _exchange(self, *, last: bool) -> AbstractContextManager[Any]:
        if self.recipe.sharding in {"ddp", "zero1"} and not last:
            return cast("Any", self.model).no_sync()
        if self.recipe.sharding in {"fsdp", "hsdp"}:
            cast("Any", self.model).set_requires_gradient_sync(last)
        return nullcontext()


def _optimizer(model: nn.Module, trained: list[nn.Parameter], make: MakeOptimizer, recipe: Recipe) -> object:
    if recipe.optimizer == "in_backward":
        return InBackward(trained, make)
    if recipe.optimizer == "offload":
        return InHostMemory(trained, make)
    if recipe.sharding == "zero1":
        return sharded_optimizer(model, make)
    return make(trained)


def split(batch: Any, size: int | None) -> Iterator[tuple[int, Any]]:  # noqa: ANN401 - the user's own type
    """A batch in parts of `size` samples (None: whole), with each part's number.

    A batch is a tensor, or a mapping or tuple of tensors and other things.
    """
    size = size or sys.maxsize
    if isinstance(batch, Tensor):
        for part in batch.split(size):
            yield part.shape[0], part
    elif isinstance(batch, Mapping):
        named = cast("Mapping[str, Any]", batch)
        samples = next(value.shape[0] for value in named.values() if isinstance(value, Tensor))
        for first in range(0, samples, min(size, samples)):
            part = {key: _cut(value, first, size, samples) for key, value in named.items()}
            yield min(size, samples - first), part
    else:
        items = cast("tuple[Any, ...]", batch)
        samples = next(value.shape[0] for value in items if isinstance(value, Tensor))
        for first in range(0, samples, min(size, samples)):
            yield min(size, samples - first), type(items)(_cut(item, first, size, samples) for item in items)


def _cut(value: object, first: int, size: int, samples: int) -> object:
    """A tensor of all samples is cut; anything else goes with every part."""
    if isinstance(value, Tensor) and value.dim() > 0 and value.shape[0] == samples:
        return value[first : first + size]
    return value
