"""LayerNorm and RMSNorm backward from their output."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from headway.memory.technique import Change, Technique

if TYPE_CHECKING:
    import torch
    from torch import nn

NAME = "norm_from_output"
# Norms of transformers that compute weight·(x/rms) in fp32 and cast before the product.
_RMS = {"LlamaRMSNorm", "Qwen2RMSNorm", "Qwen3RMSNorm", "MistralRMSNorm", "MixtralRMSNorm", "Phi3RMSNorm"}


def apply(model: nn.Module) -> Change:
    """Change every LayerNorm and RMSNorm with weights over the last dimension."""
    import torch

    from headway.memory.layers.norms import GammaCheck, OutputNorm
    from headway.memory.swap import is_swapped, swap

    changed: list[str] = []
    unchanged: list[tuple[str, str]] = []
    for name, module in model.named_modules():
        kind = type(module).__name__
        # A subclass may compute something else: only what is known to be the norm is changed.
        layer, rms = type(module) is torch.nn.LayerNorm, type(module) is torch.nn.RMSNorm
        known = kind in _RMS and type(module).__module__.startswith("transformers.")
        if is_swapped(module, OutputNorm) or not (layer or rms or kind.endswith(("RMSNorm", "LayerNorm"))):
            continue
        if not (layer or rms or known):
            unchanged.append((name, f"{kind} computes in a way that is not known here"))
        elif not _over_last_dimension(module):
            unchanged.append((name, "it has no weight over the last dimension alone"))
        else:
            swap(module, OutputNorm, centred=layer, gamma_check=GammaCheck(), lean_calls=0)
            changed.append(name)
    return Change(NAME, tuple(changed), tuple(unchanged))


def _over_last_dimension(module: nn.Module) -> bool:
    weight = cast("torch.Tensor | None", getattr(module, "weight", None))
    return weight is not None and weight.dim() == 1


TECHNIQUE = Technique(
    name=NAME,
    kind="layers",
    does="the norm's backward pass works from its output, which the next Linear keeps, not from its input",
    saves="B·S·h·e a LayerNorm; more for an RMSNorm that computes in fp32",
    costs="a division by gamma in the backward pass; the input is kept where some |gamma| is below 0.01",
    exact=True,
    needs="a weight over the last dimension; under autocast nothing is saved and nothing changes",
    source="Tempo (arXiv 2210.10246); In-place ABN (arXiv 1712.02616)",
    apply=apply,
)
