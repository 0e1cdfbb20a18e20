"""ZeRO stage 1: the optimizer's state is sharded."""

from __future__ import annotations

from headway.memory.technique import Technique

TECHNIQUE = Technique(
    name="zero1",
    kind="sharding",
    does="each worker keeps the optimizer state of its share of parameters, and sends these on",
    saves="8·N·(1 - 1/W) bytes of AdamW's state",
    costs="N·e bytes broadcast after each step",
    exact=True,
    needs="more than one worker",
    source="ZeRO (arXiv 1910.02054); torch.distributed.optim.ZeroRedundancyOptimizer",
)
