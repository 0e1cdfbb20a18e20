"""PURE. What AWS's price services answer, as listed prices. Amounts stay the decimal text that they gave."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from itertools import pairwise
from typing import Any, cast

from headway.catalog.types import Accelerator, InstanceType, ListedPrice
from headway.errors import DataError

Answer = Mapping[str, Any]
HOURS_PER_YEAR = 8760


@contextmanager
def _read(what: str) -> Generator[None]:
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as problem:
        raise DataError("refresh.odd_item", what=what, problem=f"{problem!r}") from None


def on_demand_of(item: str) -> ListedPrice:
    """One product of the Price List: its one on-demand price per hour.

    Raises:
        DataError: it is no JSON, or has no such price, or more than one.
    """
    with _read("Price List product"):
        found: Answer = json.loads(item)
        attributes = cast("Answer", found["product"]["attributes"])
        terms = cast("Mapping[str, Answer]", found["terms"]["OnDemand"])
        prices = [
            (term, dimension)
            for term in terms.values()
            for dimension in cast("Mapping[str, Answer]", term["priceDimensions"]).values()
            if dimension["unit"] == "Hrs"
        ]
        if len(prices) != 1 or len(prices[0][1]["pricePerUnit"]) != 1:
            raise DataError("refresh.not_one_price", sku=found["product"]["sku"], count=len(prices))
        term, dimension = prices[0]
        ((currency, price_text),) = cast("Mapping[str, str]", dimension["pricePerUnit"]).items()
        return ListedPrice(
            instance=attributes["instanceType"],
            region=attributes["regionCode"],
            capacity="on-demand",
            currency=currency,
            price_text=_decimal(price_text),
            effective_from=_time(term["effectiveDate"]),
            effective_to=None,
            last_seen=0,
            source=f"AWS Price List, SKU {found['product']['sku']}",
        )


def reserved_of(item: str) -> list[ListedPrice]:
    """The reserved terms of a product: hourly part plus upfront part by the hours of the term.

    Raises:
        DataError: it is not laid out as a product is.
    """
    with _read("Price List product"):
        found: Answer = json.loads(item)
        attributes = cast("Answer", found["product"]["attributes"])
        terms = cast("Mapping[str, Answer]", found["terms"].get("Reserved", {}))
        prices = [_reserved(attributes, term) for term in terms.values()]
    return [price for price in prices if price is not None]


def _reserved(attributes: Answer, term: Answer) -> ListedPrice | None:
    of = cast("Answer", term["termAttributes"])
    years = {"1yr": 1, "3yr": 3}.get(str(of["LeaseContractLength"]))
    dimensions = cast("Mapping[str, Answer]", term["priceDimensions"]).values()
    parts = {str(one["unit"]): cast("Mapping[str, str]", one["pricePerUnit"]) for one in dimensions}
    currencies = {currency for amounts in parts.values() for currency in amounts}
    if years is None or len(currencies) != 1:
        return None
    (currency,) = currencies
    hourly = Decimal(parts.get("Hrs", {}).get(currency, "0"))
    upfront = Decimal(parts.get("Quantity", {}).get(currency, "0"))
    return ListedPrice(
        instance=attributes["instanceType"],
        region=attributes["regionCode"],
        capacity="reserved",
        currency=currency,
        price_text=f"{round(hourly + upfront / (HOURS_PER_YEAR * years), 9):f}",
        effective_from=_time(str(term["effectiveDate"])),
        effective_to=None,
        last_seen=0,
        source=f"AWS Price List, {upfront:f} upfront and {hourly:f} an hour",
        terms=f"{years}-year {of['OfferingClass']}, {of['PurchaseOption']}",
    )


def spot_of(rows: Iterable[Answer], region: str, zone_ids: Mapping[str, str]) -> list[ListedPrice]:
    """Spot price history as prices that follow one another in each zone.

    Raises:
        DataError: a zone's name has no id.
    """
    series: dict[tuple[str, str], dict[int, str]] = {}
    for row in rows:
        zone = row.get("AvailabilityZoneId") or zone_ids.get(str(row["AvailabilityZone"]))
        if not zone:
            raise DataError("refresh.no_zone", zone=row["AvailabilityZone"])
        at = int(cast("datetime", row["Timestamp"]).timestamp()) * 1_000_000
        series.setdefault((str(row["InstanceType"]), str(zone)), {})[at] = _decimal(str(row["SpotPrice"]))
    return [
        ListedPrice(
            instance=instance,
            region=region,
            capacity="spot",
            currency="USD",  # the API names none; spot instances are priced in USD outside of China
            price_text=price_text,
            effective_from=at,
            effective_to=end,
            last_seen=0,
            source="EC2 spot price history",
            zone=zone,
        )
        for (instance, zone), points in sorted(series.items())
        for at, price_text, end in _following(points)
    ]


def _following(points: Mapping[int, str]) -> list[tuple[int, str, int | None]]:
    times = sorted(points)
    ends: list[int | None] = [end for _start, end in pairwise(times)]
    return [(at, points[at], end) for at, end in zip(times, [*ends, None], strict=True)]


def savings_plan_of(rate: Answer, now: int) -> ListedPrice | None:
    """A savings plan's rate for an instance type; None for what is not an hour of Linux, shared tenancy."""
    with _read("savings plan rate"):
        of = {p["name"]: p["value"] for p in cast("Sequence[Answer]", rate["properties"])}
        plan = cast("Answer", rate["savingsPlanOffering"])
        if rate["unit"] != "Hrs" or of.get("tenancy", "shared") != "shared" or "instanceType" not in of:
            return None
        if of.get("productDescription", "Linux/UNIX") != "Linux/UNIX":
            return None
        years = round(int(plan["durationSeconds"]) / (HOURS_PER_YEAR * 3600))
        return ListedPrice(
            instance=of["instanceType"],
            region=of["region"],
            capacity="savings-plan",
            currency=plan["currency"],
            price_text=_decimal(rate["rate"]),
            effective_from=now,
            effective_to=None,
            last_seen=0,
            source=f"AWS savings plan offering {plan['offeringId']}",
            terms=f"{years}-year {plan['planType']}, {plan['paymentOption']}",
        )


