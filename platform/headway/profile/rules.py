"""What a GPU does otherwise than the CPU on which a trace runs.

Under `cuda` rules operations that PyTorch implements for each device are replaced by CUDA's, whose results
have the shapes that a GPU keeps: dropout a mask of one byte an element, attention no score matrix (flash for
16 bits, memory-efficient for fp32 and for masks), and autocast its own list of operations that stay in fp32.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from headway.profile.engine import forget
from headway.profile.step_types import Rules

_aten = torch.ops.aten
_FLASH: Any = _aten._scaled_dot_product_flash_attention  # noqa: SLF001 - so named
_EFFICIENT: Any = _aten._scaled_dot_product_efficient_attention  # noqa: SLF001 - so named
_16_BITS = (torch.float16, torch.bfloat16)
# Of CUDA's list of operations that autocast runs in fp32, those that CPU's list lacks and training meets.
_IN_FP32 = (
    "softmax.int", "log_softmax.int", "layer_norm", "group_norm", "cross_entropy_loss", "nll_loss",
    "binary_cross_entropy_with_logits", "pow.Tensor_Scalar", "rsqrt", "exp", "log", "sum", "sum.dim_IntList",
    "cumsum", "softplus",
)  # fmt: skip


@contextmanager
def device_rules(rules: Rules) -> Generator[None]:
    """Within it operations on CPU tensors follow the rules; nothing changes for `cpu`."""
    if rules == "cpu":
        yield
        return
    from headway.memory.layers import attention

    library = torch.library.Library("aten", "IMPL")
    plain = attention.chunked_attention
    try:
        library.impl("scaled_dot_product_attention", _attention, "AutogradCPU")
        library.impl("dropout", _dropout, "AutogradCPU")
        for name in _IN_FP32:
            library.impl(name, _in_fp32(name), "AutocastCPU", allow_override=True)
        attention.chunked_attention = _leanly
        yield
    finally:
        attention.chunked_attention = plain
        forget(library)


def _dropout(x: Tensor, p: float, train: bool) -> Tensor:
    return _aten.native_dropout(x, p, True)[0] if train and p > 0 else x


def _attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """As CUDA chooses: flash for 16 bits without a mask, otherwise memory-efficient."""
    if attn_mask is None and query.dtype in _16_BITS:
        return _FLASH(query, key, value, dropout_p, is_causal, False, scale=scale)[0]
    if enable_gqa and query.shape[-3] != key.shape[-3]:
        groups = query.shape[-3] // key.shape[-3]
        key, value = key.repeat_interleave(groups, -3), value.repeat_interleave(groups, -3)
    bias = attn_mask
    if bias is not None:
        if bias.dtype == torch.bool:
            bias = torch.zeros_like(bias, dtype=query.dtype).masked_fill_(bias.logical_not(), float("-inf"))
        bias = bias.expand(*query.shape[:-1], key.shape[-2])
    wants = torch.is_grad_enabled() and (query.requires_grad or key.requires_grad or value.requires_grad)
    return _EFFICIENT(query, key, value, bias, wants, dropout_p, is_causal, scale=scale)[0]


def _leanly(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, *, dropout: float, scale: float, causal: bool
) -> Tensor:
    """Our own attention is for processors only; on a GPU PyTorch's kernels do the same."""
    return torch.nn.functional.scaled_dot_product_attention(
        q, k, v, attn_mask=mask, dropout_p=dropout, is_causal=causal, scale=scale,
        enable_gqa=q.shape[1] != k.shape[1],
    )  # fmt: skip


def _in_fp32(name: str) -> Callable[..., Any]:
    base, _dot, overload = name.partition(".")
    op = getattr(getattr(_aten, base), overload or "default")

    def cast(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - aten's signatures
        with torch.autocast("cpu", enabled=False):
            return op(*(_wide(item) for item in args), **{key: _wide(item) for key, item in kwargs.items()})

    return cast


def _wide(item: object) -> object:
    return item.float() if isinstance(item, Tensor) and item.dtype in _16_BITS else item
