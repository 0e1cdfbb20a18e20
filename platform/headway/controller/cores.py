"""How many cores runs on this machine may hold."""

from __future__ import annotations

import os

from headway.catalog.types import HereFigures
from headway.errors import CapacityError


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
