"""PURE. A run's carbon: of the energy it used, and of making the machines it used.

    operational = kWh of the machines · PUE · grams per kWh of the grid
    embodied    = kg of the server · node-hours / (hours of its life · utilisation) · share of the node

Sources differ by up to 70 % for one region, so every figure names its own and shows the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from headway.errors import UserError


@dataclass(frozen=True, slots=True)
class Sourced:
    """A factor and who says so."""

    value: Decimal
    source: str


@dataclass(frozen=True, slots=True)
class RunCarbon:
    """Grams of CO2e; `operational_alternatives` are what other sources' grid factors would give.

    A part that no source tells is None, and the total then counts the other alone and says so.
    """

    operational_grams: Decimal | None
    operational_source: str
    operational_alternatives: tuple[Sourced, ...]
    embodied_grams: Decimal | None
    embodied_source: str

    @property
    def known_grams(self) -> Decimal | None:
        """The sum of what is known; None of nothing."""
        known = [part for part in (self.operational_grams, self.embodied_grams) if part is not None]
        return sum(known, Decimal(0)) if known else None


def operational(kwh: Decimal, pue: Decimal, grid: Sourced) -> Decimal:
    """Grams of the energy used; `kwh` at the machines."""
    return kwh * pue * grid.value


def embodied(
    server_kg: Decimal,
    node_hours: Decimal,
    life_hours: Decimal,
    utilisation: Decimal = Decimal(1),
    share: Decimal = Decimal(1),
) -> Decimal:
    """Grams of making the servers: their part of a life of used hours.

    Raises:
        UserError: the life or the utilisation is not above zero.
    """
    if life_hours <= 0 or not 0 < utilisation <= 1:
        raise UserError("costing.bad_life", hours=life_hours, value=utilisation)
    return server_kg * 1000 * node_hours / (life_hours * utilisation) * share


def run_carbon(
    kwh: Decimal | None, pue: Decimal, grids: Sequence[Sourced], making: tuple[Decimal, str] | None
) -> RunCarbon:
    """Both parts; the first grid factor counts, the others are shown beside it.

    `making` is the embodied part in grams and its source.
    """
    grams: Decimal | None = None
    others: tuple[Sourced, ...] = ()
    if kwh is not None and grids:
        grams = operational(kwh, pue, grids[0])
        others = tuple(Sourced(operational(kwh, pue, grid), grid.source) for grid in grids[1:])
    return RunCarbon(
        grams,
        grids[0].source if grids else "",
        others,
        None if making is None else making[0],
        "" if making is None else making[1],
    )
