"""PURE. What the pages of the dashboard show, in the reader's language: pages draw it and compute nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headway.reports.currency import RateTable
from headway.reports.place import Place
from headway.reports.receipt import Receipt, ReceiptRow, Source
from headway.reports.waterfall import Waterfall, waterfalls
from headway.reports.wording import Wording, iso_day
from headway.runs.account import PricedRun, RunPage
from headway.runs.rows import RunRow
from headway.units import Money

PAGE_SIZE = 25


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a table; `lang` where its text is a quotation in a language of its own."""

    text: str
    href: str = ""
    lang: str = ""


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table: its caption, the heads of its columns, its rows, and the columns that hold figures."""

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    right: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class RunsView:
    """The page of runs; `sheet` None where there is nothing to list, which `note` then explains."""

    title: str
    note: str
    sheet: Sheet | None
    previous: str
    following: str


@dataclass(frozen=True, slots=True)
class RunView:
    """One run's receipt."""

    title: str
    chip: str
    totals: tuple[str, ...]
    facts: tuple[tuple[str, str], ...]
    waterfalls: tuple[Waterfall, ...]
    sheets: tuple[Sheet, ...]
    command: str


@dataclass(frozen=True, slots=True)
class Reader:
    """Who reads: where he is, his language, and the rates that he supplied."""

    place: Place
    wording: Wording
    rates: RateTable

    def converted(self, money: Money, run: RunRow) -> str:
        """The amount in the currency that was asked for, with the day of the rate; else why not."""
        wanted = self.place.currency
        if not wanted or wanted == money.currency:
            return ""
        found = self.rates.convert(money, wanted, iso_day(run.ended or run.created))
        if found is None:
            return self.wording.unknown("dashboard.no_rate")
        day = self.wording.day(found.day)
        return self.wording.say("dashboard.converted", amount=self.wording.money(found.money), day=day)


def chip(settled: bool, wording: Wording) -> str:
    """Whether an amount is final: charged, or what it has come to so far."""
    return wording.say("dashboard.charged" if settled else "dashboard.so_far")


def runs_view(page: RunPage, reader: Reader) -> RunsView:
    """The list of runs."""
    say, place = reader.wording.say, reader.place
    title = say("dashboard.runs")
    if not page.runs:
        note = say("dashboard.none_match" if page.in_ledger else "dashboard.empty")
        return RunsView(title, note, None, "", "")
    first = (place.n - 1) * PAGE_SIZE
    numeral = reader.wording.numeral
    note = say(
        "dashboard.shown",
        first=numeral(f"{first + 1:,}"),
        last=numeral(f"{first + len(page.runs):,}"),
        total=numeral(f"{page.total:,}"),
    )
    names = ["run", "state", "team", "created", "cost", "status"]
    head = [say(f"dashboard.head_{name}") for name in names]
    if place.currency:
        head.insert(5, say("dashboard.head_converted", currency=place.currency))
    right = frozenset({4, 5} if place.currency else {4})
    sheet = Sheet(title, tuple(head), tuple(_run_cells(item, reader) for item in page.runs), right)
    more = first + len(page.runs) < page.total
    return RunsView(
        title,
        note,
        sheet,
        place.to(n=place.n - 1) if place.n > 1 else "",
        place.to(n=place.n + 1) if more else "",
    )


def _run_cells(item: PricedRun, reader: Reader) -> tuple[Cell, ...]:
    run, wording = item.run, reader.wording
    cost = " + ".join(wording.money(total) for total in item.totals)
    cells = [
        Cell(run.id, reader.place.to(page="run", run=run.id)),
        Cell(wording.say(f"state.{run.state.value}")),
        Cell(run.team_id),
        Cell(wording.time(run.created)),
        Cell(cost or wording.unknown("dashboard.nothing_used")),
        Cell(chip(item.settled, wording)),
    ]
    if reader.place.currency:
        shown = [reader.converted(total, run) or wording.money(total) for total in item.totals]
        cells.insert(5, Cell(" + ".join(shown) or wording.unknown("dashboard.nothing_used")))
    return tuple(cells)


