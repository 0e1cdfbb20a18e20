"""What PyTorch knows of its own state but does not publish; kept here in one place."""

# pyright: reportPrivateUsage=false
# ruff: noqa: SLF001
from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes


def in_backward() -> bool:
    """Whether this thread is within a backward pass."""
    return int(torch._C._current_graph_task_id()) != -1


def stream_of_cpu() -> tuple[object, object]:
    """The stream that is set now and the default one; FSDP sets streams on a CPU as it does on CUDA."""
    return torch.cpu.current_stream(), torch.cpu._default_cpu_stream


def without_modes() -> AbstractContextManager[Any]:
    """Within it operations run for real."""
    return _disable_current_modes()


def forget(library: torch.library.Library) -> None:
    """Take back what a library registered."""
    library._destroy()
