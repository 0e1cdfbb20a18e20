"""From a job spec to what the planner takes: work, limits, and the offerings at hand."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from fnmatch import fnmatchcase
from pathlib import Path

from headway.catalog.types import SITE_ID
from headway.controller.efficiencies import with_efficiencies
from headway.controller.figures import figures_of
from headway.controller.offerings import egress_of, offerings_of, stated_egress
from headway.controller.own_runs import own_shares
from headway.controller.pricing import market_of, sites_of
from headway.controller.workload import work_of
from headway.errors import UserError
from headway.planner.hybrid import Hybrid, hybrids
from headway.planner.search import plan
from headway.planner.types import Egress, Limits, Offering, PlanResult, Work
from headway.profile.configs import lengths_of
from headway.settings import Settings
from headway.spec.job import JobSpec
from headway.spec.sites import SitesSpec

SECONDS_PER_DAY = 86400


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan and what it was made from; `sites_file` None is the sample in the package."""

    work: Work
    limits: Limits
    result: PlanResult
    hybrids: tuple[Hybrid, ...]
    sites_file: str | None
    snapshot_sha: str
    snapshot_date: str
    snapshot_age_days: int


def plan_job(
    settings: Settings,
    spec: JobSpec,
    folder: Path | None = None,
    factors: Mapping[str, Decimal] | None = None,
) -> Planned:
    """Plan a job over the user's sites (or the sample ones) and this machine.

    `folder` is where the job's own factory is found; a stored trace is used without it too. `factors` change
    the prices of offerings, by their keys, for a what-if.

    Raises:
        UserError: the job file does not say which model is trained, or names one that is not known, or asks
            for samples of a length that it does not take.
    """
    check_length(spec)
    loaded = sites_of(settings)
    work = with_data(work_of(spec, settings, folder), spec, loaded.spec)
    now = time.time_ns() // 1000
    limits = limits_of(spec, [site.name for site in loaded.spec.sites])
    market = market_of(settings)
    found = offerings_of(loaded, figures_of(settings), now, market, own_shares(settings))
    _check_regions(limits, found)
    offerings = with_efficiencies([_repriced(one, (factors or {}).get(one.key)) for one in found], work)
    result = plan(work, offerings, limits, spec.goal)
    as_of = datetime.fromtimestamp(market.table.as_of / 1_000_000, UTC)
    return Planned(
        work=work,
        limits=limits,
        result=result,
        hybrids=tuple(hybrids(work, result.rivals, limits)),
        sites_file=None if settings.sites_path is None else str(settings.sites_path),
        snapshot_sha=market.table.sha256,
        snapshot_date=as_of.date().isoformat(),
        snapshot_age_days=int((now - market.table.as_of) / 1_000_000 // SECONDS_PER_DAY),
    )


def _repriced(offering: Offering, factor: Decimal | None) -> Offering:
    if factor is None or offering.price_per_hour is None:
        return offering
    basis = f"{offering.price_basis}; times {factor:f}, for the question"
    return replace(offering, price_per_hour=offering.price_per_hour * factor, price_basis=basis)


def _check_regions(limits: Limits, offerings: Sequence[Offering]) -> None:
    """Refuse a pattern of regions that no machine is in: it is a slip of the pen, not a limit.

    Raises:
        UserError: with the regions that there are.
    """
    regions = sorted({one.region for one in offerings if one.region})
    for pattern in limits.regions:
        if not any(fnmatchcase(region, pattern) for region in regions):
            raise UserError("plan.no_region", pattern=pattern, known=", ".join(regions) or "-")


def with_data(work: Work, spec: JobSpec, sites: SitesSpec) -> Work:
    """The work with its data: where they lie, and what it costs to bring them elsewhere.

    Raises:
        UserError: `data.site` names a site that does not exist.
    """
    data = spec.data
    if data is None or data.site is None:
        return work
    home = next((site for site in sites.sites if site.name == data.site), None)
    if home is None and data.site != SITE_ID:
        known = ", ".join([SITE_ID, *(site.name for site in sites.sites)])
        raise UserError("plan.no_data_site", site=data.site, known=known)
    egress = _egress_here(sites) if home is None else egress_of(home)
    return replace(work, data_bytes=data.size, data_site=data.site, data_egress=egress)


def _egress_here(sites: SitesSpec) -> Egress | None:
    price = None if sites.here is None else sites.here.egress_price
    return None if price is None else stated_egress(price)


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


def precision_of(spec: JobSpec) -> str:
    """What a job computes in: bf16 where it may, else the first that it names."""
    return "bf16" if "bf16" in spec.needs.precision else spec.needs.precision[0]


def limits_of(spec: JobSpec, sites: list[str]) -> Limits:
    """The job's hard limits.

    Raises:
        UserError: `limits.sites` names a site that does not exist.
    """
    unknown = [name for name in spec.limits.sites if name not in {*sites, "any", "here"}]
    if unknown:
        raise UserError("plan.no_site", site=unknown[0], known=", ".join(["any", "here", *sites]))
    wanted = spec.needs.gpus
    budget, deadline, latency = spec.limits.budget, spec.limits.deadline, spec.limits.latency_to_data
    return Limits(
        min_devices=max(1, wanted.min),
        max_devices=wanted.max or None,
        deadline_seconds=float(deadline) if deadline is not None else None,
        budget=budget.amount if budget is not None else None,
        budget_currency=budget.currency if budget is not None else None,
        sites=spec.limits.sites,
        sensitivity=spec.data.sensitivity if spec.data is not None else "internal",
        precision=precision_of(spec),
        processors_only="gpus" in spec.needs.model_fields_set and wanted.max == 0,
        regions=spec.limits.regions,
        interconnect=spec.needs.interconnect,
        latency_seconds=None if latency is None else float(latency),
        data_site=None if spec.data is None else spec.data.site,
    )
