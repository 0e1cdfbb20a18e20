"""A local endpoint that speaks AWS's protocols for the price services that moto does not answer.

Pricing is JSON 1.1, savings plans REST-JSON, EC2 query and XML: boto3 serializes and parses as against AWS.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

REGION = "us-east-1"
ZONES = {"us-east-1a": "use1-az6", "us-east-1b": "use1-az1"}


def product(
    instance: str, price: str, *, currency: str = "USD", sku: str = "SKU", dimensions: int = 1
) -> str:
    """A product of the Price List as AWS gives it: a JSON text."""
    each = {
        f"{sku}.T.{n}": {"unit": "Hrs", "pricePerUnit": {currency: price}, "description": "per hour"}
        for n in range(dimensions)
    }
    reserved = {
        "unit1": {"unit": "Hrs", "pricePerUnit": {"USD": "10.00"}},
        "unit2": {"unit": "Quantity", "pricePerUnit": {"USD": "87600"}},
    }
    attributes = {"instanceType": instance, "regionCode": REGION, "operatingSystem": "Linux"}
    return json.dumps(
        {
            "product": {"sku": sku, "attributes": attributes},
            "terms": {
                "OnDemand": {f"{sku}.T": {"effectiveDate": "2026-11-01T00:00:00Z", "priceDimensions": each}},
                "Reserved": {
                    f"{sku}.R": {
                        "effectiveDate": "2026-11-01T00:00:00Z",
                        "priceDimensions": reserved,
                        "termAttributes": {
                            "LeaseContractLength": "1yr",
                            "OfferingClass": "standard",
                            "PurchaseOption": "Partial Upfront",
                        },
                    }
                },
            },
        }
    )


class Answers:
    """What the endpoint gives; tests change it. `throttle` answers are refused first."""

    def __init__(self) -> None:
        self.products: list[str] = []
        self.spot: list[tuple[str, str, str, str]] = []  # instance, zone, price, time
        self.rates: list[dict[str, Any]] = []
        self.blocks: list[tuple[str, str, int, int]] = []  # instance, fee, count, hours
        self.throttle = 0
        self.broken: set[str] = set()
        self.asked: list[str] = []

    def give(self, action: str, body: dict[str, Any]) -> tuple[int, str, str]:
        """Status, content type and body."""
        self.asked.append(action)
        if self.throttle:
            self.throttle -= 1
            return 400, "application/x-amz-json-1.1", json.dumps({"__type": "ThrottlingException"})
        if action in self.broken and action.startswith("Describe"):
            inner = "<Errors><Error><Code>AccessDenied</Code><Message>no</Message></Error></Errors>"
            return 403, "text/xml", f"<Response>{inner}</Response>"
        if action in self.broken:
            return 403, "application/x-amz-json-1.1", json.dumps({"__type": "AccessDeniedException"})
        return getattr(self, f"_{action}")(body)

    def _get_products(self, body: dict[str, Any]) -> tuple[int, str, str]:
        wanted = {item["Field"]: item["Value"] for item in body["Filters"]}
        assert wanted["marketoption"] == "OnDemand"
        found = [
            item
            for item in self.products
            if "instanceType" not in wanted or f'"instanceType": "{wanted["instanceType"]}"' in item
        ]
        start = int(body.get("NextToken", 0))
        answer: dict[str, Any] = {"FormatVersion": "aws_v1", "PriceList": found[start : start + 2]}
        if start + 2 < len(found):
            answer["NextToken"] = str(start + 2)
        return 200, "application/x-amz-json-1.1", json.dumps(answer)

    def _rates(self, body: dict[str, Any]) -> tuple[int, str, str]:
        start = int(body.get("nextToken", 0))
        answer: dict[str, Any] = {"searchResults": self.rates[start : start + 1]}
        if start + 1 < len(self.rates):
            answer["nextToken"] = str(start + 1)
        return 200, "application/json", json.dumps(answer)

    def _DescribeAvailabilityZones(self, _body: dict[str, Any]) -> tuple[int, str, str]:  # noqa: N802
        items = "".join(
            f"<item><zoneName>{name}</zoneName><zoneId>{zone}</zoneId></item>" for name, zone in ZONES.items()
        )
        return _xml("DescribeAvailabilityZones", f"<availabilityZoneInfo>{items}</availabilityZoneInfo>")

    def _DescribeSpotPriceHistory(self, body: dict[str, Any]) -> tuple[int, str, str]:  # noqa: N802
        start = int(body.get("NextToken", ["0"])[0])
        items = "".join(
            f"<item><instanceType>{kind}</instanceType><productDescription>Linux/UNIX</productDescription>"
            f"<spotPrice>{price}</spotPrice><timestamp>{at}</timestamp>"
            f"<availabilityZone>{zone}</availabilityZone></item>"
            for kind, zone, price, at in self.spot[start : start + 2]
        )
        after = str(start + 2) if start + 2 < len(self.spot) else ""
        return _xml(
            "DescribeSpotPriceHistory",
            f"<spotPriceHistorySet>{items}</spotPriceHistorySet><nextToken>{after}</nextToken>",
        )

    def _DescribeCapacityBlockOfferings(self, body: dict[str, Any]) -> tuple[int, str, str]:  # noqa: N802
        items = "".join(
            f"<item><capacityBlockOfferingId>cb-{n}</capacityBlockOfferingId><instanceType>{kind}</instanceType>"
            f"<availabilityZone>us-east-1a</availabilityZone><instanceCount>{count}</instanceCount>"
            f"<startDate>2026-12-05T11:30:00Z</startDate><endDate>2026-12-06T11:30:00Z</endDate>"
            f"<capacityBlockDurationHours>{hours}</capacityBlockDurationHours>"
            f"<upfrontFee>{fee}</upfrontFee><currencyCode>USD</currencyCode></item>"
            for n, (kind, fee, count, hours) in enumerate(self.blocks)
            if kind == body["InstanceType"][0]
        )
        return _xml(
            "DescribeCapacityBlockOfferings",
            f"<capacityBlockOfferingSet>{items}</capacityBlockOfferingSet>",
        )


def _xml(action: str, inner: str) -> tuple[int, str, str]:
    space = "http://ec2.amazonaws.com/doc/2016-11-15/"
    return 200, "text/xml", f'<{action}Response xmlns="{space}">{inner}</{action}Response>'


@contextmanager
def serving(answers: Answers) -> Iterator[str]:
    """The endpoint's address on loopback, for as long as the block runs."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers["Content-Length"] or 0)).decode()
            target = self.headers.get("X-Amz-Target", "")
            if target.endswith("GetProducts"):
                status, kind, body = answers.give("get_products", json.loads(raw))
            elif self.path.endswith("DescribeSavingsPlansOfferingRates"):
                status, kind, body = answers.give("rates", json.loads(raw))
            else:
                form = parse_qs(raw)
                status, kind, body = answers.give(form["Action"][0], form)
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body.encode())))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
