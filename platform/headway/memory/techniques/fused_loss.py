"""The vocabulary head and the cross-entropy in chunks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.memory.technique import Change, Technique

if TYPE_CHECKING:
    from torch import nn

NAME = "fused_loss"
WIDER_THAN_INPUT = 5


def apply(model: nn.Module) -> Change:
    """Change the output Linear of transformers' models, and Linears five times wider than their input."""
    import torch

    from headway.memory.layers.loss import DeferredHead
    from headway.memory.swap import is_swapped, swap

    find = getattr(model, "get_output_embeddings", None)
    head = find() if callable(find) else None
    changed: list[str] = []
    for name, module in model.named_modules():
        if type(module) is not torch.nn.Linear and module is not head:
            continue
        if not isinstance(module, torch.nn.Linear) or is_swapped(module, DeferredHead):
            continue
        if module is head or (head is None and module.out_features >= WIDER_THAN_INPUT * module.in_features):
            swap(module, DeferredHead, lean_calls=0)
            changed.append(name)
    return Change(NAME, tuple(changed))


TECHNIQUE = Technique(
    name=NAME,
    kind="layers",
    does="logits are made, turned into gradients and forgotten a few tokens at a time",
    saves="most of 12·B·S·V bytes at the loss (4 in 16 bits, 8 in fp32 copies)",
    costs="none in FLOPs; gradients of head and hidden states exist from the loss on",
    exact=True,
    needs="a Linear whose result goes to cross_entropy (mean or sum, class indices, no label smoothing)",
    source="Cut Cross-Entropy (arXiv 2411.09009); torch.nn.functional.linear_cross_entropy",
    apply=apply,
)
