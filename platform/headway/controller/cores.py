"""How many cores runs on this machine may hold."""

from __future__ import annotations

import os

import psutil

from headway.catalog.types import HereFigures
from headway.errors import CapacityError
from headway.units import format_bytes


def machine_cores(figures: HereFigures) -> int:
    """Cores that runs may hold: those this process may use, or fewer where the sites file says so."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(usable, figures.cores_limit or usable)


def check_fits(cores: int, figures: HereFigures) -> None:
    """Refuse what this machine can never hold.

    Raises:
        CapacityError: more cores than the machine has.
    """
    available = machine_cores(figures)
    if cores > available:
        raise CapacityError("capacity.too_few_cores", needed=cores, available=available)


def check_devices_and_memory(gpus: int, memory_bytes: int) -> None:
    """Refuse GPUs, which runs on this machine do not use yet, and more memory than there is.

    Raises:
        CapacityError: either of them.
    """
    if gpus:
        raise CapacityError("capacity.no_gpus", needed=gpus)
    available = psutil.virtual_memory().total
    if memory_bytes > available:
        values = {"needed": format_bytes(memory_bytes), "available": format_bytes(available)}
        raise CapacityError("capacity.too_little_memory", **values)
