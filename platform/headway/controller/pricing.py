"""Prices at hand: the package's, those fetched and imported since, and the user's price book over them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from importlib.resources import as_file, files
from os.path import lexists
from pathlib import Path

from headway.catalog.aws_fetch import Fetched, MakeClient, fetch
from headway.catalog.guard import Refused, screen, too_few
from headway.catalog.imported import MAX_BYTES, parse_prices, refusal, visible
from headway.catalog.refreshed import (
    IMPORTED,
    PriceSnapshot,
    Refreshed,
    Section,
    current,
    keep,
    kept,
    kept_over,
    load,
    seen,
    usable,
)
from headway.catalog.snapshot import packaged_prices, snapshot_info
from headway.catalog.table import Change, PriceTable, differences, imported_series, merged
from headway.catalog.tables import (
    accelerators,
    grid_factors,
    instance_types,
    microseconds,
    on_demand_prices,
    spot_observations,
)
from headway.catalog.types import PRICE_KINDS, InstanceType, ListedPrice, PriceKind, Snapshot
from headway.costing.layers import Credit, DiscountLayer, Layer, PrivateRate
from headway.errors import DataError, ExternalError, HeadwayError, NotFoundError, UserError
from headway.messages import text
from headway.reports.catalogue import failed_rows
from headway.settings import Settings
from headway.spec.book import Block, BookSpec, Discount, RateLayer, percent_of, unknown_names
from headway.spec.files import LoadedSites, load_sites
from headway.spec.loader import read
from headway.spec.problems import Problem, SpecProblems, show
from headway.spec.sites import AwsSite
from headway.spec.validation import validate
from headway.units import Money

LONGEST_NAME, SHOWN_HOSTS = 100, 3
_REGION = re.compile(r"[a-z]{2}(-[a-z]+)+-\d")


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
    return Market(table_of(snapshot), book_of(settings, snapshot), machines_of(snapshot))


def packaged_market() -> Market:
    """What the package alone knows."""
    snapshot = PriceSnapshot({})
    return Market(table_of(snapshot), Book(), machines_of(snapshot))


def table_of(snapshot: PriceSnapshot) -> PriceTable:
    """The package's prices with a snapshot's over them."""
    info = snapshot_info()
    if not snapshot.sections:
        return PriceTable(on_demand_prices(), spot_observations(), info.sha256, info.as_of, info.source)
    imported = imported_series(price for section in snapshot.imports for price in section.prices)
    sources = sorted({section.source for section in snapshot.sections.values()})
    return PriceTable(
        (*merged(on_demand_prices(), snapshot.fetched), *imported),
        spot_observations(),
        bytes_of(snapshot).sha256,
        max(info.as_of, snapshot.fetched_at or 0),
        "; ".join([info.source, *sources]),
    )


def bytes_of(snapshot: PriceSnapshot) -> Snapshot:
    """The bytes that the prices of a table were read from: what receipts keep and hash again."""
    packaged = packaged_prices()
    if not snapshot.sections:
        return packaged
    return Snapshot(
        packaged.body + snapshot.body,
        f"{packaged.source}; since then: {', '.join(sorted(snapshot.sections))}",
        packaged.licence,
        max(packaged.fetched_at, snapshot.fetched_at or 0),
    )


def prices_of(settings: Settings) -> PriceTable:
    """The prices in use."""
    return table_of(current(settings.home))


def machines_of(snapshot: PriceSnapshot) -> dict[tuple[str, str], InstanceType]:
    """Hardware by provider and name: the package's, then what was fetched or imported."""
    return {**snapshot.machines, **{("aws", name): kind for name, kind in instance_types().items()}}


def book_path_of(settings: Settings) -> Path | None:
    """Where the user's price book is, also one that is no file: that is told, not passed over."""
    usual = settings.home / "prices.yaml"
    return settings.price_book_path or (usual if lexists(usual) else None)


def book_of(settings: Settings, snapshot: PriceSnapshot | None = None) -> Book:
    """The user's price book; an empty one where there is none.

    `snapshot` is the one in use, whose machines and regions layers may speak of; else it is looked up.

    Raises:
        SpecProblems: with everything that is wrong with it, names that nobody knows included.
    """
    path = book_path_of(settings)
    if path is None:
        return Book()
    document = read(path)
    spec = validate(BookSpec, document)
    found = snapshot or usable(settings.home)[0]
    problems: list[Problem] = []
    for one in unknown_names(spec, _instances(found), _regions(settings, found)):
        place = document.positions.value(one.at)
        problems.append(Problem(place.file, place.line, place.column, one.at, one.message, one.values))
    if problems:
        raise SpecProblems(problems)
    layers: list[Layer] = []
    given: list[Credit] = []
    for layer in spec.layers:
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


def _instances(snapshot: PriceSnapshot) -> set[str]:
    """The names of AWS's machines: those that have a price, or whose hardware is known."""
    priced = {price.instance for price in (*on_demand_prices(), *spot_observations(), *snapshot.fetched)}
    return priced | {name for provider, name in machines_of(snapshot) if provider == "aws"}


