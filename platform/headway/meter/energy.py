"""Where joules come from on a machine without GPUs: the package counter, or a model that says so."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from headway.catalog.types import HereFigures

POWERCAP = Path("/sys/class/powercap")


@dataclass(frozen=True, slots=True)
class CoreTime:
    """What happened since the sample before, in core-microseconds."""

    held: int
    used: int
    machine_busy: int
    machine_capacity: int


class EnergySource(Protocol):
    """A way to know a run's energy."""

    method: str
    quality: str

    def microjoules(self, cores: CoreTime) -> int:
        """Energy of the run since the call before; never negative."""
        ...


class RaplZones:
    """Package energy counters of the processor (powercap), summed over packages, wraps undone."""

    def __init__(self, root: Path = POWERCAP) -> None:
        self._zones = [
            zone
            for zone in sorted(root.glob("intel-rapl:*"))
            if zone.name.count(":") == 1 and _is_package(zone) and _read(zone / "energy_uj") is not None
        ]
        self._last = {zone: _read(zone / "energy_uj") or 0 for zone in self._zones}

    @property
    def readable(self) -> bool:
        """Whether this machine lets us read a package counter (since 2020 usually root only)."""
        return bool(self._zones)

    def microjoules(self) -> int:
        """Energy of all packages since the call before."""
        gained = 0
        for zone in self._zones:
            value = _read(zone / "energy_uj")
            if value is None:
                continue
            step = value - self._last[zone]
            if step < 0:
                step += _read(zone / "max_energy_range_uj") or 0
            gained += max(0, step)
            self._last[zone] = value
        return gained


def _is_package(zone: Path) -> bool:
    """Whether a zone is a processor package: `psys`, the whole board, would count the packages again."""
    try:
        return (zone / "name").read_text(encoding="ascii").startswith("package")
    except (OSError, ValueError):
        return True


def _read(path: Path) -> int | None:
    try:
        return int(path.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


class Rapl:
    """The package counter, split by processor time: a run pays for its share of the busy time.

    While nothing on the machine is busy, the run pays the share of the cores it holds.
    """

    method = "rapl"
    quality = "measured"

    def __init__(self, zones: RaplZones) -> None:
        self._zones = zones

    def microjoules(self, cores: CoreTime) -> int:
        """Energy of the run since the call before."""
        package = self._zones.microjoules()
        if cores.machine_busy > 0:
            return package * min(cores.used, cores.machine_busy) // cores.machine_busy
        return package * cores.held // max(1, cores.machine_capacity)


class Model:
    """Idle watts for every core held, and the difference to busy watts for every core used.

    Watts per core are the catalogue's assumption: the result is labelled as modelled wherever it is shown.
    """

    method = "model"
    quality = "modelled"

    def __init__(self, figures: HereFigures) -> None:
        self._idle_milliwatts = int(figures.core_idle_watts * 1000)
        self._extra_milliwatts = int((figures.core_busy_watts - figures.core_idle_watts) * 1000)

    def microjoules(self, cores: CoreTime) -> int:
        """Energy of the run since the call before."""
        used = min(cores.used, cores.held) if cores.held else cores.used
        return (self._idle_milliwatts * cores.held + self._extra_milliwatts * used) // 1000


def best_source(figures: HereFigures, root: Path = POWERCAP) -> EnergySource:
    """The best way this machine offers."""
    zones = RaplZones(root)
    return Rapl(zones) if zones.readable else Model(figures)
