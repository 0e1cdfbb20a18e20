"""Adding an owned server to the user's sites file, and what a GPU-hour of it costs."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import cast

from headway.catalog.tables import accelerators
from headway.costing.owned import OwnedServer, cost_per_delivered_hour, fixed_cost_per_hour
from headway.errors import ConfigError, UserError
from headway.settings import Settings
from headway.spec.loader import Document, parse, read
from headway.spec.problems import KeyPath, Problem, SpecProblems
from headway.spec.sites import SitesSpec
from headway.spec.validation import validate
from headway.spec.written import written
from headway.units import Money

LIFE_YEARS = Decimal(5)
RESIDUAL = Decimal("0.1")
COST_OF_CAPITAL = Decimal("0.08")
PUE = Decimal("1.4")
# What the command line calls the keys of a site: its problems are named so.
_OPTIONS: dict[KeyPath, str] = {
    ("name",): "NAME",
    ("currency",): "--price",
    ("server", "price"): "--price",
    ("server", "gpus"): "--gpus",
    ("server", "accelerator"): "--accelerator",
    ("power_watts",): "--watts",
    ("tariff",): "--tariff",
    ("utilisation",): "--use",
}
# What a file that lacks only its sites may be told off for.
_ONLY_EMPTY = {((), "spec.no_sites"), (("sites",), "spec.no_value")}
_NO_SITES = re.compile(
    r"(?P<key>(?P<quote>[\"']?)sites(?P=quote)\s*:)\s*(?:\[\s*\])?\s*(?P<note>#[^\r]*)?\r?"
)
_ITEM = re.compile(r"(?P<indent> *)-(?:\s|$)")


@dataclass(frozen=True, slots=True)
class NewSite:
    """An owned server as the command line describes it; `use` is the share of its hours that it works."""

    name: str
    server: Money
    gpus: int
    watts: float
    per_kwh: Money
    accelerator: str
    use: float


def gpu_hour_prices(site: NewSite, shares: Sequence[str]) -> list[tuple[str, Decimal]]:
    """What one GPU-hour costs at some utilisations: amortised price over use, plus energy.

    Raises:
        ConfigError: price and tariff are in different currencies.
    """
    if site.server.currency != site.per_kwh.currency:
        raise ConfigError("sites.two_currencies", price=site.server.currency, tariff=site.per_kwh.currency)
    fixed = fixed_cost_per_hour(
        OwnedServer(site.server.amount, Decimal(0), RESIDUAL, COST_OF_CAPITAL, LIFE_YEARS, Decimal(0))
    )
    energy = Decimal(repr(site.watts)) / 1000 * PUE * site.per_kwh.amount
    return [
        (share, (cost_per_delivered_hour(fixed, Decimal(share)) + energy) / site.gpus) for share in shares
    ]


def add_site(settings: Settings, site: NewSite) -> Path:
    """Write the site into the user's sites file, whole or not at all; gives the file.

    The rest of the file stays as it is, comments included. A file that is laid out in another way than one
    site below the other is left alone.

    Raises:
        UserError: the accelerator is not known, the name is taken, or the file cannot be added to.
        SpecProblems: a figure is not right, or the file was not right before.
    """
    if site.accelerator not in accelerators():
        raise UserError("sites.not_accelerator", accelerator=site.accelerator)
    check_site(site)
    given = settings.sites_path or settings.home / "sites.yaml"
    path = given.resolve()
    before = _existing(path)
    if before is None:
        after = "version: 1\nsites:\n" + site_block(site, "  ")
        if path.is_file():  # nothing but comments
            notes = _text(path)
            after = f"{notes.rstrip()}\n{after}".lstrip("\n")
            after = after.replace("\r\n", "\n").replace("\n", _line_end(notes))
    else:
        _check_free(before, site.name, given)
        after = _inserted(_text(path), site, before, given)
    _replace(path, after)
    return given


def site_block(site: NewSite, indent: str) -> str:
    """The site as an item of a list, its dash so far from the margin."""
    currency = site.server.currency
    server = f"price: {site.server.amount:f} {currency}, cores: 64, gpus: {site.gpus}"
    server += f", accelerator: {site.accelerator}"
    lines = [
        f"- name: {written(site.name)}",
        "  kind: owned",
        f"  currency: {currency}",
        f"  server: {{{server}}}",
        f"  life_years: {LIFE_YEARS}",
        f"  residual: {RESIDUAL}",
        f"  cost_of_capital: {COST_OF_CAPITAL}",
        f"  utilisation: {_number(site.use)}",
        f"  power_watts: {_number(site.watts)}",
        f"  pue: {PUE}",
        f"  tariff: {site.per_kwh.amount:f} {site.per_kwh.currency}",
        "  pools:",
        "    - {name: gpus, max_nodes: 1}",
    ]
    return "".join(f"{indent}{line}\n" for line in lines)


def check_site(site: NewSite) -> None:
    """Refuse what no sites file may say, by the command line's own names for it.

    Raises:
        SpecProblems: with every wrong figure.
    """
    block = site_block(site, "").split("\n", 1)[1]
    alone = f"version: 1\nsites:\n- name: {json.dumps(site.name)}\n{block}"
    try:
        validate(SitesSpec, parse(alone, "sites add owned"))
    except SpecProblems as error:
        named = [
            Problem(_OPTIONS.get(one.path[2:], one.file), 0, 0, (), one.message, one.values)
            for one in error.problems
        ]
        raise SpecProblems(named) from None


def _number(value: float) -> str:
    return f"{Decimal(repr(value)).normalize():f}"


def _text(path: Path) -> str:
    return path.read_bytes().decode("utf-8")


def _line_end(whole: str) -> str:
    return "\r\n" if "\r\n" in whole else "\n"


def _existing(path: Path) -> Document | None:
    """The file as it is, checked; None where it says nothing yet."""
    if not path.exists():
        return None
    try:
        document = read(path)
        validate(SitesSpec, document)
    except SpecProblems as error:
        if any(one.message == "spec.empty_file" for one in error.problems):
            return None
        if not all((one.path, one.message) in _ONLY_EMPTY for one in error.problems):
            raise
        document = read(path)
    return document


def _sites(document: Document) -> list[dict[str, object]]:
    return cast("list[dict[str, object]]", document.data.get("sites") or [])


def _check_free(document: Document, name: str, path: Path) -> None:
    if any(site.get("name") == name for site in _sites(document)):
        raise UserError("sites.name_taken", name=name, path=path)


def _inserted(whole: str, site: NewSite, before: Document, path: Path) -> str:
    """The file's text with the site at the end of its sites.

    Raises:
        UserError: the text would not say the same as before, and the site.
    """
    lines = whole.split("\n")
    end = _line_end(whole)
    place = _place(lines, before)
    if place is not None:
        at, indent, heading = place
        block = (heading + site_block(site, indent)).replace("\n", end).removesuffix("\n").split("\n")
        if at == len(lines) or not any(lines[at:]):  # at the end, where a last line may lack its break
            head = [line if line.endswith("\r") or end == "\n" else f"{line}\r" for line in lines[:at]]
            lines = [*head, *block, ""]
        else:
            lines = [*lines[:at], *block, *lines[at:]]
        after = "\n".join(lines)
        if _says(after, before, site):
            return after
    raise UserError("sites.not_inserted", path=path, block=site_block(site, "  ").rstrip("\n"))


def _place(lines: list[str], before: Document) -> tuple[int, str, str] | None:
    """Before which line the site goes, its indentation, and a heading; None where that is not known."""
    key = before.positions.keys.get(("sites",))
    if key is None:
        return _last(lines, len(lines)), "  ", "sites:\n"
    start = key.line - 1
    later = [
        place.line - 1
        for path, place in before.positions.keys.items()
        if len(path) == 1 and place.line > key.line
    ]
    if not _sites(before):
        match = _NO_SITES.fullmatch(lines[start])
        if match is None:
            return None
        lines[start] = f"{match['key']}{'  ' + match['note'] if match['note'] else ''}" + (
            "\r" if lines[start].endswith("\r") else ""
        )
        return start + 1, "  ", ""
    first = next((line for line in lines[start + 1 :] if line.strip() and not _is_note(line)), "")
    item = _ITEM.match(first)
    return None if item is None else (_last(lines, min(later, default=len(lines))), item["indent"], "")


def _is_note(line: str) -> bool:
    return line.lstrip().startswith("#")


def _last(lines: list[str], end: int) -> int:
    """The end of what is said before a line: blank lines and notes there belong to what follows."""
    while end and (not lines[end - 1].strip() or _is_note(lines[end - 1])):
        end -= 1
    return end


def _says(after: str, before: Document, site: NewSite) -> bool:
    """Whether the new text says all that the old one did, and one site more at the end."""
    try:
        document = parse(after.removeprefix("\ufeff"), "")
        validate(SitesSpec, document)
    except SpecProblems:
        return False
    was = {key: value for key, value in before.data.items() if key != "sites"}
    now = {key: value for key, value in document.data.items() if key != "sites"}
    old, new = _sites(before), _sites(document)
    return was == now and new[:-1] == old and new[-1].get("name") == site.name


def _replace(path: Path, after: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.draft")
    try:
        draft.write_bytes(after.encode("utf-8"))
        if path.is_file():
            shutil.copymode(path, draft)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
