"""The test cluster is what tests take it for: a real node, real operators, and nothing left afterwards."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from testbed import host, node
from testbed.client import KubectlError

pytestmark = pytest.mark.real
HERE = Path(__file__).parent
TRAIN = HERE / "manifests/rayjob_train.yaml"
UNPRIVILEGED = {"runAsNonRoot": True, "runAsUser": 1000, "seccompProfile": {"type": "RuntimeDefault"}}
POWERLESS = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}


def pod(cluster, name, command, **more):
    container = {
        "name": "main",
        "image": cluster.ray_image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["sh", "-c", command],
        "securityContext": POWERLESS,
        "resources": {"requests": {"cpu": "10m", "memory": "32Mi"}},
    }
    spec = {"restartPolicy": "Never", "securityContext": UNPRIVILEGED, "containers": [container], **more}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": spec,
    }


def phase(cluster, name, namespace):
    return cluster.get("pod", name, namespace)["status"].get("phase")


def await_end(cluster, name, namespace):
    cluster.wait_for(lambda: phase(cluster, name, namespace) in {"Succeeded", "Failed"}, 60, f"{name} ends")
    return cluster.kubectl("logs", "-n", namespace, name)


def only_here(cluster):
    if not cluster.here:
        pytest.skip("the cluster's programs do not run on this machine")


def test_nothing_is_left_of_a_cluster_whose_tests_were_killed(no_cluster):
    code = "import time; from testbed.cluster import Cluster; Cluster().up(); print('up', flush=True)"
    tests = subprocess.Popen(
        [sys.executable, "-c", f"{code}; time.sleep(99)"],
        env={**os.environ, "PYTHONPATH": str(HERE)},
        stdout=subprocess.PIPE,
        text=True,
    )
    with tests:
        assert tests.stdout.readline() == "up\n"
        running = host.traces(no_cluster.state)
        tests.kill()
    assert [
        kind for kind in ("Process", "bridge", "KUBE-", "/sys/fs/cgroup") if kind not in str(running)
    ] == []
    no_cluster.wait_for(lambda: not host.traces(no_cluster.state), 120, "the keeper clears all away")
    no_cluster.wait_for(lambda: not any(no_cluster.programs().values()), 120, "the keeper ends")


def test_a_pod_runs_as_nobody_special_and_its_logs_can_be_read(cluster, namespace):
    cluster.apply(pod(cluster, "hello", "id -u; touch $HOME/mine && echo at home"), namespace=namespace)
    assert await_end(cluster, "hello", namespace).split("\n")[:2] == ["1000", "at home"]
    assert phase(cluster, "hello", namespace) == "Succeeded"


def test_a_pod_reaches_another_by_its_services_name(cluster, namespace):
    serve = "cd /tmp && echo served > index.html && python3 -m http.server 8000"
    ports = {"selector": {"app": "server"}, "ports": [{"port": 80, "targetPort": 8000}]}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": ports}
    ask = (
        f"for i in $(seq 40); do wget -q -T 2 -O- http://web.{namespace}.svc && exit; sleep 0.5; done; exit 1"
    )
    asker = pod(cluster, "asker", ask)
    cluster.apply(pod(cluster, "server", serve), service, asker, namespace=namespace)
    assert await_end(cluster, "asker", namespace) == "served\n"


def test_a_restricted_namespace_refuses_the_hosts_folders_and_root(cluster, namespace):
    folder = pod(cluster, "folder", "true", volumes=[{"name": "host", "hostPath": {"path": "/"}}])
    with pytest.raises(KubectlError, match="hostPath"):
        cluster.apply(folder, namespace=namespace)
    with pytest.raises(KubectlError, match="runAsNonRoot"):
        cluster.apply(pod(cluster, "root", "true", securityContext={}), namespace=namespace)


def test_claims_hold_packages_source_and_a_storage_that_pods_can_write(cluster, namespace):
    only_here(cluster)
    names = ("site", "source", "storage")
    volumes = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in names]
    places = {"site": "/opt/site", "source": "/opt/source", "storage": "/storage"}
    look = "python3 -c 'import headway, yaml; print(headway.__file__, yaml.__file__)' > /storage/seen"
    looker = pod(cluster, "looker", look, volumes=volumes)
    looker["spec"]["containers"][0]["volumeMounts"] = [
        {"name": name, "mountPath": place} for name, place in places.items()
    ]
    cluster.apply(looker, namespace=namespace)
    await_end(cluster, "looker", namespace)
    seen = (cluster.storage / namespace / "seen").read_text().split()
    assert seen == ["/opt/source/headway/__init__.py", "/opt/site/yaml/__init__.py"]


def conditions(thing):
    return thing.get("status", {}).get("conditions", [])


def test_a_job_larger_than_the_queues_quota_waits(cluster, namespace):
    only_here(cluster)
    _, job = yaml.safe_load_all(TRAIN.read_text())
    job["spec"]["rayClusterSpec"]["workerGroupSpecs"][0] |= {"replicas": 2 * node.GPUS, "maxReplicas": 99}
    cluster.apply(job, namespace=namespace)

    def reason():
        found = [one for workload in cluster.list("workloads", namespace) for one in conditions(workload)]
        return next((one["message"] for one in found if one["type"] == "QuotaReserved"), "")

    assert node.GPU in cluster.wait_for(reason, 30, "Kueue says why it waits")
    assert cluster.list("pods", namespace) == []


def test_fake_nodes_have_gpus_and_take_pods_through_the_queue(cluster, namespace):
    only_here(cluster)
    nodes = cluster.fake_nodes(2, "h100", gpus=8)
    try:
        assert [cluster.get("node", name)["status"]["allocatable"][node.GPU] for name in nodes] == ["8", "8"]
        one = pod(cluster, "unused", "true", nodeSelector={node.POOL_LABEL: "h100"})
        one["spec"]["containers"][0]["resources"] = {"requests": {node.GPU: "8"}, "limits": {node.GPU: "8"}}
        job = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": "big", "labels": {"kueue.x-k8s.io/queue-name": "default"}},
            "spec": {"parallelism": 2, "completions": 2, "suspend": True, "template": {"spec": one["spec"]}},
        }
        cluster.apply(job, namespace=namespace)
        placed = cluster.wait_for(lambda: placed_on(cluster, namespace, 2), 60, "both pods are placed")
        assert sorted(placed) == nodes
    finally:
        cluster.remove_fake_nodes("h100")


def placed_on(cluster, namespace, count):
    nodes = [one["spec"].get("nodeName") for one in cluster.list("pods", namespace)]
    return nodes if len(nodes) == count and all(nodes) else None


def test_the_api_server_comes_back_with_all_it_knew(cluster, namespace):
    only_here(cluster)
    cluster.kill("kube-apiserver")
    with pytest.raises(KubectlError):
        cluster.get("namespace", namespace)
    cluster.restart("kube-apiserver")
    assert cluster.get("namespace", namespace)["status"]["phase"] == "Active"
    cluster.apply(pod(cluster, "after", "true"), namespace=namespace)
    await_end(cluster, "after", namespace)


def test_a_job_made_while_the_operator_is_dead_starts_once_it_is_back(cluster, namespace):
    only_here(cluster)
    cluster.kill("kuberay-operator")
    cluster.apply(TRAIN.read_text(), namespace=namespace)
    cluster.wait_for(lambda: cluster.list("workloads", namespace), 30, "Kueue sees the job")
    assert cluster.list("rayclusters", namespace) == []
    cluster.restart("kuberay-operator")
    cluster.wait_for(lambda: cluster.list("pods", namespace), 60, "the operator makes pods")


def test_a_kubelet_that_starts_anew_still_has_its_gpus_and_pods(cluster, namespace):
    only_here(cluster)
    cluster.apply(pod(cluster, "steady", "sleep 600"), namespace=namespace)
    cluster.wait_for(lambda: phase(cluster, "steady", namespace) == "Running", 30, "the pod runs")
    cluster.restart("kubelet")
    assert cluster.get("node", node.NAME)["status"]["allocatable"][node.GPU] == str(node.GPUS)
    assert phase(cluster, "steady", namespace) == "Running"
