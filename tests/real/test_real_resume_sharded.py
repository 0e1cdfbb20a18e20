"""A sharded step's state, saved on rank 0 and loaded by all, goes on as if nothing had happened."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from torch import multiprocessing

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "unit" / "memory"))
import memory_models as models

from headway.memory.recipe import Recipe
from headway.memory.registry import LEAN_LAYERS
from headway.memory.step import Step

pytestmark = pytest.mark.real
SHARDINGS = ("ddp", "zero1", "fsdp", "hsdp")


def adamw(parameters):
    return torch.optim.AdamW(parameters, lr=1e-3)


def loss_of(model, part):
    return model(**part).loss


def steps(step: Step, rank: int, first: int, count: int) -> list[float]:
    return [float(step(models.batch(seed=100 * rank + first + i), loss_of)) for i in range(count)]


def work(rank: int, port: int, folder: str) -> None:
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=2)
    for sharding in SHARDINGS:
        recipe = Recipe(layers=LEAN_LAYERS, sharding=sharding)
        nodes = 1 if sharding == "hsdp" else None
        straight = Step(models.model("gpt2", dropout=0.0), adamw, recipe, workers_in_node=nodes)
        steps(straight, rank, 0, 3)
        state = straight.state_dict()
        path = Path(folder, f"{sharding}.pt")
        if rank == 0:
            torch.save(state, path)
        dist.barrier()
        wanted = steps(straight, rank, 3, 3)
        again = Step(models.model("gpt2", layers=2, dropout=0.0), adamw, recipe, workers_in_node=nodes)
        steps(again, rank, 50, 1)  # it has gone elsewhere before
        again.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))
        found = steps(again, rank, 3, 3)
        if rank == 0:
            Path(folder, f"{sharding}.txt").write_text(
                f"{max(abs(a - b) for a, b in zip(wanted, found, strict=True))}"
            )
            plain = Step(models.model("gpt2", dropout=0.0), adamw, Recipe())
            plain.model.load_state_dict(state["model"])  # the whole model, as one process knows it
    dist.barrier()
    dist.destroy_process_group()


def test_a_sharded_run_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    multiprocessing.spawn(work, (port, str(tmp_path)), nprocs=2)
    differences = {name: float((tmp_path / f"{name}.txt").read_text()) for name in SHARDINGS}
    assert max(differences.values()) < 1e-6, differences
