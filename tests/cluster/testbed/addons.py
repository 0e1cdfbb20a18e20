"""What runs on the cluster: KubeRay, Kueue, KWOK's nodes that are none, and the queues over all nodes."""

import os
import subprocess
from pathlib import Path

import yaml
from testbed import binaries, images, node
from testbed.client import Client
from testbed.processes import Programs

QUEUE = "default"  # the LocalQueue in each namespace
CLUSTER_QUEUE = "headway"
FAKE_TAINT = {"key": "headway.dev/fake", "value": "true", "effect": "NoSchedule"}
_FAKE = {"kwok.x-k8s.io/node": "fake"}
_STAGES = ("node/fast/node-initialize.yaml", "node/heartbeat/node-heartbeat.yaml")
_POD_STAGES = ("pod-ready.yaml", "pod-complete.yaml", "pod-delete.yaml")
_KUEUE_API = "kueue.x-k8s.io/v1beta2"
_FRAMEWORKS = ["batch/job", "ray.io/rayjob", "ray.io/raycluster"]


def install_kuberay(state: Path, client: Client) -> None:
    """Create Ray's kinds, and run the operator on the host, from where it can be killed."""
    for file in sorted(binaries.source("kuberay-operator").glob("*.yaml")):
        client.apply(file.read_text(encoding="utf-8"))
    Programs(state).start(
        "kuberay-operator",
        binaries.path("kuberay-operator"),
        f"--kubeconfig={client.kubeconfig}",
        "--enable-leader-election=false",
        "--use-kubernetes-proxy",  # the host cannot resolve the cluster's names
        "--metrics-addr=127.0.0.1:18080",
        "--health-probe-bind-address=127.0.0.1:18082",
    )


