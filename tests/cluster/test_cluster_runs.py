"""Runs on a real cluster: trained in pods, resumed after a loss, charged by pod-seconds, kept on record."""

import json
from decimal import Decimal
from pathlib import Path

import pytest
from served import Served, wait_for

pytestmark = pytest.mark.real
JOBS = Path(__file__).parents[1] / "faults" / "jobs"


@pytest.fixture
def served(cluster, namespace, tmp_path):
    with_gateway = Served(cluster, namespace, tmp_path / "home")
    yield with_gateway
    with_gateway.stop()


def submit(served, *arguments):
    words = [
        "submit",
        "-d",
        "tiny.yaml",
        "--set",
        "needs.gpus=2",
        "--set",
        "retries.infra=2",
        "--",
        *arguments,
    ]
    return served.ok(*words, cwd=JOBS).split()[-1]


def head_of(served, run_id):
    selector = f"headway.dev/run={run_id},ray.io/node-type=head"
    return next(iter(served.cluster.list("pods", served.namespace, selector)), None)


def saved(served, run_id):
    return served.rows("SELECT max(step) FROM checkpoint WHERE run_id = ?", run_id)[0][0] or 0


def test_a_run_survives_its_head_and_is_charged_for_its_pods_and_stays_on_record(served):
    run_id = submit(served, "--steps", "60", "--sleep", "0.2")
    wait_for(lambda: saved(served, run_id) >= 20, 200, "two checkpoints", served.story(run_id))
    head = head_of(served, run_id)["metadata"]["name"]
    words = ("delete", "pod", head, "-n", served.namespace, "--grace-period=0", "--force", "--wait=false")
    served.cluster.kubectl(*words)
    served.await_state(run_id, "SUCCEEDED")
    assert served.attempts(run_id) == [(1, "FAILED", "infra"), (2, "SUCCEEDED", None)]
    restored = served.rows(
        "SELECT body FROM event WHERE run_id = ? AND attempt = 2 AND body LIKE '%\"restored\"%'",
        run_id,
    )
    assert json.loads(restored[0][0])["step"] >= 20
    assert served.rows("SELECT max(step) FROM progress WHERE run_id = ?", run_id) == [(60,)]

    # Each pod's seconds on its node, by its share, at the pool's price.
    pods = served.rows('SELECT "from", "to", share_num, share_den FROM allocation WHERE run_id = ?', run_id)
    assert len(pods) == 6  # two attempts of a head and two workers
    [(price,)] = served.rows("SELECT DISTINCT price_text FROM price WHERE unit = 'node-hour'")
    seconds = sum(Decimal(stop - start) * num / den for start, stop, num, den in pods) / 10**6
    receipt = json.loads(served.ok("receipt", run_id, "-o", "json"))
    assert abs(Decimal(receipt["totals"][0]["amount"]) - seconds * Decimal(price) / 3600) < Decimal("1e-6")
    served.ok("receipt", run_id, "--verify")

    wait_for(lambda: served.ours() == [], 60, "nothing of ours is left in the cluster")
    assert "SUCCEEDED" in served.ok("show", run_id)
    assert "final_loss" in served.ok("show", run_id) + served.ok("receipt", run_id)
    assert "training result" in served.ok("logs", run_id).lower()
    again = served.ok("resubmit", "-d", run_id).split()[-1]
    served.ok("stop", again)
    served.await_state(again, "CANCELLED", "SUCCEEDED")
    wait_for(lambda: served.ours() == [], 60, "nothing of ours is left in the cluster")
