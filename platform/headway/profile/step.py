"""One training step with its phases, as `headway.memory.step` runs it: for a trace and for a measurement."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, Self, cast

from torch import Tensor, nn

from headway.errors import UserError
from headway.memory.blocks import blocks_of
from headway.memory.step import Step
from headway.profile.engine import in_backward
from headway.profile.step_types import Place

OnPlace = Callable[[Place], None]
Batch = Mapping[str, Any]


def loss_of(output: object) -> Tensor:
    """The loss in what a model returns: its `loss`, its key `loss`, its first item, or itself.

    Raises:
        UserError: there is no scalar loss.
    """
    found: object = output
    if not isinstance(output, Tensor):
        if isinstance(output, Mapping):
            found = cast("Mapping[str, object]", output).get("loss")
        elif isinstance(output, tuple | list):
            found = cast("list[object]", output)[0] if output else None
        else:
            found = getattr(output, "loss", None)
    if not isinstance(found, Tensor) or found.numel() != 1:
        raise UserError("profile.no_loss", kind=type(output).__name__)
    return found


def silent(_place: Place) -> None:
    """For a step whose places nobody asks for."""


class Phases(AbstractContextManager["Phases"]):
    """Runs steps and says where they are; the loss head begins after the last block.

    Its backward pass ends when the gradient of that block's output is known.
    """

    def __init__(self, step: Step, on_place: OnPlace = silent) -> None:
        self.on_place = on_place
        self._step = step
        self._blocks = [block for _name, block in blocks_of(step.model)]
        self._handles: list[Any] = []
        self._forward = False

    def __enter__(self) -> Self:
        blocks = self._blocks
        if blocks:
            self._handles.append(blocks[-1].register_forward_hook(self._last_ended))
        if len(blocks) > 2:
            self._handles.append(blocks[0].register_forward_hook(self._first_ended))
            self._handles.append(blocks[-2].register_forward_hook(self._middle_ended))
        return self

    def __exit__(self, *problem: object) -> None:
        for handle in self._handles:
            handle.remove()

    def run(self, batch: Batch) -> None:
        """A whole step on a batch; gradients are dropped after it."""
        self._step.backward(batch, self._loss)
        self._forward = False
        self.on_place("optimizer")
        self._step.optimizer.step()
        self._step.optimizer.zero_grad(set_to_none=True)

    def _loss(self, model: nn.Module, part: Batch) -> Tensor:
        self._forward = True
        self.on_place("forward_start" if self._blocks else "forward")
        loss = loss_of(model(**part))
        self.on_place("loss" if self._blocks else "backward")
        self._forward = False
        return loss

    def _first_ended(self, _block: nn.Module, _inputs: object, output: object) -> None:
        self._between(output, "forward", "backward_end")

    def _middle_ended(self, _block: nn.Module, _inputs: object, output: object) -> None:
        self._between(output, "forward_end", "backward")

    def _last_ended(self, _block: nn.Module, _inputs: object, output: object) -> None:
        self._between(output, "loss", "backward_start")

    def _between(self, output: object, forward: Place, backward: Place) -> None:
        """From here the forward pass is at one place; once the gradient is known, backward is at another."""
        if self._forward and not in_backward():
            self.on_place(forward)
            self._when_reached(output, backward)

    def _when_reached(self, output: object, place: Place) -> None:
        first = next((item for item in _tensors(output) if item.requires_grad), None)
        if first is not None:
            first.register_hook(partial(self._reach, place))

    def _reach(self, place: Place, _gradient: Tensor) -> None:
        self.on_place(place)


def _tensors(output: object) -> list[Tensor]:
    if isinstance(output, Tensor):
        return [output]
    if isinstance(output, tuple | list):
        return [item for item in cast("list[object]", output) if isinstance(item, Tensor)]
    return []
