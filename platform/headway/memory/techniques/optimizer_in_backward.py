"""The optimizer step inside the backward pass."""

from __future__ import annotations

from headway.memory.technique import Technique

TECHNIQUE = Technique(
    name="optimizer_in_backward",
    kind="optimizer",
    does="each parameter is updated, and its gradient freed, as soon as the gradient is complete",
    saves="up to N·e bytes of gradients, where the peak lies in the optimizer step",
    costs="no clipping by the global norm, no accumulation",
    exact=True,
    needs="a peak in the optimizer phase; elsewhere it saves nothing",
    source="LOMO (arXiv 2306.09782); Tensor.register_post_accumulate_grad_hook",
)
