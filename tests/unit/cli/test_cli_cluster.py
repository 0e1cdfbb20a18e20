"""A cluster as a person meets it: what a job would be there, and what is wrong with its file."""

from __future__ import annotations

import pytest
import yaml

SITES = """\
version: 1
sites:
  - kind: owned
    name: lab
    location: FR
    currency: USD
    server: {price: 84096 USD, cores: 8, gpus: 4, accelerator: l4, memory: 64GiB}
    life_years: 4
    power_watts: 400
    tariff: 0.10 USD
    pools: [{name: local, max_nodes: 4}]
    sensitivities: [public, internal]
here: {core_price: 0.04 USD, tariff: 0.15 USD, utilisation: 0.6, location: FRA}
"""
CLUSTER = {
    "version": 1,
    "gateway": "http://gateway",
    "image": "ray:1",
    "namespace": "training",
    "storage": {"claim": "shared", "path": "/storage"},
    "pools": [{"name": "l4", "site": "lab", "pool": "local"}],
}
JOB = "version: 1\nname: tiny\nentrypoint: python tiny.py\nneeds: {workers: 4, gpus: 4}\n"


@pytest.fixture
def job(home, tmp_path, monkeypatch):
    home.mkdir()
    (home / "sites.yaml").write_text(SITES)
    monkeypatch.setenv("HEADWAY_SITES", str(home / "sites.yaml"))
    monkeypatch.setenv("HEADWAY_CLUSTER", str(home / "cluster.yaml"))
    (tmp_path / "tiny.py").write_text("print('tiny')\n")
    (tmp_path / "job.yaml").write_text(JOB)
    return str(tmp_path / "job.yaml")


def write(home, **changes):
    (home / "cluster.yaml").write_text(yaml.safe_dump({**CLUSTER, **changes}))


def test_a_dry_run_prints_the_objects_and_records_nothing(headway, home, job):
    write(home)
    code, out, err = headway("submit", job, "--dry-run", "client")
    assert code == 0, err
    secret, ray_job = yaml.safe_load_all(out)
    assert (secret["kind"], ray_job["kind"]) == ("Secret", "RayJob")
    assert ray_job["metadata"]["namespace"] == "training"
    (container,) = ray_job["spec"]["rayClusterSpec"]["headGroupSpec"]["template"]["spec"]["containers"]
    assert container["resources"]["limits"]["nvidia.com/gpu"] == "4"  # four workers share one node's links
    assert "not enforced" not in err
    assert not (home / "ledger.db").exists()


def test_without_a_cluster_file_a_dry_run_says_what_to_do(headway, home, job, monkeypatch):
    monkeypatch.delenv("HEADWAY_CLUSTER")
    code, _out, err = headway("submit", job, "--dry-run", "client")
    assert code == 2
    assert "docs/kubernetes.md" in err


def test_a_job_that_fits_no_pool_is_told_why_of_each(headway, home, job):
    write(home)
    code, _out, err = headway("submit", job, "--dry-run", "client", "--set", "needs.cpus_per_worker=99")
    assert code != 0
    assert "lab/local" in err


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"pools": [{"name": "x", "site": "nowhere", "pool": "local"}]}, "nowhere"),
        ({"stroage": 1}, "cluster.yaml:"),
        ({"gateway": 5}, "gateway"),
        ({"storage": {"claim": "shared", "path": "relative"}}, "storage.path"),
    ],
)
def test_what_is_wrong_with_the_file_is_named(headway, home, job, changes, said):
    write(home, **changes)
    code, _out, err = headway("submit", job, "--dry-run", "client")
    assert code == 2
    assert said in err
