"""PURE. Every offering tried, ranked, and each loser told why.

For an offering and a number of nodes the fastest recipe that fits is taken; of the numbers of nodes, the
cheapest that meets the limits (or, where none does, the one that comes nearest). The chosen plan is never
dominated: no other feasible one is both no slower and no dearer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from fnmatch import fnmatchcase
from itertools import chain, product
from math import inf

from headway.planner.moving import other_currency, unpriced
from headway.planner.predict import memory_bytes, predict, step_seconds
from headway.planner.turning import turning_point
from headway.planner.types import Limits, Offering, PlanResult, Prediction, Recipe, Rival, Verdict, Work

HEADROOM = 0.95  # a closed form is not a trace: the last twentieth is left free
# Capacities whose rates are agreed with the customer: no list price is theirs.
CONTRACTS = frozenset({"reserved", "savings-plan", "block"})
_ORDER = list(Verdict)


def plan(work: Work, offerings: Sequence[Offering], limits: Limits, goal: str = "cheapest") -> PlanResult:
    """Rank all offerings for a piece of work under limits."""
    layouts: Layouts = {}
    rivals = [_judge(work, offering, limits, layouts) for offering in offerings]
    feasible = [rival for rival in rivals if rival.verdict is Verdict.ALTERNATIVE]
    ranked = _rank(feasible, goal)
    losers = [rival for rival in rivals if rival.verdict is not Verdict.ALTERNATIVE]
    losers.sort(key=lambda rival: (_ORDER.index(rival.verdict), rival.offering.key))
    return PlanResult((*ranked, *losers))


def node_counts(offering: Offering, limits: Limits) -> list[int]:
    """Numbers of nodes to try: powers of two and the most, within the job's devices and the pool."""
    most = offering.max_nodes
    if limits.max_devices is not None:
        most = min(most, limits.max_devices // offering.devices)
    counts = {1 << i for i in range(most.bit_length()) if 1 << i <= most} | ({most} if most > 0 else set())
    return sorted(count for count in counts if count * offering.devices >= limits.min_devices)


def shardings(devices: int, nodes: int) -> tuple[str, ...]:
    """What can be sharded: simplest first."""
    if devices == 1:
        return ("ddp",)
    hybrid = ("hsdp",) if 1 < nodes < devices else ()
    return ("ddp", "zero1", "fsdp", *hybrid)


def recipes(work: Work, devices: int, nodes: int = 1) -> Iterator[Recipe]:
    """Every recipe: sharding × recompute × layer techniques × micro-batches that are powers of two."""
    largest = max(1, work.global_batch // devices)
    micro = [1 << i for i in range(largest.bit_length()) if 1 << i <= largest]
    for sharding in shardings(devices, nodes):
        for recompute, lean in product((False, True), (False, True) if work.lean is not None else (False,)):
            for size in micro:
                yield Recipe(sharding, recompute, size, lean)


Layouts = dict[tuple[object, ...], Recipe | None]


def fitting(work: Work, offering: Offering, nodes: int, known: Layouts | None = None) -> Prediction | None:
    """The fastest recipe that fits; at equal speed the simpler sharding, then the larger micro-batch.

    `known` keeps what was found for a piece of work: the same hardware at many places is laid out once.
    """
    layouts: Layouts = {} if known is None else known
    key = (nodes, *offering.hardware)
    if key not in layouts:
        layouts[key] = _fastest(work, offering, nodes)
    recipe = layouts[key]
    return None if recipe is None else predict(work, recipe, offering, nodes)


def _fastest(work: Work, offering: Offering, nodes: int) -> Recipe | None:
    devices = nodes * offering.devices
    if work.global_batch < devices:
        return None
    room, share = HEADROOM * offering.memory_bytes, offering.efficiency.expected
    best: tuple[float, int, int] | None = None
    chosen: Recipe | None = None
    simplest = {name: place for place, name in enumerate(shardings(devices, nodes))}
    for recipe in recipes(work, devices, nodes):
        if memory_bytes(work, recipe, devices, offering.devices) > room:
            continue
        seconds = step_seconds(work, recipe, offering, nodes, share)
        key = (seconds, simplest[recipe.sharding], -recipe.micro_batch)
        if best is None or key < best:
            best, chosen = key, recipe
    return chosen


def _judge(work: Work, offering: Offering, limits: Limits, layouts: Layouts) -> Rival:
    rule = forbidden(offering, limits)
    if rule is not None:
        return Rival(offering, Verdict.FORBIDDEN, None, *rule)
    if limits.processors_only and not offering.processor:
        found_devices: dict[str, object] = {"devices": offering.devices, "name": offering.accelerator_name}
        return Rival(offering, Verdict.UNSUITED, None, "plan.processors_only", found_devices)
    if not ({limits.precision, "fp32"} & offering.peak_flops.keys()):
        values: dict[str, object] = {"precision": limits.precision}
        return Rival(offering, Verdict.UNSUITED, None, "plan.no_precision", values)
    counts = node_counts(offering, limits)
    if not counts:
        return Rival(offering, Verdict.UNSUITED, None, *_wrong_size(offering, limits))
    found = [prediction for nodes in counts if (prediction := fitting(work, offering, nodes, layouts))]
    if not found:
        return _too_small(work, offering, counts)
    if offering.price_per_hour is None:
        return Rival(offering, Verdict.UNPRICED, _quickest(found), *_unpriced(offering))
    return _cannot_move(work, offering) or _within_limits(offering, found, limits)


def _cannot_move(work: Work, offering: Offering) -> Rival | None:
    if (unknown := unpriced(work, offering)) is not None:
        return Rival(offering, Verdict.UNPRICED, None, *unknown)
    if (mixed := other_currency(work, offering)) is not None:
        return Rival(offering, Verdict.UNSUITED, None, *mixed)
    return None


def _within_limits(offering: Offering, found: Sequence[Prediction], limits: Limits) -> Rival:
    deadline = limits.deadline_seconds
    timely = [item for item in found if deadline is None or item.seconds.expected <= deadline]
    if not timely:
        best = _quickest(found)
        values: dict[str, object] = {"seconds": best.seconds.expected, "deadline": deadline}
        return Rival(offering, Verdict.TOO_SLOW, best, "plan.too_slow", values)
    cheapest = min(timely, key=lambda item: (item.cost or Decimal(0), item.seconds.expected))
    if limits.budget is not None and limits.budget_currency != offering.currency:
        values = {"budget": limits.budget_currency, "currency": offering.currency}
        return Rival(offering, Verdict.UNSUITED, cheapest, "plan.budget_currency", values)
    same_money = limits.budget is not None and limits.budget_currency == offering.currency
    if same_money and (cheapest.cost or Decimal(0)) > (limits.budget or Decimal(0)):
        values = {"cost": cheapest.cost, "budget": limits.budget, "currency": offering.currency}
        return Rival(offering, Verdict.OVER_BUDGET, cheapest, "plan.over_budget", values)
    return Rival(offering, Verdict.ALTERNATIVE, cheapest, "plan.alternative", {})


def _quickest(found: Sequence[Prediction]) -> Prediction:
    return min(found, key=lambda item: item.seconds.expected)


def allowed(offering: Offering, limits: Limits) -> bool:
    """Whether the limits let a job go there at all: rules, devices, precision."""
    fits = not limits.processors_only or offering.processor
    return forbidden(offering, limits) is None and fits


def forbidden(offering: Offering, limits: Limits) -> tuple[str, dict[str, object]] | None:
    """The rule of the job by which it may not run there, as a message and its values; None where it may."""
    if "any" not in limits.sites and offering.site not in limits.sites:
        return "plan.site_not_allowed", {"site": offering.site, "allowed": ", ".join(limits.sites)}
    if limits.sensitivity not in offering.sensitivities:
        return "plan.too_sensitive", {"site": offering.site, "sensitivity": limits.sensitivity}
    region = offering.region or ""
    if limits.regions and not any(fnmatchcase(region, pattern) for pattern in limits.regions):
        values: dict[str, object] = {"region": region, "allowed": ", ".join(limits.regions)}
        return ("plan.region_not_allowed" if region else "plan.region_unknown"), values
    if limits.interconnect != "any" and limits.interconnect not in offering.interconnects:
        return "plan.no_interconnect", {"interconnect": limits.interconnect, "instance": offering.instance}
    if limits.latency_seconds is not None and offering.site != limits.data_site:
        latency = offering.latency_seconds
        if latency is None:
            return "plan.latency_unknown", {"site": offering.site}
        if latency > limits.latency_seconds:
            return "plan.too_far", {
                "site": offering.site,
                "seconds": latency,
                "limit": limits.latency_seconds,
            }
    return None


def _wrong_size(offering: Offering, limits: Limits) -> tuple[str, dict[str, object]]:
    """Why no number of machines gives a number of devices that the job may use."""
    devices, least, most = offering.devices, limits.min_devices, limits.max_devices
    if most is not None and devices > most:
        return "plan.machine_too_big", {"devices": devices, "wanted": most}
    if devices * offering.max_nodes < least:
        return "plan.wrong_size", {"most": devices * offering.max_nodes, "needed": least}
    wanted = f"{least}" if least == most else f"{least}..{most}"
    return "plan.no_whole_number", {"devices": devices, "wanted": wanted}


def _unpriced(offering: Offering) -> tuple[str, dict[str, object]]:
    message = "plan.unpriced_contract" if offering.capacity in CONTRACTS else "plan.unpriced"
    where = offering.region or offering.site
    return message, {"capacity": offering.capacity, "instance": offering.instance, "where": where}


def _too_small(work: Work, offering: Offering, counts: Sequence[int]) -> Rival:
    """Why no number of machines held the model: the nearest of them, by its numbers."""
    layouts = [nodes * offering.devices for nodes in counts]
    if work.global_batch < min(layouts):
        values: dict[str, object] = {"devices": min(layouts), "batch": work.global_batch}
        return Rival(offering, Verdict.UNSUITED, None, "plan.batch_below_devices", values)
    devices = max(devices for devices in layouts if devices <= work.global_batch)
    nodes = devices // offering.devices
    needed = min(
        memory_bytes(work, recipe, devices, offering.devices) for recipe in recipes(work, devices, nodes)
    )
    values = {"needed_bytes": needed, "available_bytes": offering.memory_bytes, "devices": devices}
    return Rival(offering, Verdict.TOO_SMALL, None, "plan.too_small", values)


def _rank(feasible: Sequence[Rival], goal: str) -> list[Rival]:
    currencies = sorted({rival.offering.currency for rival in feasible})
    if not currencies:
        return []
    # Amounts of different currencies are not compared: the currency with most offerings is ranked first.
    main = max(currencies, key=lambda code: sum(rival.offering.currency == code for rival in feasible))
    ordered = sorted(feasible, key=lambda rival: (rival.offering.currency != main, *_goal_key(rival, goal)))
    ranked: list[Rival] = []
    # A dominated plan wins at no price of time; at none of carbon either, where its better one's is known.
    race: list[Rival] = []
    best = {code: _front([r for r in feasible if r.offering.currency == code]) for code in currencies}
    for rival in ordered:
        # Nearly all that are dominated are so by the front; where carbon is not known, another may do it.
        candidates = chain(best[rival.offering.currency], feasible)
        better = next((other for other in candidates if _dominates(other, rival)), None)
        if better is None or (_carbon(better) == inf != _carbon(rival)):
            race.append(rival)
        if better is not None:
            values: dict[str, object] = {"better": better.offering.key}
            ranked.append(
                Rival(rival.offering, Verdict.DOMINATED, rival.prediction, "plan.dominated", values)
            )
        elif not any(item.verdict is Verdict.CHOSEN for item in ranked):
            ranked.append(Rival(rival.offering, Verdict.CHOSEN, rival.prediction, f"plan.chosen_{goal}", {}))
        else:
            ranked.append(rival)
    chosen = next((item for item in ranked if item.verdict is Verdict.CHOSEN), None)
    if chosen is not None:
        ranked = [_with_turning_point(item, chosen, race) for item in ranked]
    return sorted(ranked, key=lambda item: _ORDER.index(item.verdict))


def _goal_key(rival: Rival, goal: str) -> tuple[float | Decimal, ...]:
    found = rival.prediction
    assert found is not None
    cost, seconds = found.cost or Decimal(0), Decimal(repr(found.seconds.expected))
    if goal == "fastest":
        return (seconds, cost)
    if goal == "greenest":
        grams = Decimal(repr(found.grams_co2e)) if found.grams_co2e is not None else Decimal("Infinity")
        return (grams, cost, seconds)
    if goal == "balanced":
        return (cost * seconds, cost)
    return (cost, seconds)


def _front(feasible: Sequence[Rival]) -> list[Rival]:
    """Those that none dominates, cheapest first."""
    front: list[Rival] = []
    for rival in sorted(feasible, key=lambda one: (*_goal_key(one, "cheapest"), _carbon(one))):
        if not any(_dominates(other, rival) for other in front):
            front = [other for other in front if not _dominates(rival, other)]
            front.append(rival)
    return front


def _carbon(rival: Rival) -> float:
    grams = rival.prediction.grams_co2e if rival.prediction is not None else None
    return inf if grams is None else grams


def _dominates(left: Rival, right: Rival) -> bool:
    """No slower, no dearer, and better in one; carbon counts where both know it."""
    if left.offering.currency != right.offering.currency:
        return False
    a, b = left.prediction, right.prediction
    assert a is not None
    assert b is not None
    mine, theirs = a.seconds.expected, b.seconds.expected
    if mine > theirs or (a.cost or 0) > (b.cost or 0):
        return False
    less = mine < theirs or (a.cost or 0) < (b.cost or 0)
    if a.grams_co2e is None or b.grams_co2e is None:
        return less
    return a.grams_co2e <= b.grams_co2e and (less or a.grams_co2e < b.grams_co2e)


def _with_turning_point(rival: Rival, chosen: Rival, race: Sequence[Rival]) -> Rival:
    """An alternative with the smallest change that would make it win."""
    same = rival.offering.currency == chosen.offering.currency
    if rival.verdict is not Verdict.ALTERNATIVE or not same:
        return rival
    message, values = turning_point(rival, chosen, race)
    return Rival(rival.offering, rival.verdict, rival.prediction, message, values)
