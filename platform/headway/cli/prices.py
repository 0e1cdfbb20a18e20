"""`headway prices`: the prices that plans use, and where each comes from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headway.catalog.types import PRICE_KINDS
from headway.cli.render import columns, emit, output_option, say
from headway.messages import text

if TYPE_CHECKING:
    from headway.catalog.table import PriceTable
    from headway.catalog.types import ListedPrice
    from headway.settings import Settings


@click.group("prices", help=text("cli.prices"))
def command() -> None:
    """Prices of the catalogue."""


@command.command("list", help=text("cli.prices_list"))
@click.option("--region", help=text("cli.region"))
@click.option("--at", "at_day", metavar="YYYY-MM-DD", help=text("cli.at"))
@click.option("--accelerated", is_flag=True, help=text("cli.accelerated"))
@output_option
def list_prices(region: str | None, at_day: str | None, accelerated: bool, output: str) -> None:
    """List the prices in force on a day (default: today)."""
    import time

    from headway.catalog.refreshed import current
    from headway.controller.pricing import machines_of, table_of
    from headway.settings import Settings

    at = time.time_ns() // 1000 if at_day is None else _day(at_day)
    settings = Settings.load()
    snapshot = current(settings.home)
    table = table_of(snapshot)
    found = [
        price
        for price in (*table.dated, *table.observed)
        if (region is None or price.region == region)
        and (price.effective_from <= at or not price.dated)
        and (price.effective_to is None or at < price.effective_to)
    ]
    if accelerated:
        types = machines_of(snapshot)
        found = [
            price
            for price in found
            if (kind := types.get((price.provider, price.instance))) and kind.accelerator
        ]
    if region is not None and not found:
        _unpriced(region)
    _emit(found, output, table, settings)


@command.command("show", help=text("cli.prices_show"))
@click.argument("instance")
@click.option("--region", help=text("cli.region"))
@output_option
def show(instance: str, region: str | None, output: str) -> None:
    """Show every price of an instance type, also past ones."""
    from headway.catalog.tables import instance_types
    from headway.controller.pricing import prices_of
    from headway.errors import NotFoundError
    from headway.settings import Settings

    settings = Settings.load()
    table = prices_of(settings)
    every = [price for price in (*table.dated, *table.observed) if price.instance == instance]
    found = [price for price in every if region is None or price.region == region]
    if not every and instance not in instance_types():
        import difflib

        near = difflib.get_close_matches(instance, instance_types(), n=3)
        if near:
            raise NotFoundError("prices.no_instance_near", instance=instance, near=", ".join(near))
        raise NotFoundError("prices.no_instance", instance=instance)
    if not found:
        _unpriced(region or instance)
    _emit(found, output, table, settings)


@command.command("refresh", help=text("cli.prices_refresh"))
@click.option("--region", "regions", multiple=True, help=text("cli.refresh_region"))
@click.option("--only", "kinds", multiple=True, type=click.Choice(PRICE_KINDS), help=text("cli.refresh_only"))
@click.option("--instance", "instances", multiple=True, help=text("cli.refresh_instance"))
@click.option("--accept-jumps", is_flag=True, help=text("cli.accept_jumps"))
@output_option
def refresh_prices(
    regions: tuple[str, ...],
    kinds: tuple[str, ...],
    instances: tuple[str, ...],
    accept_jumps: bool,
    output: str,
) -> int:
    """Fetch prices from AWS; what the guard refuses keeps its older price."""
    import time

    from headway.catalog.aws_fetch import boto3_clients
    from headway.controller.pricing import asked_by, refresh
    from headway.reports.catalogue import failed_rows, refreshed_document
    from headway.settings import Settings

    settings = Settings.load()
    now = time.time_ns() // 1000
    asked = asked_by(settings, regions, kinds, instances)
    done = refresh(settings, boto3_clients(), asked, now, jumps=accept_jumps)
    document = refreshed_document(done)
    if document["left_aside"] is not None:
        say(text("prices.left_aside", problem=document["left_aside"]))
    emit(output, document, document["sections"], lambda: _refreshed(document, failed_rows(done.failed)))
    return 7 if done.failed else 0


def _refreshed(document: dict[str, Any], failed: list[dict[str, str]]) -> str:
    lines = [text("prices.section", **section) for section in document["sections"]]
    lines += [text("prices.change", **change) for change in document["changes"]]
    lines += [text("prices.refused", **{**row, "why": text(row["why"])}) for row in document["refused"]]
    lines += [text("prices.failed", **row) for row in failed]
    if document["skipped"]:
        lines.append(text("prices.skipped", count=document["skipped"]))
    return "\n".join([*lines, text("prices.current", sha=document["sha256"][:12])])


@command.command("diff", help=text("cli.prices_diff"))
@click.argument("snapshot", required=False)
@output_option
def diff(snapshot: str | None, output: str) -> None:
    """What is priced otherwise than in a kept snapshot, or than in the package."""
    import time

    from headway.controller.pricing import compare_with
    from headway.reports.catalogue import change_rows
    from headway.settings import Settings

    _sha, changes = compare_with(Settings.load(), snapshot, time.time_ns() // 1000)
    rows = change_rows(changes)
    lines = [text("prices.change", **row) for row in rows] or [text("prices.same")]
    emit(output, {"schema_version": 1, "changes": rows}, rows, lambda: "\n".join(lines))


@command.command("import", help=text("cli.prices_import"))
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--as", "name", metavar="NAME", help=text("cli.import_as"))
@output_option
def import_file(file: Path, name: str | None, output: str) -> None:
    """Take over a CSV file of another cloud's prices."""
    import time

    from headway.controller.pricing import import_prices
    from headway.reports.catalogue import day, import_rows
    from headway.settings import Settings

    done = import_prices(Settings.load(), file, time.time_ns() // 1000, name)
    section, sha = done.section, done.sha256[:12]
    shown: dict[str, object] = {"name": section.label, "count": len(section.prices), "sha": sha}
    if done.aside is not None:
        say(text("prices.left_aside", problem=done.aside))
    if done.replaced is not None:
        (row,) = import_rows([done.replaced])
        say(text("prices.replaced", count=row["prices"], day=row["imported"], file=row["file"]))
    if done.unchanged:
        said = text("prices.unchanged", **shown, day=day(section.fetched_at))
    else:
        said = text("prices.imported", **shown, file=section.file)
    document: dict[str, Any] = {
        "schema_version": 1,
        "section": section.name,
        "name": section.label,
        "prices": len(section.prices),
        "sha256": done.sha256,
        "unchanged": done.unchanged,
        "replaced": None if done.replaced is None else import_rows([done.replaced])[0],
        "left_aside": None if done.aside is None else str(done.aside),
    }
    emit(output, document, [document], lambda: said)


@command.command("imports", help=text("cli.prices_imports"))
@output_option
def list_imports(output: str) -> None:
    """List what was imported."""
    from headway.controller.pricing import imports_of
    from headway.reports.catalogue import import_rows
    from headway.settings import Settings

    rows = import_rows(imports_of(Settings.load()))
    head = [
        text("prices.head_import"),
        text("prices.head_day"),
        text("prices.head_count"),
        text("prices.head_file"),
    ]
    cells = [[row["name"], row["imported"], str(row["prices"]), row["file"]] for row in rows]
    table = columns([head, *cells], right=(2,)) if rows else text("prices.no_imports")
    emit(output, {"schema_version": 1, "imports": rows}, rows, lambda: table)


@command.command("forget", help=text("cli.prices_forget"))
@click.argument("name")
@output_option
def forget_import(name: str, output: str) -> None:
    """Take the prices of an import out of force."""
    from headway.controller.pricing import forget
    from headway.reports.catalogue import import_rows
    from headway.settings import Settings

    section, kept, sha256 = forget(Settings.load(), name)
    (row,) = import_rows([section])
    said = text(
        "prices.forgotten",
        name=row["name"],
        count=row["prices"],
        day=row["imported"],
        file=row["file"],
        sha=sha256[:12],
        kept=kept[:12],
    )
    document = {"schema_version": 1, "forgotten": row, "kept": kept, "sha256": sha256}
    emit(output, document, [document], lambda: said)


def _day(value: str) -> int:
    from headway.catalog.tables import microseconds
    from headway.errors import UserError

    try:
        return microseconds(value)
    except ValueError:
        raise UserError("prices.bad_day", value=value) from None


def _unpriced(what: str) -> None:
    from headway.errors import NotFoundError

    raise NotFoundError("prices.unpriced", what=what)


def _emit(found: list[ListedPrice], output: str, table: PriceTable, settings: Settings) -> None:
    from headway.controller.pricing import book_path_of
    from headway.reports.catalogue import day, price_rows
    from headway.reports.document import SCHEMA_VERSION

    rows = price_rows(found)
    snapshot = {"sha256": table.sha256, "as_of": day(table.as_of), "source": table.source}
    head = [text(f"prices.{name}") for name in ("instance", "region", "capacity", "price", "from", "to")]
    cells = [
        [
            row["instance"],
            row["region"],
            row["capacity"],
            f"{row['price_per_hour']} {row['currency']}",
            row["from"] or text("prices.undated"),
            row["to"] or "",
        ]
        for row in rows
    ]
    book = book_path_of(settings)
    named = None if book is None else str(book)
    document = {"schema_version": SCHEMA_VERSION, "snapshot": snapshot, "price_book": named, "prices": rows}
    emit(output, document, rows, lambda: columns([head, *cells], right=(3,)))
    if output == "table":
        say(text("prices.snapshot", date=snapshot["as_of"], sha=table.sha256[:12], source=table.source))
        if book is not None:
            say(text("prices.not_book", path=book))
