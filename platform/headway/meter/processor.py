"""Processor time, of a run's processes and of the whole machine."""

from __future__ import annotations

import psutil


class ProcessorTime:
    """Processor time of a changing set of processes, as a growing sum.

    A process that ends between two samples takes its last part with it (at most one tick), which is why
    the quality is `sampled`.
    """

    def __init__(self) -> None:
        self._last: dict[tuple[int, float], int] = {}
        self.total_microseconds = 0

    def sample(self, processes: list[psutil.Process]) -> int:
        """Core-microseconds used since the sample before."""
        gained = 0
        seen: dict[tuple[int, float], int] = {}
        for process in processes:
            try:
                times = process.cpu_times()
                key = (process.pid, process.create_time())
            except psutil.Error:
                continue
            used = int((times.user + times.system) * 1_000_000)
            seen[key] = used
            gained += max(0, used - self._last.get(key, 0))
        self._last = seen
        self.total_microseconds += gained
        return gained


def busy_core_microseconds() -> int:
    """Core-microseconds that the whole machine was busy since boot."""
    times = psutil.cpu_times()
    total = sum(times) - getattr(times, "guest", 0.0) - getattr(times, "guest_nice", 0.0)
    return int((total - times.idle - getattr(times, "iowait", 0.0)) * 1_000_000)
