"""The rows of torchtitan's table of December 2024 for 8 and 128 GPUs (llama3_h100_202412_torchtitan.md).

Llama 3.1 8B, FSDP2, batch 2 a GPU, S = 8192, selective recompute by operation (every second matrix product
and the attention are kept), logits in fp32, `expandable_segments:True` as its start script sets; peak memory
reserved.
"""

# ruff: noqa: N812

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

from headway.memory.recipe import Recipe

VOCAB, HIDDEN, HEADS, KV_HEADS, INNER, LAYERS = 128256, 4096, 32, 8, 14336, 32
MICRO_BATCH, SEQ_LEN = 2, 8192
PUBLISHED_GIB = {8: 82.4, 128: 67.0}
RECIPE = Recipe(sharding="fsdp", precision="bf16", allocator=(("expandable_segments", "True"),))
_aten = torch.ops.aten
_KEPT = {
    _aten.mm.default,
    _aten._scaled_dot_product_efficient_attention.default,
    _aten._scaled_dot_product_flash_attention.default,
}


def _rotated(x: Tensor, turns: Tensor) -> Tensor:
    pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * turns).flatten(3).type_as(x)


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        width = HIDDEN // HEADS
        self.attention_norm, self.ffn_norm = nn.RMSNorm(HIDDEN), nn.RMSNorm(HIDDEN)
        self.wq = nn.Linear(HIDDEN, HIDDEN, bias=False)
        self.wk = nn.Linear(HIDDEN, KV_HEADS * width, bias=False)
        self.wv = nn.Linear(HIDDEN, KV_HEADS * width, bias=False)
        self.wo = nn.Linear(HIDDEN, HIDDEN, bias=False)
        self.w1 = nn.Linear(HIDDEN, INNER, bias=False)
        self.w2 = nn.Linear(INNER, HIDDEN, bias=False)
        self.w3 = nn.Linear(HIDDEN, INNER, bias=False)

    def forward(self, x: Tensor, turns: Tensor) -> Tensor:
        contexts = partial(create_selective_checkpoint_contexts, _policy())
        return checkpoint(self._whole, x, turns, use_reentrant=False, context_fn=contexts)

    def _whole(self, x: Tensor, turns: Tensor) -> Tensor:
        h = x + self._attend(self.attention_norm(x), turns)
        normed = self.ffn_norm(h)
        return h + self.w2(F.silu(self.w1(normed)) * self.w3(normed))

    def _attend(self, x: Tensor, turns: Tensor) -> Tensor:
        size, length, _hidden = x.shape
        width = HIDDEN // HEADS
        q, k, v = self.wq(x), self.wk(x), self.wv(x)
        q, k = (
            _rotated(q.view(size, length, -1, width), turns),
            _rotated(k.view(size, length, -1, width), turns),
        )
        k, v = (_repeated(item.view(size, length, -1, width)) for item in (k, v))
        q, k, v = (item.transpose(1, 2) for item in (q, k, v))
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.wo(out.transpose(1, 2).contiguous().view(size, length, -1))


def _repeated(x: Tensor) -> Tensor:
    size, length, heads, width = x.shape
    again = HEADS // KV_HEADS
    return x[:, :, :, None, :].expand(size, length, heads, again, width).reshape(size, length, -1, width)


def _policy() -> Any:
    counts: dict[bool, int] = defaultdict(int)

    def choose(ctx: Any, op: Any, *_args: Any, **_kwargs: Any) -> CheckpointPolicy:
        if op is _aten.mm.default:
            counts[ctx.is_recompute] += 1
        second = op is _aten.mm.default and counts[ctx.is_recompute] % 2 == 0
        return CheckpointPolicy.MUST_SAVE if op in _KEPT and not second else CheckpointPolicy.PREFER_RECOMPUTE

    return choose


class Llama(nn.Module):
    def __init__(self, layers: int = LAYERS) -> None:
        super().__init__()
        self.tok_embeddings = nn.Embedding(VOCAB, HIDDEN)
        self.layers = nn.ModuleList(Block() for _number in range(layers))
        self.norm = nn.RMSNorm(HIDDEN)
        self.output = nn.Linear(HIDDEN, VOCAB, bias=False)
        turns = torch.polar(torch.ones(1, SEQ_LEN, 1, 64), torch.zeros(1, SEQ_LEN, 1, 64))
        self.register_buffer("turns", turns, persistent=False)

    def forward(self, ids: Tensor, labels: Tensor) -> Mapping[str, Tensor]:
        h = self.tok_embeddings(ids)
        for block in self.layers:
            h = block(h, self.turns)
        logits = self.output(self.norm(h))
        return {"loss": F.cross_entropy(logits.flatten(0, 1).float(), labels.flatten(0, 1))}


def batch(samples: int, seq_len: int) -> Mapping[str, Tensor]:
    ids = torch.zeros(samples, seq_len, dtype=torch.long)
    return {"ids": ids, "labels": ids.clone()}
