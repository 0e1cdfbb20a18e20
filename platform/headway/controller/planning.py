"""From a job spec to what the planner takes: work, limits, and the offerings at hand."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime

from headway.catalog.snapshot import snapshot_info
from headway.controller.figures import figures_of
from headway.controller.offerings import offerings_of, sites_of
from headway.errors import UserError
from headway.planner.search import plan
from headway.planner.types import Limits, PlanResult, Work
from headway.profile.closed_form import profile_of
from headway.profile.configs import shape_of
from headway.settings import Settings
from headway.spec.job import JobSpec

DEFAULT_GLOBAL_BATCH = 256
SECONDS_PER_DAY = 86400


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan and what it was made from; `sites_file` None is the sample in the package."""

    work: Work
    limits: Limits
    result: PlanResult
    sites_file: str | None
    snapshot_sha: str
    snapshot_date: str
    snapshot_age_days: int


def plan_job(settings: Settings, spec: JobSpec) -> Planned:
    """Plan a job over the user's sites (or the sample ones) and this machine.

    Raises:
        UserError: the job file does not say which model is trained, or names one that is not known.
    """
    work = work_of(spec)
    loaded = sites_of(settings)
    now = time.time_ns() // 1000
    limits = limits_of(spec, [site.name for site in loaded.spec.sites])
    offerings = offerings_of(loaded, figures_of(settings), now)
    info = snapshot_info()
    as_of = datetime.fromtimestamp(info.as_of / 1_000_000, UTC)
    return Planned(
        work=work,
        limits=limits,
        result=plan(work, offerings, limits, spec.goal),
        sites_file=None if settings.sites_path is None else str(settings.sites_path),
        snapshot_sha=info.sha256,
        snapshot_date=as_of.date().isoformat(),
        snapshot_age_days=int((now - info.as_of) / 1_000_000 // SECONDS_PER_DAY),
    )


def work_of(spec: JobSpec) -> Work:
    """The model's profile and the amount of training."""
    workload = spec.workload
    if workload is None or workload.model is None:
        raise UserError("plan.no_model")
    if ":" in workload.model.factory:
        raise UserError("plan.factory", factory=workload.model.factory)
    shape = shape_of(workload.model.factory, workload.model.config)
    adapter = workload.method.adapter
    wide = set(spec.needs.precision) <= {"fp32", "tf32"}
    profile = profile_of(
        shape,
        method=workload.method.kind,
        rank=adapter.rank if adapter is not None else 8,
        targets=len(adapter.targets) if adapter is not None and adapter.targets else 2,
        optimizer=workload.optimizer,
        precision="fp32"
        if wide
        else next(name for name in spec.needs.precision if name not in {"fp32", "tf32"}),
        seq_len=workload.seq_len,
    )
    batch = workload.global_batch or DEFAULT_GLOBAL_BATCH
    if workload.samples is not None:
        samples = workload.samples
    elif workload.tokens is not None:
        samples = -(-workload.tokens // profile.seq_len)
    elif workload.steps is not None:
        samples = workload.steps * batch
    else:
        raise UserError("plan.epochs")
    return Work(profile, samples, batch)


def limits_of(spec: JobSpec, sites: list[str]) -> Limits:
    """The job's hard limits.

    Raises:
        UserError: `limits.sites` names a site that does not exist.
    """
    unknown = [name for name in spec.limits.sites if name not in {*sites, "any", "here"}]
    if unknown:
        raise UserError("plan.no_site", site=unknown[0], known=", ".join(["any", "here", *sites]))
    wanted = spec.needs.gpus
    budget, deadline = spec.limits.budget, spec.limits.deadline
    return Limits(
        min_devices=max(1, wanted.min),
        max_devices=wanted.max or None,
        deadline_seconds=float(deadline) if deadline is not None else None,
        budget=budget.amount if budget is not None else None,
        budget_currency=budget.currency if budget is not None else None,
        sites=spec.limits.sites,
        sensitivity=spec.data.sensitivity if spec.data is not None else "internal",
        precision="bf16" if "bf16" in spec.needs.precision else spec.needs.precision[0],
    )
