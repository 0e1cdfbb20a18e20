"""Data parallelism (DDP)."""

from __future__ import annotations

from headway.memory.technique import Technique

TECHNIQUE = Technique(
    name="data_parallel",
    kind="sharding",
    does="every worker has the whole model; gradients are averaged while the backward pass goes on",
    saves="nothing; it is what the others are compared with",
    costs="N·e bytes of gradients exchanged a step, twice (W-1)/W",
    exact=True,
    needs="more than one worker",
    source="Li et al. (arXiv 2006.15704); torch.nn.parallel.DistributedDataParallel",
)
