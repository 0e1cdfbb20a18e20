"""Optimizers that need less: stepped inside the backward pass, or kept in host memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer

MakeOptimizer = Callable[[Iterable[nn.Parameter]], Optimizer]


class InBackward:
    """One optimizer a parameter, stepped and its gradient freed when the gradient is complete.

    Looks like an optimizer to a training loop; `step` and `zero_grad` have nothing left to do.
    """

    def __init__(self, parameters: Iterable[nn.Parameter], make: MakeOptimizer) -> None:
        self._optimizers = [(p, make([p])) for p in parameters if p.requires_grad]
        by_parameter = {id(p): optimizer for p, optimizer in self._optimizers}

        def update(parameter: torch.Tensor) -> None:
            by_parameter[id(parameter)].step()
            parameter.grad = None

        self._handles = [p.register_post_accumulate_grad_hook(update) for p, _optimizer in self._optimizers]

    @property
    def param_groups(self) -> list[dict[str, Any]]:
        """All groups, for schedulers that set the learning rate."""
        return [group for _p, optimizer in self._optimizers for group in optimizer.param_groups]

    def step(self) -> None:
        """Done already."""

    def zero_grad(self, *, set_to_none: bool = True) -> None:
        """Done already."""

    def state_dict(self) -> dict[str, Any]:
        """The state of each parameter's optimizer, in the parameters' order."""
        return {"in_backward": [optimizer.state_dict() for _p, optimizer in self._optimizers]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """What `state_dict` gave.

        Raises:
            ValueError: it is of another number of parameters.
        """
        states = state["in_backward"]
        for (_p, optimizer), one in zip(self._optimizers, states, strict=True):
            optimizer.load_state_dict(one)

    def remove(self) -> None:
        """Take the hooks off the parameters."""
        for handle in self._handles:
            handle.remove()


class InHostMemory:
    """An optimizer on copies of the parameters in host memory; gradients go there, parameters come back."""

    def __init__(self, parameters: Iterable[nn.Parameter], make: MakeOptimizer) -> None:
        self._device = [p for p in parameters if p.requires_grad]
        pin = torch.cuda.is_available()
        self._host = [nn.Parameter(_to_host(p.detach(), pin=pin)) for p in self._device]
        self._optimizer = make(self._host)

    @property
    def param_groups(self) -> list[dict[str, Any]]:
        """The inner optimizer's groups."""
        return self._optimizer.param_groups

    def step(self) -> None:
        """Bring the gradients, step on the host, take the parameters back."""
        for device, host in zip(self._device, self._host, strict=True):
            host.grad = None if device.grad is None else device.grad.to(host.device)
        self._optimizer.step()
        with torch.no_grad():
            for device, host in zip(self._device, self._host, strict=True):
                if host.grad is not None:
                    device.copy_(host)
                host.grad = None

    def zero_grad(self, *, set_to_none: bool = True) -> None:
        """Drop the gradients on the device."""
        for device in self._device:
            device.grad = None if set_to_none or device.grad is None else device.grad.zero_()

    def state_dict(self) -> dict[str, Any]:
        """The inner optimizer's state."""
        return self._optimizer.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """What `state_dict` gave; the parameters must be restored already: their copies are taken anew."""
        with torch.no_grad():
            for device, host in zip(self._device, self._host, strict=True):
                host.copy_(device)
        self._optimizer.load_state_dict(state)


def _to_host(tensor: torch.Tensor, *, pin: bool) -> torch.Tensor:
    copy = tensor.to("cpu", copy=True)
    return copy.pin_memory() if pin else copy
