"""Prices from AWS through boto3, section by section: what fails in one leaves the others alone.

Endpoints, profiles and credentials are boto3's own (`AWS_PROFILE`, `AWS_ENDPOINT_URL_PRICING`, …). Throttling
is waited out by its adaptive retries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from headway.catalog.aws_items import (
    block_of,
    machine_of,
    on_demand_of,
    reserved_of,
    savings_plan_of,
    spot_of,
)
from headway.catalog.tables import accelerators
from headway.catalog.types import InstanceType, ListedPrice, PriceKind
from headway.errors import DataError, ExternalError, HeadwayError, UserError

PRICING_REGION = "us-east-1"  # the Price List and savings plans answer in few regions, for all
SPOT_DAYS = 30
BLOCK_HOURS = 24
NOT_AGAIN = "not tried again: "
Client = Any  # boto3's clients have no types of their own
MakeClient = Callable[[str, str], Client]


@dataclass(frozen=True, slots=True)
class Fetched:
    """The prices of one kind in one region, or why there are none.

    `cause` is `network` where nobody answered (at `endpoint`), `credentials` where nobody could be asked.
    """

    kind: PriceKind
    region: str
    prices: tuple[ListedPrice, ...]
    skipped: int = 0
    problem: str = ""
    machines: tuple[InstanceType, ...] = ()
    cause: Literal["", "network", "credentials"] = ""
    endpoint: str = ""


def boto3_clients() -> MakeClient:
    """Clients by service and region.

    Raises:
        UserError: boto3 is not installed.
        ExternalError: the profile or configuration that AWS's variables name is not there or not readable.
    """
    try:
        from boto3.session import Session
        from botocore.config import Config
        from botocore.exceptions import BotoCoreError
    except ModuleNotFoundError:
        raise UserError("refresh.no_boto3") from None
    try:
        session: Any = Session()
    except BotoCoreError as problem:
        raise ExternalError("refresh.no_profile", problem=problem) from None
    settings = Config(retries={"mode": "adaptive", "max_attempts": 8}, connect_timeout=10, read_timeout=60)

    def make(service: str, region: str) -> Client:
        try:
            return session.client(service, region_name=region, config=settings)
        # An endpoint that is no URL, a credential_process that is gone.
        except (ValueError, OSError) as problem:
            raise ExternalError("refresh.no_profile", problem=problem) from None

    return make


def fetch(
    make: MakeClient, regions: Sequence[str], kinds: Iterable[PriceKind], instances: Sequence[str], now: int
) -> Iterator[Fetched]:
    """Every kind in every region, as it comes; `instances` are those of which spot and blocks are asked.

    `now` is in UTC microseconds.
    """
    from botocore.exceptions import BotoCoreError, ClientError
    from botocore.parsers import ResponseParserError

    expected = (BotoCoreError, ClientError, ResponseParserError, DataError, ExternalError)
    # Who does not answer once is not asked again: each try takes its retries' time.
    down: dict[str, Fetched] = {}
    for region in regions:
        for kind in kinds:
            service = _SERVICES.get(kind, f"ec2 {region}")
            known = down.get(service) or down.get("all")
            if known:
                yield replace(known, kind=kind, region=region, problem=f"{NOT_AGAIN}{known.problem}")
                continue
            try:
                yield _fetched(make, region, kind, instances, now)
            except expected as problem:
                failed = _failed(kind, region, problem)
                if failed.cause:
                    down["all" if failed.cause == "credentials" else service] = failed
                yield failed


def _failed(kind: PriceKind, region: str, problem: Exception) -> Fetched:
    from botocore import exceptions as known

    told = " ".join(str(problem).split())
    said = told if isinstance(problem, HeadwayError) else f"{type(problem).__name__}: {told}"
    values: dict[str, object] = getattr(problem, "kwargs", {})
    if isinstance(problem, known.ConnectionError | known.HTTPClientError):
        return Fetched(kind, region, (), 0, said, (), "network", str(values.get("endpoint_url", said)))
    nobody = (
        known.NoCredentialsError,
        known.PartialCredentialsError,
        known.CredentialRetrievalError,
        known.ProfileNotFound,
        known.ConfigNotFound,
        known.ConfigParseError,
        known.SSOError,
        known.TokenRetrievalError,
    )
    return Fetched(kind, region, (), 0, said, (), "credentials" if isinstance(problem, nobody) else "")


def _fetched(make: MakeClient, region: str, kind: PriceKind, instances: Sequence[str], now: int) -> Fetched:
    if kind == "machines":
        return Fetched(kind, region, (), machines=tuple(_machines(make, region, instances)))
    prices, skipped = _KINDS[kind](make, region, instances, now)
    return Fetched(kind, region, tuple(prices), skipped)


def _products(make: MakeClient, region: str, instances: Sequence[str], *, each: bool) -> Iterator[str]:
    fixed = {
        "regionCode": region,
        "operatingSystem": "Linux",
        "tenancy": "Shared",
        "preInstalledSw": "NA",
        "capacitystatus": "Used",
        "marketoption": "OnDemand",  # else capacity blocks come back as products of 0 USD
    }
    pages = make("pricing", PRICING_REGION).get_paginator("get_products")
    for instance in instances if each else [""]:
        wanted = {**fixed, **({"instanceType": instance} if instance else {})}
        filters = [{"Type": "TERM_MATCH", "Field": key, "Value": value} for key, value in wanted.items()]
        for page in pages.paginate(ServiceCode="AmazonEC2", Filters=filters):
            yield from page["PriceList"]


def _on_demand(
    make: MakeClient, region: str, instances: Sequence[str], _now: int
) -> tuple[list[ListedPrice], int]:
    prices: list[ListedPrice] = []
    skipped = 0
    for item in _products(make, region, instances, each=False):
        try:
            prices.append(on_demand_of(item))
        except DataError:
            skipped += 1
    return prices, skipped


def _reserved(
    make: MakeClient, region: str, instances: Sequence[str], _now: int
) -> tuple[list[ListedPrice], int]:
    items = _products(make, region, instances, each=True)
    return [price for item in items for price in reserved_of(item)], 0


def _spot(make: MakeClient, region: str, instances: Sequence[str], now: int) -> tuple[list[ListedPrice], int]:
    ec2 = make("ec2", region)
    zones = ec2.describe_availability_zones()["AvailabilityZones"]
    ids = {zone["ZoneName"]: zone["ZoneId"] for zone in zones}
    start = datetime.fromtimestamp(now / 1_000_000, UTC) - timedelta(days=SPOT_DAYS)
    pages = ec2.get_paginator("describe_spot_price_history").paginate(
        InstanceTypes=list(instances), ProductDescriptions=["Linux/UNIX"], StartTime=start
    )
    return spot_of((row for page in pages for row in page["SpotPriceHistory"]), region, ids), 0


def _savings_plans(
    make: MakeClient, region: str, instances: Sequence[str], now: int
) -> tuple[list[ListedPrice], int]:
    client = make("savingsplans", PRICING_REGION)
    filters = [
        {"name": "region", "values": [region]},
        {"name": "instanceType", "values": list(instances)},
        {"name": "productDescription", "values": ["Linux/UNIX"]},
        {"name": "tenancy", "values": ["shared"]},
    ]
    asked: dict[str, Any] = {"products": ["EC2"], "serviceCodes": ["AmazonEC2"], "filters": filters}
    found: list[ListedPrice] = []
    skipped = 0
    while True:
        answer = client.describe_savings_plans_offering_rates(**asked)
        for rate in answer["searchResults"]:
            price = savings_plan_of(rate, now)
            skipped += price is None
            found += [price] if price is not None else []
        if not answer.get("nextToken"):
            return found, skipped
        asked["nextToken"] = answer["nextToken"]


def _blocks(
    make: MakeClient, region: str, instances: Sequence[str], now: int
) -> tuple[list[ListedPrice], int]:
    ec2 = make("ec2", region)
    found: list[ListedPrice] = []
    for instance in instances:
        pages = ec2.get_paginator("describe_capacity_block_offerings").paginate(
            InstanceType=instance, InstanceCount=1, CapacityDurationHours=BLOCK_HOURS
        )
        offered = [offering for page in pages for offering in page["CapacityBlockOfferings"]]
        # Many starts are on offer; the cheapest is the price.
        prices = sorted((block_of(one, region, now) for one in offered), key=lambda p: float(p.price_text))
        found += prices[:1]
    return found, 0


def _machines(make: MakeClient, region: str, instances: Sequence[str]) -> list[InstanceType]:
    pages = (
        make("ec2", region)
        .get_paginator("describe_instance_types")
        .paginate(Filters=[{"Name": "instance-type", "Values": list(instances)}])
    )
    return [machine_of(kind, accelerators()) for page in pages for kind in page["InstanceTypes"]]


_SERVICES = {"on-demand": "pricing", "reserved": "pricing", "savings-plan": "savingsplans"}
_KINDS = {
    "on-demand": _on_demand,
    "reserved": _reserved,
    "spot": _spot,
    "savings-plan": _savings_plans,
    "block": _blocks,
}