def run_view(receipt: Receipt, reader: Reader) -> RunView:
    """One run's receipt."""
    say, wording, run = reader.wording.say, reader.wording, receipt.run
    totals = [
        " ".join(filter(None, (wording.money(total), reader.converted(total, run))))
        for total in receipt.totals
    ]
    parts = [
        _lines(receipt, reader),
        _waste(receipt, wording),
        _sources(receipt.sources, wording),
        _attempts(receipt, wording),
        _metrics(receipt, wording),
    ]
    return RunView(
        title=say("dashboard.receipt_of", run=run.id),
        chip=chip(receipt.settled, wording),
        totals=tuple(totals) or (wording.unknown("dashboard.nothing_used"),),
        facts=tuple(_facts(receipt, wording)),
        waterfalls=waterfalls(receipt, wording),
        sheets=tuple(sheet for sheet in parts if sheet.rows),
        command=f"headway receipt {run.id}",
    )


def _facts(receipt: Receipt, wording: Wording) -> list[tuple[str, str]]:
    say, run = wording.say, receipt.run
    state = say(f"state.{run.state.value}")
    if run.failure_class:
        state += f" ({wording.maybe(f'failure.{run.failure_class}', run.failure_class)})"
    methods = ", ".join(wording.maybe(f"method.{name}", name) for name in receipt.joules_method)
    energy = wording.unknown("dashboard.no_energy")
    if receipt.joules is not None:
        energy = f"{wording.joules(receipt.joules)} ({methods})"
    carbon = wording.unknown("dashboard.no_energy" if receipt.joules is None else "dashboard.no_grid")
    if receipt.carbon is not None:
        carbon = say("receipt.carbon", grams=wording.number(receipt.carbon.grams))
    facts = [
        (say("dashboard.head_state"), state),
        (say("dashboard.head_team"), run.team_id),
        (say("dashboard.head_created"), wording.time(run.created)),
        (say("dashboard.head_ended"), wording.time(run.ended)),
        (say("dashboard.energy"), energy),
        (say("dashboard.carbon"), carbon),
    ]
    costs = " · ".join(say(cost.unit, amount=wording.money(cost.amount)) for cost in receipt.unit_costs)
    facts.append((say("dashboard.unit_costs"), costs or wording.unknown("dashboard.no_progress")))
    lost = "; ".join(
        say("receipt.lost", attempt=attempt, reached=reached, back=back)
        for attempt, reached, back in receipt.lost
    )
    reason = run.reason or ""
    more = [("dashboard.done_again", lost), ("dashboard.reason", wording.maybe(reason, reason))]
    return [*facts, *((say(name), value) for name, value in more if value)]


def _lines(receipt: Receipt, reader: Reader) -> Sheet:
    say, wording = reader.wording.say, reader.wording
    names = ("attempt", "what", "quantity", "unit_price", "source", "amount")
    sources = {source.number: source for source in receipt.sources}
    rows = [_line(row, sources[row.source], wording) for row in receipt.rows]
    blank = (Cell(""),) * 4
    rows.extend((Cell(say("receipt.total")), *blank, Cell(wording.exact(total))) for total in receipt.totals)
    head = tuple(say(f"dashboard.head_{name}") for name in names)
    return Sheet(say("dashboard.lines"), head, tuple(rows), frozenset({2, 3, 5}))


