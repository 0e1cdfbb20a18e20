"""Optimizers that need less: stepped inside the backward pass, or kept in host memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer

MakeOptimizer = Callable[[Iterable[nn.Parameter]], Optimizer]


class InBackward(Optimizer):
    """One optimizer a parameter, stepped and its gradient freed when the gradient is complete.

    Looks like an optimizer to a training loop; `step` and `zero_grad` have nothing left to do.
    """

    def __init__(self, parameters: Iterable[nn.Parameter], make: MakeOptimizer) -> None:
        self._optimizers = [(p, make([p])) for p in parameters if p.requires_grad]
        self.defaults = self._optimizers[0][1].defaults if self._optimizers else {}
        self._look_at_the_groups()
        by_parameter = {id(p): optimizer for p, optimizer in self._optimizers}

        def update(parameter: torch.Tensor) -> None:
            by_parameter[id(parameter)].step()
            parameter.grad = None

        self._handles = [p.register_post_accumulate_grad_hook(update) for p, _optimizer in self._optimizers]

    def _look_at_the_groups(self) -> None:
        """What schedulers see: the groups and the states of all, as they are."""
        self.param_groups = [group for _p, one in self._optimizers for group in one.param_groups]
        self.state = defaultdict(dict, {p: one.state[p] for p, one in self._optimizers})

    def step(self, closure: Any = None) -> None:  # noqa: ANN401  # pyright: ignore[reportIncompatibleMethodOverride]
        """Done already."""

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Done already."""

    def state_dict(self) -> dict[str, Any]:
        """The state of each parameter's optimizer, in the parameters' order."""
        return {"in_backward": [optimizer.state_dict() for _p, optimizer in self._optimizers]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """What `state_dict` gave.

        Raises:
            ValueError: it is of another number of parameters.
        """
        states = state_dict["in_backward"]
        for (_p, optimizer), one in zip(self._optimizers, states, strict=True):
            optimizer.load_state_dict(one)
        self._look_at_the_groups()

    def remove(self) -> None:
        """Take the hooks off the parameters."""
        for handle in self._handles:
            handle.remove()


class InHostMemory(Optimizer):
    """An optimizer on copies of the parameters in host memory; gradients go there, parameters come back."""

    def __init__(self, parameters: Iterable[nn.Parameter], make: MakeOptimizer) -> None:
        self._device = [p for p in parameters if p.requires_grad]
        pin = torch.cuda.is_available()
        self._host = [nn.Parameter(_to_host(p.detach(), pin=pin)) for p in self._device]
        self._optimizer = make(self._host)
        self.defaults = self._optimizer.defaults
        self.param_groups, self.state = self._optimizer.param_groups, self._optimizer.state
        self._versions = [p._version for p in self._device]  # noqa: SLF001 - torch's own counter

    def step(self, closure: Any = None) -> None:  # noqa: ANN401, ARG002  # pyright: ignore[reportIncompatibleMethodOverride]
        """Bring the gradients, step on the host, take the parameters back."""
        self._take_changes()
        for device, host in zip(self._device, self._host, strict=True):
            host.grad = None if device.grad is None else device.grad.to(host.device)
        self._optimizer.step()
        with torch.no_grad():
            for device, host in zip(self._device, self._host, strict=True):
                if host.grad is not None:
                    device.copy_(host)
                host.grad = None
        self._versions = [p._version for p in self._device]  # noqa: SLF001 - torch's own counter

    def _take_changes(self) -> None:
        """Parameters that someone else has set since the last step are copied to the host again."""
        with torch.no_grad():
            for device, host, version in zip(self._device, self._host, self._versions, strict=True):
                if device._version != version:  # noqa: SLF001 - torch's own counter
                    host.copy_(device)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients on the device."""
        for device in self._device:
            device.grad = None if set_to_none or device.grad is None else device.grad.zero_()

    def state_dict(self) -> dict[str, Any]:
        """The inner optimizer's state."""
        return self._optimizer.state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """What `state_dict` gave; the parameters must be restored already: their copies are taken anew."""
        with torch.no_grad():
            for device, host in zip(self._device, self._host, strict=True):
                host.copy_(device)
        self._optimizer.load_state_dict(state_dict)
        self.param_groups, self.state = self._optimizer.param_groups, self._optimizer.state


def _to_host(tensor: torch.Tensor, *, pin: bool) -> torch.Tensor:
    copy = tensor.to("cpu", copy=True)
    return copy.pin_memory() if pin else copy