def install_kueue(state: Path, client: Client) -> None:
    """Install Kueue by its chart; `await_kueue` tells when it serves."""
    chart = binaries.source("kueue")
    defaults = yaml.safe_load((chart / "values.yaml").read_text(encoding="utf-8"))
    config = yaml.safe_load(defaults["managerConfig"]["controllerManagerConfigYaml"])
    config["integrations"]["frameworks"] = _FRAMEWORKS
    config["leaderElection"]["leaderElect"] = False
    repository, _, tag = images.KUEUE.rpartition(":")
    manager = {
        "image": {"repository": repository, "tag": tag, "pullPolicy": "Never"},
        "resources": {"requests": {"cpu": "100m", "memory": "256Mi"}, "limits": {"memory": "512Mi"}},
    }
    values = {
        "controllerManager": {
            "manager": manager,
            "readinessProbe": {"initialDelaySeconds": 1, "periodSeconds": 1},
            "nodeSelector": {node.POOL_LABEL: node.POOL},
        },
        "managerConfig": {"controllerManagerConfigYaml": yaml.safe_dump(config)},
    }
    where = ["--kubeconfig", str(client.kubeconfig), "--namespace", "kueue-system", "--create-namespace"]
    folders = {f"HELM_{kind}_HOME": f"{state}/network/helm" for kind in ("CACHE", "CONFIG", "DATA")}
    done = subprocess.run(
        [str(binaries.helm()), "install", "kueue", str(chart), *where, "--values", "-"],
        input=yaml.safe_dump(values),
        env={**os.environ, **folders},
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        raise RuntimeError(f"helm: {done.stderr}")


def await_kueue(client: Client) -> None:
    """Wait until Kueue's webhook admits objects; before that they would be refused."""
    words = ("apply", "--dry-run=server", "-f", "-")
    flavor = yaml.safe_dump(_flavor("probe"))
    client.wait_for(lambda: client.kubectl(*words, input=flavor), 180, "Kueue's webhook answers")


def start_kwok(state: Path, client: Client) -> None:
    """Start what plays the kubelet of nodes marked as fake."""
    folder = binaries.source("kwok")
    files = [folder / name for name in _STAGES] + [folder / "pod/fast" / name for name in _POD_STAGES]
    stages = state / "network" / "stages.yaml"
    stages.write_text("\n---\n".join(file.read_text(encoding="utf-8") for file in files), encoding="utf-8")
    Programs(state).start(
        "kwok",
        binaries.path("kwok"),
        f"--kubeconfig={client.kubeconfig}",
        f"--config={stages}",
        "--manage-all-nodes=false",
        "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake",
        "--cidr=10.245.0.1/24",
    )


def fake_nodes(client: Client, count: int, pool: str, gpus: int = 8) -> list[str]:
    """Add nodes with GPUs on which pods seem to run, and queue for them; they are tainted."""
    size = {"cpu": "96", "memory": "768Gi", "pods": "110", node.GPU: str(gpus)}
    names = [f"{pool}-{number}" for number in range(count)]
    for name in names:
        labels = {node.POOL_LABEL: pool, "kubernetes.io/hostname": name, "type": "kwok"}
        metadata = {"name": name, "labels": labels, "annotations": _FAKE}
        status = {"capacity": size, "allocatable": size}
        fake = {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {"taints": [FAKE_TAINT]}}
        client.apply({**fake, "status": status})
    client.wait_for(
        lambda: all(node.is_ready(client, name) for name in names), 60, f"nodes of {pool} are ready"
    )
    queue_for_all_pools(client)
    return names


def remove_fake_nodes(client: Client, pool: str) -> None:
    """Take a pool's nodes away, and its quota."""
    client.kubectl("delete", "nodes", "-l", f"{node.POOL_LABEL}={pool},type=kwok")
    queue_for_all_pools(client)


def queue_for_all_pools(client: Client) -> None:
    """Give Kueue one flavor per pool of nodes, and a ClusterQueue whose quota is what the nodes have."""
    quota: dict[str, dict[str, int]] = {}
    for one in client.list("nodes", selector=node.POOL_LABEL):
        pool = quota.setdefault(one["metadata"]["labels"][node.POOL_LABEL], dict.fromkeys(_COUNTED, 0))
        for resource in _COUNTED:
            pool[resource] += _amount(one["status"]["allocatable"].get(resource, "0"))
    order = sorted(quota, key=lambda pool: (pool != node.POOL, pool))
    flavors = [
        {
            "name": pool,
            "resources": [{"name": name, "nominalQuota": str(total)} for name, total in quota[pool].items()],
        }
        for pool in order
    ]
    queue = {
        "apiVersion": _KUEUE_API,
        "kind": "ClusterQueue",
        "metadata": {"name": CLUSTER_QUEUE},
        "spec": {
            "namespaceSelector": {},
            "resourceGroups": [{"coveredResources": list(_COUNTED), "flavors": flavors}],
        },
    }
    client.apply(*(_flavor(pool) for pool in order), queue)


def local_queue(namespace: str) -> dict:
    """The queue that a job in the namespace names by the label kueue.x-k8s.io/queue-name."""
    return {
        "apiVersion": _KUEUE_API,
        "kind": "LocalQueue",
        "metadata": {"name": QUEUE, "namespace": namespace},
        "spec": {"clusterQueue": CLUSTER_QUEUE},
    }


_COUNTED = ("cpu", "memory", node.GPU)
_UNITS = {"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "m": 0.001}


def _amount(quantity: str) -> int:
    """A Kubernetes quantity of CPUs, bytes or devices, rounded down."""
    for suffix, factor in _UNITS.items():
        if quantity.endswith(suffix):
            return int(int(quantity.removesuffix(suffix)) * factor)
    return int(quantity)


def _flavor(pool: str) -> dict:
    tolerations = [] if pool == node.POOL else [{**FAKE_TAINT, "operator": "Equal"}]
    return {
        "apiVersion": _KUEUE_API,
        "kind": "ResourceFlavor",
        "metadata": {"name": pool},
        "spec": {"nodeLabels": {node.POOL_LABEL: pool}, "tolerations": tolerations},
    }
