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
from headway.costing.layers import draw_credits
from headway.errors import UserError
from headway.runs import bills, queries
from headway.settings import Settings
from headway.units import NANO, Money

MICROSECONDS = 1_000_000


@dataclass(frozen=True, slots=True)
class Spend:
    """Spent of an amount between two days (ISO, the last not included).

    `credits` are what the price book's credits paid of it: they belong to the whole account, so that of one
    team's spend none is counted (`credits_apart`).
    """

    amount: Money
    spent: Money
    left: Money
    share: float
    elapsed_share: float
    projected: Money
    credits: Money
    credits_apart: bool
    runs: int
    first: str
    last: str
    others: tuple[Money, ...]


@dataclass(frozen=True, slots=True)
class _Charge:
    run_id: str
    team: str | None
    at: int
    amount: Decimal
    currency: str


def spend(
    connection: Connection,
    settings: Settings,
    asked: tuple[Money, str | None, str | None, str | None],
    now: int,
) -> Spend:
    """Sum the charges of runs; `asked` are amount, team, first day, day after the last.

    Without days it is the present month. A line counts by when it began.

    Raises:
        UserError: a day is none, the time is empty, or the amount is nothing.
    """
    amount, team, first_day, last_day = asked
    if not amount.amount:
        raise UserError("budget.nothing")
    start, stop = _window(first_day, last_day, now)
    every = _charges(connection, settings)
    inside = [one for one in every if start <= one.at < stop and team in {None, one.team}]
    mine = [one for one in every if one.currency == amount.currency]
    given = () if team is not None else book_of(settings).credits
    drawn = draw_credits([(one.at, one.amount) for one in mine], amount.currency, given, now)
    paid = sum(
        (part for one, part in zip(mine, drawn.paid, strict=True) if start <= one.at < stop), Decimal(0)
    )
    sums: dict[str, Decimal] = defaultdict(Decimal)
    for one in inside:
        sums[one.currency] += one.amount
    gross = sums.pop(amount.currency, Decimal(0))
    elapsed = min(1.0, max(0.0, (now - start) / (stop - start)))
    whole = gross if elapsed in {0.0, 1.0} else gross / Decimal(repr(elapsed))
    return Spend(
        amount=amount,
        spent=Money(gross - paid, amount.currency),
        left=Money(amount.amount - (gross - paid), amount.currency),
        share=float((gross - paid) / amount.amount),
        elapsed_share=elapsed,
        # What credits have left pays what is to come, before the budget does.
        projected=Money(whole - paid - min(drawn.left, whole - gross), amount.currency),
        credits=Money(paid, amount.currency),
        credits_apart=team is not None and bool(book_of(settings).credits),
        runs=len({one.run_id for one in inside}),
        first=_iso(start),
        last=_iso(stop),
        others=tuple(Money(total, code) for code, total in sorted(sums.items()) if total),
    )


def _charges(connection: Connection, settings: Settings) -> list[_Charge]:
    figures = figures_of(settings)
    return [
        _Charge(run.id, run.team_id, line.start, Decimal(line.amount_nano) / NANO, line.currency)
        for run in queries.list_runs(connection, states=(), limit=None)
        for line in (*bills.lines_of(connection, run.id), *open_lines(connection, run.id, figures))
    ]


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
