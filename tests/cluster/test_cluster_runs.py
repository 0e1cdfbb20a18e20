"""Runs on a real cluster: trained in pods, resumed after a loss, charged by pod-seconds, kept on record."""

import json
from decimal import Decimal
from pathlib import Path

import pytest
from served import Served, wait_for
from testbed import node

pytestmark = pytest.mark.real
TRAIN = Path(__file__).parent / "manifests" / "rayjob_train.yaml"
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
    run_id = submit(served, "--steps", "200", "--sleep", "0.3")
    wait_for(lambda: saved(served, run_id) >= 20, 200, "two checkpoints", served.story(run_id))
    # Who watches may be killed: the run does not notice.
    served.kill("controller")
    served.kill("gateway")
    served.cluster.kill("kuberay-operator")
    served.cluster.restart("kube-apiserver")
    served.cluster.restart("kuberay-operator")
    served.start()
    reached = saved(served, run_id)
    wait_for(lambda: saved(served, run_id) > reached, 60, "it goes on", served.story(run_id))
    assert len(served.attempts(run_id)) == 1
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
    assert served.rows("SELECT max(step) FROM progress WHERE run_id = ?", run_id) == [(200,)]

    # Each pod's seconds on its node, by its share, at the pool's price.
    pods = served.rows('SELECT "from", "to", share_num, share_den FROM allocation WHERE run_id = ?', run_id)
    assert len(pods) >= 6  # two attempts of a head and two workers; KubeRay may make a head again
    [(price,)] = served.rows("SELECT DISTINCT price_text FROM price WHERE unit = 'node-hour'")
    seconds = sum(Decimal(stop - start) * num / den for start, stop, num, den in pods) / 10**6
    receipt = json.loads(served.ok("receipt", run_id, "-o", "json"))
    assert abs(Decimal(receipt["totals"][0]["amount"]) - seconds * Decimal(price) / 3600) < Decimal("1e-6")
    served.ok("receipt", run_id, "--verify")

    wait_for(lambda: served.ours() == [], 60, "nothing of ours is left in the cluster")
    assert "SUCCEEDED" in served.ok("show", run_id)
    assert "final_loss" in served.ok("show", run_id) + served.ok("receipt", run_id)
    assert "training result" in served.ok("logs", run_id).lower()
    for rank in (0, 1):
        assert f"worker {rank} is done" in served.ok("logs", run_id, "--rank", str(rank))
    again = served.ok("resubmit", "-d", run_id).split()[-1]
    served.ok("stop", again)
    served.await_state(again, "CANCELLED", "SUCCEEDED")
    wait_for(lambda: served.ours() == [], 60, "nothing of ours is left in the cluster")


def evict(served, run_id, *, until):
    """Have Kueue take the run's machines away, and give them back once that has been seen."""
    (job,) = served.cluster.list("rayjobs", served.namespace, f"headway.dev/run={run_id}")
    workloads = served.cluster.list("workloads", served.namespace)
    (name,) = [
        one["metadata"]["name"]
        for one in workloads
        if one["metadata"]["ownerReferences"][0]["uid"] == job["metadata"]["uid"]
    ]

    def activate(active):
        patch = json.dumps({"spec": {"active": active}})
        words = ("patch", "workload", name, "-n", served.namespace, "--type=merge", "-p", patch)
        served.cluster.kubectl(*words)

    activate(active=False)
    wait_for(until, 90, "the eviction has been seen", served.story(run_id))
    activate(active=True)
    return job["metadata"]["uid"]


@pytest.mark.every_point
@pytest.mark.parametrize("point", ["before its start", "in training"])
def test_an_evicted_run_gives_its_machines_back_and_goes_on_with_the_same_job(served, point):
    run_id = submit(served, "--steps", "80", "--sleep", "0.3")
    if point == "in training":
        wait_for(lambda: saved(served, run_id) >= 20, 200, "two checkpoints", served.story(run_id))
    else:
        served.await_state(run_id, "STARTING", "PROVISIONING", "ADMITTED")
    uid = evict(served, run_id, until=lambda: len(served.attempts(run_id)) == 2)
    assert served.attempts(run_id)[0] == (1, "FAILED", "preemption")
    served.await_state(run_id, "SUCCEEDED")
    assert served.attempts(run_id)[1:] == [(2, "SUCCEEDED", None)]
    assert served.rows("SELECT backend_uid FROM attempt WHERE run_id = ?", run_id) == [(uid,), (uid,)]
    assert served.rows("SELECT max(step) FROM progress WHERE run_id = ?", run_id) == [(80,)]
    wait_for(lambda: served.ours() == [], 60, "nothing of ours is left in the cluster")


def test_the_stock_ray_command_runs_in_pods_and_its_record_is_the_same(served, tmp_path):
    code = tmp_path / "code"
    code.mkdir()
    (code / "where.py").write_text(
        "import os, ray\n"
        "ray.init()\n"
        "kinds = {node['NodeManagerAddress'] for node in ray.nodes() if node['Alive']}\n"
        "print('here', sorted(os.listdir('.')), len(kinds), os.environ['WHO'], flush=True)\n"
    )
    words = ["job", "submit", "--working-dir", str(code), "--submission-id", "stock"]
    asked = [
        "--metadata-json",
        '{"gpus": "1", "workers": "1"}',
        "--runtime-env-json",
        '{"env_vars": {"WHO": "me"}}',
    ]
    said = served.ok(*words, *asked, "--", "python", "where.py", program="ray")
    assert "here ['where.py'] 1 me" in said
    assert "Job 'stock' succeeded" in said
    assert "succeeded" in served.ok("job", "status", "stock", program="ray")
    assert "here ['where.py']" in served.ok("job", "logs", "stock", program="ray")
    (run_id,) = served.rows("SELECT id FROM run")[0]
    pods = served.rows("SELECT node FROM allocation WHERE run_id = ?", run_id)
    assert pods == [("node-a",)]  # its one worker's pod is the head
    wait_for(lambda: served.ours() == [], 60, "nothing of ours is left in the cluster")


@pytest.mark.every_point
def test_a_job_made_by_hand_trains_with_gpus_of_the_queues_flavor_and_is_seen_and_priced(served):
    hand_made = TRAIN.read_text().replace("ttlSecondsAfterFinished: 600", "ttlSecondsAfterFinished: 5")
    served.cluster.apply(hand_made, namespace=served.namespace)
    (run_id, owner) = wait_for(lambda: served.rows("SELECT id, owner_id FROM run"), 60, "it is on record")[0]
    assert owner == "unmanaged"
    wait_for(lambda: served.state(run_id) in {"RUNNING", "SUCCEEDED"}, 120, "it runs", served.story(run_id))
    (workload,) = served.cluster.list("workloads", served.namespace)
    assigned = {one["name"]: one["flavors"] for one in workload["status"]["admission"]["podSetAssignments"]}
    assert assigned["workers"][node.GPU] == node.POOL
    served.await_state(run_id, "SUCCEEDED")
    totals = json.loads(served.ok("receipt", run_id, "-o", "json"))["totals"]
    assert Decimal(totals[0]["amount"]) > 0
    assert served.rows("SELECT count(*) FROM allocation") == [(3,)]
    assert len(served.cluster.list("rayjobs", served.namespace)) == 1  # it is theirs to delete
    assert run_id in served.ok("ls", "-o", "json")
