"""PURE. Amounts shown in another currency, by dated rates that the user supplies; never by any other."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from headway.errors import UserError
from headway.units import Money, parse_number

_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
    "November", "December",
)  # fmt: skip
COLUMNS = ("date", "base", "quote", "rate")


@dataclass(frozen=True, slots=True)
class DatedRate:
    """One unit of `base` was worth `rate` units of `quote` on `day` (ISO)."""

    day: str
    base: str
    quote: str
    rate: Decimal


@dataclass(frozen=True, slots=True)
class Converted:
    """An amount in another currency, and the day of the rate."""

    money: Money
    day: str


@dataclass(frozen=True, slots=True)
class RateTable:
    """The user's rates; an empty table converts nothing."""

    rates: tuple[DatedRate, ...] = ()

    @property
    def currencies(self) -> tuple[str, ...]:
        """The currencies that amounts can be shown in."""
        return tuple(sorted({code for rate in self.rates for code in (rate.base, rate.quote)}))

    def convert(self, money: Money, currency: str, day: str) -> Converted | None:
        """The amount at the newest rate that is not younger than `day`; None where the table has none."""
        known = [
            (rate.day, rate.rate if rate.base == money.currency else 1 / rate.rate)
            for rate in self.rates
            if rate.day <= day and {rate.base, rate.quote} == {money.currency, currency}
        ]
        if money.currency == currency or not known:
            return None
        when, factor = max(known, key=lambda pair: pair[0])
        return Converted(Money(money.amount * factor, currency), when)


def parse_rates(lines: Sequence[str], origin: str) -> RateTable:
    """Rates from CSV lines: date, base, quote, rate; or as the European Central Bank publishes them.

    The bank's file has a column a currency and a row a day: units of that currency for one euro.

    Raises:
        UserError: a column is missing, or a line does not say a day, two currencies and a rate above zero.
    """
    reader = csv.DictReader(lines, skipinitialspace=True)
    heads = [name.strip() for name in reader.fieldnames or ()]
    if heads[:1] == ["Date"] and "USD" in heads:
        return _central_bank(reader, origin)
    if tuple(reader.fieldnames or ()) != COLUMNS:
        raise UserError("dashboard.rates_columns", path=origin, columns=",".join(COLUMNS))
    rates: list[DatedRate] = []
    for number, row in enumerate(reader, start=2):
        try:
            day = date.fromisoformat(row["date"]).isoformat()
            rate = parse_number(row["rate"])
            base, quote = Money(rate, row["base"]).currency, Money(rate, row["quote"]).currency
        except (UserError, ValueError, TypeError, AttributeError):
            raise UserError("dashboard.rates_line", path=origin, line=number) from None
        if rate <= 0 or base == quote:
            raise UserError("dashboard.rates_line", path=origin, line=number)
        rates.append(DatedRate(day, base, quote, rate))
    return RateTable(tuple(rates))


def _central_bank(reader: csv.DictReader[str], origin: str) -> RateTable:
    rates: list[DatedRate] = []
    for number, row in enumerate(reader, start=2):
        cells = {(key or "").strip(): (value or "").strip() for key, value in row.items() if key}
        try:
            day = _bank_day(cells.pop("Date"))
            for code, value in cells.items():
                if code and value not in {"", "N/A"}:
                    rate = parse_number(value)
                    if rate <= 0:
                        raise UserError("dashboard.rates_line", path=origin, line=number)
                    rates.append(DatedRate(day, "EUR", Money(rate, code).currency, rate))
        except (UserError, ValueError, KeyError):
            raise UserError("dashboard.rates_line", path=origin, line=number) from None
    return RateTable(tuple(rates))


def _bank_day(value: str) -> str:
    """The history has ISO days, the daily file writes `30 November 2026`."""
    try:
        return date.fromisoformat(value).isoformat()
    except ValueError:
        day, month, year = value.split()
        return date(int(year), _MONTHS.index(month) + 1, int(day)).isoformat()
