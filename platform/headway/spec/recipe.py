"""What a job says about its recipe: a preset, or which memory techniques to use."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, GetJsonSchemaHandler, StrictBool
from pydantic_core import CoreSchema

from headway.spec.parts import Found, Part, fault
from headway.spec.problems import show
from headway.spec.quantities import Whole, within
from headway.spec.workload import Distinct

Preset = Literal["none", "auto"]
LayerTechnique = Literal[
    "fused_activation",
    "norm_from_output",
    "replayed_dropout",
    "packed_dropout",
    "lean_attention",
    "fused_loss",
]
KeptByBlock = Literal["all", "matmul+attention", "attention", "nothing"]
ShardingWay = Literal["none", "ddp", "zero1", "fsdp", "hsdp"]


class RecomputeSegment(Part):
    """A number of consecutive blocks (all that follow, where it is left out) and what they keep."""

    blocks: Annotated[Whole, within("memory.recipe.recompute")] | None = None
    keep: KeptByBlock


def _segments(value: object) -> object:
    """One word stands for all blocks."""
    return [{"keep": value}] if isinstance(value, str) else value


class RecipeSpec(Part):
    """The techniques of a run; what is left out stays as the preset has it."""

    preset: Preset = "none"
    layers: Annotated[tuple[LayerTechnique, ...], Field(max_length=8), Distinct] = ()
    recompute: Annotated[
        tuple[RecomputeSegment, ...],
        Field(max_length=1000),
        BeforeValidator(_segments, json_schema_input_type=KeptByBlock | tuple[RecomputeSegment, ...]),
    ] = ()
    sharding: ShardingWay | None = None
    optimizer: Literal["plain", "in_backward", "offload"] = "plain"
    offload_activations: StrictBool = False
    gradients: Literal["plain", "bf16", "fp16", "powersgd"] = "plain"
    powersgd_rank: Annotated[Whole, within("memory.recipe.powersgd_rank")] = 4
    expandable_segments: StrictBool = False

    def conflicts(self) -> Iterator[Found]:
        """Techniques that exclude each other."""
        if {"replayed_dropout", "packed_dropout"} <= {*self.layers}:
            both: dict[str, object] = {"first": "replayed_dropout", "second": "packed_dropout"}
            yield Found(("layers",), "spec.exclusive", both)
        copies = {"ddp", "zero1"}
        if self.gradients != "plain" and self.sharding is not None and self.sharding not in copies:
            yield Found(
                ("gradients",), "spec.needs_ddp", {"value": self.gradients, "sharding": self.sharding}
            )
        if self.optimizer == "in_backward" and self.sharding in copies:
            both = {"first": "optimizer: in_backward", "second": f"sharding: {self.sharding}"}
            yield Found(("optimizer",), "spec.exclusive", both)
        if self.optimizer == "offload" and self.sharding == "zero1":
            yield Found(
                ("optimizer",), "spec.exclusive", {"first": "optimizer: offload", "second": "sharding: zero1"}
            )

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """The presets' names beside the mapping, which pydantic cannot know of."""
        written = handler.resolve_ref_schema(handler(core))
        mapping = {key: value for key, value in written.items() if key != "description"}
        return {
            "description": written.get("description", ""),
            "anyOf": [{"enum": ["none", "auto"], "type": "string"}, mapping],
        }


def recipe_or_preset(value: object) -> object:
    """A preset's name stands for a recipe of nothing else."""
    if isinstance(value, str) and value in {"none", "auto"}:
        return {"preset": value}
    if isinstance(value, RecipeSpec | dict):
        return value
    raise fault("spec.not_recipe", value=show(value))
