"""A price book: what a team really pays, as layers over the list prices, applied in their order."""

from collections.abc import Collection, Iterator
from datetime import date
from decimal import Decimal
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from headway.spec.parts import Found, Part, fault
from headway.spec.problems import KeyPath, show
from headway.spec.quantities import Number, Price, Version, Whole, entries, money, within
from headway.spec.sites import Capacity
from headway.spec.texts import Name, Person, matching


def _day(value: str) -> str:
    try:
        date.fromisoformat(value)
    except ValueError:
        raise fault("spec.not_day", value=show(value)) from None
    return value


Day = Annotated[str, matching(r"\d{4}-\d{2}-\d{2}", "spec.not_day"), AfterValidator(_day)]
Pattern = Annotated[str, matching(r"[a-z0-9.*?-]{1,100}", "spec.not_pattern")]
Patterns = Annotated[tuple[Pattern, ...], Field(min_length=1, max_length=64)]


class _Layer(Part):
    """What every layer has: a name that receipts and plans show, and the days on which it holds."""

    name: Person
    start: Day | None = Field(default=None, alias="from")
    until: Day | None = None

    def conflicts(self) -> Iterator[Found]:
        """A layer ends after it begins."""
        if self.start is not None and self.until is not None and self.until <= self.start:
            yield Found(("until",), "spec.ends_before", {"start": self.start})


class Discount(_Layer):
    """A negotiated discount on list prices; patterns as `p5.*`."""

    # On-demand prices alone unless `capacity` names others: what is negotiated seldom covers spot.

    kind: Literal["discount"]
    percent: Annotated[Number, within("book.percent")]
    instances: Patterns = ("*",)
    regions: Patterns = ("*",)
    capacity: Annotated[tuple[Capacity, ...], Field(min_length=1, max_length=5)] = ("on-demand",)


class RateLayer(_Layer):
    """A private rate of one instance type: per hour, with what is paid upfront for a term of years."""

    kind: Literal["rate"]
    instance: Name
    region: Name
    capacity: Capacity = "on-demand"
    price: Annotated[Price, money("book.rate")]
    upfront: Annotated[Price, money("book.upfront")] | None = None
    years: Annotated[Whole, within("book.years")] | None = None

    def conflicts(self) -> Iterator[Found]:
        """An upfront part needs a term to be spread over, in the same currency."""
        yield from super().conflicts()
        if self.upfront is not None and self.years is None:
            yield Found(("upfront",), "spec.upfront_without_years", {})
        if self.upfront is not None and self.upfront.currency != self.price.currency:
            values: dict[str, object] = {"given": self.upfront.currency, "wanted": self.price.currency}
            yield Found(("upfront",), "spec.other_currency", values)


class Block(_Layer):
    """A capacity block that was bought: so many nodes from one day to another for a fee."""

    kind: Literal["block"]
    instance: Name
    region: Name
    nodes: Annotated[Whole, within("book.nodes")]
    fee: Annotated[Price, money("book.fee")]

    def conflicts(self) -> Iterator[Found]:
        """A block has a first and a last day."""
        yield from super().conflicts()
        for key, value in (("from", self.start), ("until", self.until)):
            if value is None:
                yield Found((), "spec.block_needs", {"key": key})


class Credit(_Layer):
    """An amount that the provider pays of the bill; it lowers totals, never a price."""

    kind: Literal["credit"]
    amount: Annotated[Price, money("book.credit")]


Layer = Annotated[Discount | RateLayer | Block | Credit, Field(discriminator="kind")]


class BookSpec(Part):
    """A whole price book."""

    version: Version
    layers: Annotated[tuple[Layer, ...], entries("book.layers")]

    def conflicts(self) -> Iterator[Found]:
        """Plans and receipts show layers by their names: no two have the same."""
        named: set[str] = set()
        for index, layer in enumerate(self.layers):
            if layer.name in named:
                yield Found(("layers", index, "name"), "spec.name_twice", {"name": show(layer.name)})
            named.add(layer.name)


def unknown_names(spec: BookSpec, instances: Collection[str], regions: Collection[str]) -> Iterator[Found]:
    """What layers speak of and nobody knows: they would do nothing, and say nothing of it."""
    for index, layer in enumerate(spec.layers):
        if isinstance(layer, Credit):
            continue
        several = isinstance(layer, Discount)
        given = (
            ("instances" if several else "instance", instances, "spec.unknown_instance"),
            ("regions" if several else "region", regions, "spec.unknown_region"),
        )
        for key, known, message in given:
            at = ("layers", index, key)
            if isinstance(layer, Discount):
                patterns: Patterns = getattr(layer, key)
                for place, pattern in enumerate(patterns):
                    if not any(fnmatchcase(name, pattern) for name in known):
                        yield _unknown((*at, place), pattern, known, "spec.pattern_of_none")
            elif getattr(layer, key) not in known:
                yield _unknown(at, getattr(layer, key), known, message)


_NEAR = {
    "spec.unknown_instance": "spec.unknown_instance_near",
    "spec.unknown_region": "spec.unknown_region_near",
    "spec.pattern_of_none": "spec.pattern_of_none_near",
}


def _unknown(at: KeyPath, given: str, known: Collection[str], message: str) -> Found:
    near = get_close_matches(given.strip("*?."), sorted(known), n=3)
    values: dict[str, object] = {"value": show(given), "near": ", ".join(near)}
    return Found(at, _NEAR[message] if near else message, values)


def percent_of(layer: Discount) -> Decimal:
    """The discount as an exact share."""
    return Decimal(repr(layer.percent)) / 100
