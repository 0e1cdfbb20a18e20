"""PURE. A model's needs as plain data; planning needs no torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Family = Literal["encoder", "decoder", "llama", "vit"]


@dataclass(frozen=True, slots=True)
class ModelShape:
    """The numbers that a transformer's needs follow from.

    `seq_len` is the usual length of a sample in tokens (for a vision model its patches and class token);
    `causal` halves the attention's FLOPs; `gated` means an MLP of three matrices (SwiGLU).
    """

    name: str
    family: Family
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    intermediate: int
    vocab: int
    positions: int
    token_types: int
    seq_len: int
    tied: bool
    source: str

    @property
    def causal(self) -> bool:
        """Whether a token sees only those before it."""
        return self.family in {"decoder", "llama"}

    @property
    def gated(self) -> bool:
        """Whether the MLP has a gate."""
        return self.family == "llama"


@dataclass(frozen=True, slots=True)
class ModelProfile:
    """What one model needs per step; bytes are exact functions of tokens, `basis` says how they are known.

    - `parameters` all, `trainable` those that get gradients and optimizer state;
    - `weight_bytes` of one copy as computed with, `state_bytes` of gradients, master copy and optimizer;
    - `activation_bytes_per_token` kept from forward to backward, with and without recompute of all blocks;
    - `layer_bytes_per_token`: what the one block being recomputed needs again;
    - `logit_bytes_per_token`: the loss head at its peak;
    - `flops_per_token` forward and backward; `recompute_flops_per_token` in addition when recomputing.
    """

    name: str
    method: str
    parameters: int
    trainable: int
    weight_bytes: int
    state_bytes: int
    gradient_bytes: int
    activation_bytes_per_token: float
    recompute_bytes_per_token: float
    layer_bytes_per_token: float
    logit_bytes_per_token: float
    flops_per_token: float
    recompute_flops_per_token: float
    seq_len: int
    precision: str
    basis: str
