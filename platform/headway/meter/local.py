"""Metering one attempt on this machine: cores held and used, and joules, as usage rows."""

from __future__ import annotations

import os
from collections.abc import Callable

import psutil

from headway.costing.usage import Metric, Usage
from headway.meter.energy import CoreTime, EnergySource
from headway.meter.processor import ProcessorTime, busy_core_microseconds


class LocalMeter:
    """Turns the passing of time into usage rows; the caller says when, and where the processes are."""

    def __init__(
        self,
        allocation_id: str,
        cores_held: int,
        source: EnergySource,
        find: Callable[[], list[psutil.Process]],
        start: int,
    ) -> None:
        self.allocation_id = allocation_id
        self.cores_held = cores_held
        self.source = source
        self._find = find
        self._since = start
        self._processor = ProcessorTime()
        self._busy = busy_core_microseconds()

    def tick(self, now: int) -> list[Usage]:
        """What was used since the tick before; rows whose quantity is zero are left out."""
        start, elapsed = self._since, now - self._since
        if elapsed <= 0:
            return []
        used = self._processor.sample(self._find())
        busy = busy_core_microseconds()
        cores = CoreTime(
            held=self.cores_held * elapsed,
            used=used,
            machine_busy=busy - self._busy,
            machine_capacity=(os.cpu_count() or 1) * elapsed,
        )
        self._since, self._busy = now, busy
        energy = self.source.microjoules(cores)
        rows = [
            (Metric.CORE_HELD, cores.held, "allocation", "measured"),
            (Metric.CORE_USED, cores.used, "procfs", "sampled"),
            (Metric.ENERGY, energy, self.source.method, self.source.quality),
        ]
        return [
            Usage(self.allocation_id, start, now, metric, quantity, method, quality)
            for metric, quantity, method, quality in rows
            if quantity
        ]
