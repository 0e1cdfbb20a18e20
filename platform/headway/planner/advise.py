"""PURE. Hardware or software? Every change priced: GPUs, engineering and delay, over the runs to come.

    total = runs · (cost of a run + days of a run · price of a day) + hours of engineering · price of an hour

A candidate is an offering, nodes, a recipe, a precision, and whether data loading is mended. Which is best
is found by trying all; what would change the answer is where two totals, linear in each input, cross.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext

from headway.planner.moving import other_currency, unpriced
from headway.planner.predict import memory_bytes, predict, step_parts, step_seconds
from headway.planner.search import HEADROOM, allowed, node_counts, recipes
from headway.planner.types import Limits, Offering, Prediction, Recipe, Work

SECONDS_PER_DAY = 86400
# Hours of engineering that a change takes, assumed; the command line replaces each.
HOURS: dict[str, Decimal] = {
    "recipe": Decimal(1),
    "precision": Decimal(8),
    "data": Decimal(16),
    "nodes": Decimal(1),
    "machines": Decimal(4),
}
DATA_BOUND, COMMUNICATION_BOUND = 0.15, 0.20


@dataclass(frozen=True, slots=True)
class Setup:
    """Where and how a job runs; `data_seconds` is what a node needs to load a global batch's part alone.

    `data_seconds` is per step if one node loaded the whole batch (None: not known, nothing waits for data).
    """

    offering: Offering
    nodes: int
    recipe: Recipe
    precision: str
    data_seconds: float | None = None
    data_mended: bool = False


@dataclass(frozen=True, slots=True)
class Terms:
    """What counts: runs to come, an hour of engineering, a day of waiting for a run."""

    runs: Decimal
    hour: Decimal
    day: Decimal
    hours: Mapping[str, Decimal]


@dataclass(frozen=True, slots=True)
class Shares:
    """Of a step: arithmetic, exchange that nothing hides, waiting for data; and memory that is left."""

    compute: float
    communication: float
    data: float
    memory_left: float

    @property
    def bound(self) -> str:
        """What holds it up, in one word."""
        if self.data >= DATA_BOUND:
            return "data"
        if self.communication >= COMMUNICATION_BOUND:
            return "communication"
        return "compute"


@dataclass(frozen=True, slots=True)
class Option:
    """A candidate: what it changes, what a run then takes, and what all runs cost."""

    setup: Setup
    changes: tuple[str, ...]
    seconds: float
    run_cost: Decimal
    kwh: float
    hours: Decimal
    total: Decimal

    def cost_with_delay(self, day: Decimal) -> Decimal:
        """A run with what waiting for it costs, by the price of a day."""
        return self.run_cost + self.days * day

    @property
    def days(self) -> Decimal:
        """A run's duration."""
        return Decimal(repr(self.seconds)) / SECONDS_PER_DAY

    @property
    def kind(self) -> str:
        """`hardware`, `software`, `both`, or `stay`."""
        hard = {"nodes", "machines"} & {*self.changes}
        soft = {*self.changes} - {"nodes", "machines"}
        return "both" if hard and soft else "hardware" if hard else "software" if soft else "stay"


@dataclass(frozen=True, slots=True)
class Crossing:
    """At this value of an input another candidate becomes the best; None: at none."""

    name: str
    at: Decimal | None
    better: Option | None


@dataclass(frozen=True, slots=True)
class Advice:
    """The present, the best, the best of each kind, and what would change the answer."""

    now: Option
    shares: Shares
    best: Option
    options: tuple[Option, ...]
    crossings: tuple[Crossing, ...]
    payback_runs: Decimal | None


def shares_of(work: Work, setup: Setup) -> Shares:
    """Where the time of a step goes, and how much of the device's memory is left."""
    offering, nodes, recipe = setup.offering, setup.nodes, setup.recipe
    compute, exposed = step_parts(work, recipe, offering, nodes, offering.efficiency.expected)
    waiting = _waiting(setup, compute + exposed)
    used = memory_bytes(work, recipe, nodes * offering.devices, offering.devices)
    whole = compute + exposed + waiting
    left = 1 - used / (HEADROOM * offering.memory_bytes)
    return Shares(compute / whole, exposed / whole, waiting / whole, left)


def _waiting(setup: Setup, step: float) -> float:
    if setup.data_seconds is None or setup.data_mended:
        return 0.0
    return max(0.0, setup.data_seconds / setup.nodes - step)


def priced(works: Mapping[str, Work], setup: Setup, now: Setup, terms: Terms) -> Option | None:
    """A candidate's figures; None where its offering has no price or its model does not fit."""
    work, offering = works[setup.precision], setup.offering
    devices = setup.nodes * offering.devices
    if offering.price_per_hour is None or work.global_batch < setup.recipe.micro_batch * devices:
        return None
    if unpriced(work, offering) is not None or other_currency(work, offering) is not None:
        return None
    if memory_bytes(work, setup.recipe, devices, offering.devices) > HEADROOM * offering.memory_bytes:
        return None
    plain = predict(work, setup.recipe, offering, setup.nodes)
    step = step_seconds(work, setup.recipe, offering, setup.nodes, offering.efficiency.expected)
    longer = 1 + _waiting(setup, step) / step
    seconds, cost, kwh = _stretched(plain, offering, longer)
    changes = changed(setup, now)
    hours = sum((terms.hours[name] for name in changes), Decimal(0))
    days = Decimal(repr(seconds)) / SECONDS_PER_DAY
    total = terms.runs * (cost + days * terms.day) + hours * terms.hour
    return Option(setup, changes, seconds, cost, kwh, hours, total)


