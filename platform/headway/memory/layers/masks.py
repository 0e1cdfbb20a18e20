"""Dropout masks from a seed: the same seed gives the same mask, so a mask need not be kept.

A seed is drawn from PyTorch's default CPU generator: no device is waited for, `torch.manual_seed` decides
it, and checkpointing that preserves the generator's state draws it again. Masks of four dimensions
(attention) are made in chunks of query rows, so that a kernel that never holds the whole can make its part.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor

ROW_CHUNK_ELEMENTS = 1 << 20


def draw_seed(like: Tensor) -> int:
    """The next seed; 0 when only shapes are traced (`like` is a fake tensor)."""
    if isinstance(like, FakeTensor):
        return 0
    return int(torch.randint(0, 1 << 62, (), dtype=torch.int64).item())


def rows_at_once(shape: tuple[int, ...]) -> int:
    """How many query rows of a (batch, heads, queries, keys) tensor are worked on at once."""
    batch, heads, queries, keys = shape
    return max(1, min(queries, ROW_CHUNK_ELEMENTS // max(1, batch * heads * keys)))


def keep_rows(seed: int, shape: tuple[int, ...], first: int, p: float, like: Tensor) -> Tensor:
    """The chunk of an attention mask that begins at a query row; bool, (batch, heads, rows, keys)."""
    batch, heads, queries, keys = shape
    rows = min(rows_at_once(shape), queries - first)
    return _drawn(seed + first, (batch, heads, rows, keys), p, like)


def keep_mask(seed: int, shape: tuple[int, ...], p: float, like: Tensor) -> Tensor:
    """Which elements are kept: bool, True with probability 1 - p, on the device of `like`."""
    if len(shape) != 4:
        return _drawn(seed, shape, p, like)
    starts = range(0, shape[2], rows_at_once(shape)) if shape[2] else range(1)
    return torch.cat([keep_rows(seed, shape, first, p, like) for first in starts], dim=2)


def _drawn(seed: int, shape: tuple[int, ...], p: float, like: Tensor) -> Tensor:
    generator = torch.Generator(like.device).manual_seed(seed % (1 << 63))
    mask = torch.empty(shape, dtype=torch.bool, device=like.device)
    return mask.bernoulli_(1.0 - p, generator=generator)


def scaled(x: Tensor, keep: Tensor, p: float) -> Tensor:
    """`x` where kept, divided by the share that is kept, elsewhere 0."""
    if p >= 1.0:
        return torch.zeros_like(x)
    return x * keep.to(x.dtype).div_(1.0 - p)
