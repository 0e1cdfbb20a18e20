"""The gradient gate for what works over several processes: DDP, ZeRO-1, FSDP2, hybrid sharding.

Two or more real processes exchange gradients over gloo on this machine, each with its share of the batch and
its own masks; the plain model sees the same shares and masks one after the other in one process.
"""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from headway.memory.gate import LEARNING_RATE, TOLERANCE, compare, model_loss, plain_gradients
from headway.memory.injection import with_shared_masks
from headway.memory.recipe import Recipe
from headway.memory.step import LossOf, Step

LOW_PRECISION_TOLERANCE = 5e-2
Build = Callable[[], tuple[nn.Module, Any]]


@dataclass(frozen=True, slots=True)
class Case:
    """What one process needs to know; `build` and `loss_of` are importable, as processes are started anew."""

    build: Build
    recipe: Recipe
    workers: int
    workers_in_node: int | None = None
    loss_of: LossOf = model_loss


def check_workers(cases: Sequence[Case]) -> tuple[tuple[str, ...], ...]:
    """What is wrong with each case, all with the same number of workers; empty is a pass.

    `build` gives the plain model and a batch, the same in every process; the batch is split over the
    workers, a sample each at least.
    """
    from torch import multiprocessing

    workers = cases[0].workers
    with tempfile.TemporaryDirectory() as folder:
        arguments = (tuple(cases), folder, _free_port())
        multiprocessing.spawn(_work, arguments, nprocs=workers, join=True)  # pyright: ignore[reportPrivateImportUsage]
        return tuple(tuple(item) for item in torch.load(Path(folder) / "problems.pt", weights_only=True))


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _work(rank: int, cases: tuple[Case, ...], folder: str, port: int) -> None:
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.set_num_threads(1)
    timeout = timedelta(seconds=120)
    dist.init_process_group("gloo", rank=rank, world_size=cases[0].workers, timeout=timeout)
    try:
        problems: list[list[str]] = []
        for case in cases:
            found, updated = _shared(case, rank)
            problems.append(_against_plain(case, found, updated) if rank == 0 else [])
        if rank == 0:
            torch.save(problems, Path(folder) / "problems.pt")
        dist.barrier()
    finally:
        dist.destroy_process_group()


def _share(batch: Any, rank: int, workers: int) -> Any:  # noqa: ANN401 - the user's own type
    if isinstance(batch, dict):
        return {key: _share(value, rank, workers) for key, value in batch.items()}
    if isinstance(batch, tuple):
        return tuple(_share(value, rank, workers) for value in batch)
    return batch.chunk(workers)[rank] if isinstance(batch, Tensor) else batch


def _whole(tensor: Tensor) -> Tensor:
    from torch.distributed.tensor import DTensor

    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor.detach().clone()


def _shared(case: Case, rank: int) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Gradients and updated parameters by name, whole."""
    model, batch = case.build()
    model.train()
    step = Step(model, _plain_sgd, case.recipe, workers_in_node=case.workers_in_node)
    with_shared_masks(rank, lambda: step.backward(_share(batch, rank, case.workers), case.loss_of))
    named = {name.removeprefix("module."): p for name, p in step.model.named_parameters()}
    found = {name: _whole(p.grad) for name, p in named.items() if p.grad is not None}
    step.optimizer.step()
    return found, {name: _whole(p.detach()) for name, p in named.items()}


def _plain_sgd(parameters: Any) -> torch.optim.Optimizer:  # noqa: ANN401 - what optimizers take
    return torch.optim.SGD(parameters, lr=LEARNING_RATE)


def _against_plain(case: Case, found: dict[str, Tensor], updated: dict[str, Tensor]) -> list[str]:
    """The plain model sees each worker's share with that worker's masks."""
    model, batch = case.build()
    model.train()
    total: dict[str, Tensor] = {}
    for rank in range(case.workers):
        model.zero_grad(set_to_none=True)
        share = _share(batch, rank, case.workers)
        precision = case.recipe.precision
        grads, _loss = plain_gradients(model, share, case.recipe, case.loss_of, rank, precision=precision)
        for name, grad in grads.items():
            total[name] = total[name] + grad / case.workers if name in total else grad / case.workers
    problems = [f"{name} gets no gradient" for name in total if name not in found]
    allowed = TOLERANCE if case.recipe.precision == "fp32" else LOW_PRECISION_TOLERANCE
    problems += [
        f"{item.name}: gradient differs by {item.difference:.1e}, {allowed:.0e} allowed"
        for item in compare(total, total, found)
        if not item.difference <= allowed
    ]
    for name, parameter in model.named_parameters():
        start = parameter.detach()
        wanted = start - LEARNING_RATE * found[name] if name in found else start
        if not torch.allclose(updated[name], wanted, rtol=1e-5, atol=1e-6):
            problems.append(f"{name}: the optimizer's step is not the plain one on every worker")
    return problems