def _stretched(plain: Prediction, offering: Offering, longer: float) -> tuple[float, Decimal, float]:
    """Time, money and energy of a run whose steps wait; what moves costs the same."""
    start = offering.start_seconds
    busy = plain.seconds.expected - plain.waiting_seconds
    seconds = start + (busy - start) * longer
    moving = plain.moving_cost or Decimal(0)
    cost = ((plain.cost or Decimal(0)) - moving) * Decimal(repr(seconds / busy)) + moving
    return seconds + plain.waiting_seconds, cost, plain.kwh * seconds / busy


def changed(setup: Setup, now: Setup) -> tuple[str, ...]:
    """What a candidate changes, by the names of HOURS."""
    other = setup.offering.key != now.offering.key
    found = {
        "machines": other,
        "nodes": not other and setup.nodes != now.nodes,
        # The micro-batch is the planner's own choice each time: it costs nobody an hour.
        "recipe": (setup.recipe.sharding, setup.recipe.recompute, setup.recipe.lean)
        != (now.recipe.sharding, now.recipe.recompute, now.recipe.lean),
        "precision": setup.precision != now.precision,
        "data": setup.data_mended and not now.data_mended,
    }
    return tuple(name for name, yes in found.items() if yes)


def candidates(
    works: Mapping[str, Work], now: Setup, offerings: Sequence[Offering], limits: Limits
) -> Iterator[Setup]:
    """Every setup that the limits allow, the present one among them."""
    yield now
    mended = (False, True) if now.data_seconds is not None and not now.data_mended else (now.data_mended,)
    for offering in {one.key: one for one in (now.offering, *offerings)}.values():
        if not allowed(offering, limits) or offering.currency != now.offering.currency:
            continue
        counts = {*node_counts(offering, limits)} | (
            {now.nodes} if offering.key == now.offering.key else set()
        )
        for nodes in sorted(counts):
            for precision, work in works.items():
                if precision not in offering.peak_flops:
                    continue
                for recipe in recipes(work, nodes * offering.devices, nodes):
                    for data in mended:
                        yield Setup(offering, nodes, recipe, precision, now.data_seconds, data)


def advise(
    works: Mapping[str, Work], now: Setup, offerings: Sequence[Offering], limits: Limits, terms: Terms
) -> Advice | None:
    """What to do; None where the present setup cannot be priced.

    Ties go to the candidate that changes less. Candidates beyond the deadline or the budget are left out.
    """
    present = priced(works, now, now, terms)
    if present is None:
        return None
    options = [
        option
        for setup in candidates(works, now, offerings, limits)
        if (option := priced(works, setup, now, terms)) is not None and _within(option, limits)
    ]
    if not options:
        options = [present]
    best = min(options, key=_key)
    ranked = sorted(_worth_telling(options), key=_key)
    return Advice(
        present,
        shares_of(works[now.precision], now),
        best,
        tuple(ranked),
        tuple(_crossing(name, best, ranked, terms) for name in ("runs", "hour", "day")),
        _payback(present, best, terms),
    )


def _worth_telling(options: Sequence[Option]) -> list[Option]:
    """The best of each set of changes; of several at once only where fewer of them do not do as well."""
    by_changes: dict[frozenset[str], Option] = {}
    for option in options:
        changes = frozenset(option.changes)
        if changes not in by_changes or _key(option) < _key(by_changes[changes]):
            by_changes[changes] = option
    return [
        option
        for changes, option in by_changes.items()
        if len(changes) < 2
        or not any(fewer < changes and by_changes[fewer].total <= option.total for fewer in by_changes)
    ]


def _key(option: Option) -> tuple[object, ...]:
    recipe = option.setup.recipe
    return (
        _rounded(option.total), len(option.changes), option.hours, option.seconds, option.setup.offering.key,
        option.setup.nodes, recipe.sharding, recipe.recompute, recipe.lean, -recipe.micro_batch,
    )  # fmt: skip


def _rounded(amount: Decimal) -> Decimal:
    """Amounts that differ by less are a tie; of any size."""
    with localcontext() as context:
        context.prec = 100
        return round(amount, 6)


def _within(option: Option, limits: Limits) -> bool:
    late = limits.deadline_seconds is not None and option.seconds > limits.deadline_seconds
    same = limits.budget is not None and limits.budget_currency == option.setup.offering.currency
    return not late and not (same and option.run_cost > (limits.budget or Decimal(0)))


def _payback(now: Option, best: Option, terms: Terms) -> Decimal | None:
    """Runs after which the engineering is paid; None where nothing is to be paid or nothing is saved."""
    saved = now.cost_with_delay(terms.day) - best.cost_with_delay(terms.day)
    return best.hours * terms.hour / saved if saved > 0 and best.hours else None


def _line(option: Option, name: str, terms: Terms) -> tuple[Decimal, Decimal]:
    """A total as a + b·input."""
    run, work = option.cost_with_delay(terms.day), option.hours * terms.hour
    if name == "runs":
        return work, run
    if name == "hour":
        return terms.runs * run, option.hours
    return terms.runs * option.run_cost + work, terms.runs * option.days


def _crossing(name: str, best: Option, options: Sequence[Option], terms: Terms) -> Crossing:
    """The nearest value of an input at which another option is better."""
    here = {"runs": terms.runs, "hour": terms.hour, "day": terms.day}[name]
    a, b = _line(best, name, terms)
    found: list[tuple[Decimal, Option]] = []
    for option in options:
        other_a, other_b = _line(option, name, terms)
        if option is not best and other_b != b:
            at = (other_a - a) / (b - other_b)
            if at > 0 and at != here:
                found.append((at, option))
    at, better = min(found, key=lambda pair: abs(pair[0] - here), default=(None, None))
    return Crossing(name, at, better)
