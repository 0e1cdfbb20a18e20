"""Manifests, shapes and what the API server says, as facts."""

from dataclasses import replace
from decimal import Decimal

import pytest

from headway.backends.kubernetes.manifests import QUEUE_LABEL, Ask, Mount, ray_job, secret
from headway.backends.kubernetes.observed import (
    microseconds,
    observations,
    quantity,
    seen_node,
    seen_pod,
    seen_workload,
)
from headway.backends.kubernetes.shape import Need, NodeShape, Shape, shape_of
from headway.errors import DataError
from headway.runs.states import FailureClass

TWO = Shape(2, 4, 16, 4, 2**35)
ASK = Ask(
    name="r-a1",
    job_id="r-a1",
    run_id="r",
    namespace="ns",
    gateway="http://g",
    image="i:1",
    shape=TWO,
    pools=("a", "b"),
    storage=Mount("s", "/storage"),
    secrets=("HF_TOKEN",),
    env={"A": "1"},
)


def pods_of(job):
    cluster = job["spec"]["rayClusterSpec"]
    head = cluster["headGroupSpec"]["template"]["spec"]
    return [head, *(group["template"]["spec"] for group in cluster.get("workerGroupSpecs", ()))]


@pytest.mark.parametrize(
    ("need", "node", "pods", "each"),
    [
        (Need(16, 4, 1), NodeShape(96, 8), 2, 8),
        (Need(3, 1, 1), NodeShape(8, 2), 3, 1),  # two of two would hold a GPU that nobody uses
        (Need(1, 1, 0), NodeShape(2, 0), 1, 1),
        (Need(6, 1, 1), NodeShape(32, 4), 2, 3),
        (Need(4, 1, 1, 2**33), NodeShape(32, 4, 2**35), 2, 2),  # memory is the limit
    ],
)
def test_pods_are_as_wide_as_nodes_hold(need, node, pods, each):
    shape = shape_of(need, node)
    assert (shape.pods, shape.workers_per_pod) == (pods, each)
    assert shape.gpus == each * need.gpus_per_worker


@pytest.mark.parametrize("need", [Need(1, 200, 0), Need(1, 1, 9), Need(1, 1, 0, 2**40)])
def test_a_worker_wider_than_a_node_has_no_shape(need):
    assert shape_of(need, NodeShape(96, 8, 2**38)) is None


def test_every_pod_passes_the_restricted_profile():
    for pod in pods_of(ray_job(ASK)):
        assert pod["securityContext"]["runAsNonRoot"]
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert not pod["automountServiceAccountToken"]
        for container in pod["containers"]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "capabilities": {"drop": ["ALL"]},
            }
        assert not [volume for volume in pod["volumes"] if "hostPath" in volume]


def test_pods_land_on_the_pools_only_and_the_head_holds_no_gpu():
    head, worker = pods_of(ray_job(ASK))
    for pod in (head, worker):
        affinity = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        (term,) = affinity["nodeSelectorTerms"]
        assert term["matchExpressions"][0]["values"] == ["a", "b"]
    assert "nvidia.com/gpu" not in head["containers"][0]["resources"].get("limits", {})
    assert worker["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] == "4"


def test_secrets_are_by_reference_and_the_token_is_the_heads_alone():
    job = ray_job(ASK)
    assert "hw_secret" not in str(job)
    head, worker = pods_of(job)
    names = [{one["name"] for one in pod["containers"][0]["env"]} for pod in (head, worker)]
    assert "HEADWAY_TOKEN" in names[0]
    assert "HEADWAY_TOKEN" not in names[1]
    assert {"HF_TOKEN", "A"} <= names[0] & names[1]
    assert secret(ASK, "hw_secret", {"HF_TOKEN": "x"})["stringData"] == {
        "headway-token": "hw_secret",
        "HF_TOKEN": "x",
    }


def test_one_pod_is_its_own_head():
    (pod,) = pods_of(ray_job(replace(ASK, shape=Shape(1, 2, 2, 2, 2**30))))
    assert pod["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] == "2"


def test_without_kueue_there_is_no_queue_and_an_old_operator_gets_no_token():
    job = ray_job(replace(ASK, ray_token=False))
    assert QUEUE_LABEL not in job["metadata"]["labels"]
    assert "authOptions" not in job["spec"]["rayClusterSpec"]
    assert ray_job(replace(ASK, queue="q", priority="p"))["metadata"]["labels"][QUEUE_LABEL] == "q"


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("250m", "0.25"),
        ("2Gi", str(2**31)),
        (3, "3"),
        ("1e3", "1000"),
        ("1.5k", "1500"),
        ("7Ei", str(7 * 2**60)),
    ],
)
def test_a_quantity_is_a_number(text, number):
    assert quantity(text) == Decimal(number)


