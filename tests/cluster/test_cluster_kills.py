"""Whoever is killed, at whichever point of a run's life: it is neither lost, nor doubled, nor left over."""

from pathlib import Path

import pytest
from served import Served, wait_for

pytestmark = [pytest.mark.real, pytest.mark.every_point]
JOBS = Path(__file__).parents[1] / "faults" / "jobs"
POINTS = ("recorded", "created", "starting", "training", "ending")
VICTIMS = ("gateway", "controller", "kuberay-operator", "kube-apiserver", "head", "worker")


@pytest.fixture
def served(cluster, namespace, tmp_path):
    with_gateway = Served(cluster, namespace, tmp_path / "home")
    yield with_gateway
    with_gateway.stop()


def has_come_to(served, run_id, point):
    """Whether the run is at a point of its life, or past it."""
    if point == "recorded":
        return True
    if point == "created":
        return bool(served.rows("SELECT 1 FROM attempt WHERE run_id = ? AND backend_uid IS NOT NULL", run_id))
    if point == "starting":
        return served.state(run_id) == "STARTING"
    if point == "training":
        return bool(served.rows("SELECT 1 FROM checkpoint WHERE run_id = ?", run_id))
    return bool(served.rows("SELECT 1 FROM event WHERE run_id = ? AND body LIKE '%\"outcome\"%'", run_id))


def kill(served, victim, run_id):
    if victim in {"gateway", "controller"}:
        served.kill(victim)
        served.start(victim)
    elif victim in {"kuberay-operator", "kube-apiserver"}:
        served.cluster.kill(victim)
        served.cluster.restart(victim)
    else:
        selector = f"headway.dev/run={run_id},ray.io/node-type={victim}"
        pods = served.cluster.list("pods", served.namespace, selector)
        for pod in pods[:1]:
            words = ("delete", "pod", pod["metadata"]["name"], "-n", served.namespace)
            served.cluster.kubectl(
                *words, "--grace-period=0", "--force", "--wait=false", "--ignore-not-found"
            )


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("victim", VICTIMS)
def test_a_run_comes_to_its_end_once_and_leaves_nothing(served, victim, point):
    words = ["submit", "-d", "tiny.yaml", "--set", "needs.gpus=2", "--set", "retries.infra=3"]
    run_id = served.ok(*words, "--", "--steps", "60", "--sleep", "0.1", cwd=JOBS).split()[-1]
    wait_for(lambda: has_come_to(served, run_id, point), 240, point, served.story(run_id))
    kill(served, victim, run_id)
    served.await_state(run_id, "SUCCEEDED", seconds=400)
    assert served.rows("SELECT max(step) FROM progress WHERE run_id = ?", run_id) == [(60,)]
    assert served.rows("SELECT count(*) FROM run WHERE owner_id <> 'unmanaged'") == [(1,)]
    assert [state for _n, state, _why in served.attempts(run_id)].count("SUCCEEDED") == 1
    assert served.rows('SELECT count(*) FROM allocation WHERE "to" IS NULL') == [(0,)]
    served.ok("receipt", run_id, "--verify")
    wait_for(lambda: served.ours() == [], 120, "nothing of ours is left", lambda: str(served.ours()))
