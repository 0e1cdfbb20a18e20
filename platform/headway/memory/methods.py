"""The training methods a user chooses: all weights, adapters (LoRA), adapters on 4-bit weights (QLoRA)."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, cast

import torch
from torch import nn

from headway.errors import UserError
from headway.memory.layers.four_bit import FourBitLinear


def adapt(
    model: nn.Module,
    method: str,
    *,
    rank: int = 8,
    alpha: float | None = None,
    targets: Sequence[str] = (),
    random: bool = False,
) -> nn.Module:
    """A model as its method trains it.

    Args:
        model: with its weights.
        method: `full`, `lora` or `qlora`.
        rank: of the adapters; `alpha` scales them, twice the rank by default.
        alpha: see `rank`.
        targets: names of modules that get adapters; all Linears but the head by default.
        random: adapters that already do something, for the gate: at zero half of the gradients would be zero.

    Raises:
        UserError: the method is not known, or the model has nothing to adapt.
    """
    if method == "full":
        return model
    if method not in {"lora", "qlora"}:
        raise UserError("memory.no_method", name=method)
    if method == "qlora":
        quantize_linears(model)
    from peft import LoraConfig, get_peft_model

    config = LoraConfig(
        r=rank,
        lora_alpha=cast("int", alpha if alpha is not None else 2 * rank),
        target_modules=list(targets) or "all-linear",
        init_lora_weights=not random,
    )
    try:
        with warnings.catch_warnings():
            # What peft sets by itself for GPT-2's Conv1D, and names that transformers is about to change.
            warnings.simplefilter("ignore")
            return get_peft_model(cast("Any", model), config)
    except ValueError as problem:
        raise UserError("memory.nothing_to_adapt", what=str(problem).splitlines()[0]) from None


def quantize_linears(model: nn.Module) -> list[str]:
    """Put every Linear but the output head into 4 bits, in place; gives their names."""
    find = getattr(model, "get_output_embeddings", None)
    head = find() if callable(find) else None
    names = [
        name for name, module in model.named_modules() if type(module) is nn.Linear and module is not head
    ]
    for name in names:
        parent = model.get_submodule(name.rpartition(".")[0])
        plain = cast("nn.Linear", model.get_submodule(name))
        with torch.no_grad():
            setattr(parent, name.rpartition(".")[2], FourBitLinear(plain))
    return names
