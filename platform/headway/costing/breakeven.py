"""PURE. Owned against rented: hours and utilisation at which they cost the same, and how many to own.

F is what an owned node costs each hour used or not (`costing.owned`), E its energy per hour of use, p the
rented node's price. Below a utilisation of F / (p − E) renting is cheaper. The n-th node pays for itself if
the demand reaches n for more than that share of the hours (the newsvendor's rule).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from headway.costing.owned import cost_per_delivered_hour
from headway.errors import UserError

HOURS_PER_MONTH = Decimal(730)


@dataclass(frozen=True, slots=True)
class OwnedHour:
    """One hour of an owned node, three ways, which answer three questions.

    `marginal`: what an hour more costs (energy). `fair_share`: what an hour that was used has to bear.
    `target`: what it would have to bear at the utilisation that was planned.
    """

    marginal: Decimal
    fair_share: Decimal
    target: Decimal


def owned_hour(fixed: Decimal, energy: Decimal, used: Decimal, planned: Decimal) -> OwnedHour:
    """The three figures from F, E and two utilisations in (0, 1]."""
    return OwnedHour(
        energy,
        cost_per_delivered_hour(fixed, used) + energy,
        cost_per_delivered_hour(fixed, planned) + energy,
    )


def mean_tariff(stretches: Sequence[tuple[Decimal, Decimal]]) -> Decimal:
    """The mean price of a day's (hours, price per kWh), for a machine that runs round the clock."""
    hours = sum((length for length, _price in stretches), Decimal(0))
    if not hours:
        raise UserError("costing.no_tariff")
    return sum((length * price for length, price in stretches), Decimal(0)) / hours


def energy_per_hour(
    kilowatts: Decimal, pue: Decimal, per_kwh: Decimal, per_kilowatt_month: Decimal = Decimal(0)
) -> Decimal:
    """Energy at the building's wall for one hour, with a demand charge on the peak where there is one."""
    return kilowatts * pue * (per_kwh + per_kilowatt_month / HOURS_PER_MONTH)


def colo_per_hour(committed_kilowatts: Decimal, per_kilowatt_month: Decimal) -> Decimal:
    """Rent of a rack place by committed power; all-in rates replace energy, cooling and space."""
    return committed_kilowatts * per_kilowatt_month / HOURS_PER_MONTH


def hours_to_break_even(capital: Decimal, own_per_hour: Decimal, rented_per_hour: Decimal) -> Decimal | None:
    """Hours of use after which buying has cost less than renting; None where it never does.

    >>> round(hours_to_break_even(Decimal(833806), Decimal("0.87"), Decimal("98.32")))
    8556
    """
    saved = rented_per_hour - own_per_hour
    return capital / saved if saved > 0 else None


def break_even_utilisation(fixed: Decimal, energy: Decimal, rented_per_hour: Decimal) -> Decimal | None:
    """The share of hours above which owning is cheaper; None where it is not even at all hours."""
    saved = rented_per_hour - energy
    share = fixed / saved if saved > 0 else None
    return share if share is not None and share <= 1 else None


def nodes_to_own(
    demand: Sequence[int], fixed: Decimal, energy: Decimal, rented_per_hour: Decimal
) -> tuple[int, Decimal]:
    """How many nodes to own for a demand of nodes hour by hour, and what the hours then cost in all."""

    def cost(owned: int) -> Decimal:
        own = sum(min(wanted, owned) for wanted in demand)
        rented = sum(max(0, wanted - owned) for wanted in demand)
        return owned * fixed * len(demand) + own * energy + rented * rented_per_hour

    owned = 0
    share = break_even_utilisation(fixed, energy, rented_per_hour)
    if share is not None and demand:
        while sum(wanted > owned for wanted in demand) > share * len(demand):
            owned += 1
    return owned, cost(owned)
