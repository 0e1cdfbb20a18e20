"""A batch chosen from a prediction, run under a memory limit equal to that prediction and a margin.

The limit is a memory cgroup (version 1 or 2) where one can be made, else RLIMIT_DATA. The
limit counts from when the libraries are loaded; the margin covers the allocator and threads.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import resource
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from headway.memory.recipe import Recipe
from headway.memory.registry import LEAN_LAYERS
from headway.memory.step import Step
from headway.profile.peak import largest_micro_batch, profile_peak

MARGIN = 0.08
CAPACITY_BYTES = 400 * 2**20
LENGTH = 256
RECIPE = Recipe(layers=LEAN_LAYERS)
CGROUPS = Path("/sys/fs/cgroup")


def build() -> nn.Module:
    from transformers import BertConfig, BertForMaskedLM

    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=4096, hidden_size=256, num_hidden_layers=4, num_attention_heads=4, intermediate_size=1024
    )
    return BertForMaskedLM(config).train()


def batch(samples: int, length: int) -> Mapping[str, Tensor]:
    ids = torch.randint(3, 4096, (samples, length))
    return {"input_ids": ids, "labels": ids.clone()}


def loss_of(model: nn.Module, part: Mapping[str, Tensor]) -> Tensor:
    return model(**part).loss


def data_bytes() -> int:
    """What counts for RLIMIT_DATA now."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmData")).split()[1]) * 1024


def child(micro_batch: int, allowed_bytes: int, folder: str) -> None:
    """Limit this process to `allowed_bytes` from here on; then build the model and train two steps."""
    torch.set_num_threads(1)
    tiny = nn.Linear(8, 8)
    torch.optim.AdamW(tiny.parameters())
    tiny(torch.ones(2, 8)).sum().backward()
    build()  # imports the model's code; freed at once
    gc.collect()
    ctypes.CDLL("libc.so.6").malloc_trim(0)
    way = limit_to(allowed_bytes, folder)
    step = Step(build(), lambda p: torch.optim.AdamW(p, lr=1e-3), RECIPE)
    for _ in range(2):
        loss = step(batch(micro_batch, LENGTH), loss_of)
    print(json.dumps({"loss": float(loss), "way": way}))


def limit_to(limit: int, folder: str) -> str:
    """Limit what this process allocates from now on; gives the way it was done.

    What a process holds when it joins a cgroup stays with the group that it comes from.
    """
    for place, name in ((CGROUPS / "memory", "memory.limit_in_bytes"), (CGROUPS, "memory.max")):
        group = place / folder
        try:
            group.mkdir()
            (group / name).write_text(str(limit))
            (group / "cgroup.procs").write_text(str(os.getpid()))
        except OSError:
            if group.is_dir():
                group.rmdir()
            continue
        return "cgroup"
    whole = data_bytes() + limit
    resource.setrlimit(resource.RLIMIT_DATA, (whole, whole))
    return "rlimit"


@dataclass(frozen=True)
class Ran:
    """How a limited run ended: exit code (negative: killed by that signal) and what it said."""

    code: int
    said: str
    error: str


def run_limited(micro_batch: int, allowed_bytes: int) -> Ran:
    """Two steps of a micro-batch within some bytes, in a process of its own."""
    folder = f"headway-{os.getpid()}-{micro_batch}"
    env = {
        **os.environ,
        # Freed blocks go back to the system at once, as the prediction has it.
        "MALLOC_MMAP_THRESHOLD_": "65536",
        "MALLOC_TRIM_THRESHOLD_": "0",
        "MALLOC_ARENA_MAX": "1",
    }
    command = [sys.executable, __file__, str(micro_batch), str(allowed_bytes), folder]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    for place in (CGROUPS / "memory" / folder, CGROUPS / folder):
        if place.is_dir():
            place.rmdir()
    return Ran(done.returncode, done.stdout.strip(), done.stderr[-400:])


def chosen() -> tuple[int, int, int, int]:
    """The micro-batch that fits, its predicted bytes, and one whose bytes are 25 % higher with its own."""
    found = largest_micro_batch(
        build, batch, recipe=RECIPE, seq_len=LENGTH, optimizer="adamw", capacity_bytes=CAPACITY_BYTES
    )
    assert found.peak is not None
    more = found.micro_batch
    while True:
        more += 1
        peak = profile_peak(
            build, batch, recipe=RECIPE, micro_batch=more, seq_len=LENGTH, optimizer="adamw"
        ).peak_bytes
        if peak >= 1.25 * found.peak.peak_bytes:
            return found.micro_batch, found.peak.peak_bytes, more, peak


if __name__ == "__main__":
    if len(sys.argv) == 4:
        child(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
    else:
        fits, fits_bytes, over, over_bytes = chosen()
        allowed = round(fits_bytes * (1 + MARGIN))
        print(f"chosen {fits} ({fits_bytes / 2**20:.1f} MiB), limit {allowed / 2**20:.1f} MiB")
        print(run_limited(fits, allowed))
        print(f"over {over} ({over_bytes / 2**20:.1f} MiB, {over_bytes / fits_bytes:.2f} of it)")
        print(run_limited(over, allowed))
