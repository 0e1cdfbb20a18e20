"""What to change about a job or a run: its present setup, the alternatives, and the terms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path

from headway.controller.comparison import NO_LIMITS, compare_run
from headway.controller.planning import limits_of, plan_job
from headway.controller.pricing import sites_of
from headway.controller.workload import work_of
from headway.errors import UserError
from headway.planner.advise import HOURS, Advice, Setup, Terms, advise
from headway.planner.predict import step_seconds
from headway.planner.search import fitting
from headway.planner.types import Efficiency, Limits, Offering, Prediction, Recipe, Rival, Work
from headway.runs.store import Ledger
from headway.settings import Settings
from headway.spec.files import LoadedJob
from headway.units import Money

ASSUMED_HOUR = "100 USD"
ASSUMED_RUNS = 10


@dataclass(frozen=True, slots=True)
class Asked:
    """The user's own figures; None is not said, and then assumed or left out as the advice tells."""

    at: str | None = None
    nodes: int | None = None
    runs: int | None = None
    hour: Money | None = None
    day: Money | None = None
    data_wait: float | None = None
    hours: Mapping[str, Decimal] | None = None


@dataclass(frozen=True, slots=True)
class Advised:
    """The advice, and what it rests on: `assumed` names the terms that nobody stated.

    Offerings priced in `other_currencies` were not weighed.
    """

    name: str
    advice: Advice
    terms: Terms
    currency: str
    basis: str
    assumed: tuple[str, ...]
    data_known: bool
    other_currencies: tuple[str, ...]


def advise_job(settings: Settings, loaded: LoadedJob, asked: Asked, folder: Path | None) -> Advised:
    """Advice on a job file: the present is the plan's choice, or the offering that the user names.

    Raises:
        UserError: the job has no model, nothing meets its limits, or the offering is not known or priced.
    """
    spec = loaded.spec
    planned = plan_job(settings, spec, folder)
    rivals = {rival.offering.key: rival for rival in planned.result.rivals}
    present = planned.result.chosen if asked.at is None else rivals.get(asked.at)
    if present is None:
        if asked.at is not None:
            raise UserError("advise.no_offering", name=asked.at, known=", ".join(sorted(rivals)))
        raise UserError("advise.nothing_chosen")
    if present.prediction is None:
        raise UserError("advise.does_not_run", name=present.offering.key)
    limits = limits_of(spec, _names(settings))
    recipe, nodes = _layout(planned.work, present.offering, present.prediction, asked.nodes, limits)
    works = {planned.work.profile.precision: planned.work}
    if planned.work.profile.precision == "fp32":  # the change that most often pays
        narrow = spec.model_copy(update={"needs": spec.needs.model_copy(update={"precision": ("bf16",)})})
        works["bf16"] = work_of(narrow, settings, folder)
    setup = Setup(present.offering, nodes, recipe, planned.work.profile.precision)
    offerings = [rival.offering for rival in planned.result.rivals]
    basis = f"planned; efficiency: {present.offering.efficiency.basis}"
    return _advised(spec.name, works, setup, offerings, limits, asked, basis)


def _layout(
    work: Work, offering: Offering, planned: Prediction, asked: int | None, limits: Limits
) -> tuple[Recipe, int]:
    """The recipe and number of nodes of the present setup: as planned, or the fastest on what is asked.

    Raises:
        UserError: the pool or the job's limits do not go so far, or the job does not fit on so many.
    """
    if asked is None or asked == planned.nodes:
        return planned.recipe, planned.nodes
    devices = asked * offering.devices
    most = limits.max_devices
    if asked > offering.max_nodes:
        raise UserError("advise.pool_ends", nodes=asked, name=offering.key, most=offering.max_nodes)
    if devices < limits.min_devices or (most is not None and devices > most):
        wanted = f"{limits.min_devices}..{'' if most is None else most}"
        raise UserError("advise.beyond_needs", nodes=asked, devices=devices, wanted=wanted)
    found = fitting(work, offering, asked)
    if found is None:
        raise UserError("advise.does_not_run", name=f"{asked} x {offering.key}")
    return found.recipe, asked


