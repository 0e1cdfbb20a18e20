"""Attention that keeps no score matrix, with dropout, on any device.

Where a fused kernel does it (flash attention on GPUs; on processors without dropout), PyTorch's own is used.
What is left is attention with dropout on a processor, which PyTorch computes with two (batch, heads, S, S)
tensors kept: here it is done by chunks of query rows, and scores and masks are made again in the backward
pass.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from headway.memory.layers.masks import draw_seed, keep_rows, rows_at_once, scaled


class ChunkedAttention(torch.autograd.Function):
    """softmax(q·kᵀ·scale + mask) with dropout, times v; keeps q, k, v and the mask's own storage.

    Shapes: q (batch, heads, queries, width), k and v (batch, heads, keys, width), mask None or broadcastable
    to (batch, heads, queries, keys), bool (True is seen) or added.
    """

    @staticmethod
    def forward(
        ctx: Any,  # noqa: ANN401 - torch's context
        q: Tensor,
        k: Tensor,
        v: Tensor,
        mask: Tensor | None,
        settings: tuple[float, bool, float, int],
    ) -> Tensor:
        """`settings` are scale, causal, dropout probability and seed."""
        ctx.settings = settings
        ctx.save_for_backward(q, k, v, mask)
        out = torch.empty(*q.shape[:3], v.shape[-1], dtype=q.dtype, device=q.device)
        for first, last in _chunks(q, k):
            weights = _weights(q, k, mask, settings, first, last)
            out[:, :, first:last] = _dropped(weights, q, k, settings, first) @ v
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN401 - torch's context  # pyright: ignore[reportIncompatibleMethodOverride]
        """Gradients of q, k and v."""
        (grad,) = grads
        q, k, v, mask = ctx.saved_tensors
        settings = ctx.settings
        scale, _causal, p, seed = settings
        grad_q, grad_k, grad_v = torch.empty_like(q), torch.zeros_like(k), torch.zeros_like(v)
        shape = (*q.shape[:3], k.shape[2])
        for first, last in _chunks(q, k):
            weights = _weights(q, k, mask, settings, first, last)
            part = grad[:, :, first:last]
            grad_v += _dropped(weights, q, k, settings, first).transpose(-1, -2) @ part
            inner = scaled(part @ v.transpose(-1, -2), keep_rows(seed, shape, first, p, q), p)
            inner = weights * (inner - (inner * weights).sum(-1, keepdim=True))
            grad_q[:, :, first:last] = (inner @ k) * scale
            grad_k += (inner.transpose(-1, -2) @ q[:, :, first:last]) * scale
        return grad_q, grad_k, grad_v, None, None


def _chunks(q: Tensor, k: Tensor) -> list[tuple[int, int]]:
    queries = q.shape[2]
    rows = rows_at_once((*q.shape[:3], k.shape[2]))
    return [(first, min(first + rows, queries)) for first in range(0, queries, rows)]


def _weights(
    q: Tensor,
    k: Tensor,
    mask: Tensor | None,
    settings: tuple[float, bool, float, int],
    first: int,
    last: int,
) -> Tensor:
    scale, causal, _p, _seed = settings
    scores = (q[:, :, first:last] @ k.transpose(-1, -2)) * scale
    if mask is not None:
        part = mask if mask.shape[-2] == 1 else mask[..., first:last, :]
        scores = scores.masked_fill(~part, float("-inf")) if part.dtype == torch.bool else scores + part
    if causal:
        rows = torch.arange(first, last, device=q.device)[:, None]
        seen = torch.arange(k.shape[2], device=q.device) <= rows
        scores = scores.masked_fill(~seen, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    # A row that sees nothing gives 0, as PyTorch's kernels do, not NaN.
    return weights.nan_to_num_(0.0) if mask is not None and mask.dtype == torch.bool else weights


def _dropped(
    weights: Tensor, q: Tensor, k: Tensor, settings: tuple[float, bool, float, int], first: int
) -> Tensor:
    _scale, _causal, p, seed = settings
    shape = (*q.shape[:3], k.shape[2])
    return scaled(weights, keep_rows(seed, shape, first, p, q), p)


def chunked_attention(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, *, dropout: float, scale: float, causal: bool
) -> Tensor:
    """See `ChunkedAttention`; k and v may have fewer heads, each serving a group of query heads."""
    groups = q.shape[1] // k.shape[1]
    if groups > 1:
        k, v = k.repeat_interleave(groups, dim=1), v.repeat_interleave(groups, dim=1)
    settings = (scale, causal, dropout, draw_seed(q))
    return ChunkedAttention.apply(q, k, v, mask, settings)


def lean_attention(
    module: torch.nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    is_causal: bool | None = None,
    **kwargs: Any,  # noqa: ANN401 - the interface of transformers' attention functions
) -> tuple[Tensor, None]:
    """An attention function of transformers: (batch, heads, S, width) in, (batch, S, heads, width) out."""
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    plain = query.device.type != "cpu" or dropout == 0.0 or not torch.is_grad_enabled()
    if plain or query.dtype != key.dtype:
        out, _none = sdpa_attention_forward(
            module, query, key, value, attention_mask,
            dropout=dropout, scaling=scaling, is_causal=is_causal, **kwargs,
        )  # fmt: skip
        return out, None
    causal = bool(getattr(module, "is_causal", True)) if is_causal is None else is_causal
    out = chunked_attention(
        query,
        key,
        value,
        attention_mask,
        dropout=dropout,
        scale=query.shape[-1] ** -0.5 if scaling is None else scaling,
        causal=causal and attention_mask is None and query.shape[2] > 1,
    )
    return out.transpose(1, 2).contiguous(), None
