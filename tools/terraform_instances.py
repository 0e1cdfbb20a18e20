# ruff: noqa: INP001 - a script, not a package
"""What the module gpu_node_pool knows of instance types, from the catalogue: GPUs, memory, links, disks.

    tools/terraform_instances.py            writes terraform/modules/gpu_node_pool/instances.json
    tools/terraform_instances.py --check    fails when the file is not what it would write

Only types that EKS's AL2023 image for NVIDIA runs on: x86-64, whole NVIDIA devices.
"""

from __future__ import annotations

import csv
import json
import sys
from importlib.resources import files
from pathlib import Path

from headway.catalog.tables import accelerators, instance_types

TARGET = Path(__file__).parents[1] / "terraform/modules/gpu_node_pool/instances.json"
# Network cards that take an EFA interface (general knowledge of the EC2 user guide); one where none is said.
EFA_CARDS = {
    "p4d.24xlarge": 4,
    "p4de.24xlarge": 4,
    "p5.48xlarge": 32,
    "p5e.48xlarge": 32,
    "p5en.48xlarge": 16,
    "p6-b200.48xlarge": 8,
}
# Too old for the driver of that image.
WITHOUT_DRIVER = {"k80", "m60", "k520"}


def disks() -> dict[str, int]:
    """Bytes of instance store by type, as the package's table of instances has them."""
    data = files("headway.catalog").joinpath("data", "aws_ec2_instances.csv").read_text(encoding="utf-8")
    return {
        row["instance_type"]: int(row["local_nvme_bytes"] or 0) for row in csv.DictReader(data.splitlines())
    }


def known() -> dict[str, dict[str, object]]:
    """Every type that a GPU pool can hold."""
    found: dict[str, dict[str, object]] = {}
    scratch = disks()
    for name, kind in sorted(instance_types().items()):
        device = accelerators().get(kind.accelerator or "")
        if (
            device is None
            or device.vendor != "NVIDIA"
            or device.key in WITHOUT_DRIVER
            or kind.arch != "x86_64"
        ):
            continue
        if kind.accelerator_count != int(kind.accelerator_count):
            continue
        found[name] = {
            "accelerator": device.key,
            "gpus": int(kind.accelerator_count),
            "gpu_memory_bytes": device.memory_bytes,
            "efa_cards": EFA_CARDS.get(name, 1) if kind.efa else 0,
            "scratch_bytes": scratch[name],
        }
    return found


def main() -> int:
    """Write or check the file."""
    text = json.dumps(known(), indent=2) + "\n"
    if "--check" in sys.argv[1:]:
        return 0 if TARGET.read_text(encoding="utf-8") == text else 1
    TARGET.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
