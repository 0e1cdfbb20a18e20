"""The data in the package, typed: read once, on first use.

Blank cells are unknown, never zero. Every row keeps its source.
"""

from __future__ import annotations

import csv
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import cache
from importlib.resources import files

from headway.catalog.types import (
    Accelerator,
    GridFactor,
    InstanceType,
    ListedPrice,
    ServerPrice,
    ServicePrice,
)

_PRECISIONS = ("fp32", "tf32", "bf16", "fp16", "fp8")
_CPU, _GPU, _TPU, _NPU = "CPU", "GPU", "TPU", "NPU"
_NPUS = {"trainium1", "trainium2", "inferentia1", "inferentia2", "gaudi1", "qualcomm-ai100", "npu-generic"}


def data_bytes(name: str) -> bytes:
    """A data file of the package as it is."""
    return files("headway.catalog").joinpath("data", name).read_bytes()


def _rows(name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(data_bytes(name).decode("utf-8").splitlines()))


def _number(value: str) -> float | None:
    return float(value) if value else None


def _whole(value: str) -> int | None:
    return int(value) if value else None


def microseconds(date: str, *, days: int = 0) -> int:
    """Midnight UTC of an ISO date, some days later."""
    moment = datetime.fromisoformat(date).replace(tzinfo=UTC) + timedelta(days=days)
    return int(moment.timestamp()) * 1_000_000


def _kind(key: str) -> str:
    if key.startswith("tpu"):
        return _TPU
    if key.startswith("cpu"):
        return _CPU
    return _NPU if key in _NPUS else ("FPGA" if key.startswith("xilinx") else _GPU)


@cache
def accelerators() -> dict[str, Accelerator]:
    """Every device by its key."""
    return {row["key"]: _accelerator(row) for row in _rows("accelerators.csv")}


def _accelerator(row: dict[str, str]) -> Accelerator:
    peaks = {name: _number(row[f"peak_flops_{name}"]) for name in _PRECISIONS}
    peaks["int8"] = _number(row["peak_ops_int8"])
    return Accelerator(
        key=row["key"],
        vendor=row["vendor"],
        name=row["name"],
        kind=_kind(row["key"]),
        memory_bytes=_whole(row["memory_bytes"]),
        usable_memory_bytes=_whole(row["usable_memory_bytes"]),
        memory_bytes_per_second=_number(row["memory_bandwidth_bytes_per_s"]),
        peak_flops={name: value for name, value in peaks.items() if value is not None},
        tdp_watts=_number(row["tdp_watts"]),
        idle_watts=_number(row["idle_watts"]),
        intra_node_link=row["intra_node_link"],
        intra_node_bytes_per_second=_number(row["intra_node_link_bytes_per_s"]),
        host_link=row["host_link"],
        host_bytes_per_second=_number(row["host_link_bytes_per_s"]),
        year=_whole(row["year"]),
        source=row["source"],
        assumed=tuple(part.strip() for part in row["general_fields"].split(";") if part.strip()),
        note=row["note"],
    )


@cache
def instance_types() -> dict[str, InstanceType]:
    """Every EC2 instance type that the package knows, by name."""
    return {row["instance_type"]: _instance(row) for row in _rows("aws_ec2_instances.csv")}


def _instance(row: dict[str, str]) -> InstanceType:
    gbps = _number(row["network_baseline_gbps"]) or _number(row["network_gbps"])
    return InstanceType(
        name=row["instance_type"],
        vcpus=int(row["vcpus"]),
        memory_bytes=int(row["memory_bytes"]),
        accelerator=row["gpu_model"] or None,
        accelerator_count=Decimal(row["gpu_count"] or "0"),
        network_bytes_per_second=None if gbps is None else gbps * 1e9 / 8,
        efa=row["efa"] == "yes",
        arch=row["arch"],
        source=row["source"],
        quirk=row["quirk"],
    )


@cache
def on_demand_prices() -> tuple[ListedPrice, ...]:
    """The history of on-demand list prices (Linux, shared tenancy), oldest first for each type and region.

    A price holds until the next one of its type and region begins; the last one is still in force when the
    newest table shows it, and ends the day after it was last seen otherwise.
    """
    tables = [
        ("aws_ec2_on_demand_prices.csv", "usd_per_hour"),
        ("aws_ec2_on_demand_prices_cn.csv", "price_per_hour"),
    ]
    prices: list[ListedPrice] = []
    for name, column in tables:
        rows = sorted(
            _rows(name), key=lambda row: (row["instance_type"], row["region"], row["effective_from"])
        )
        newest = max(row["last_seen"] for row in rows)
        for row, after in zip(rows, [*rows[1:], None], strict=True):
            same = after is not None and (after["instance_type"], after["region"]) == (
                row["instance_type"],
                row["region"],
            )
            if after is not None and same:
                end = microseconds(after["effective_from"])
            else:
                end = None if row["last_seen"] == newest else microseconds(row["last_seen"], days=1)
            prices.append(_listed(row, row[column], end))
    return tuple(prices)


