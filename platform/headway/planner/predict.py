"""PURE. Memory, time, money, energy and carbon of one recipe on some nodes of an offering.

- Memory per device: weights, states and gradients (sharded under FSDP), activations of one micro-batch,
  the loss head, FSDP's two gathered blocks, a DDP bucket copy, and a fixed allowance for context and
  fragmentation (1 GiB and 4 %).
- Time of a step: FLOPs at the stated share of peak, plus the part of the gradient exchange that the
  backward pass (two thirds of the step) does not hide. A ring moves 2·(n−1)/n of the bytes it reduces.
- Interruptions: Young/Daly. With save cost δ, rate λ and restart R, checkpoints every sqrt(2·δ/λ) and an
  overhead of δ/τ + λ·(τ/2 + R).
"""

from __future__ import annotations

import math
from decimal import Decimal

from headway.planner.moving import legs, moved
from headway.planner.types import Offering, Prediction, Range, Recipe, Work
from headway.profile.types import ModelProfile

CONTEXT_BYTES = 1 << 30
FRAGMENTATION = 0.04
BUCKET_BYTES = 2 * 25 * 2**20
BACKWARD_SHARE = 2 / 3
CHECKPOINT_SECONDS = 60.0
JOULES_PER_KWH = 3_600_000

# Lean layers repeat elementwise work in the backward pass: 4 % of a step measured on a processor; assumed.
LEAN_TIME = 1.04


def profile_for(work: Work, recipe: Recipe) -> ModelProfile:
    """The profile that a recipe has."""
    return work.lean if recipe.lean and work.lean is not None else work.profile


def memory_bytes(work: Work, recipe: Recipe, devices: int, inside: int = 1) -> int:
    """Peak bytes on one device; `inside` are the devices of a node, over which `hsdp` shards."""
    profile = profile_for(work, recipe)
    tokens = recipe.micro_batch * profile.seq_len
    if recipe.recompute:
        activations = (profile.recompute_bytes_per_token + profile.layer_bytes_per_token) * tokens
    else:
        activations = profile.activation_bytes_per_token * tokens
    logits = profile.logit_bytes_per_token * tokens
    fixed = profile.weight_bytes + profile.state_bytes
    if recipe.sharding in {"fsdp", "hsdp"}:
        shards = devices if recipe.sharding == "fsdp" else inside
        fixed = fixed / shards + 2 * profile.weight_bytes / max(1, shards)
    elif devices > 1:
        fixed += BUCKET_BYTES
        if recipe.sharding == "zero1":
            fixed -= (profile.state_bytes - profile.gradient_bytes) * (1 - 1 / devices)
    return math.ceil((fixed + activations + logits) * (1 + FRAGMENTATION)) + CONTEXT_BYTES


def exchange_seconds(work: Work, sharding: str, offering: Offering, nodes: int) -> float:
    """Exchange of gradients and weights for one update, over rings; none of it hidden yet.

    A ring of n sends (n−1)/n of the bytes to reduce or to gather them. DDP does both with gradients, ZeRO-1
    gathers weights instead, FSDP gathers them twice; hybrid sharding does that within a node, and between
    nodes reduces the shards only.
    """
    devices = nodes * offering.devices
    if devices == 1:
        return 0.0
    gradients, weights = work.profile.gradient_bytes, work.profile.weight_bytes
    if sharding == "hsdp":
        inside = (offering.devices - 1) / offering.devices * (gradients + 2 * weights)
        across = 2 * (nodes - 1) / nodes * gradients
        return inside / offering.device_link_bytes_per_second + across / offering.node_link_bytes_per_second
    link = offering.device_link_bytes_per_second
    if nodes > 1:
        # As many rings as adapters, each crossing between nodes elsewhere: together all of a node's.
        link = min(link, offering.node_link_bytes_per_second)
    moved = {"ddp": 2 * gradients, "zero1": gradients + weights, "fsdp": gradients + 2 * weights}[sharding]
    return (devices - 1) / devices * moved / link


