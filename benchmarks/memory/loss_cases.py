"""The peak of the loss head, Linear and cross-entropy, both passes, on the real CPU allocator."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F  # noqa: N812 - torch's own custom
from torch import Tensor, nn
from torch.profiler import ProfilerActivity, profile

from headway.memory import apply
from headway.memory.recipe import Recipe

TOKENS, HIDDEN = 2048, 512


class Head(nn.Module):
    def __init__(self, vocabulary: int) -> None:
        super().__init__()
        self.head = nn.Linear(HIDDEN, vocabulary, bias=False)

    def forward(self, hidden: Tensor, labels: Tensor) -> Tensor:
        return F.cross_entropy(self.head(hidden), labels)


def extra_peak(loss: Callable[[Tensor, Tensor], Tensor], vocabulary: int, dtype: torch.dtype) -> int:
    """Bytes above what is resident before, gradients included."""
    hidden = torch.randn(TOKENS, HIDDEN, dtype=dtype, requires_grad=True)
    labels = torch.randint(0, vocabulary, (TOKENS,))
    loss(hidden, labels).backward()
    hidden.grad = None
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        loss(hidden, labels).backward()
    events = [e for e in profiler.profiler.kineto_results.events() if e.name() == "[memory]"]
    live = highest = 0
    for event in sorted(events, key=lambda e: e.start_ns()):
        live += event.nbytes()
        highest = max(highest, live)
    return highest


def measure(vocabulary: int, dtype: torch.dtype) -> dict[str, int | None]:
    """Extra peaks by name; None where a library does not run here."""
    found: dict[str, int | None] = {}
    torch.manual_seed(0)
    plain, lean, stock = (Head(vocabulary).to(dtype) for _ in range(3))
    apply(lean, Recipe(layers=("fused_loss",)))

    def without_gradient(model: Head, loss: Callable[[Tensor, Tensor], Tensor]) -> int:
        def run(hidden: Tensor, labels: Tensor) -> Tensor:
            model.head.weight.grad = None
            return loss(hidden, labels)

        return extra_peak(run, vocabulary, dtype)

    def torchs(hidden: Tensor, labels: Tensor) -> Tensor:
        return F.linear_cross_entropy(
            hidden, stock.head.weight, labels, options=nn.LinearCrossEntropyOptions()
        )

    found["eager"] = without_gradient(plain, plain)
    found["ours"] = without_gradient(lean, lean)
    found["torch linear_cross_entropy"] = (
        without_gradient(stock, torchs) if hasattr(nn, "LinearCrossEntropyOptions") else None
    )
    found["Liger-Kernel"] = _liger(vocabulary, dtype)
    return found


def _liger(vocabulary: int, dtype: torch.dtype) -> int | None:
    try:
        from liger_kernel.transformers import LigerFusedLinearCrossEntropyLoss
    except ImportError:
        return None
    model = Head(vocabulary).to(dtype)
    kernel = LigerFusedLinearCrossEntropyLoss()
    try:
        return extra_peak(lambda hidden, labels: kernel(model.head.weight, hidden, labels), vocabulary, dtype)
    except RuntimeError:
        return None


if __name__ == "__main__":
    for vocabulary in (32768,):
        for dtype in (torch.float32,):
            found = measure(vocabulary, dtype)
            eager = found["eager"]
            print(
                vocabulary,
                dtype,
                {
                    name: value and f"{value / 2**20:.1f} MiB {100 * value / eager:.1f} %"
                    for name, value in found.items()
                },
            )
