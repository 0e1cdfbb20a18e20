"""From what a job says about memory to the recipe that its run gets."""

from __future__ import annotations

from typing import cast

from headway.memory.recipe import REST, Precision, Recipe, Segment
from headway.memory.registry import LEAN_LAYERS, techniques_of
from headway.spec.job import JobSpec


def recipe_of_job(spec: JobSpec) -> Recipe | None:
    """The recipe of a run on this machine, or None where the job file leaves it to the script.

    `auto` takes every exact layer technique; the micro-batch is the job file's, else a worker's whole share.

    Raises:
        UserError: the recipe contradicts itself with this number of workers.
    """
    wanted = spec.memory.recipe
    if wanted.preset == "none" and not wanted.model_fields_set - {"preset"}:
        return None
    micro, accumulation = batches_of(spec)
    layers = tuple(dict.fromkeys((*(LEAN_LAYERS if wanted.preset == "auto" else ()), *wanted.layers)))
    sharding = wanted.sharding or ("ddp" if spec.workers > 1 else "none")
    if precision_of(spec) != "fp32" and sharding not in {"fsdp", "hsdp"}:
        # Under autocast norms give fp32, which no Linear keeps: nothing would be saved.
        layers = tuple(name for name in layers if name != "norm_from_output" or name in wanted.layers)
    if "packed_dropout" in layers:
        layers = tuple(name for name in layers if name != "replayed_dropout")
    recipe = Recipe(
        layers=layers,
        recompute=tuple(Segment(item.blocks or REST, item.keep) for item in wanted.recompute),
        sharding=sharding,
        precision=precision_of(spec),
        optimizer=wanted.optimizer,
        offload_activations=wanted.offload_activations,
        gradients=wanted.gradients,
        powersgd_rank=wanted.powersgd_rank,
        micro_batch=micro,
        accumulation=accumulation,
        allocator=(("expandable_segments", "True"),) if wanted.expandable_segments else (),
    )
    techniques_of(recipe)
    return recipe


def batches_of(spec: JobSpec) -> tuple[int, int]:
    """The micro-batch of a worker, and how many of them make its share of the global batch."""
    workload = spec.workload
    whole = workload.global_batch if workload is not None and workload.global_batch else spec.workers
    share = max(1, whole // spec.workers)
    micro = min(share, workload.micro_batch or share) if workload is not None else share
    return micro, -(-share // micro)


def precision_of(spec: JobSpec) -> Precision:
    """The job file's first precision; tf32 and fp8 train as fp32 here."""
    first = spec.needs.precision[0]
    return "fp32" if first in {"tf32", "fp8"} else cast("Precision", first)
