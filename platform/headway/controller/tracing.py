"""From a job spec to what the profile room traces, and the gradient gate before a run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from headway.controller.recipes import batches_of, precision_of, recipe_of_job
from headway.controller.workdir import find_workdir
from headway.errors import UserError
from headway.memory.recipe import Recipe
from headway.profile.choosing import ChosenBatch, choose_batch
from headway.profile.gated import Gated, gate_for
from headway.profile.traced import Found, profile_for, stored_profile
from headway.profile.traced_types import TraceRequest
from headway.settings import Settings
from headway.spec.job import JobSpec

DEFAULT_LENGTH = 512
# A Ray worker's own memory (not of files) with torch and transformers loaded, and what libraries take in the
# first step: 501 and 60 MiB were measured.
WORKER_BYTES = 576 * 2**20
# What the allocator and threads take beyond the prediction (benchmarks/memory/limit_cases.py).
ALLOCATOR_MARGIN = 0.08


def request_of_job(spec: JobSpec) -> TraceRequest:
    """What to trace for a job: its model, method, recipe, micro-batch and length.

    Rules are a GPU's unless the job asks for none. Sharding and worker numbers are the plan's to choose, so
    the trace is of one device.

    Raises:
        UserError: the job file names no model.
    """
    workload = spec.workload
    if workload is None or workload.model is None:
        raise UserError("plan.no_model")
    adapter = workload.method.adapter
    recipe = recipe_of_job(spec) or Recipe(precision=precision_of(spec))
    micro, _accumulation = batches_of(spec)
    processors = spec.needs.gpus.max == 0 and bool({"gpus", "workers"} & spec.needs.model_fields_set)
    alone = replace(recipe, sharding="none", gradients="plain", micro_batch=None, accumulation=1)
    factory = workload.model.factory
    own = ":" in factory
    return TraceRequest(
        recipe=alone,
        factory=factory if own else "",
        model="" if own else factory,
        config=tuple(sorted(workload.model.config.items())),
        method=workload.method.kind,
        rank=adapter.rank if adapter is not None else 8,
        targets=tuple(adapter.targets or ()) if adapter is not None else (),
        micro_batch=min(micro, 8),
        seq_len=workload.seq_len or DEFAULT_LENGTH,
        optimizer=workload.optimizer,
        rules="cpu" if processors else "cuda",
    )


def folder_of(spec: JobSpec, job_file: Path) -> Path:
    """Where a job's factory is resolved: where its entrypoint runs, else beside the job file."""
    try:
        return find_workdir(spec.entrypoint, job_file, Path.cwd())[0]
    except UserError:
        return job_file.absolute().parent


def traced(settings: Settings, spec: JobSpec, folder: Path) -> Found:
    """The job's profile, traced now unless it is stored."""
    return profile_for(request_of_job(spec), folder=folder, home=settings.home)


def traced_already(settings: Settings, spec: JobSpec, folder: Path) -> Found | None:
    """The job's stored profile, or None."""
    return stored_profile(request_of_job(spec), folder=folder, home=settings.home)


def batch_of_job(spec: JobSpec, folder: Path) -> ChosenBatch | None:
    """The micro-batch that fits the memory a worker may take; None where there is nothing to choose.

    It is chosen for a job with a recipe, a model and `needs.memory_per_worker`, without `micro_batch`.

    Raises:
        CapacityError: not even one sample is predicted to fit.
        UserError: the model cannot be traced.
    """
    recipe, limit = recipe_of_job(spec), spec.needs.memory_per_worker
    workload = spec.workload
    if recipe is None or limit is None or workload is None or workload.model is None:
        return None
    if workload.micro_batch is not None or workload.global_batch is None:
        return None
    request = replace(request_of_job(spec), recipe=recipe, world_size=spec.workers)
    share = max(1, workload.global_batch // spec.workers)
    # A processor's worker holds its libraries in the same memory.
    room = max(1, limit - WORKER_BYTES if request.rules == "cpu" else limit)
    return choose_batch(request, share=share, capacity_bytes=room, margin=ALLOCATOR_MARGIN, folder=folder)


def gate_job(settings: Settings, spec: JobSpec, folder: Path) -> Gated | None:
    """The gate on the job's recipe; None where it has no recipe or names no model.

    Raises:
        UserError: the gate cannot be run.
    """
    recipe = recipe_of_job(spec)
    if recipe is None or spec.workload is None or spec.workload.model is None:
        return None
    request = replace(request_of_job(spec), recipe=recipe)
    return gate_for(request, folder=folder, home=settings.home, exact=spec.memory.exact)
