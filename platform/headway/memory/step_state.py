"""A step's model and optimizer as one state that any number of workers can load again.

States are whole and on the host, also where they are sharded; gathering is collective over the workers.
"""

from __future__ import annotations

from typing import Any

import torch.distributed as dist
from torch import nn

from headway.memory.recipe import Recipe

_SHARDED = {"fsdp", "hsdp"}


def whole_state(model: nn.Module, optimizer: Any, recipe: Recipe) -> dict[str, Any]:  # noqa: ANN401
    """State dicts of model and optimizer; every worker must call it, and rank 0 has all of it."""
    if recipe.sharding in _SHARDED:
        from torch.distributed.checkpoint.state_dict import StateDictOptions, get_state_dict

        options = StateDictOptions(full_state_dict=True, cpu_offload=True)
        parameters, states = get_state_dict(model, optimizer, options=options)
        return {"model": parameters, "optimizer": states}
    if recipe.sharding == "zero1":
        optimizer.consolidate_state_dict(to=0)
        states = optimizer.state_dict() if dist.get_rank() == 0 else {}
        return {"model": bare(model).state_dict(), "optimizer": states}
    return {"model": bare(model).state_dict(), "optimizer": optimizer.state_dict()}


def load_whole_state(model: nn.Module, optimizer: Any, recipe: Recipe, state: dict[str, Any]) -> None:  # noqa: ANN401
    """What `whole_state` gave on rank 0, on every worker."""
    if recipe.sharding in _SHARDED:
        from torch.distributed.checkpoint.state_dict import StateDictOptions, set_state_dict

        set_state_dict(
            model,
            optimizer,
            model_state_dict=state["model"],
            optim_state_dict=state["optimizer"],
            options=StateDictOptions(full_state_dict=True),
        )
        return
    bare(model).load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])


def bare(model: nn.Module) -> nn.Module:
    """The model inside DDP, or itself."""
    from torch.nn.parallel import DistributedDataParallel

    return model.module if isinstance(model, DistributedDataParallel) else model
