"""Prices at hand: the package's, those fetched and imported since, and the user's price book over them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path

from headway.catalog.aws_fetch import Fetched, MakeClient, fetch
from headway.catalog.guard import Refused, screen, too_few
from headway.catalog.imported import parse_prices
from headway.catalog.refreshed import PriceSnapshot, Refreshed, Section, current, keep, kept, load, seen
from headway.catalog.snapshot import packaged_prices, snapshot_info
from headway.catalog.table import Change, PriceTable, differences, merged
from headway.catalog.tables import (
    accelerators,
    instance_types,
    microseconds,
    on_demand_prices,
    spot_observations,
)
from headway.catalog.types import PRICE_KINDS, InstanceType, ListedPrice, PriceKind, Snapshot
from headway.costing.layers import Credit, DiscountLayer, Layer, PrivateRate
from headway.errors import ExternalError, NotFoundError, UserError
from headway.settings import Settings
from headway.spec.book import Block, Discount, RateLayer, percent_of
from headway.spec.files import LoadedSites, load_book, load_sites
from headway.spec.sites import AwsSite
from headway.units import Money


@dataclass(frozen=True, slots=True)
class Book:
    """A price book's layers in their order, its credits, and where it stands."""

    layers: tuple[Layer, ...] = ()
    credits: tuple[Credit, ...] = ()
    path: Path | None = None


@dataclass(frozen=True, slots=True)
class Market:
    """All that says what rented machines are and cost."""

    table: PriceTable
    book: Book
    machines: Mapping[tuple[str, str], InstanceType]


def market_of(settings: Settings) -> Market:
    """The user's market: packaged, fetched and imported prices, under the price book."""
    snapshot = current(settings.home)
    return Market(table_of(snapshot), book_of(settings), _machines(snapshot))


def packaged_market() -> Market:
    """What the package alone knows."""
    snapshot = PriceSnapshot({})
    return Market(table_of(snapshot), Book(), _machines(snapshot))


def table_of(snapshot: PriceSnapshot) -> PriceTable:
    """The package's prices with a snapshot's over them."""
    info = snapshot_info()
    if not snapshot.sections:
        dated, sha256, as_of, source = on_demand_prices(), info.sha256, info.as_of, info.source
    else:
        dated = merged(on_demand_prices(), snapshot.prices)
        sha256 = bytes_of(snapshot).sha256
        as_of = max(info.as_of, snapshot.fetched_at or 0)
        source = "; ".join(sorted({section.source for section in snapshot.sections.values()}))
    return PriceTable(tuple(dated), spot_observations(), sha256, as_of, source)


def bytes_of(snapshot: PriceSnapshot) -> Snapshot:
    """The bytes that the prices of a table were read from: what receipts keep and hash again."""
    packaged = packaged_prices()
    if not snapshot.sections:
        return packaged
    return Snapshot(
        packaged.body + snapshot.body,
        f"{packaged.source}; fetched since: {', '.join(sorted(snapshot.sections))}",
        packaged.licence,
        max(packaged.fetched_at, snapshot.fetched_at or 0),
    )


def prices_of(settings: Settings) -> PriceTable:
    """The prices in use."""
    return table_of(current(settings.home))


def _machines(snapshot: PriceSnapshot) -> dict[tuple[str, str], InstanceType]:
    """Hardware by provider and name: the package's, then what was fetched or imported."""
    return {**snapshot.machines, **{("aws", name): kind for name, kind in instance_types().items()}}


def book_of(settings: Settings) -> Book:
    """The user's price book; an empty one where there is none.

    Raises:
        SpecProblems: with everything that is wrong with it.
    """
    path = settings.price_book_path
    if path is None:
        return Book()
    layers: list[Layer] = []
    given: list[Credit] = []
    for layer in load_book(path).spec.layers:
        start, stop = _day(layer.start), _day(layer.until)
        if isinstance(layer, Discount):
            layers.append(
                DiscountLayer(
                    layer.name, percent_of(layer), layer.instances, layer.regions, layer.capacity, start, stop
                )
            )
        elif isinstance(layer, RateLayer):
            layers.append(_rate(layer, start, stop))
        elif isinstance(layer, Block):
            layers.append(_block(layer, start, stop))
        else:
            given.append(Credit(layer.name, layer.amount.amount, layer.amount.currency, start, stop))
    return Book(tuple(layers), tuple(given), path)


def _rate(layer: RateLayer, start: int | None, stop: int | None) -> PrivateRate:
    upfront = layer.upfront or Money.parse(f"0 {layer.price.currency}")
    return PrivateRate(
        layer.name, layer.instance, layer.region, layer.capacity, layer.price.amount, upfront.amount,
        layer.years, layer.price.currency, start, stop,
    )  # fmt: skip


def _block(layer: Block, start: int | None, stop: int | None) -> PrivateRate:
    hours = ((stop or 0) - (start or 0)) // 3_600_000_000 * layer.nodes
    return PrivateRate(
        layer.name, layer.instance, layer.region, "block", layer.fee.amount / hours, layer.fee.amount * 0,
        None, layer.fee.currency, start, stop,
    )  # fmt: skip


def _day(value: str | None) -> int | None:
    return None if value is None else microseconds(value)


