"""The optimizers that a trace knows, as the training loop makes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import nn

from headway.errors import UserError
from headway.memory.optimizers import MakeOptimizer
from headway.profile.step_types import Rules

_KNOWN: dict[str, tuple[Callable[..., torch.optim.Optimizer], dict[str, Any]]] = {
    "adamw": (torch.optim.AdamW, {"lr": 1e-4}),
    "adam": (torch.optim.Adam, {"lr": 1e-4}),
    "sgd": (torch.optim.SGD, {"lr": 1e-3}),
    "momentum": (torch.optim.SGD, {"lr": 1e-3, "momentum": 0.9}),
    "rmsprop": (torch.optim.RMSprop, {"lr": 1e-4}),
    "adagrad": (torch.optim.Adagrad, {"lr": 1e-3}),
    "adafactor": (torch.optim.Adafactor, {"lr": 1e-3}),
}


def optimizer_maker(optimizer: str | MakeOptimizer, rules: Rules) -> MakeOptimizer:
    """How to make an optimizer from its name; one that is given as a callable stays as it is.

    By default PyTorch steps over lists of tensors on CUDA and parameter by parameter on a CPU: so here.

    Raises:
        UserError: the name is not known.
    """
    if not isinstance(optimizer, str):
        return optimizer
    if optimizer not in _KNOWN:
        raise UserError("profile.no_optimizer", name=optimizer, known=", ".join(sorted(_KNOWN)))
    kind, options = _KNOWN[optimizer]
    over_lists: dict[str, Any] = {"foreach": True} if rules == "cuda" else {}

    def make(parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
        return kind(parameters, **options, **over_lists)

    return make


def optimizers_in(optimizer: object) -> list[torch.optim.Optimizer]:
    """The plain optimizers that one consists of: itself, or one for each parameter."""
    if isinstance(optimizer, torch.optim.Optimizer):
        return [optimizer]
    inner = getattr(optimizer, "_optimizers", None)
    if inner is not None:
        return [pair[1] for pair in inner]
    single = getattr(optimizer, "_optimizer", None)
    return [single] if isinstance(single, torch.optim.Optimizer) else []


def states_of(optimizer: object) -> list[object]:
    """Everything that an optimizer keeps for its parameters."""
    return [
        value
        for plain in optimizers_in(optimizer)
        for state in plain.state.values()
        for value in dict(state).values()
    ]
