"""PURE. What an owned machine costs per hour (facts: capital recovery with cost of capital and residual).

    F = [(C·(1+a) − r·C·(1+a)·(1+w)^−L) · crf + m·C + staff + space] / 8760,   crf = w / (1 − (1+w)^−L)

C server price, a add-on for network, storage and spares, r residual as a share, w cost of capital a year,
L life in years, m maintenance a year as a share of C. Energy is priced apart, by what was metered.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, localcontext

from headway.errors import UserError

HOURS_PER_YEAR = Decimal(8760)


@dataclass(frozen=True, slots=True)
class OwnedServer:
    """An owned server's economics; money in one currency, rates as fractions a year."""

    price: Decimal
    add_on_ratio: Decimal
    residual_ratio: Decimal
    cost_of_capital: Decimal
    life_years: Decimal
    maintenance_ratio: Decimal
    yearly_staff_and_space: Decimal = Decimal(0)


def fixed_cost_per_hour(server: OwnedServer) -> Decimal:
    """What the server costs each hour whether or not it is used.

    >>> reference = OwnedServer(*map(Decimal, ("300000", "0.2", "0.1", "0.08", "5", "0.03", "20000")))
    >>> round(fixed_cost_per_hour(reference), 2)
    Decimal('12.90')
    """
    if server.life_years <= 0 or server.price < 0:
        raise UserError("costing.bad_server")
    with localcontext() as context:
        context.prec = 40
        w, years = server.cost_of_capital, server.life_years
        discount = (1 + w) ** -years
        recovery = w / (1 - discount) if w else 1 / years
        capital = server.price * (1 + server.add_on_ratio)
        capital -= capital * server.residual_ratio * discount
        yearly = capital * recovery + server.maintenance_ratio * server.price + server.yearly_staff_and_space
        return yearly / HOURS_PER_YEAR


def cost_per_delivered_hour(fixed_per_hour: Decimal, utilisation: Decimal) -> Decimal:
    """Fixed cost spread over the hours that are really used; `utilisation` in (0, 1]."""
    if not 0 < utilisation <= 1:
        raise UserError("costing.bad_utilisation", value=utilisation)
    return fixed_per_hour / utilisation
