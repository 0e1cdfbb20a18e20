"""PURE. Rules that split a node's price among the pods on it, each share a fraction of the node.

- `gpu_anchored`, ours: a GPU carries its part of the node's processors and memory with it, for nobody can
  use them while it is held. Who holds 8 of 8 GPUs pays for 8 of 8, whatever else it asks for. What a pod
  takes beyond its GPUs' part, or without a GPU, is paid at the price of processors and memory elsewhere.
- `opencost` and `scad`: the rules of OpenCost (its default weights) and of AWS split cost allocation
  (documented weights), emulated so that bills made by them can be reconciled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from headway.errors import DataError

# USD per hour, solved from two instance types that differ in one of the two only (c7i.4xlarge, r7i.2xlarge).
VCPU_PRICE = Fraction("0.03745")
GIB_PRICE = Fraction("0.00359")
OPENCOST_WEIGHTS = (Fraction("0.95"), Fraction("0.031611"), Fraction("0.004237"))
SCAD_WEIGHTS = (Fraction(9), Fraction("0.9"), Fraction("0.1"))


@dataclass(frozen=True, slots=True)
class Amounts:
    """GPUs (or fractions of them), processors and GiB of memory, of a node or held by a pod."""

    gpus: Fraction
    vcpus: Fraction
    memory_gib: Fraction

    @property
    def three(self) -> tuple[Fraction, Fraction, Fraction]:
        """GPUs, processors, memory."""
        return self.gpus, self.vcpus, self.memory_gib


def amounts(gpus: object, vcpus: object, memory_gib: object) -> Amounts:
    """Amounts from any exact numbers or decimal text."""
    return Amounts(Fraction(str(gpus)), Fraction(str(vcpus)), Fraction(str(memory_gib)))


def slice_of(parts: int, whole: int, slices: int = 1) -> Fraction:
    """GPUs that slices of a GPU are: MIG's compute parts of seven, or replicas of a time-sliced one.

    Raises:
        DataError: more parts than the GPU has.
    """
    share = Fraction(parts * slices, whole)
    if parts < 1 or slices < 0 or share > 1:
        raise DataError("costing.bad_slices", parts=parts * slices, whole=whole)
    return share


Shares = dict[str, Fraction]
Rule = Callable[[Amounts, Fraction, Mapping[str, Amounts]], Shares]


def gpu_anchored(node: Amounts, price_per_hour: Fraction, pods: Mapping[str, Amounts]) -> Shares:
    """Each pod's share of a node by our rule; what is left to 1 is idle.

    Raises:
        DataError: more GPUs are held than the node has.
    """
    if sum(pod.gpus for pod in pods.values()) > node.gpus:
        raise DataError("costing.too_many_gpus", held=sum(pod.gpus for pod in pods.values()), has=node.gpus)
    beyond = {name: _beyond(node, pod) / price_per_hour for name, pod in pods.items()}
    alone = {name: share for name, share in beyond.items() if not pods[name].gpus}
    # Pods without a GPU pay for what they take; GPUs carry the rest of the node.
    taken = min(Fraction(1), sum(alone.values(), Fraction(0)))
    shares = {name: share * taken / sum(alone.values()) for name, share in alone.items() if share}
    if not node.gpus:
        return {**dict.fromkeys(pods, Fraction(0)), **shares}
    for name, pod in pods.items():
        if pod.gpus:
            shares[name] = (1 - taken) * pod.gpus / node.gpus
    left = 1 - sum(shares.values(), Fraction(0))
    more = {name: share for name, share in beyond.items() if pods[name].gpus and share}
    wanted = sum(more.values(), Fraction(0))
    for name, share in more.items():
        shares[name] += share if wanted <= left else share * left / wanted
    return {name: shares.get(name, Fraction(0)) for name in pods}


def _beyond(node: Amounts, pod: Amounts) -> Fraction:
    """USD an hour for processors and memory beyond the part that the pod's GPUs carry."""
    part = pod.gpus / node.gpus if node.gpus else Fraction(0)
    vcpus = max(Fraction(0), pod.vcpus - part * node.vcpus)
    memory = max(Fraction(0), pod.memory_gib - part * node.memory_gib)
    return vcpus * VCPU_PRICE + memory * GIB_PRICE


def unit_prices(node: Amounts, price_per_hour: Fraction) -> tuple[Fraction, Fraction, Fraction]:
    """Prices of a GPU, a processor and a GiB that make up a node's: GPUs are what is left of it.

    Where processors and memory alone would cost more than the node, they share its price.
    """
    rest = price_per_hour - node.vcpus * VCPU_PRICE - node.memory_gib * GIB_PRICE
    if rest >= 0 and node.gpus:
        return rest / node.gpus, VCPU_PRICE, GIB_PRICE
    scale = price_per_hour / (price_per_hour - rest)
    return Fraction(0), VCPU_PRICE * scale, GIB_PRICE * scale


def residual(node: Amounts, price_per_hour: Fraction, pods: Mapping[str, Amounts]) -> Shares:
    """Shares by unit prices alone: processors and memory at their price elsewhere, GPUs at the rest."""
    units = unit_prices(node, price_per_hour)
    return {name: _product(pod, units) / price_per_hour for name, pod in pods.items()}


def opencost(node: Amounts, _price: Fraction, pods: Mapping[str, Amounts]) -> Shares:
    """OpenCost: resources weighted by its default prices, whatever the node costs."""
    return _weighted(node, OPENCOST_WEIGHTS, pods)


def scad(node: Amounts, _price: Fraction, pods: Mapping[str, Amounts]) -> Shares:
    """AWS split cost allocation before it hands out what is unused; oversubscribed resources are scaled."""
    return _weighted(node, SCAD_WEIGHTS, _fitted(node, pods))


def scad_with_unused(node: Amounts, _price: Fraction, pods: Mapping[str, Amounts]) -> Shares:
    """AWS split cost allocation with each resource's unused part shared by those who hold that resource."""
    fitted = _fitted(node, pods)
    whole = _product(node, SCAD_WEIGHTS)
    shares = dict.fromkeys(pods, Fraction(0))
    for index, weight in enumerate(SCAD_WEIGHTS):
        held = sum(pod.three[index] for pod in fitted.values())
        for name, pod in fitted.items():
            if held:
                shares[name] += weight * node.three[index] / whole * pod.three[index] / held
    return shares


def _fitted(node: Amounts, pods: Mapping[str, Amounts]) -> dict[str, Amounts]:
    held = [sum(pod.three[index] for pod in pods.values()) for index in range(3)]
    scale = [
        capacity / total if total > capacity else Fraction(1)
        for capacity, total in zip(node.three, held, strict=True)
    ]
    return {
        name: Amounts(*(amount * factor for amount, factor in zip(pod.three, scale, strict=True)))
        for name, pod in pods.items()
    }


def _weighted(node: Amounts, weights: Sequence[Fraction], pods: Mapping[str, Amounts]) -> Shares:
    whole = _product(node, weights)
    return {name: _product(pod, weights) / whole for name, pod in pods.items()}


def _product(amounts_held: Amounts, units: Sequence[Fraction]) -> Fraction:
    return sum((a * unit for a, unit in zip(amounts_held.three, units, strict=True)), Fraction(0))


RULES: dict[str, Rule] = {
    "gpu-anchored": gpu_anchored,
    "residual": residual,
    "opencost": opencost,
    "scad": scad,
    "scad-with-unused": scad_with_unused,
}
