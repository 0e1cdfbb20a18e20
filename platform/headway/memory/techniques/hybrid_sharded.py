"""Hybrid sharding: within a node, copied over nodes."""

from __future__ import annotations

from headway.memory.technique import Technique

TECHNIQUE = Technique(
    name="hybrid_sharded",
    kind="sharding",
    does="fully sharded within a node, copied over the nodes",
    saves="16·N·(1 - 1/w) bytes with w workers a node",
    costs="gathering stays within the node; gradients go over the nodes",
    exact=True,
    needs="several nodes of several workers",
    source="Zhao et al. (arXiv 2304.11277); torch.distributed.fsdp.fully_shard on a two-dimensional mesh",
)