def _listed(row: dict[str, str], price_text: str, end: int | None) -> ListedPrice:
    return ListedPrice(
        instance=row["instance_type"],
        region=row["region"],
        capacity="on-demand",
        currency=row["currency"],
        price_text=price_text,
        effective_from=microseconds(row["effective_from"]),
        effective_to=end,
        last_seen=microseconds(row["last_seen"]),
        source=row["source_revision"],
    )


@cache
def spot_observations() -> tuple[ListedPrice, ...]:
    """Single, undated spot prices, one for each zone seen: for estimates that say so, never for a bill."""
    rows = [row for row in _rows("aws_other_prices.csv") if row["service"] == "ec2-spot-observation"]
    return tuple(
        ListedPrice(
            instance=row["item"],
            region=row["region"].split(" ")[0],
            capacity="spot",
            currency=row["currency"],
            price_text=row["price"],
            effective_from=microseconds(row["as_of"]),
            effective_to=None,
            last_seen=microseconds(row["as_of"]),
            source=f"{row['source']}; {row['note']}",
            dated=False,
        )
        for row in rows
    )


@cache
def server_prices() -> tuple[ServerPrice, ...]:
    """Published prices of whole servers with accelerators; rows of single GPUs and CPU servers left out."""
    return tuple(
        ServerPrice(
            row["key"],
            row["accelerator"],
            int(row["accelerator_count"]),
            _number(row["price_low_usd"]),
            _number(row["price_typical_usd"]),
            _number(row["price_high_usd"]),
            _number(row["power_typical_train_w"]) or _number(row["power_rated_w"]),
            row["source"],
        )
        for row in _rows("on_prem_servers.csv")
        if row["accelerator"] and row["accelerator_count"] and not row["key"].startswith("gpu-")
    )


_MACHINES = ("ec2-spot-observation", "ec2-on-demand-observation", "ec2-capacity-block", "ec2-savings-plan")


@cache
def service_prices() -> tuple[ServicePrice, ...]:
    """Prices of storage, transfer and control planes, in their order; observations of machines left out."""

    def bound(value: str) -> Decimal | None:
        return Decimal(value) if value else None

    return tuple(
        ServicePrice(
            row["service"],
            row["item"],
            row["region"],
            row["unit"],
            Decimal(row["price"]),
            row["currency"],
            bound(row["tier_from"]),
            bound(row["tier_to"]),
            row["source"],
            row["as_of"],
            row["note"],
        )
        for row in _rows("aws_other_prices.csv")
        if row["service"] not in _MACHINES
    )


@cache
def grid_factors() -> dict[str, tuple[GridFactor, ...]]:
    """Grid carbon by region (AWS region, country, US state …), every source that speaks of it."""
    found: dict[str, list[GridFactor]] = {}
    for row in _rows("grid_carbon.csv"):
        factor = GridFactor(
            row["region"],
            row["location"],
            Decimal(row["g_co2e_per_kwh"]),
            row["source"],
            row["data_year"],
            row["as_of"],
        )
        found.setdefault(row["region"].lower(), []).append(factor)
    return {region: tuple(factors) for region, factors in found.items()}


@cache
def published_efficiencies() -> dict[str, tuple[float, ...]]:
    """Model FLOPs utilisation in published training runs (bf16 or fp16), by accelerator, ascending."""
    found: dict[str, list[float]] = {}
    for row in _rows("training_throughput.csv"):
        if row["mfu"] and row["precision"] in {"bf16", "fp16"}:
            found.setdefault(row["accelerator"], []).append(float(row["mfu"]))
    return {key: tuple(sorted(values)) for key, values in found.items()}


@cache
def embodied_per_vcpu_hour() -> dict[str, tuple[Decimal, str]]:
    """Grams of CO2e of making a host, by vCPU and hour of its life, and the source; by instance type.

    Of two lists the newer one counts.
    """
    found: dict[str, tuple[Decimal, str]] = {}
    for row in sorted(_rows("embodied_carbon.csv"), key=lambda row: row["source"].startswith("CCF 2026")):
        if row["kg_co2e"] and row["life_hours"] and row["host_vcpus"]:
            grams = Decimal(row["kg_co2e"]) * 1000 / (Decimal(row["life_hours"]) * Decimal(row["host_vcpus"]))
            found[row["subject"]] = (grams, f"{row['subject']}, {row['source']}")
    return found


@cache
def pue_of(provider: str) -> tuple[float, str]:
    """The newest provider average of PUE, and its source."""
    rows = [
        row
        for row in _rows("pue.csv")
        if (row["provider"], row["site_kind"]) == (provider, "provider average")
    ]
    newest = max(rows, key=lambda row: row["year"])
    return float(newest["pue"]), f"{newest['source']}, {newest['year']}"
