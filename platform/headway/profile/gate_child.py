"""`python -m headway.profile.gate_child RESULT`: the gradient gate on a small slice of a job's model.

The request on stdin is that of a trace. Like `headway.profile.child`, it is the user's code that runs here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import Any, cast

import torch
from torch import Tensor, nn

from headway.errors import UserError
from headway.memory.gate import GateReport, check
from headway.memory.recipe import Recipe
from headway.profile.answering import answer
from headway.profile.child import checked, resolve, takes_layers
from headway.profile.models import batch_maker, config_of, model_builder
from headway.profile.traced_types import TraceRequest, request_of
from headway.profile.whole import adapted

SAMPLES, LENGTH, LAYERS = 4, 24, 2
MOST_PARAMETERS = 300_000_000


def report(asked: Mapping[str, Any]) -> Mapping[str, Any]:
    """The gate's report on a request."""
    request = request_of(asked["trace"])
    torch.set_num_threads(max(1, torch.get_num_threads() // 2))
    return {"report": asdict(gated(request, resolve(request), exact=bool(asked["exact"])))}


def gated(request: TraceRequest, factory: Callable[..., Any] | None, *, exact: bool) -> GateReport:
    """The gate on a small model of the same family, or on the factory's own with two blocks.

    Raises:
        UserError: the factory's model is too large to run on a processor and cannot be made shallower.
    """
    torch.manual_seed(0)
    model, batch = _of_factory(request, factory) if factory is not None else _of_config(request)
    return check(adapted(model, request, random=True), batch, small_recipe(request.recipe), exact=exact)


def small_recipe(recipe: Recipe) -> Recipe:
    """The recipe for four samples: two parts where it accumulates, one otherwise."""
    parts = 2 if recipe.accumulation > 1 else 1
    return replace(recipe, micro_batch=SAMPLES // parts, accumulation=parts)


def _of_config(request: TraceRequest) -> tuple[nn.Module, Mapping[str, Tensor]]:
    """A small model with the configuration's own structure: proportions, activation, norms, sharing."""
    full = config_of(request.model, dict(request.config))
    small = {**dict(request.config), **_smaller(full)}
    config = config_of(request.model, small, layers=LAYERS)
    model = model_builder(request.model, small, layers=LAYERS)()
    image = getattr(config, "image_size", None)
    batch = batch_maker(getattr(config, "vocab_size", 0), image=image)(SAMPLES, LENGTH)
    return model, batch


def _smaller(config: Any) -> dict[str, object]:  # noqa: ANN401 - a configuration of transformers
    heads = int(config.num_attention_heads)
    groups = heads // int(getattr(config, "num_key_value_heads", None) or heads)
    few = 4 if groups == 1 else 4 * groups // max(1, min(groups, 2))
    hidden, inner = 16 * few, int(getattr(config, "intermediate_size", 0) or 0)
    wide = int(config.hidden_size)
    same: dict[str, str] = dict(getattr(config, "attribute_map", {}))  # GPT-2 has other names for the same
    found: dict[str, object] = {
        same.get("hidden_size", "hidden_size"): hidden,
        same.get("num_attention_heads", "num_attention_heads"): few,
    }
    if groups > 1:
        found["num_key_value_heads"] = max(1, few // groups)
    if getattr(config, "head_dim", None) is not None:
        found["head_dim"] = hidden // few
    if inner:
        found["intermediate_size"] = max(8, round(inner * hidden / wide / 8) * 8)
    if getattr(config, "vocab_size", 0):
        found["vocab_size"] = min(int(config.vocab_size), 7 * hidden)
    for name in ("bos_token_id", "eos_token_id", "pad_token_id"):
        token = getattr(config, name, None)
        if isinstance(token, int):
            found[name] = min(token, 2)
    return found


def _of_factory(request: TraceRequest, factory: Callable[..., Any]) -> tuple[nn.Module, Any]:
    keywords = {"layers": LAYERS} if takes_layers(factory) else {}
    with torch.device("meta"):
        shape, _batch = checked(factory(**keywords), request.factory)
    count = sum(parameter.numel() for parameter in cast("nn.Module", shape).parameters())
    if count > MOST_PARAMETERS:
        raise UserError("gate.too_large", name=request.factory, parameters=count, most=MOST_PARAMETERS)
    model, batch = checked(factory(**keywords), request.factory)
    example = batch if isinstance(batch, Mapping) else batch(SAMPLES, LENGTH)
    return model, cut(cast("Mapping[str, Tensor]", example))


def cut(example: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
    """At most a few samples of an example batch, its values kept; repeated where it has fewer.

    Raises:
        UserError: it has no samples.
    """
    found: dict[str, Tensor] = {}
    for name, item in example.items():
        if item.dim() and not item.shape[0]:
            raise UserError("gate.empty_batch", name=name)
        times = -(-SAMPLES // item.shape[0]) if item.dim() else 1
        enough = item.repeat(times, *[1] * (item.dim() - 1)) if times > 1 else item
        found[name] = enough[:SAMPLES] if item.dim() else item
    return found


if __name__ == "__main__":
    answer(report)
