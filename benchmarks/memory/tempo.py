"""Tempo's published batches (arXiv 2210.10246, its repository): BERT-Large on SQuAD, 4 RTX 2080 Ti, S = 384.

The ops below keep what Tempo's keep: GELU its output and a byte an element, LayerNorm its output, attention
the softmax and a byte mask. They exist to predict that table, not to train.
"""

# ruff: noqa: ARG001

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from headway.profile.models import config_of

SEQ_LEN = 384
# What the driver shows of the card's 11 GiB: 10.76 GiB in PyTorch's own messages.
CAPACITY_BYTES = int(10.76 * 2**30)
PUBLISHED = {("fp32", False): 4, ("fp32", True): 6, ("fp16", False): 8, ("fp16", True): 11}


class _Gelu(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        out = nn.functional.gelu(x)
        ctx.save_for_backward(out, (x > -0.7518).to(torch.uint8))
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        out, side = ctx.saved_tensors
        return grad * (out * side)


class _Norm(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Tensor:
        out, _mean, rstd = torch.native_layer_norm(x, (x.shape[-1],), weight, bias, eps)
        ctx.save_for_backward(out, rstd, weight, bias)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        out, rstd, weight, bias = ctx.saved_tensors
        normed = (out - bias) / weight
        inner = grad * weight
        spread = (inner - inner.mean(-1, keepdim=True)) * rstd.to(grad.dtype)
        return spread, (grad * normed).sum((0, 1)), grad.sum((0, 1)), None


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, scores: Tensor, value: Tensor, p: float) -> Tensor:
        weights = torch.softmax(scores, -1)
        dropped, mask = torch.native_dropout(weights, p, True)
        ctx.p = p
        ctx.save_for_backward(weights, mask, value)
        return dropped @ value

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None]:
        weights, mask, value = ctx.saved_tensors
        scale = 1 / (1 - ctx.p)
        dropped = torch.ops.aten.native_dropout_backward(weights, mask, scale)
        grad_value = dropped.transpose(-1, -2) @ grad
        del dropped
        inner = torch.ops.aten.native_dropout_backward(grad @ value.transpose(-1, -2), mask, scale)
        return torch.ops.aten._softmax_backward_data(inner, weights, -1, weights.dtype), grad_value, None


class TempoGelu(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return _Gelu.apply(x)


class TempoNorm(nn.LayerNorm):
    def forward(self, x: Tensor) -> Tensor:
        return _Norm.apply(x, self.weight, self.bias, self.eps)


def tempo_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    **_more: object,
) -> tuple[Tensor, None]:
    scores = torch.matmul(query, key.transpose(2, 3)) * (scaling or query.shape[-1] ** -0.5)
    if attention_mask is not None:
        scores = scores + attention_mask
    return _Attention.apply(scores, value, dropout).transpose(1, 2).contiguous(), None


def build(precision: str, *, tempo: bool, layers: int = 24) -> nn.Module:
    from transformers import AttentionInterface, BertForQuestionAnswering

    AttentionInterface.register("tempo", tempo_attention)
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float16 if precision == "fp16" else torch.float32)
    try:
        config = config_of("bert-large", layers=layers)
        model = BertForQuestionAnswering._from_config(
            config, attn_implementation="tempo" if tempo else "eager"
        )
        if tempo:
            for module in model.bert.encoder.modules():
                if hasattr(module, "intermediate_act_fn"):
                    module.intermediate_act_fn = TempoGelu()
                if isinstance(module, nn.LayerNorm):
                    module.__class__ = TempoNorm
    finally:
        torch.set_default_dtype(before)
    return model.train()


def batch(samples: int, seq_len: int) -> Mapping[str, Tensor]:
    ids = torch.randint(0, 30522, (samples, seq_len))
    place = torch.zeros(samples, dtype=torch.long)
    mask = torch.ones(samples, seq_len, dtype=torch.long)
    return {
        "input_ids": ids,
        "token_type_ids": torch.zeros_like(ids),
        "attention_mask": mask,
        "start_positions": place,
        "end_positions": place.clone(),
    }


class MasterAdam(torch.optim.Optimizer):
    """Adam on an fp32 copy of fp16 weights, as apex's O2 keeps it."""

    def __init__(self, parameters: Any) -> None:
        super().__init__(parameters, {"lr": 1e-4})

    @torch.no_grad()
    def step(self, closure: object = None) -> None:
        assert closure is None
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state["master"] = p.detach().float()
                    state["mean"] = torch.zeros_like(state["master"])
                    state["square"] = torch.zeros_like(state["master"])
                wide = p.grad.float()
                state["mean"].lerp_(wide, 0.1)
                state["square"].mul_(0.999).addcmul_(wide, wide, value=0.001)
                state["master"].addcdiv_(state["mean"], state["square"].sqrt().add_(1e-8), value=-1e-4)
                p.copy_(state["master"])
