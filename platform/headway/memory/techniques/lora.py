"""Low-rank adapters (LoRA)."""

from __future__ import annotations

from headway.memory.technique import Technique

TECHNIQUE = Technique(
    name="lora",
    kind="method",
    does="low-rank adapters are trained beside frozen weights",
    saves="gradients and optimizer state of all but the adapters",
    costs="another method: the user's choice, never the planner's",
    exact=True,
    needs="workload.method: lora",
    source="Hu et al. (arXiv 2106.09685); peft",
)
