"""Dropout that keeps one bit an element."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.memory.technique import Change, Technique
from headway.memory.techniques.replayed_dropout import change_dropouts

if TYPE_CHECKING:
    from torch import nn

NAME = "packed_dropout"


def apply(model: nn.Module) -> Change:
    """Change every nn.Dropout."""
    from headway.memory.layers.dropout import BitDropout

    return change_dropouts(model, NAME, BitDropout)


TECHNIQUE = Technique(
    name=NAME,
    kind="layers",
    does="dropout keeps its mask as bits",
    saves="7/8 of B·S·h a dropout with CUDA's masks of one byte",
    costs="packing and unpacking; no random numbers are drawn twice",
    exact=True,
    needs="nn.Dropout modules; use this or replayed_dropout",
    source="Tempo (arXiv 2210.10246) keeps bytes; bits are the same mask",
    apply=apply,
)