def step_parts(
    work: Work, recipe: Recipe, offering: Offering, nodes: int, share: float
) -> tuple[float, float]:
    """Seconds of one optimizer step (a global batch): arithmetic at a share of the peak, exposed exchange."""
    devices = nodes * offering.devices
    profile = work.profile
    per_token = profile.flops_per_token + (profile.recompute_flops_per_token if recipe.recompute else 0.0)
    peak = offering.peak_flops.get(profile.precision) or offering.peak_flops["fp32"]
    micro_steps = math.ceil(work.global_batch / (recipe.micro_batch * devices))
    tokens = micro_steps * recipe.micro_batch * profile.seq_len
    compute = tokens * per_token / (peak * share) * (LEAN_TIME if recipe.lean else 1.0)
    exchange = exchange_seconds(work, recipe.sharding, offering, nodes)
    return compute, max(0.0, exchange - BACKWARD_SHARE * compute / micro_steps)


def step_seconds(work: Work, recipe: Recipe, offering: Offering, nodes: int, share: float) -> float:
    """One optimizer step (a global batch), at a share of the devices' peak."""
    return sum(step_parts(work, recipe, offering, nodes, share))


def interruption_overhead(rate_per_second: float, restart_seconds: float) -> tuple[float, float | None]:
    """The extra share of time that interruptions cost, and how often to save (None: no interruptions)."""
    if rate_per_second <= 0:
        return 0.0, None
    every = math.sqrt(2 * CHECKPOINT_SECONDS / rate_per_second)
    return CHECKPOINT_SECONDS / every + rate_per_second * (every / 2 + restart_seconds), every


def predict(work: Work, recipe: Recipe, offering: Offering, nodes: int) -> Prediction:
    """The whole run."""
    steps = math.ceil(work.samples / work.global_batch)
    rate = offering.interruptions_per_hour * nodes / 3600
    overhead, every = interruption_overhead(rate, offering.start_seconds)

    def run_seconds(share: float) -> float:
        training = steps * step_seconds(work, recipe, offering, nodes, share)
        return offering.start_seconds + training * (1 + overhead)

    efficiency = offering.efficiency
    busy = Range(run_seconds(efficiency.expected), run_seconds(efficiency.high), run_seconds(efficiency.low))
    kwh = nodes * offering.node_watts * busy.expected * offering.pue / JOULES_PER_KWH
    ways = legs(work, offering)
    moving, moving_seconds = moved(ways), sum((leg.seconds for leg in ways), 0.0)
    data_in = ways[0].seconds if ways else 0.0
    waiting = moving_seconds - data_in + max(data_in, offering.queue_seconds)

    def cost(duration: float) -> Decimal | None:
        if offering.price_per_hour is None:
            return None
        return _cost(offering, nodes, duration) + moving.cost

    return Prediction(
        nodes=nodes,
        recipe=recipe,
        memory_bytes=memory_bytes(work, recipe, nodes * offering.devices, offering.devices),
        seconds=Range(busy.expected + waiting, busy.low + waiting, busy.high + waiting),
        cost=cost(busy.expected),
        cost_low=cost(busy.low),
        cost_high=cost(busy.high),
        kwh=kwh,
        grams_co2e=None if offering.grams_per_kwh is None else kwh * offering.grams_per_kwh,
        interruptions=rate * busy.expected,
        checkpoint_every_seconds=every,
        moving_cost=moving.cost if ways else None,
        moving_seconds=moving_seconds,
        waiting_seconds=waiting,
        unknown_egress=moving.unknown[0] if moving.unknown else None,
    )


def _cost(offering: Offering, nodes: int, seconds: float) -> Decimal:
    hours = Decimal(repr(seconds)) / 3600
    amount = (offering.price_per_hour or Decimal(0)) * nodes * hours
    if offering.tariff_per_kwh is not None:
        kwh = Decimal(repr(nodes * offering.node_watts * seconds * offering.pue / JOULES_PER_KWH))
        amount += kwh * offering.tariff_per_kwh
    return amount
