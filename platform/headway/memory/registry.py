"""All techniques, in the order of their application. Torch-free: torch is imported when one is applied."""

from __future__ import annotations

from headway.errors import UserError
from headway.memory.recipe import Recipe
from headway.memory.technique import Technique
from headway.memory.techniques import (
    accumulation,
    compressed_gradients,
    data_parallel,
    fully_sharded,
    fused_activation,
    fused_loss,
    hybrid_sharded,
    lean_attention,
    lora,
    mixed_precision,
    norm_from_output,
    offload_activations,
    offload_optimizer,
    optimizer_in_backward,
    packed_dropout,
    qlora,
    recompute,
    replayed_dropout,
    zero1,
)

_MODULES = (
    lora, qlora, mixed_precision, fused_activation, norm_from_output, replayed_dropout, packed_dropout,
    lean_attention, fused_loss, recompute, offload_activations, data_parallel, zero1, fully_sharded,
    hybrid_sharded, compressed_gradients, optimizer_in_backward, offload_optimizer, accumulation,
)  # fmt: skip
TECHNIQUES: dict[str, Technique] = {module.TECHNIQUE.name: module.TECHNIQUE for module in _MODULES}
LAYERS: tuple[str, ...] = tuple(name for name, item in TECHNIQUES.items() if item.kind == "layers")
# What costs little and changes no result: a first thing to try.
LEAN_LAYERS: tuple[str, ...] = tuple(name for name in LAYERS if name != "packed_dropout")


_OF_SHARDING: dict[str, tuple[str, ...]] = {
    "ddp": ("data_parallel",),
    "zero1": ("data_parallel", "zero1"),
    "fsdp": ("fully_sharded",),
    "hsdp": ("hybrid_sharded",),
}
_OF_OPTIMIZER = {"in_backward": "optimizer_in_backward", "offload": "offload_optimizer"}


def techniques_of(recipe: Recipe) -> tuple[Technique, ...]:
    """What a recipe is made of, in the order of application.

    Raises:
        UserError: a layer technique that is not known, or two that exclude each other.
    """
    refuse_contradictions(recipe)
    chosen = {
        "recompute": bool(recipe.recompute),
        "offload_activations": recipe.offload_activations,
        "mixed_precision": recipe.precision != "fp32",
        "compressed_gradients": recipe.gradients != "plain",
        "accumulation": recipe.accumulation > 1,
    }
    names = {*recipe.layers, *(name for name, used in chosen.items() if used)}
    names.update(_OF_SHARDING.get(recipe.sharding, ()))
    names.update({_OF_OPTIMIZER[recipe.optimizer]} if recipe.optimizer != "plain" else ())
    return tuple(item for name, item in TECHNIQUES.items() if name in names)


def refuse_contradictions(recipe: Recipe) -> None:
    """See `techniques_of`."""
    for name in recipe.layers:
        if name not in LAYERS:
            raise UserError("memory.no_technique", name=name, known=", ".join(LAYERS))
    if recipe.gradients != "plain" and recipe.sharding not in {"ddp", "zero1"}:
        raise UserError("memory.needs_ddp", exchange=recipe.gradients, sharding=recipe.sharding)
    copies = recipe.sharding in {"ddp", "zero1"}
    pairs = (
        ("replayed_dropout", "packed_dropout", {"replayed_dropout", "packed_dropout"} <= {*recipe.layers}),
        (
            "optimizer: in_backward",
            "accumulation",
            recipe.optimizer == "in_backward" and recipe.accumulation > 1,
        ),
        (
            "optimizer: in_backward",
            f"sharding: {recipe.sharding}",
            recipe.optimizer == "in_backward" and copies,
        ),
        (
            "optimizer: offload",
            "sharding: zero1",
            recipe.optimizer == "offload" and recipe.sharding == "zero1",
        ),
    )
    for first, second, both in pairs:
        if both:
            raise UserError("memory.exclusive", first=first, second=second)


def lossy_in(recipe: Recipe) -> tuple[str, ...]:
    """The techniques of a recipe that change results beyond rounding."""
    return tuple(item.name for item in techniques_of(recipe) if not item.exact)
