"""The optimizer in host memory."""

from __future__ import annotations

from headway.memory.technique import Technique

TECHNIQUE = Technique(
    name="offload_optimizer",
    kind="optimizer",
    does="the optimizer's state and its step are in host memory",
    saves="8·N bytes of AdamW's state",
    costs="gradients to the host and parameters back, every step",
    exact=True,
    needs="host memory; on a processor it saves nothing",
    source="ZeRO-Offload (arXiv 2101.06840)",
)
