"""PURE. What moves between sites for a run, how long that takes and what it costs.

The data go once to where the run is, and the trained weights go back to the data. Leaving a site costs by its
tiers; entering one is free. Machines are not rented while data move.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from headway.costing.tiers import tiered
from headway.planner.types import Egress, Offering, Work

BYTES_PER_GB = 10**9
# Between sites, assumed: a gigabit a second.
WIDE_AREA_BYTES_PER_SECOND = 125e6


@dataclass(frozen=True, slots=True)
class Leg:
    """Bytes that leave a site for another."""

    site: str
    moved_bytes: int
    egress: Egress | None

    @property
    def seconds(self) -> float:
        """How long they take over the wide area."""
        return self.moved_bytes / WIDE_AREA_BYTES_PER_SECOND


@dataclass(frozen=True, slots=True)
class Moved:
    """The cost of some legs in one currency, without those of the sites whose price is `unknown`."""

    cost: Decimal
    unknown: tuple[str, ...]


def legs(work: Work, offering: Offering) -> tuple[Leg, ...]:
    """What moves for a run at an offering: the data in, the weights back; nothing where the data are."""
    if work.data_site is None or work.data_site == offering.site:
        return ()
    data = Leg(work.data_site, work.data_bytes or 0, work.data_egress)
    return data, Leg(offering.site, work.profile.weight_bytes, offering.egress)


def moved(found: Iterable[Leg]) -> Moved:
    """The cost of legs; all known prices are in one currency (`problem` tells beforehand)."""
    cost, unknown = Decimal(0), list[str]()
    for leg in found:
        if leg.egress is not None:
            cost += tiered(Decimal(leg.moved_bytes) / BYTES_PER_GB, leg.egress.tiers).amount
        elif leg.moved_bytes:
            unknown.append(leg.site)
    return Moved(cost, tuple(unknown))


def unpriced(work: Work, offering: Offering) -> tuple[str, dict[str, object]] | None:
    """Why what bringing the data to an offering costs is not known; None where it is, or nothing moves."""
    if not legs(work, offering):
        return None
    if work.data_bytes is None:
        return "plan.data_size_unknown", {"site": work.data_site}
    if work.data_bytes and work.data_egress is None:
        return "plan.data_egress_unknown", {"site": work.data_site}
    return None


def other_currency(work: Work, offering: Offering) -> tuple[str, dict[str, object]] | None:
    """Why what moves cannot be added to an offering's price; None where it can."""
    for leg in legs(work, offering):
        if leg.egress is not None and leg.egress.currency != offering.currency:
            values: dict[str, object] = {
                "site": leg.site,
                "given": leg.egress.currency,
                "currency": offering.currency,
            }
            return "plan.moving_currency", values
    return None
