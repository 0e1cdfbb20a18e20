"""Spend against an amount: what runs were charged in a time, and where that leads at this pace."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from sqlalchemy import Connection

from headway.controller.figures import figures_of
from headway.controller.pricing import book_of
from headway.controller.receipts import open_lines
from headway.costing.layers import apply_credits
from headway.errors import UserError
from headway.runs import bills, queries
from headway.settings import Settings
from headway.units import Money

MICROSECONDS = 1_000_000


@dataclass(frozen=True, slots=True)
class Spend:
    """Spent of an amount between two days (ISO, the last not included)."""

    amount: Money
    spent: Money
    left: Money
    share: float
    elapsed_share: float
    projected: Money
    credits: Money
    runs: int
    first: str
    last: str
    others: tuple[Money, ...]


def spend(
    connection: Connection,
    settings: Settings,
    asked: tuple[Money, str | None, str | None, str | None],
    now: int,
) -> Spend:
    """Sum the charges of runs; `asked` are amount, team, first day, day after the last.

    Without days it is the present month. A line counts by when it began.

    Raises:
        UserError: a day is none, or the time is empty.
    """
    amount, team, first_day, last_day = asked
    start, stop = _window(first_day, last_day, now)
    figures = figures_of(settings)
    sums: dict[str, int] = defaultdict(int)
    counted: set[str] = set()
    for run in queries.list_runs(connection, states=(), limit=None):
        if team is not None and run.team_id != team:
            continue
        for line in (*bills.lines_of(connection, run.id), *open_lines(connection, run.id, figures)):
            if start <= line.start < stop:
                sums[line.currency] += line.amount_nano
                counted.add(run.id)
    spent = Money.from_nano(sums.pop(amount.currency, 0), amount.currency)
    after, paid = apply_credits(spent.amount, amount.currency, book_of(settings).credits, now)
    elapsed = min(1.0, max(0.0, (now - start) / (stop - start)))
    projected = after if elapsed in {0.0, 1.0} else after / Decimal(repr(elapsed))
    return Spend(
        amount=amount,
        spent=Money(after, amount.currency),
        left=Money(amount.amount - after, amount.currency),
        share=float(after / amount.amount) if amount.amount else 0.0,
        elapsed_share=elapsed,
        projected=Money(projected, amount.currency),
        credits=Money(paid, amount.currency),
        runs=len(counted),
        first=_iso(start),
        last=_iso(stop),
        others=tuple(Money.from_nano(nano, code) for code, nano in sorted(sums.items()) if nano),
    )


def _window(first: str | None, last: str | None, now: int) -> tuple[int, int]:
    today = datetime.fromtimestamp(now / MICROSECONDS, UTC)
    month = today.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    start = month if first is None else _day(first)
    after = (start.replace(day=1) + timedelta(days=32)).replace(day=1)
    stop = after if last is None else _day(last)
    if stop <= start:
        raise UserError("budget.empty", first=first or _text(start), last=last or _text(stop))
    return int(start.timestamp()) * MICROSECONDS, int(stop.timestamp()) * MICROSECONDS


def _day(value: str) -> datetime:
    try:
        return datetime.strptime(value, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        raise UserError("prices.bad_day", value=value) from None


def _text(moment: datetime) -> str:
    return moment.date().isoformat()


def _iso(microseconds: int) -> str:
    return _text(datetime.fromtimestamp(microseconds / MICROSECONDS, UTC))
