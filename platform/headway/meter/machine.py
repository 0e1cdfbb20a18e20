"""What this machine can run and measure, found without importing anything heavy and without a network.

The EC2 metadata service is asked only where the firmware says that this is EC2.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psutil

from headway.meter.energy import POWERCAP, RaplZones
from headway.meter.imds import endpoint, instance

_CPU_FLAGS = ("avx2", "avx512f", "avx512_bf16", "amx_bf16", "amx_int8")
_TORCH_PROBE = (
    "import json, torch; print(json.dumps({'version': torch.__version__, 'cuda': torch.cuda.is_available(),"
    " 'hip': torch.version.hip is not None, 'devices': [torch.cuda.get_device_name(i)"
    " for i in range(torch.cuda.device_count())]}))"
)
PROBE_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked for: `ok` True (there), False (not there), None (cannot be told)."""

    name: str
    ok: bool | None
    detail: str


def _library(name: str, file: str) -> Finding:
    try:
        ctypes.CDLL(file)
    except OSError:
        return Finding(name, False, f"{file} not found")
    return Finding(name, True, file)


def _python() -> Finding:
    return Finding("python", sys.version_info >= (3, 11), f"{platform.python_version()} in {sys.prefix}")


def _cpu() -> Finding:
    try:
        words = set(Path("/proc/cpuinfo").read_text(encoding="utf-8").split())
        flags = ", ".join(flag for flag in _CPU_FLAGS if flag in words) or "none of the known"
    except OSError:
        flags = "unknown"
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return Finding("cpu", True, f"{usable} cores, {platform.machine()}, {flags}")


def _memory() -> Finding:
    memory = psutil.virtual_memory()
    return Finding("memory", True, f"{memory.total / 2**30:.1f} GiB, {memory.available / 2**30:.1f} GiB free")


def _disk(home: Path) -> Finding:
    place = next(folder for folder in (home, *home.parents) if folder.exists())
    free = shutil.disk_usage(place).free
    return Finding("disk", free > 2 * 2**30, f"{free / 2**30:.1f} GiB free for {home}")


def _home(home: Path) -> Finding:
    try:
        home.mkdir(parents=True, exist_ok=True)
        probe = home / ".doctor"
        probe.write_bytes(b"")
        probe.unlink()
    except OSError as error:
        return Finding("home", False, f"{home} cannot be written to: {error.strerror}")
    ledger = home / "ledger.db"
    if ledger.is_file() and ledger.stat().st_size:
        with ledger.open("rb") as file:
            if not file.read(16).startswith(b"SQLite format 3"):
                return Finding("home", False, f"{ledger} is damaged: move it aside")
    return Finding("home", True, str(home))


def _torch() -> Finding:
    try:
        done = subprocess.run(
            [sys.executable, "-c", _TORCH_PROBE],
            capture_output=True,
            text=True,
            timeout=PROBE_SECONDS,
            check=False,
        )
        found = json.loads(done.stdout)
        devices = ", ".join(found["devices"]) or "no GPU: trains on the processor"
        return Finding("pytorch", True, f"{found['version']}, {devices}")
    except (subprocess.TimeoutExpired, OSError, ValueError, TypeError, KeyError):
        return Finding("pytorch", False, "not installed: pip install 'headway[train]'")


def _ray() -> Finding:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return Finding("ray", True, version("ray"))
    except PackageNotFoundError:
        return Finding("ray", False, "not installed: pip install 'headway[train]'")


def _tensorflow() -> Finding:
    from importlib.util import find_spec

    there = find_spec("tensorflow") is not None
    return Finding("tensorflow", there, "its scripts run as plain processes: measured, no steps or loss")


def _rocm() -> Finding:
    found = _library("rocm", "libamdhip64.so")
    return found if found.ok else Finding("rocm", Path("/opt/rocm").is_dir(), found.detail)


def _rapl() -> Finding:
    if not POWERCAP.is_dir() or not list(POWERCAP.glob("intel-rapl:*")):
        return Finding("rapl", False, "no energy counter: joules are modelled, and say so")
    if RaplZones().readable:
        return Finding("rapl", True, "package energy counter readable: joules are measured")
    return Finding("rapl", False, "the counter needs root to be read: joules are modelled, and say so")


def _imds() -> Finding:
    if endpoint() is None:
        return Finding("imds", False, "not EC2")
    found = instance()
    if found is None:
        return Finding("imds", None, "EC2, but the metadata service does not answer")
    return Finding("imds", True, f"{found.instance_type}, {found.lifecycle}, {found.region} {found.zone_id}")


def examine(home: Path) -> list[Finding]:
    """Everything, in the order it is shown; a probe that breaks is unknown and says why."""
    probes: dict[str, Callable[[], Finding]] = {
        "python": _python,
        "cpu": _cpu,
        "memory": _memory,
        "disk": lambda: _disk(home),
        "home": lambda: _home(home),
        "ray": _ray,
        "pytorch": _torch,
        "tensorflow": _tensorflow,
        "cuda": lambda: _library("cuda", "libcuda.so.1"),
        "nvml": lambda: _library("nvml", "libnvidia-ml.so.1"),
        "rocm": _rocm,
        "opencl": lambda: _library("opencl", "libOpenCL.so.1"),
        "rapl": _rapl,
        "imds": _imds,
    }
    return [_ask(name, probe) for name, probe in probes.items()]


def _ask(name: str, probe: Callable[[], Finding]) -> Finding:
    try:
        return probe()
    except Exception as error:  # noqa: BLE001 - an odd machine must not hide what else can be told of it
        return Finding(name, None, f"{type(error).__name__}: {error}")