@pytest.mark.parametrize("text", ["", "Gi", "1Q", "1 Gi", "--1"])
def test_what_is_no_quantity_is_refused(text):
    with pytest.raises(DataError):
        quantity(text)


def test_times_are_microseconds():
    assert microseconds("1970-01-01T00:00:01Z") == 1_000_000
    assert microseconds(None) is None


def pod(status, **meta):
    return {
        "metadata": {"name": "p", "namespace": "ns", "uid": "u", "labels": {"headway.dev/run": "r"}, **meta},
        "spec": {
            "nodeName": "n",
            "containers": [
                {"resources": {"requests": {"cpu": "1500m", "memory": "1Gi", "nvidia.com/gpu": "2"}}},
                {"resources": {"requests": {"cpu": "500m"}}},
            ],
        },
        "status": status,
    }


def test_a_pods_requests_are_those_of_all_its_containers():
    placed = {"type": "PodScheduled", "status": "True", "lastTransitionTime": "1970-01-01T00:00:02Z"}
    seen = seen_pod(pod({"phase": "Running", "conditions": [placed]}))
    assert (seen.millicores, seen.memory_bytes, seen.gpus, seen.placed) == (2000, 2**30, 2, 2_000_000)


@pytest.mark.parametrize(
    ("status", "failure"),
    [
        (
            {"containerStatuses": [{"name": "ray", "state": {"terminated": {"reason": "OOMKilled"}}}]},
            FailureClass.OOM,
        ),
        (
            {"containerStatuses": [{"name": "ray", "state": {"waiting": {"reason": "ErrImagePull"}}}]},
            FailureClass.IMAGE,
        ),
        (
            {
                "conditions": [
                    {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
                ]
            },
            FailureClass.PREEMPTION,
        ),
        (
            {"conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "DeletionByPodGC"}]},
            FailureClass.INFRA,
        ),
        ({"phase": "Failed", "reason": "Evicted", "message": "disk"}, FailureClass.INFRA),
        ({"phase": "Pending"}, None),
    ],
)
def test_a_pods_failure_has_its_class(status, failure):
    assert seen_pod(pod(status)).failure is failure


def test_a_run_keeps_the_job_that_is_not_going_away():
    def job(name, **meta):
        labels = {"headway.dev/run": "r"}
        return {"metadata": {"name": name, "namespace": "ns", "uid": name, "labels": labels, **meta}}

    going = job("old", deletionTimestamp="1970-01-01T00:00:01Z")
    for jobs in ([going, job("new")], [job("new"), going]):
        assert observations(1, jobs, [], [])["r"].job.name == "new"


def test_a_workload_belongs_to_its_rayjob():
    owner = {"kind": "RayJob", "uid": "u"}
    waits = {"type": "QuotaReserved", "status": "False", "message": "no quota left"}
    thing = {"metadata": {"ownerReferences": [owner]}, "status": {"conditions": [waits]}}
    assert seen_workload(thing).said == "no quota left"
    assert seen_workload({"metadata": {}}) is None


def test_a_node_has_its_pool_and_what_it_holds():
    thing = {
        "metadata": {"name": "n", "labels": {"l": "a", "topology.k8s.aws/zone-id": "use1-az1"}},
        "status": {"capacity": {"cpu": "96", "memory": "1Ti", "nvidia.com/gpu": "8"}},
    }
    seen = seen_node(thing, "l")
    assert (seen.pool, seen.zone_id, seen.millicores, seen.gpus) == ("a", "use1-az1", 96_000, 8)
