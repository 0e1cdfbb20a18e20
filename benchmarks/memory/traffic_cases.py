"""Bytes that gradients put on the wire, for each exchange, over gloo on this machine's loopback."""

from __future__ import annotations

import json
import os
import socket
import tempfile
from dataclasses import replace
from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor, multiprocessing, nn

from headway.memory.recipe import Recipe
from headway.memory.step import Step

ROWS, COLUMNS, STEPS, WARM = 4096, 1024, 40, 8
EXCHANGES = {
    "plain": Recipe(sharding="ddp"),
    "bf16": Recipe(sharding="ddp", gradients="bf16"),
    "fp16": Recipe(sharding="ddp", gradients="fp16"),
    "powersgd r=4": Recipe(sharding="ddp", gradients="powersgd", powersgd_rank=4),
}


def loopback_bytes() -> int:
    """Bytes received on loopback since the machine started."""
    lines = Path("/proc/net/dev").read_text().splitlines()
    return int(next(line for line in lines if line.strip().startswith("lo:")).split(":")[1].split()[0])


def _loss(model: nn.Module, part: tuple[Tensor, Tensor]) -> Tensor:
    return nn.functional.mse_loss(model(part[0]), part[1])


def _work(rank: int, port: int, folder: str) -> None:
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), GLOO_SOCKET_IFNAME="lo")
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=2)
    found: dict[str, object] = {}
    for name, recipe in EXCHANGES.items():
        torch.manual_seed(0)
        truth = torch.randn(ROWS, 16) @ torch.randn(16, COLUMNS) / 4
        torch.manual_seed(1)
        step = Step(nn.Linear(COLUMNS, ROWS, bias=False), _sgd, replace(recipe, micro_batch=64))
        torch.manual_seed(10 + rank)
        losses: list[float] = []
        start = 0
        for number in range(STEPS):
            inputs = torch.randn(64, COLUMNS) / 32
            if number == WARM:
                dist.barrier()
                start = loopback_bytes()
            losses.append(float(step((inputs, inputs @ truth.t()), _loss)))
        dist.barrier()
        found[name] = {"bytes_per_step": (loopback_bytes() - start) / (STEPS - WARM), "losses": losses}
    if rank == 0:
        Path(folder, "found.json").write_text(json.dumps(found))
    dist.barrier()
    dist.destroy_process_group()


def _sgd(parameters: object) -> torch.optim.Optimizer:
    return torch.optim.SGD(parameters, lr=5e4, momentum=0.5)


def measure() -> dict[str, dict[str, object]]:
    """For each exchange: bytes a step on loopback (both directions of two workers) and rank 0's losses."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        multiprocessing.spawn(_work, (port, folder), nprocs=2)
        return json.loads(Path(folder, "found.json").read_text())


if __name__ == "__main__":
    measured = measure()
    plain = measured["plain"]["bytes_per_step"]
    for name, item in measured.items():
        losses = item["losses"]
        curve = " ".join(f"{losses[at]:.4f}" for at in (0, 4, 12, -1))
        size = item["bytes_per_step"]
        print(f"{name:14} {size:14,.0f} B/step  {plain / size:7.2f}x  loss {curve}")
