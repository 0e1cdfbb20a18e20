"""Attention without a score matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headway.memory.technique import Change, Technique

if TYPE_CHECKING:
    from torch import nn

NAME = "lean_attention"
IMPLEMENTATION = "headway"


def apply(model: nn.Module) -> Change:
    """Choose the attention function of transformers' models; torch's own attention has no score matrix."""
    import torch

    changed: list[str] = []
    places: list[str] = []
    unchanged: list[tuple[str, str]] = []
    for name, module in model.named_modules():
        config: Any = getattr(module, "config", None)
        if hasattr(module, "set_attn_implementation") and hasattr(config, "_attn_implementation"):
            if not any(other == "" or name.startswith(f"{other}.") for other in places):
                places.append(name)
                _register()
                choose: Any = module.set_attn_implementation
                choose(IMPLEMENTATION)
                changed.append(name or type(module).__name__)
        elif isinstance(module, torch.nn.MultiheadAttention):
            unchanged.append((name, "nn.MultiheadAttention calls PyTorch's fused attention by itself"))
    return Change(NAME, tuple(changed), tuple(unchanged))


def _register() -> None:
    from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS, sdpa_mask
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    from headway.memory.layers.attention import lean_attention

    ALL_ATTENTION_FUNCTIONS.register(IMPLEMENTATION, lean_attention)
    ALL_MASK_ATTENTION_FUNCTIONS.register(IMPLEMENTATION, sdpa_mask)


TECHNIQUE = Technique(
    name=NAME,
    kind="layers",
    does="attention by a fused kernel; on a processor with dropout by chunks of query rows, replayed",
    saves="all terms in S²: 5·a·B·S² bytes a layer in 16 bits with a heads",
    costs="on GPUs none: it is faster; on a processor scores are computed again",
    exact=True,
    needs="a model of transformers; nn.MultiheadAttention has it already",
    source="FlashAttention (arXiv 2205.14135) through torch.nn.functional.scaled_dot_product_attention",
    apply=apply,
)
