"""What a job trains: the model's needs, traced or by closed form, and how much of it."""

from __future__ import annotations

from pathlib import Path

from headway.controller.tracing import traced, traced_already
from headway.errors import UserError
from headway.planner.types import Work
from headway.profile.closed_form import profile_of
from headway.profile.configs import shape_of
from headway.profile.types import ModelProfile
from headway.settings import Settings
from headway.spec.job import JobSpec

DEFAULT_GLOBAL_BATCH = 256


def work_of(spec: JobSpec, settings: Settings | None = None, folder: Path | None = None) -> Work:
    """The model's profile and the amount of training.

    A factory of the user's own is traced (once: traces are stored). A configuration has a closed form; its
    trace is used where `headway profile` has stored one.

    Raises:
        UserError: the job file names no model, or one that is not known or cannot be traced.
    """
    workload = spec.workload
    if workload is None or workload.model is None:
        raise UserError("plan.no_model")
    profile, lean = _traced(spec, settings, folder) or _closed_form(spec)
    batch = workload.global_batch or DEFAULT_GLOBAL_BATCH
    if workload.samples is not None:
        samples = workload.samples
    elif workload.tokens is not None:
        samples = -(-workload.tokens // profile.seq_len)
    elif workload.steps is not None:
        samples = workload.steps * batch
    else:
        raise UserError("plan.epochs")
    return Work(profile, samples, batch, lean if spec.memory.recipe.preset == "auto" else None)


Profiles = tuple[ModelProfile, ModelProfile | None]


def _traced(spec: JobSpec, settings: Settings | None, folder: Path | None) -> Profiles | None:
    """Plain and lean profiles of a trace; None where there is none and a closed form will do."""
    assert spec.workload is not None
    assert spec.workload.model is not None
    own = ":" in spec.workload.model.factory
    if settings is None or folder is None:
        if own:
            raise UserError("plan.factory", factory=spec.workload.model.factory)
        return None
    found = traced(settings, spec, folder) if own else traced_already(settings, spec, folder)
    if found is None:
        return None
    profile = found.profile
    return profile.model_profile(), profile.lean_profile()


def _closed_form(spec: JobSpec) -> Profiles:
    workload = spec.workload
    assert workload is not None
    assert workload.model is not None
    shape = shape_of(workload.model.factory, workload.model.config)
    adapter = workload.method.adapter
    narrow = (name for name in spec.needs.precision if name not in {"fp32", "tf32"})
    precision = next(narrow, "fp32")

    def profile(*, lean: bool) -> ModelProfile:
        return profile_of(
            shape,
            method=workload.method.kind,
            rank=adapter.rank if adapter is not None else 8,
            targets=len(adapter.targets) if adapter is not None and adapter.targets else 2,
            optimizer=workload.optimizer,
            precision=precision,
            seq_len=workload.seq_len,
            lean=lean,
        )

    return profile(lean=False), profile(lean=True)
