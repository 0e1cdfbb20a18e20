"""A pretended process group: FSDP2 runs its own code on it, and no other worker is needed."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import torch.distributed as dist
from torch.distributed import device_mesh

from headway.errors import UserError
from headway.profile.engine import without_modes


@contextmanager
def pretended_workers(world_size: int) -> Generator[None]:
    """Within it this process is rank 0 of `world_size` workers whose collectives do nothing.

    Raises:
        UserError: this process belongs to a real group already.
    """
    from torch.testing._internal.distributed.fake_pg import FakeStore

    if dist.is_initialized():
        raise UserError("profile.in_a_group")
    dist.init_process_group("fake", rank=0, world_size=world_size, store=FakeStore())
    plain = device_mesh.init_device_mesh

    def on_real_numbers(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - as it is
        # A mesh is a tensor of ranks whose values are read.
        with without_modes():
            return plain(*args, **kwargs)

    device_mesh.init_device_mesh = on_real_numbers
    try:
        yield
    finally:
        device_mesh.init_device_mesh = plain
        dist.destroy_process_group()
