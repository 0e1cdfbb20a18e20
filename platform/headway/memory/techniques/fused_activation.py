"""GELU, SiLU and SwiGLU computed again inside the next Linear's backward pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headway.memory.technique import Change, Technique

if TYPE_CHECKING:
    from torch import nn

NAME = "fused_activation"
# Activations whose backward needs their input: ReLU, tanh and sigmoid work from the output, which is kept.
_PLAIN = ("GELU", "SiLU", "Mish", "Softplus", "ELU", "Hardswish")
_THEIRS = {"GELUActivation", "SiLUActivation"}


def apply(model: nn.Module) -> Change:
    """Change every such activation module, and `activation` functions of nn.Transformer layers."""
    import torch
    import torch.nn.functional as F  # noqa: N812 - torch's own custom

    from headway.memory.blocks import matrices_in, surroundings
    from headway.memory.layers.activation import DeferredActivation, DeferredFunction, gelu_tanh
    from headway.memory.swap import is_swapped, swap

    plain = {getattr(torch.nn, name) for name in _PLAIN}
    changed: list[str] = []
    unchanged: list[tuple[str, str]] = []
    for name, module, around in surroundings(model):
        kind = type(module)
        theirs = kind.__module__ == "transformers.activations"
        function: Any = module.__dict__.get("activation")
        if function in {F.gelu, F.silu} and isinstance(
            module, torch.nn.TransformerEncoderLayer | torch.nn.TransformerDecoderLayer
        ):
            module.activation = DeferredFunction(function, matrices_in(module))
            changed.append(f"{name}.activation".lstrip("."))
        elif is_swapped(module, DeferredActivation) or next(module.parameters(), None) is not None:
            continue
        elif theirs and kind.__name__ == "NewGELUActivation":
            swap(module, DeferredActivation, neighbours=matrices_in(around), plain=gelu_tanh, lean_calls=0)
            changed.append(name)
        elif getattr(module, "inplace", False):
            unchanged.append((name, "it works in place"))
        elif kind in plain or (theirs and kind.__name__ in _THEIRS):
            swap(module, DeferredActivation, neighbours=matrices_in(around), plain=None, lean_calls=0)
            changed.append(name)
        elif theirs:
            unchanged.append((name, f"{kind.__name__} is not known to be elementwise"))
    return Change(NAME, tuple(changed), tuple(unchanged))


TECHNIQUE = Technique(
    name=NAME,
    kind="layers",
    does="the activation's result is computed again in the next Linear's backward pass, from its kept input",
    saves="4·B·S·h·e a GELU block; 2·B·S·f·e a SwiGLU block of width f",
    costs="one elementwise pass more in the backward pass",
    exact=True,
    needs="an activation module followed by a Linear, directly or through a product or dropout",
    source="Headway; the goal of Tempo's in-place GELU (arXiv 2210.10246), without its mask and polynomial",
    apply=apply,
)