def block_of(offering: Answer, region: str, now: int) -> ListedPrice:
    """A capacity block on offer, as its fee by instance-hour."""
    with _read("capacity block"):
        start, stop = cast("datetime", offering["StartDate"]), cast("datetime", offering["EndDate"])
        count, hours = int(offering["InstanceCount"]), int(offering["CapacityBlockDurationHours"])
        fee = Decimal(_decimal(str(offering["UpfrontFee"])))
        return ListedPrice(
            instance=offering["InstanceType"],
            region=region,
            capacity="block",
            currency=offering["CurrencyCode"],
            price_text=f"{round(fee / (count * hours), 9):f}",
            effective_from=now,
            effective_to=None,
            last_seen=0,
            source=f"EC2 capacity block {offering['CapacityBlockOfferingId']}",
            zone=str(offering.get("AvailabilityZone", "")),
            terms=f"{count} for {hours} h, {start.isoformat()} to {stop.isoformat()}, {fee:f} upfront",
        )


def machine_of(kind: Answer, accelerators: Mapping[str, Accelerator]) -> InstanceType:
    """An instance type's hardware; a GPU is the known device of its name with the nearest memory.

    Raises:
        DataError: it is not laid out as an instance type is.
    """
    with _read("instance type"):
        gpus = cast("Sequence[Answer]", cast("Answer", kind.get("GpuInfo", {})).get("Gpus", []))
        device, count = None, 0
        if gpus:
            name = str(gpus[0]["Name"]).lower().replace(" ", "-")
            memory = int(cast("Answer", gpus[0]["MemoryInfo"])["SizeInMiB"]) * 2**20
            near = [
                one
                for one in accelerators.values()
                if one.key == name or one.key.startswith(f"{name}-") or one.key.endswith(f"-{name}")
            ]
            device = min(near, key=lambda one: abs((one.memory_bytes or 0) - memory), default=None)
            count = int(gpus[0]["Count"])
        return InstanceType(
            name=str(kind["InstanceType"]),
            vcpus=int(cast("Answer", kind["VCpuInfo"])["DefaultVCpus"]),
            memory_bytes=int(cast("Answer", kind["MemoryInfo"])["SizeInMiB"]) * 2**20,
            accelerator=None if device is None else device.key,
            accelerator_count=Decimal(count),
            network_bytes_per_second=None,
            efa=bool(cast("Answer", kind.get("NetworkInfo", {})).get("EfaSupported", False)),
            arch=str(
                cast("Sequence[str]", cast("Answer", kind["ProcessorInfo"])["SupportedArchitectures"])[0]
            ),
            source="EC2 DescribeInstanceTypes",
            quirk="" if device is not None or not gpus else f"GPU {gpus[0]['Name']} is not known here",
        )


def _decimal(value: str) -> str:
    """Decimal text, checked and without useless zeros."""
    try:
        number = Decimal(value)
    except InvalidOperation:
        raise DataError("refresh.odd_item", what="price", problem=value) from None
    if not number.is_finite():
        raise DataError("refresh.odd_item", what="price", problem=value)
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _time(value: str) -> int:
    moment = datetime.fromisoformat(value)
    return int(moment.astimezone(UTC).timestamp()) * 1_000_000
