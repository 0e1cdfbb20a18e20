"""The share of peak that a job reaches on each offering, by the throughput model of published training runs.

The model's step on one machine, in the layout that fits it best, is turned into the share of peak that the
planner works with; exchange between machines is the planner's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from headway.catalog.tables import accelerators
from headway.catalog.throughput import throughput_fit
from headway.planner.predict import memory_bytes
from headway.planner.search import HEADROOM, recipes
from headway.planner.throughput.model import ThroughputModel, model_of, predicted
from headway.planner.throughput.published import device_of
from headway.planner.throughput.setups import Device, Layout, Recompute, Setup
from headway.planner.throughput.shapes import shape_of_profile
from headway.planner.types import Efficiency, Offering, Recipe, Work
from headway.profile.types import ModelProfile


@cache
def _model() -> ThroughputModel:
    return model_of(throughput_fit())


def with_efficiencies(offerings: Sequence[Offering], work: Work) -> list[Offering]:
    """Offerings with the efficiency of this work; what the model says nothing of keeps what it had."""
    known: dict[tuple[object, ...], Efficiency] = {}
    found: list[Offering] = []
    for offering in offerings:
        key = offering.hardware
        if key not in known:
            known[key] = _fitted(offering, work)
        same = known[key] is offering.efficiency
        found.append(offering if same else replace(offering, efficiency=known[key]))
    return found


def is_causal(profile: ModelProfile) -> bool:
    """Whether a token sees only those before it: a decoder's head is as long as its context."""
    encoder = profile.name.lower().startswith(("bert", "roberta", "vit", "minilm"))
    return profile.logit_bytes_per_token > 0 and not encoder


def _fitted(offering: Offering, work: Work) -> Efficiency:
    device = device_of(accelerators()[offering.accelerator])
    if offering.processor or device is None:
        return offering.efficiency
    recipe = _reference(work, offering)
    found = None if recipe is None else _efficiency(offering, device, work.profile, recipe)
    return found or offering.efficiency


def _reference(work: Work, offering: Offering) -> Recipe | None:
    """What one machine would run: the least recompute and sharding that fit, the largest micro-batch."""
    room = HEADROOM * offering.memory_bytes
    fitting = [
        recipe
        for recipe in recipes(work, offering.devices)
        if not recipe.lean and memory_bytes(work, recipe, offering.devices, offering.devices) <= room
    ]
    order = ("ddp", "zero1", "fsdp")
    return min(
        fitting, key=lambda one: (one.recompute, order.index(one.sharding), -one.micro_batch), default=None
    )


def _efficiency(
    offering: Offering, device: Device, profile: ModelProfile, recipe: Recipe
) -> Efficiency | None:
    peak = offering.peak_flops.get(profile.precision) or offering.peak_flops.get("fp32")
    if not peak or profile.recompute_flops_per_token <= 0:
        return None
    model = _model()
    setup = Setup(
        shape_of_profile(profile, causal=is_causal(profile)),
        device,
        Layout(
            offering.devices,
            offering.devices,
            offering.device_link_bytes_per_second,
            offering.node_link_bytes_per_second,
            sharding=recipe.sharding,
        ),
        profile.precision,
        recipe.micro_batch,
        profile.seq_len,
        recompute=Recompute.FULL if recipe.recompute else Recompute.NONE,
        adapters=profile.method != "full",
    )
    found = predicted(setup, model, model.correction("headway", offering.accelerator), family=profile.name)
    again = profile.recompute_flops_per_token if recipe.recompute else 0.0
    per_token = (profile.flops_per_token + again) / (offering.devices * peak)
    expected, low, high = (
        min(1.0, rate * per_token) for rate in (found.tokens_per_second, found.low, found.high)
    )
    return Efficiency(expected, low, high, f"throughput model of published runs: {found.basis}")