def _regions(settings: Settings, snapshot: PriceSnapshot) -> set[str]:
    """AWS's regions, as prices, grids and the user's sites name them."""
    priced = {price.region for price in (*on_demand_prices(), *spot_observations(), *snapshot.fetched)}
    try:
        own = {site.region for site in sites_of(settings).spec.sites if isinstance(site, AwsSite)}
    except HeadwayError:  # it is told where sites are used; a budget needs none
        own = set[str]()
    return priced | own | {name for name in grid_factors() if _REGION.fullmatch(name)}


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
    before, aside = usable(settings.home)
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
            failed.append(replace(answer, prices=(), machines=(), problem=problem))
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
        raise _nothing(failed)
    after = before.with_sections(taken)
    table_after = table_of(after)
    return Refreshed(
        keep(settings.home, after),
        table_after.sha256,
        tuple(taken.values()),
        tuple(refused),
        tuple(failed),
        skipped,
        tuple(differences(table, table_after, now)),
        aside,
    )


def _nothing(failed: Sequence[Fetched]) -> ExternalError:
    """Why nothing at all could be fetched, each reason once."""
    rows = failed_rows(failed)
    causes = {one.cause for one in failed}
    if causes == {"network"}:
        hosts = sorted({"/".join(one.endpoint.split("/")[:3]) for one in failed})
        more = [f"… (+{len(hosts) - SHOWN_HOSTS})"] if len(hosts) > SHOWN_HOSTS else []
        return ExternalError("refresh.unreachable", endpoints=", ".join([*hosts[:SHOWN_HOSTS], *more]))
    if causes == {"credentials"}:
        return ExternalError("refresh.no_credentials", problem="; ".join(row["problem"] for row in rows))
    said = "\n".join(f"{row['section']}: {row['problem']}" for row in rows)
    return ExternalError("refresh.nothing", problems=said or "-")


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
    """What changed since a kept snapshot, or since the package's own prices.

    `name` is the start of the hash that plans and receipts show, or of the kept file's.

    Raises:
        NotFoundError: no snapshot's hash begins so, or more than one does.
    """
    base = PriceSnapshot({})
    if name is not None and not packaged_prices().sha256.startswith(name):
        found = [sha for sha in kept(settings.home) if sha.startswith(name)]
        found = found or kept_over(settings.home, packaged_prices().body, name)
        if len(found) != 1:
            raise NotFoundError("refresh.no_snapshot", name=visible(name), count=len(found))
        base = load(settings.home, found[0])
    return base.sha256, differences(table_of(base), prices_of(settings), now)


@dataclass(frozen=True, slots=True)
class Taken:
    """What an import did; `sha256` is the hash that plans and receipts show from now on.

    `replaced` is the import of the same name before it; `unchanged` says that it was the same, and that
    nothing was done; `aside` is a damaged snapshot that was not used.
    """

    section: Section
    sha256: str
    replaced: Section | None = None
    unchanged: bool = False
    aside: DataError | None = None


def import_prices(settings: Settings, path: Path, now: int, name: str | None = None) -> Taken:
    """Take over a CSV file of another cloud's prices, whole or not at all, in place of its name's import.

    Raises:
        NotFoundError: there is no such file.
        UserError: it cannot be read, or says something that is not right.
    """
    shown = visible(path)
    raw = _bytes(path, shown)
    label = visible(path.stem) if name is None else name.strip()
    if not label or len(label) > LONGEST_NAME or not label.isprintable():
        raise UserError("import.bad_name", value=show(label))
    found = parse_prices(_decoded(raw, shown), shown, now, accelerators())
    before, aside = usable(settings.home)
    key, digest = f"{IMPORTED}{label}", hashlib.sha256(raw).hexdigest()
    old = before.sections.get(key)
    if old is not None and old.digest == digest and not _overruled(old, before):
        return Taken(old, table_of(before).sha256, unchanged=True)
    machines = tuple((provider, machine) for (provider, _name), machine in found.machines.items())
    source = f"imported from {visible(path.name)}"
    section = Section(key, now, source, found.prices, machines, shown, digest)
    after = before.with_sections({key: section})
    keep(settings.home, after)
    return Taken(section, table_of(after).sha256, old, aside=aside)


def _overruled(section: Section, snapshot: PriceSnapshot) -> bool:
    """Whether a later import states prices of the same places."""
    places = {price.place for price in section.prices}
    later = snapshot.imports[snapshot.imports.index(section) + 1 :]
    return any(price.place in places for one in later for price in one.prices)


def _bytes(path: Path, shown: str) -> bytes:
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise NotFoundError("import.no_file", path=shown) from None
    except IsADirectoryError:
        raise UserError("import.is_folder", path=shown) from None
    except (OSError, ValueError) as problem:
        said = getattr(problem, "strerror", None) or problem
        raise UserError("import.unreadable", path=shown, problem=said) from None
    if len(raw) > MAX_BYTES:
        raise UserError("import.too_large", path=shown, limit=MAX_BYTES // 2**20)
    return raw


def _decoded(raw: bytes, shown: str) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = raw.count(b"\n", 0, problem.start) + 1
        raise refusal([f"{shown}:{line}  {text('import.not_utf8')}"]) from None


def forget(settings: Settings, name: str) -> tuple[Section, str, str]:
    """Take an import out of force: what it was, the hash of the snapshot that keeps it, that of prices now.

    Raises:
        NotFoundError: nothing was imported under that name.
    """
    before = current(settings.home)
    section = before.sections.get(f"{IMPORTED}{name}")
    if section is None:
        near = get_close_matches(name, [one.label for one in before.imports], n=3)
        if near:
            raise NotFoundError("import.no_import_near", name=show(name), near=", ".join(near))
        raise NotFoundError("import.no_import", name=show(name))
    after = before.without(section.name)
    keep(settings.home, after)
    return section, before.sha256, table_of(after).sha256


def imports_of(settings: Settings) -> tuple[Section, ...]:
    """What was imported, the oldest first."""
    return current(settings.home).imports
