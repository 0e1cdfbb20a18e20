"""Activations whose result is not kept: the next Linear computes it again from the activation's input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 - torch's own custom
from torch import Tensor, nn

from headway.memory.layers.deferred import Deferred, has_hooks


class DeferredActivation:
    """Mixed into an activation's class: in training it hands its work to the module that uses it.

    `neighbours` are the matrix modules around it. Where one of them has hooks on its input or gradients,
    the activation stays as it was: a hook must see an ordinary tensor.
    """

    neighbours: tuple[nn.Module, ...]
    plain: Callable[[Tensor], Tensor] | None  # None is the module's own
    lean_calls: int

    def forward(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - an activation's own signature
        """The activation of a tensor, now or later."""
        x = args[0] if len(args) == 1 and not kwargs else None
        if not isinstance(x, Tensor) or not wants_deferral(x, self.neighbours) or has_hooks(self):
            return super().forward(*args, **kwargs)  # pyright: ignore[reportAttributeAccessIssue]
        self.lean_calls += 1
        own = super().forward  # pyright: ignore[reportAttributeAccessIssue]
        return Deferred(self.plain or own, (x,), x.shape, x.dtype)


class DeferredFunction:
    """The same for a model that calls a function, such as nn.TransformerEncoderLayer's `activation`."""

    def __init__(self, plain: Callable[[Tensor], Tensor], neighbours: tuple[nn.Module, ...]) -> None:
        self.plain = plain
        self.neighbours = neighbours
        self.lean_calls = 0

    def __call__(self, x: Any) -> Any:  # noqa: ANN401 - a tensor or a Deferred
        """The activation of a tensor, now or later."""
        if not isinstance(x, Tensor) or not wants_deferral(x, self.neighbours):
            return self.plain(x)
        self.lean_calls += 1
        return Deferred(self.plain, (x,), x.shape, x.dtype)


def wants_deferral(x: Tensor, neighbours: tuple[nn.Module, ...]) -> bool:
    """Whether a gradient will be asked for and no hook would see a deferred tensor."""
    if not torch.is_grad_enabled() or not x.requires_grad:
        return False
    return not any(has_hooks(module) for module in neighbours)


def gelu_tanh(x: Tensor) -> Tensor:
    """GELU by its tanh approximation, in one kernel."""
    return F.gelu(x, approximate="tanh")
