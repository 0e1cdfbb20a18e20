"""Low-rank adapters on 4-bit weights (QLoRA)."""

from __future__ import annotations

from headway.memory.technique import Technique

TECHNIQUE = Technique(
    name="qlora",
    kind="method",
    does="low-rank adapters beside frozen weights in 4 bits",
    saves="3/4 of the 16-bit weights, and gradients and state of all but the adapters",
    costs="weights rounded to 4 bits: another method, the user's choice",
    exact=True,
    needs="workload.method: qlora; on GPUs bitsandbytes, elsewhere a slower form in PyTorch",
    source="Dettmers et al. (arXiv 2305.14314); peft, bitsandbytes",
)
