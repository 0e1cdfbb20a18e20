"""From a job spec to what the planner takes: work, limits, and the offerings at hand."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from headway.controller.figures import figures_of
from headway.controller.offerings import offerings_of
from headway.controller.pricing import market_of, sites_of
from headway.controller.workload import work_of
from headway.errors import UserError
from headway.planner.search import plan
from headway.planner.types import Limits, PlanResult, Work
from headway.profile.configs import lengths_of
from headway.settings import Settings
from headway.spec.job import JobSpec

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


def plan_job(settings: Settings, spec: JobSpec, folder: Path | None = None) -> Planned:
    """Plan a job over the user's sites (or the sample ones) and this machine.

    `folder` is where the job's own factory is found; a stored trace is used without it too.

    Raises:
        UserError: the job file does not say which model is trained, or names one that is not known, or asks
            for samples of a length that it does not take.
    """
    check_length(spec)
    work = work_of(spec, settings, folder)
    loaded = sites_of(settings)
    now = time.time_ns() // 1000
    limits = limits_of(spec, [site.name for site in loaded.spec.sites])
    market = market_of(settings)
    offerings = offerings_of(loaded, figures_of(settings), now, market)
    as_of = datetime.fromtimestamp(market.table.as_of / 1_000_000, UTC)
    return Planned(
        work=work,
        limits=limits,
        result=plan(work, offerings, limits, spec.goal),
        sites_file=None if settings.sites_path is None else str(settings.sites_path),
        snapshot_sha=market.table.sha256,
        snapshot_date=as_of.date().isoformat(),
        snapshot_age_days=int((now - market.table.as_of) / 1_000_000 // SECONDS_PER_DAY),
    )


def check_length(spec: JobSpec) -> None:
    """Refuse samples that a published configuration cannot take; a factory's model is not known here.

    Raises:
        UserError: `workload.seq_len` is beyond the model's positions, or not its number of image tokens.
    """
    workload = spec.workload
    if workload is None or workload.model is None or workload.seq_len is None:
        return
    name, given = workload.model.factory, workload.seq_len
    lengths = None if ":" in name else lengths_of(name, workload.model.config)
    if lengths is None:
        return
    shortest, longest = lengths
    if shortest == longest != given:
        raise UserError("plan.image_tokens", name=name, given=given, tokens=longest)
    if given > longest:
        raise UserError("plan.too_long", name=name, given=f"{given:,}", longest=f"{longest:,}")


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
        processors_only="gpus" in spec.needs.model_fields_set and wanted.max == 0,
    )
