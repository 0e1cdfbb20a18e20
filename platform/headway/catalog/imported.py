"""PURE. Prices of other clouds from a CSV file, with the hardware that a plan needs to know of.

provider,region,instance,capacity,price_per_hour,currency,accelerator,accelerators,vcpus,memory_gib,source
lambda,us-west-1,gpu_8x_h100,on-demand,23.92,USD,h100-sxm,8,208,1800,quote of 2026-11-02
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, InvalidOperation

from headway.catalog.tables import microseconds
from headway.catalog.types import InstanceType, ListedPrice
from headway.errors import UserError

NEEDED = ("provider", "region", "instance", "price_per_hour", "currency")
MICROSECONDS_PER_DAY = 86_400_000_000
KNOWN = (*NEEDED, "capacity", "accelerator", "accelerators", "vcpus", "memory_gib", "source", "from")
_CAPACITIES = ("on-demand", "spot", "reserved", "savings-plan", "block")


@dataclass(frozen=True, slots=True)
class Imported:
    """What a file says: prices, and the machines that they are of, by provider and name."""

    prices: tuple[ListedPrice, ...]
    machines: Mapping[tuple[str, str], InstanceType]


def parse_prices(lines: Sequence[str], file: str, now: int, accelerators: Sequence[str]) -> Imported:
    """Read a whole file; every fault in it is named at once, and then nothing is taken.

    `accelerators` are the keys that the catalogue knows.

    Raises:
        UserError: with each wrong line.
    """
    reader = csv.DictReader(lines)
    heads = [name.strip() for name in reader.fieldnames or []]
    problems = [f"{file}:1  column {name} is missing" for name in NEEDED if name not in heads]
    problems += [f"{file}:1  column {name} is not known" for name in heads if name not in KNOWN]
    prices: dict[tuple[str, ...], ListedPrice] = {}
    machines: dict[tuple[str, str], InstanceType] = {}
    if not problems:
        for raw in reader:
            row = {str(key).strip(): (value or "").strip() for key, value in raw.items() if key is not None}
            faults = [f"{file}:{reader.line_num}  {fault}" for fault in _faults(row, accelerators)]
            if None in raw:
                faults.append(f"{file}:{reader.line_num}  more cells than the header has")
            problems += faults
            if not faults:
                price, machine = _row(row, file, now)
                if price.place in prices:
                    problems.append(f"{file}:{reader.line_num}  the same machine and capacity twice")
                prices[price.place] = price
                machines[price.provider, price.instance] = machine
        if not prices and not problems:
            problems.append(f"{file}:1  no line of prices")
    if problems:
        raise UserError("refresh.bad_file", count=len(problems), problems="\n".join(problems))
    return Imported(tuple(prices.values()), machines)


def _faults(row: Mapping[str, str], accelerators: Sequence[str]) -> Iterator[str]:
    for name in NEEDED:
        if not row[name]:
            yield f"{name} is empty"
    if row["provider"] == "aws":
        yield "AWS prices are not imported: headway prices refresh fetches them, a price book changes them"
    if not _number(row["price_per_hour"], least=Decimal("0.000001")):
        yield f"price_per_hour: {row['price_per_hour']!r} is not a number above 0"
    for name in ("accelerators", "vcpus", "memory_gib"):
        if row.get(name, "") and not _number(row[name], least=Decimal("0.01")):
            yield f"{name}: {row[name]!r} is not a number above 0"
    yield from _faulty_words(row, accelerators)


def _faulty_words(row: Mapping[str, str], accelerators: Sequence[str]) -> Iterator[str]:
    currency = row["currency"]
    if not (len(currency) == 3 and currency.isascii() and currency.isupper()):
        yield f"currency: {currency!r} is not an ISO code such as USD"
    if row.get("capacity", "") not in ("", *_CAPACITIES):
        yield f"capacity: {row['capacity']!r} is none of {', '.join(_CAPACITIES)}"
    if row.get("accelerator", "") not in ("", *accelerators):
        yield f"accelerator: {row['accelerator']!r} is not known (headway accelerators lists them)"
    if row.get("accelerator") and not row.get("accelerators"):
        yield "accelerators: how many there are of them is not said"
    if row.get("from", ""):
        try:
            date.fromisoformat(row["from"])
        except ValueError:
            yield f"from: {row['from']!r} is not a day (write 2026-11-30)"


def _number(value: str, *, least: Decimal) -> bool:
    try:
        number = Decimal(value)
    except InvalidOperation:
        return False
    return number.is_finite() and least <= number < 10**7


def _row(row: Mapping[str, str], file: str, now: int) -> tuple[ListedPrice, InstanceType]:
    start = now - now % MICROSECONDS_PER_DAY
    if row.get("from"):
        start = microseconds(row["from"])
    source = row.get("source") or file
    price = ListedPrice(
        instance=row["instance"],
        region=row["region"],
        capacity=row.get("capacity") or "on-demand",
        currency=row["currency"],
        price_text=f"{Decimal(row['price_per_hour']):f}",
        effective_from=start,
        effective_to=None,
        last_seen=now,
        source=source,
        provider=row["provider"],
    )
    machine = InstanceType(
        name=row["instance"],
        vcpus=int(Decimal(row.get("vcpus") or 0)),
        memory_bytes=int(Decimal(row.get("memory_gib") or 0) * 2**30),
        accelerator=row.get("accelerator") or None,
        accelerator_count=Decimal(row.get("accelerators") or 0),
        network_bytes_per_second=None,
        efa=False,
        arch="",
        source=source,
        quirk="",
    )
    return price, machine
