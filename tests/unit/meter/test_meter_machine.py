"""Examining a machine never fails, whatever is missing."""

import importlib.metadata
import importlib.util
import subprocess

import pytest

from headway.meter import imds, machine

NAMES = [
    "python",
    "cpu",
    "memory",
    "disk",
    "home",
    "ray",
    "pytorch",
    "tensorflow",
    "cuda",
    "nvml",
    "rocm",
    "opencl",
    "rapl",
    "imds",
]


@pytest.fixture
def bare(monkeypatch, tmp_path):
    def missing(name):
        raise importlib.metadata.PackageNotFoundError(name)

    def no_library(name):
        raise OSError(name)

    monkeypatch.setattr(importlib.metadata, "version", missing)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(machine.ctypes, "CDLL", no_library)
    monkeypatch.setattr(machine, "POWERCAP", tmp_path / "none")
    return monkeypatch


def done(stdout, code=0):
    return lambda *a, **k: subprocess.CompletedProcess([], code, stdout, "")


def raises(error):
    def probe(*_a, **_k):
        raise error

    return probe


@pytest.mark.parametrize(
    "probe",
    [
        done("", 1),
        done("null"),
        done("3"),
        done("{}"),
        raises(FileNotFoundError("python")),
        raises(PermissionError("python")),
        raises(subprocess.TimeoutExpired("python", 60)),
    ],
)
def test_with_nothing_installed_everything_is_still_answered(bare, tmp_path, probe):
    bare.setattr(machine.subprocess, "run", probe)
    found = machine.examine(tmp_path / "not" / "there")
    assert [finding.name for finding in found] == NAMES
    by_name = {finding.name: finding for finding in found}
    for name in ("ray", "pytorch", "tensorflow", "cuda", "nvml", "opencl", "rapl"):
        assert by_name[name].ok is False
        assert by_name[name].detail
    assert "headway[train]" in by_name["ray"].detail
    assert by_name["python"].ok is True


def test_a_probe_that_breaks_is_unknown_and_the_others_go_on(bare, tmp_path):
    bare.setattr(machine.subprocess, "run", done("", 1))
    bare.setattr(machine.psutil, "virtual_memory", raises(RuntimeError("no /proc")))
    bare.setattr(importlib.util, "find_spec", raises(ValueError("tensorflow.__spec__ is None")))
    by_name = {finding.name: finding for finding in machine.examine(tmp_path)}
    assert list(by_name) == NAMES
    assert by_name["memory"].ok is None
    assert "no /proc" in by_name["memory"].detail
    assert by_name["tensorflow"].ok is None


def test_pytorch_is_described_by_its_own_words(bare, tmp_path):
    bare.setattr(
        machine.subprocess, "run", done('{"version": "2.9", "cuda": true, "hip": false, "devices": ["H200"]}')
    )
    finding = machine._torch()
    assert finding.ok
    assert finding.detail == "2.9, H200"


def test_the_metadata_service_is_asked_on_ec2_only(monkeypatch, tmp_path):
    asked = []

    def refuse(request, timeout):
        asked.append(request.full_url)
        raise OSError("no route")

    for name in ("AWS_EC2_METADATA_DISABLED", "AWS_EC2_METADATA_SERVICE_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(imds.urllib.request, "urlopen", refuse)
    vendor = tmp_path / "vendor"
    assert imds.instance(vendor) is None
    vendor.write_text("QEMU\n")
    assert imds.instance(vendor) is None
    assert asked == []
    vendor.write_text("Amazon EC2\n")
    assert imds.instance(vendor) is None
    assert asked == [f"{imds.ENDPOINT}/latest/api/token"]
