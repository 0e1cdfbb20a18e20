"""The model over several workers: DDP, ZeRO-1, FSDP2 or hybrid sharding, and DDP's gradient exchange."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.optim import Optimizer

from headway.errors import UserError
from headway.memory.blocks import blocks_of
from headway.memory.optimizers import MakeOptimizer
from headway.memory.recipe import Recipe


def distribute(model: nn.Module, recipe: Recipe, *, workers_in_node: int | None = None) -> nn.Module:
    """The model as the recipe shards it; the process group must be there unless `sharding` is none.

    Args:
        model: on its device, its layer techniques applied.
        recipe: `sharding`, `precision` and `gradients` count.
        workers_in_node: for `hsdp`; all workers by default.
    """
    if recipe.sharding == "none":
        return model
    if recipe.sharding in {"ddp", "zero1"}:
        from torch.nn.parallel import DistributedDataParallel

        wrapped = DistributedDataParallel(model)
        compress_gradients(wrapped, recipe)
        return wrapped
    return fully_shard_blocks(model, recipe, workers_in_node)


def compress_gradients(model: Any, recipe: Recipe) -> None:  # noqa: ANN401 - DDP is loaded lazily
    """Register the recipe's gradient exchange with a DDP model."""
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook

    if recipe.gradients == "bf16":
        model.register_comm_hook(None, default_hooks.bf16_compress_hook)
    elif recipe.gradients == "fp16":
        model.register_comm_hook(None, default_hooks.fp16_compress_hook)
    elif recipe.gradients == "powersgd":
        state = powerSGD_hook.PowerSGDState(
            process_group=None,
            matrix_approximation_rank=recipe.powersgd_rank,
            # From the second step on; PyTorch's default of 1,000 plain steps suits long runs only.
            start_powerSGD_iter=2,
            min_compression_rate=2,
        )
        model.register_comm_hook(state, powerSGD_hook.powerSGD_hook)


def fully_shard_blocks(model: nn.Module, recipe: Recipe, workers_in_node: int | None) -> nn.Module:
    """FSDP2 by blocks, the rest as one unit; parameters must not be shared over blocks.

    Raises:
        UserError: the workers do not fill whole nodes.
    """
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    mesh = _mesh(recipe, model, workers_in_node)
    low = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(recipe.precision)
    policy = MixedPrecisionPolicy(param_dtype=low, reduce_dtype=torch.float32 if low else None)
    for _name, block in blocks_of(model):
        fully_shard(block, mesh=mesh, mp_policy=policy)
    fully_shard(model, mesh=mesh, mp_policy=policy)
    return model


def _mesh(recipe: Recipe, model: nn.Module, workers_in_node: int | None) -> Any:  # noqa: ANN401 - DeviceMesh
    from torch.distributed.device_mesh import init_device_mesh

    world = dist.get_world_size()
    device = next(model.parameters()).device.type
    if recipe.sharding == "fsdp":
        return init_device_mesh(device, (world,))
    inside = workers_in_node or world
    if world % inside:
        raise UserError("memory.uneven_nodes", workers=world, inside=inside)
    return init_device_mesh(device, (world // inside, inside), mesh_dim_names=("copies", "shards"))


def sharded_optimizer(model: nn.Module, make: MakeOptimizer) -> Optimizer:
    """ZeRO-1: each worker holds the state of its share; made by `make` for each share."""
    from torch.distributed.optim import ZeroRedundancyOptimizer

    trained = [p for p in model.parameters() if p.requires_grad]
    # Any callable is taken for the class; it is given this worker's share.
    share: Any = make
    return ZeroRedundancyOptimizer(trained, optimizer_class=share)
