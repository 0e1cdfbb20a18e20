"""PURE, torch-free. Which memory techniques a run uses, as plain data that plans and receipts can carry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal, cast, get_args

from headway.errors import UserError

Sharding = Literal["none", "ddp", "zero1", "fsdp", "hsdp"]
Precision = Literal["fp32", "bf16", "fp16"]
Keep = Literal["all", "matmul+attention", "attention", "nothing"]
OptimizerWay = Literal["plain", "in_backward", "offload"]
GradientExchange = Literal["plain", "bf16", "fp16", "powersgd"]

REST = -1


@dataclass(frozen=True, slots=True)
class Segment:
    """A number of consecutive blocks (REST: all that follow) and what their forward pass keeps.

    `all` is no recompute, `nothing` recomputes the whole block from its input; the two between recompute
    everything but matrix products and attention, or everything but attention.
    """

    blocks: int
    keep: Keep


@dataclass(frozen=True, slots=True)
class Recipe:
    """The techniques of one run.

    - `layers`: names of layer techniques in `headway.memory.registry`, each applied wherever it can be;
    - `recompute`: per block, from the first one on; empty is no recompute;
    - `sharding`: of parameters, gradients and optimizer over the workers; `hsdp` shards within a node;
    - `precision`: `bf16` and `fp16` are mixed: weights, gradients and optimizer stay fp32; under autocast
      without FSDP, by FSDP's own policy (parameters cast when gathered, gradients reduced in fp32) with it;
    - `optimizer`: `in_backward` steps each parameter when its gradient is complete; `offload` keeps the
      optimizer's state in host memory;
    - `gradients`: how DDP exchanges them; all but `plain` are lossy;
    - `micro_batch` samples at once on a device (None: a worker's whole share), `accumulation` of them a step;
    - `allocator`: settings of PyTorch's caching allocator, such as ("expandable_segments", "True").
    """

    layers: tuple[str, ...] = ()
    recompute: tuple[Segment, ...] = ()
    sharding: Sharding = "none"
    precision: Precision = "fp32"
    optimizer: OptimizerWay = "plain"
    offload_activations: bool = False
    gradients: GradientExchange = "plain"
    powersgd_rank: int = 4
    micro_batch: int | None = None
    accumulation: int = 1
    allocator: tuple[tuple[str, str], ...] = ()

    def keeps(self, blocks: int) -> tuple[Keep, ...]:
        """What each of a model's blocks keeps, in order."""
        found: list[Keep] = []
        for segment in self.recompute:
            left = blocks - len(found)
            same: list[Keep] = [segment.keep] * max(
                0, left if segment.blocks == REST else min(segment.blocks, left)
            )
            found.extend(same)
        rest: list[Keep] = ["all"] * (blocks - len(found))
        return (*found, *rest)

    def to_data(self) -> dict[str, Any]:
        """As JSON holds it; what has its default is left out."""
        plain = Recipe()
        data = asdict(self)
        return {key: value for key, value in data.items() if getattr(self, key) != getattr(plain, key)}


def uniform(keep: Keep) -> tuple[Segment, ...]:
    """The same for all blocks."""
    return () if keep == "all" else (Segment(REST, keep),)


def recipe_of(data: Mapping[str, object]) -> Recipe:
    """A recipe from JSON.

    Raises:
        UserError: a key or a value that no recipe has.
    """
    known = {field.name for field in fields(Recipe)}
    for key in data:
        if key not in known:
            raise UserError("memory.no_such_key", key=key, known=", ".join(sorted(known)))
    _refuse_bad_values(data)
    values = dict(data)
    if "recompute" in values:
        values["recompute"] = tuple(_segment(item) for item in _items(values["recompute"], "recompute"))
    for key in ("layers", "allocator"):
        if key in values:
            values[key] = tuple(_frozen(item) for item in _items(values[key], key))
    return replace(Recipe(), **cast("dict[str, Any]", values))


def _refuse_bad_values(data: Mapping[str, object]) -> None:
    choices: dict[str, tuple[str, ...]] = {
        "sharding": get_args(Sharding),
        "precision": get_args(Precision),
        "optimizer": get_args(OptimizerWay),
        "gradients": get_args(GradientExchange),
    }
    for key, allowed in choices.items():
        if key in data and data[key] not in allowed:
            raise UserError("memory.bad_value", key=key, value=data[key], known=", ".join(allowed))
    if not isinstance(data.get("offload_activations", False), bool):
        value = data["offload_activations"]
        raise UserError("memory.bad_value", key="offload_activations", value=value, known="true, false")
    for key in ("micro_batch", "accumulation", "powersgd_rank"):
        value = data.get(key, 1)
        if key == "micro_batch" and value is None:
            continue
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise UserError("memory.bad_value", key=key, value=value, known="1, 2, 3, …")


def _items(value: object, key: str) -> list[object]:
    if not isinstance(value, list | tuple):
        raise UserError("memory.bad_value", key=key, value=value, known="a list")
    return list(cast("list[object]", value))


def _frozen(item: object) -> object:
    return tuple(cast("list[object]", item)) if isinstance(item, list) else item


def _segment(item: object) -> Segment:
    data = cast("Mapping[str, Any]", item) if isinstance(item, Mapping) else {}
    if data.keys() - {"blocks", "keep"} or isinstance(data.get("blocks"), bool):
        raise UserError("memory.bad_value", key="recompute", value=item, known="blocks (a number) and keep")
    blocks, keep = data.get("blocks", REST), data.get("keep")
    if keep not in get_args(Keep) or not isinstance(blocks, int) or blocks < REST:
        raise UserError("memory.bad_value", key="recompute", value=item, known=", ".join(get_args(Keep)))
    return Segment(blocks, cast("Keep", keep))
