"""Mixed precision by autocast or by FSDP's policy."""

from __future__ import annotations

from headway.memory.technique import Technique

TECHNIQUE = Technique(
    name="mixed_precision",
    kind="precision",
    does="matrix products and activations in 16 bits; weights, gradients and optimizer stay fp32",
    saves="half of the activations",
    costs="rounding to 8 (bf16) or 11 (fp16) bits; fp16 needs a scaled loss",
    exact=False,
    needs="hardware with bf16 or fp16; declared by needs.precision",
    source="Micikevicius et al. (arXiv 1710.03740); torch.autocast, FSDP2's MixedPrecisionPolicy",
)
