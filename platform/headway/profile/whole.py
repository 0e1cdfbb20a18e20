"""A whole profile: peaks, work and what blocks keep, for a factory's model or a configuration's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import torch
from torch import Tensor, nn

from headway.memory.blocks import blocks_of
from headway.memory.methods import adapt
from headway.memory.recipe import Recipe, uniform
from headway.profile.beside import both
from headway.profile.child import checked, whole_depth
from headway.profile.deep import profile_deep_peak
from headway.profile.extrapolate import along
from headway.profile.fakes import OneFakeMode, unmoved
from headway.profile.models import batch_maker, config_of, layers_of, model_builder
from headway.profile.peak import profile_peak
from headway.profile.polynomial import SavedBytes
from headway.profile.saved import saved_per_block
from headway.profile.step_types import StepPeak
from headway.profile.trace import MakeBatch
from headway.profile.traced_types import TracedProfile, TraceRequest, Versions

_SAVED: dict[str, Recipe] = {
    "all": Recipe(),
    "matmul+attention": Recipe(recompute=uniform("matmul+attention")),
    "attention": Recipe(recompute=uniform("attention")),
    "nothing": Recipe(recompute=uniform("nothing")),
}


@dataclass(frozen=True, slots=True)
class Source:
    """How a model is made; its blocks, and the depth that makes all of it (None: it has one depth only).

    The two differ in a model with an encoder and a decoder, or where the blocks are not recognised.
    """

    build: Callable[[int | None], nn.Module]
    batch: MakeBatch
    layers: int
    depth: int | None
    parameters: int
    trained: int


def versions_of(recipe: Recipe) -> Versions:
    """What a trace in this process depends on."""
    import transformers

    kernel = "chunked" if "fused_loss" in recipe.layers else "torch cross_entropy"
    return Versions(torch.__version__, transformers.__version__, kernel)


def traced_profile(request: TraceRequest, factory: Callable[..., Any] | None) -> TracedProfile:
    """Trace everything that a plan needs.

    Raises:
        UserError: the factory returns something else than it should, a model has no loss, a name is unknown.
    """
    source = source_of_request(request, factory)
    recipe = request.recipe
    bare = Recipe(precision=recipe.precision, sharding=recipe.sharding if request.sharded else "none")
    workers = request.world_size if request.sharded else 1

    def peak(asked: Recipe, world_size: int, *, main: bool = False) -> StepPeak:
        how: dict[str, Any] = {
            "recipe": asked,
            "micro_batch": request.micro_batch,
            "seq_len": request.seq_len,
            "optimizer": request.optimizer,
            "world_size": world_size,
            "workers_in_node": request.workers_in_node,
            "rules": request.rules,
        }
        if source.depth is not None:
            return profile_deep_peak(
                source.build, source.batch, layers=source.depth, check=main, reserved=main, **how
            )
        return profile_peak(lambda: source.build(None), source.batch, **how)

    def unless_whole(asked: Recipe) -> StepPeak | None:
        # What the allocator is set to changes nothing of what is allocated.
        same = workers == request.world_size and asked == replace(recipe, allocator=())
        return None if same else peak(asked, workers)

    def others() -> tuple[StepPeak | None, StepPeak | None, dict[str, SavedBytes]]:
        saved = _saved(source, request) if source.layers > 1 else {}
        return unless_whole(bare), unless_whole(replace(bare, recompute=uniform("nothing"))), saved

    whole, (plain, recomputed, saved) = both(
        lambda: peak(recipe, request.world_size, main=True), others, fork=factory is None
    )
    return TracedProfile(
        request=request,
        versions=versions_of(recipe),
        parameters=source.parameters,
        trained=source.trained,
        layers=source.layers,
        peak=whole,
        plain=plain or whole,
        recomputed=recomputed or whole,
        saved=saved,
    )


def source_of_request(request: TraceRequest, factory: Callable[..., Any] | None) -> Source:
    """How a request's model and batch are made."""
    return _of_factory(request, factory) if factory is not None else _of_config(request)