def _names(settings: Settings) -> list[str]:
    return [site.name for site in sites_of(settings).spec.sites]


def advise_run(settings: Settings, ledger: Ledger, run_id: str, asked: Asked) -> Advised:
    """Advice on a run that was: its own machine at the efficiency that it really reached.

    Raises:
        NotFoundError, UserError, DataError: as `compare_run`.
    """
    for option, said in (("--at", asked.at), ("--nodes", asked.nodes)):
        if said is not None:
            raise UserError("advise.run_was_here", option=option)
    with ledger.read() as connection:
        found = compare_run(connection, settings, run_id)
    here = next(rival for rival in found.result.rivals if rival.offering.site == "here")
    recipe = here.prediction.recipe if here.prediction is not None else Recipe("ddp", False, 1)
    offering, basis = _measured(found.work, here, recipe, found.seconds)
    setup = Setup(offering, 1, recipe, found.work.profile.precision)
    others = [rival.offering for rival in found.result.rivals if rival.offering.site != "here"]
    limits = replace(NO_LIMITS, precision=found.work.profile.precision)
    works = {found.work.profile.precision: found.work}
    return _advised(run_id, works, setup, [offering, *others], limits, asked, basis)


def _measured(work: Work, here: Rival, recipe: Recipe, seconds: float) -> tuple[Offering, str]:
    """This machine with the efficiency at which the run would have taken as long as it did."""
    offering = here.offering
    steps = max(1, -(-work.samples // work.global_batch))
    full = steps * step_seconds(work, recipe, offering, 1, 1.0)
    training = max(1e-9, seconds - offering.start_seconds)
    share = min(1.0, full / training)
    known = Efficiency(share, share, share, "measured: this run")
    return replace(offering, efficiency=known), f"measured: this run reached {share:.1%} of the peak"


def _advised(
    name: str,
    works: dict[str, Work],
    setup: Setup,
    offerings: list[Offering],
    limits: Limits,
    asked: Asked,
    basis: str,
) -> Advised:
    offering, currency = setup.offering, setup.offering.currency
    if offering.price_per_hour is None:
        raise UserError("advise.unpriced", name=offering.key, basis=offering.price_basis)
    work = works[setup.precision]
    if asked.data_wait is not None:
        step = step_seconds(work, setup.recipe, offering, setup.nodes, offering.efficiency.expected)
        alone = step / (1 - asked.data_wait)
        setup = replace(setup, data_seconds=alone * setup.nodes)
    terms, assumed = _terms(asked, currency)
    advice = advise(works, setup, offerings, limits, terms)
    if advice is None:
        raise UserError("advise.does_not_run", name=offering.key)
    others = sorted({one.currency for one in offerings if one.price_per_hour is not None} - {currency})
    known = asked.data_wait is not None
    return Advised(name, advice, terms, currency, basis, assumed, known, tuple(others))


def _terms(asked: Asked, currency: str) -> tuple[Terms, tuple[str, ...]]:
    """The terms in one currency.

    Raises:
        UserError: an amount is in another currency than the offering's price.
    """
    assumed: list[str] = []
    hour = asked.hour
    if hour is None:
        assumed.append("hour")
        hour = Money(Money.parse(ASSUMED_HOUR).amount, currency)
    for name, amount in (("--hour", hour), ("--day", asked.day)):
        if amount is not None and amount.currency != currency:
            raise UserError("advise.currency", name=name, given=amount.currency, wanted=currency)
    if asked.runs is None:
        assumed.append("runs")
    if asked.day is None:
        assumed.append("day")
    hours = {**HOURS, **dict(asked.hours or {})}
    assumed += [f"hours.{key}" for key in HOURS if key not in (asked.hours or {})]
    day = asked.day.amount if asked.day is not None else Decimal(0)
    runs = Decimal(asked.runs if asked.runs is not None else ASSUMED_RUNS)
    return Terms(runs, hour.amount, day, hours), tuple(assumed)