Asked = tuple[Sequence[str], Sequence[PriceKind], Sequence[str]]


def asked_by(
    settings: Settings, regions: Sequence[str], kinds: Sequence[str], instances: Sequence[str]
) -> Asked:
    """What to fetch: as said, else every kind for the regions and instance types of the user's sites."""
    sites = [site for site in sites_of(settings).spec.sites if isinstance(site, AwsSite)]
    pools = sorted({pool.instance for site in sites for pool in site.pools})
    return (
        list(regions) or sorted({site.region for site in sites}),
        [kind for kind in PRICE_KINDS if not kinds or kind in kinds],
        list(instances) or pools,
    )


def sites_of(settings: Settings) -> LoadedSites:
    """The user's sites, or the sample that ships with the package."""
    if settings.sites_path is not None:
        return load_sites(settings.sites_path)
    with as_file(files("headway.catalog").joinpath("data", "sites.yaml")) as path:
        return load_sites(path)


def refresh(
    settings: Settings,
    make: MakeClient,
    asked: Asked,
    now: int,
    *,
    jumps: bool = False,
) -> Refreshed:
    """Fetch prices and take over what passes the guard; what fails keeps its older prices.

    `asked` are regions, kinds and instance types; `jumps` accepts large rises and falls.

    Raises:
        ExternalError: nothing at all could be fetched; then nothing is changed.
    """
    before = current(settings.home)
    table = table_of(before)
    taken: dict[str, Section] = {}
    refused: list[Refused] = []
    failed: list[Fetched] = []
    skipped = 0
    fresh: dict[tuple[str, str], ListedPrice] = {}
    for answer in fetch(make, *asked, now):
        name = f"{answer.kind}/{answer.region}"
        skipped += answer.skipped
        known = _known(table, answer, now)
        problem = _problem(answer, known)
        if problem:
            failed.append(Fetched(answer.kind, answer.region, (), answer.skipped, problem))
            continue
        on_demand = {**_on_demand(table, answer.region, now), **fresh}
        prices, bad = screen(answer.prices, known, on_demand, jumps=jumps)
        refused += bad
        if answer.kind == "on-demand":
            fresh.update({(price.instance, price.region): price for price in prices})
        if prices or answer.machines:
            machines = tuple(("aws", machine) for machine in answer.machines)
            taken[name] = Section(name, now, "AWS through boto3", seen(tuple(prices), now), machines)
    if not taken:
        raise ExternalError("refresh.nothing", problems="\n".join(_said(one) for one in failed) or "-")
    after = before.with_sections(taken)
    changes = differences(table, table_of(after), now)
    sha256 = keep(settings.home, after)
    return Refreshed(sha256, tuple(taken.values()), tuple(refused), tuple(failed), skipped, tuple(changes))


def _said(answer: Fetched) -> str:
    return f"{answer.kind}/{answer.region}: {answer.problem}"


def _problem(answer: Fetched, known: dict[tuple[str, ...], ListedPrice]) -> str:
    """Why an answer is not taken over at all; empty where it is."""
    if answer.problem:
        return answer.problem
    if not answer.prices and not answer.machines:
        return "an empty answer"
    few = too_few(answer.prices, known.values()) if answer.kind == "on-demand" else None
    return "" if few is None else f"{few[0]} of {few[1]} known machines: too few to be the whole list"


def _known(table: PriceTable, answer: Fetched, now: int) -> dict[tuple[str, ...], ListedPrice]:
    return {
        price.place: price
        for price in table.all_in_force(now)
        if (price.region, price.capacity, price.provider) == (answer.region, answer.kind, "aws")
    }


def _on_demand(table: PriceTable, region: str, now: int) -> dict[tuple[str, str], ListedPrice]:
    return {
        (price.instance, price.region): price
        for price in table.all_in_force(now)
        if (price.region, price.capacity) == (region, "on-demand")
    }


def compare_with(settings: Settings, name: str | None, now: int) -> tuple[str, list[Change]]:
    """What changed since a kept snapshot (the start of its hash), or since the package's own prices.

    Raises:
        NotFoundError: no snapshot's hash begins so, or more than one does.
    """
    base = PriceSnapshot({})
    if name is not None:
        found = [sha for sha in kept(settings.home) if sha.startswith(name)]
        if len(found) != 1:
            raise NotFoundError("refresh.no_snapshot", name=name, count=len(found))
        base = load(settings.home, found[0])
    return base.sha256, differences(table_of(base), prices_of(settings), now)


def import_prices(settings: Settings, path: Path, now: int) -> tuple[Section, str]:
    """Take over a CSV file of another cloud's prices, whole or not at all; the same file replaces itself.

    Raises:
        UserError: it cannot be read, or says something that is not right.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as problem:
        raise UserError("refresh.unreadable", path=path, problem=problem) from problem
    found = parse_prices(lines, str(path), now, sorted(accelerators()))
    machines = tuple((provider, machine) for (provider, _name), machine in found.machines.items())
    name = f"import/{path.stem}"
    section = Section(name, now, f"imported from {path.name}", found.prices, machines)
    return section, keep(settings.home, current(settings.home).with_sections({name: section}))