def _saved(source: Source, request: TraceRequest) -> dict[str, SavedBytes]:
    recipes = dict(_SAVED)
    if request.recipe.layers:
        recipes["recipe"] = Recipe(layers=request.recipe.layers)
    depth = None if source.depth is None else 2
    sharding = request.recipe.sharding if request.sharded else "none"
    return {
        name: saved_per_block(
            lambda: source.build(depth),
            source.batch,
            recipe=replace(recipe, precision=request.recipe.precision, sharding=sharding),
            rules=request.rules,
            longest=request.seq_len,
        )
        for name, recipe in recipes.items()
    }


def _of_config(request: TraceRequest) -> Source:
    changes = dict(request.config)
    config = config_of(request.model, changes)
    vocab, image = getattr(config, "vocab_size", 0), getattr(config, "image_size", None)

    def build(layers: int | None) -> nn.Module:
        return adapted(model_builder(request.model, changes, layers=layers)(), request)

    layers = layers_of(request.model, changes)
    return Source(build, batch_maker(vocab, image=image), layers, layers, *_counts(build, layers))


def _of_factory(request: TraceRequest, factory: Callable[..., Any]) -> Source:
    depth = whole_depth(factory)

    def made(layers: int | None) -> tuple[nn.Module, Any]:
        keywords = {} if layers is None else {"layers": layers}
        model, batch = checked(factory(**keywords), request.factory)
        return cast("nn.Module", model), batch

    def build(layers: int | None) -> nn.Module:
        return adapted(made(layers)[0].train(), request)

    def batch(micro_batch: int, seq_len: int) -> Mapping[str, Tensor]:
        example = made(None if depth is None else 2)[1]
        return (
            _resized(example, micro_batch, seq_len)
            if isinstance(example, Mapping)
            else example(micro_batch, seq_len)
        )

    with OneFakeMode(allow_non_fake_inputs=True):
        layers = len(blocks_of(build(None)))
    counts = _count(lambda: build(None)) if depth is None else _counts(build, depth)
    return Source(build, batch, layers, depth, *counts)


def adapted(model: nn.Module, request: TraceRequest, *, random: bool = False) -> nn.Module:
    """The model as its method trains it."""
    with unmoved():
        return adapt(model, request.method, rank=request.rank, targets=request.targets, random=random)


def _counts(build: Callable[[int | None], nn.Module], layers: int) -> tuple[int, int]:
    """Weights of the whole model, all and trained, from two shallow ones."""
    few, more = _count(lambda: build(2)), _count(lambda: build(3))
    return along(few[0], more[0], (2, 3), layers), along(few[1], more[1], (2, 3), layers)


def _count(build: Callable[[], nn.Module]) -> tuple[int, int]:
    with OneFakeMode(allow_non_fake_inputs=True):
        every = list(build().parameters())
    # Packed weights of 4 bits are two a byte.
    sizes = [(p.numel() * (2 if p.dtype == torch.uint8 else 1), p.requires_grad) for p in every]
    return sum(size for size, _trained in sizes), sum(size for size, trained in sizes if trained)


def _resized(example: object, micro_batch: int, seq_len: int) -> Mapping[str, Tensor]:
    """An example made `micro_batch` samples large; what is as long as its first item, `seq_len` long."""
    items = cast("Mapping[str, Tensor]", example)
    # Only token ids say how long a sample is: another width is the model's own.
    ids = (item for item in items.values() if item.dim() == 2 and not item.is_floating_point())
    length = next((item.shape[1] for item in ids), None)
    found: dict[str, Tensor] = {}
    for name, item in items.items():
        sizes = [micro_batch, *item.shape[1:]] if item.dim() else []
        if len(sizes) == 2 and sizes[1] == length:
            sizes[1] = seq_len
        found[name] = torch.zeros(sizes, dtype=item.dtype)
    return found
