"""Fully sharded data parallelism (FSDP2)."""

from __future__ import annotations

from headway.memory.technique import Technique

TECHNIQUE = Technique(
    name="fully_sharded",
    kind="sharding",
    does="parameters, gradients and optimizer state are sharded; a block is gathered when needed",
    saves="16·N·(1 - 1/W) bytes in mixed precision with AdamW, less two gathered blocks",
    costs="1.5 times the bytes of DDP's exchange",
    exact=True,
    needs="more than one worker",
    source="ZeRO stage 3 (arXiv 1910.02054); torch.distributed.fsdp.fully_shard (FSDP2)",
)