def _line(row: ReceiptRow, source: Source, wording: Wording) -> tuple[Cell, ...]:
    say = wording.say
    rate = row.base_quantity / row.seconds if row.seconds else row.base_quantity
    category = wording.maybe(f"receipt.{row.category}", row.category)
    if row.unit == "node-hour":
        detail = say("receipt.nodes", pool=source.offering_key, nodes=wording.number(rate))
        quantity = say("receipt.node_seconds", seconds=wording.numeral(f"{row.base_quantity:,.1f}"))
    elif row.category == "compute":
        detail = say("receipt.cores", cores=wording.number(rate))
        quantity = say("receipt.core_seconds", seconds=wording.numeral(f"{row.base_quantity:,.1f}"))
    else:
        method = wording.maybe(f"method.{row.method}", row.method)
        detail = say("receipt.watts", method=method, watts=wording.number(rate))
        quantity = wording.joules(row.base_quantity)
    unit = wording.maybe(f"unit.{source.unit}", source.unit)
    price = f"{wording.numeral(source.price_text)}\u00a0{source.currency}/{unit}"
    cells = (
        str(row.attempt),
        f"{category}: {detail}",
        quantity,
        price,
        f"[{row.source}]",
        wording.exact(row.amount),
    )
    return tuple(Cell(text) for text in cells)


def _waste(receipt: Receipt, wording: Wording) -> Sheet:
    rows = [
        (
            Cell(wording.say(f"waste.{part.waste.value}")),
            Cell(wording.money(part.amount)),
            Cell(
                wording.unknown("dashboard.total_is_zero")
                if part.share is None
                else wording.percent(part.share)
            ),
        )
        for part in receipt.waste
    ]
    head = tuple(wording.say(f"dashboard.head_{name}") for name in ("spent_on", "amount", "share"))
    return Sheet(wording.say("dashboard.waste"), head, tuple(rows), frozenset({1, 2}))


def _sources(sources: Sequence[Source], wording: Wording) -> Sheet:
    def quoted(text: str, reason: str) -> Cell:
        known = text not in {"", "?"}
        return Cell(text, lang="en") if known else Cell(wording.unknown(reason))

    rows = [
        (
            Cell(f"[{source.number}]"),
            quoted(source.sku, "dashboard.price_gone"),
            quoted(source.snapshot_source, "dashboard.price_gone"),
            Cell(
                wording.unknown("dashboard.price_gone")
                if source.fetched_at is None
                else wording.day(iso_day(source.fetched_at))
            ),
            Cell(source.snapshot_sha[:12] or wording.unknown("dashboard.price_gone")),
            Cell(source.price_id[:12]),
        )
        for source in sources
    ]
    names = ("source", "price_source", "snapshot", "as_of", "snapshot_hash", "price_id")
    head = tuple(wording.say(f"dashboard.head_{name}") for name in names)
    return Sheet(wording.say("dashboard.provenance"), head, tuple(rows))


def _attempts(receipt: Receipt, wording: Wording) -> Sheet:
    rows = [
        (
            Cell(str(attempt.n)),
            Cell(wording.say(f"state.{attempt.state.value}")),
            Cell(wording.time(attempt.started)),
            Cell(wording.time(attempt.ended)),
            Cell(
                wording.unknown("dashboard.not_ended")
                if attempt.ended is None
                else wording.seconds((attempt.ended - attempt.started) / 1_000_000)
            ),
        )
        for attempt in receipt.attempts
    ]
    names = ("attempt", "state", "started", "ended", "duration")
    head = tuple(wording.say(f"dashboard.head_{name}") for name in names)
    return Sheet(wording.say("dashboard.attempts"), head, tuple(rows), frozenset({4}))


def _metrics(receipt: Receipt, wording: Wording) -> Sheet:
    rows = [
        (
            Cell(wording.maybe(f"metric.{name}", name)),
            Cell(wording.number(first, 4)),
            Cell(wording.number(last, 4)),
        )
        for name, first, last in receipt.metrics
    ]
    head = tuple(wording.say(f"dashboard.head_{name}") for name in ("metric", "first", "last"))
    return Sheet(wording.say("dashboard.metrics"), head, tuple(rows), frozenset({1, 2}))
