"""Compressed gradient exchange for DDP."""

from __future__ import annotations

from headway.memory.technique import Technique

TECHNIQUE = Technique(
    name="compressed_gradients",
    kind="exchange",
    does="DDP exchanges gradients in bf16, fp16, or as low-rank factors (PowerSGD) with error feedback",
    saves="bytes on the link: half, or r·(n+m)/(n·m) of a matrix; PowerSGD keeps a copy",
    costs="rounding, or an approximation that error feedback corrects over steps",
    exact=False,
    needs="DDP; declared lossy: memory.exact must be false",
    source="PowerSGD (arXiv 1905.13727); torch.distributed.algorithms.ddp_comm_hooks",
)
