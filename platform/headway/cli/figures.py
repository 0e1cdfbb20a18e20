"""Figures that options take: numbers that are numbers, and amounts of money."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, cast

import click

from headway.messages import text

if TYPE_CHECKING:
    from headway.units import Money

    Kind = click.ParamType[Money]
else:
    Kind = click.ParamType  # not generic in the oldest click that is supported


MOST = 10**15  # of any currency: beyond it somebody mistyped


class Figure(click.FloatRange):
    """A finite number within bounds: to click alone, `nan` is within any."""

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number."""
        found = float(super().convert(cast("Any", value), param, ctx))
        if not math.isfinite(found):
            self.fail(text("units.not_finite", value=str(value)), param, ctx)
        return found


class Amount(Kind):
    """An amount of money such as `400 USD`, not below zero."""

    name = "amount"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Money:
        """The amount."""
        from headway.errors import UserError
        from headway.units import Money

        if isinstance(value, Money):
            return value
        try:
            found = Money.parse(str(value))
        except UserError as error:
            self.fail(str(error), param, ctx)
        if found.amount < 0:
            self.fail(text("units.negative", value=str(value)), param, ctx)
        if found.amount > MOST:
            self.fail(text("units.absurd", value=str(value)), param, ctx)
        return found
