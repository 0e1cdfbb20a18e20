"""The EC2 instance that this machine is, by its metadata service (IMDSv2), hence its real price.

Asked only where the firmware says that this is EC2, or where AWS's own variable names an endpoint.
"""

from __future__ import annotations

import os
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

ENDPOINT = "http://169.254.169.254"
VENDOR = Path("/sys/class/dmi/id/sys_vendor")
WAIT_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Instance:
    """What an instance says of itself; `lifecycle` is `on-demand`, `spot` or `scheduled`."""

    instance_type: str
    region: str
    zone_id: str
    lifecycle: str


def endpoint(vendor: Path = VENDOR) -> str | None:
    """Where the metadata service is, or None where this is not EC2 or it was switched off."""
    if os.environ.get("AWS_EC2_METADATA_DISABLED", "").lower() == "true":
        return None
    given = os.environ.get("AWS_EC2_METADATA_SERVICE_ENDPOINT")
    if given:
        return given.rstrip("/")
    try:
        maker = vendor.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return None
    return ENDPOINT if maker == "Amazon EC2" else None


def instance(vendor: Path = VENDOR) -> Instance | None:
    """This machine as an EC2 instance; None where it is none, or the service does not answer."""
    base = endpoint(vendor)
    if base is None:
        return None
    try:
        token = _ask(f"{base}/latest/api/token", {"X-aws-ec2-metadata-token-ttl-seconds": "60"}, method="PUT")
        header = {"X-aws-ec2-metadata-token": token}

        def read(path: str) -> str:
            return _ask(f"{base}/latest/meta-data/{path}", header)

        return Instance(
            instance_type=read("instance-type"),
            region=read("placement/region"),
            zone_id=read("placement/availability-zone-id"),
            lifecycle=read("instance-life-cycle"),
        )
    except (urllib.error.URLError, OSError, ValueError):
        return None


def _ask(url: str, headers: dict[str, str], method: str = "GET") -> str:
    request = urllib.request.Request(url, headers=headers, method=method)  # noqa: S310 - http by design of IMDS
    with urllib.request.urlopen(request, timeout=WAIT_SECONDS) as answer:  # noqa: S310 - as above
        return answer.read().decode("ascii").strip()
