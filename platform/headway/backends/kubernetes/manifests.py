"""PURE. The objects that one attempt is in a cluster: a Secret and a RayJob, fit for restricted namespaces.

Fields and their traps: KubeRay's `ray.io/v1` RayJob and Kueue's labels. The job's id is preset, so a job
that is submitted twice is one job; KubeRay retries nothing, since retries are the controller's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headway.backends.kubernetes.shape import Shape

GROUP, VERSION = "ray.io", "v1"
MANAGED_BY = {"app.kubernetes.io/managed-by": "headway"}
RUN_LABEL = "headway.dev/run"
QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
PRIORITY_LABEL = "kueue.x-k8s.io/priority-class"
TOKEN_KEY = "headway-token"  # noqa: S105 - a key's name
HEAD = "python3 -m headway.backends.kubernetes.head"
GPU, EFA = "nvidia.com/gpu", "vpc.amazonaws.com/efa"
POD_USER = 1000
FINISHED_SECONDS = 60  # how long an ended RayJob stays: a controller that starts anew can still look at it
_LEAST_OBJECT_STORE_BYTES = 100_000_000  # Ray takes no less than 75 MiB
_NCCL = {"FI_PROVIDER": "efa", "FI_EFA_USE_DEVICE_RDMA": "1", "NCCL_SOCKET_IFNAME": "^lo,docker"}


@dataclass(frozen=True, slots=True)
class Mount:
    """A claim and where pods have it."""

    claim: str
    path: str
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class Ask:
    """All that an attempt's objects say.

    `secrets` are names of variables whose values the attempt's Secret holds; `queue` None runs without
    Kueue; `ray_token` where the operator can give Ray a token.
    """

    name: str
    job_id: str
    run_id: str
    namespace: str
    gateway: str
    image: str
    shape: Shape
    pools: tuple[str, ...]
    storage: Mount
    mounts: tuple[Mount, ...] = ()
    env: Mapping[str, str] | None = None
    secrets: tuple[str, ...] = ()
    queue: str | None = None
    priority: str | None = None
    pool_label: str = "headway.dev/pool"
    pull_policy: str = "IfNotPresent"
    pull_secrets: tuple[str, ...] = ()
    service_account: str | None = None
    cpu_overcommit: float = 1.0
    head_memory_bytes: int = 4 * 2**30
    shared_memory_bytes: int | None = None
    grace_seconds: int = 60
    ray_version: str = "2.60.0"
    ray_token: bool = True


def labels_of(ask: Ask) -> dict[str, str]:
    """By which everything of a run is found again."""
    return {**MANAGED_BY, RUN_LABEL: ask.run_id}


def secret(ask: Ask, token: str, values: Mapping[str, str]) -> dict[str, Any]:
    """The run's token for the gateway, and its own secrets' values."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "Opaque",
        "metadata": {"name": ask.name, "namespace": ask.namespace, "labels": labels_of(ask)},
        "stringData": {TOKEN_KEY: token, **values},
    }


def ray_job(ask: Ask) -> dict[str, Any]:
    """The RayJob."""
    labels = labels_of(ask)
    if ask.queue is not None:
        labels[QUEUE_LABEL] = ask.queue
        if ask.priority is not None:
            labels[PRIORITY_LABEL] = ask.priority
    cluster: dict[str, Any] = {
        "rayVersion": ask.ray_version,
        "headGroupSpec": {"rayStartParams": _head_parameters(ask), "template": _pod(ask, is_head=True)},
    }
    if ask.ray_token:
        cluster["authOptions"] = {"mode": "token"}
    if not ask.shape.is_single:
        count = ask.shape.pods
        cluster["workerGroupSpecs"] = [
            {
                "groupName": "workers",
                "replicas": count,
                "minReplicas": count,
                "maxReplicas": count,
                "rayStartParams": {"num-cpus": str(ask.shape.cpus), **_store(ask.shape.memory_bytes)},
                "template": _pod(ask, is_head=False),
            }
        ]
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": "RayJob",
        "metadata": {"name": ask.name, "namespace": ask.namespace, "labels": labels},
        "spec": {
            "entrypoint": HEAD,
            "jobId": ask.job_id,
            "submissionMode": "HTTPMode",
            "backoffLimit": 0,
            "shutdownAfterJobFinishes": True,
            "ttlSecondsAfterFinished": FINISHED_SECONDS,
            "rayClusterSpec": cluster,
        },
    }


def _head_parameters(ask: Ask) -> dict[str, str]:
    # No worker may land on a head that has pods beside it: it has no GPU, and holds the driver.
    cpus = ask.shape.cpus if ask.shape.is_single else 0
    memory = ask.shape.memory_bytes if ask.shape.is_single else ask.head_memory_bytes
    return {"dashboard-host": "0.0.0.0", "num-cpus": str(cpus), **_store(memory)}  # noqa: S104 - within its pod


def _store(memory_bytes: int | None) -> dict[str, str]:
    if memory_bytes is None:
        return {}
    return {"object-store-memory": str(max(_LEAST_OBJECT_STORE_BYTES, memory_bytes // 5))}


def _pod(ask: Ask, *, is_head: bool) -> dict[str, Any]:
    works = ask.shape.is_single or not is_head
    cpus = ask.shape.cpus if works else 1
    memory = ask.shape.memory_bytes if works else ask.head_memory_bytes
    gpus = ask.shape.gpus if works else 0
    efa = ask.shape.efa if works else 0
    mounts = (ask.storage, *ask.mounts)
    spec: dict[str, Any] = {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": ask.grace_seconds,
        "enableServiceLinks": False,
        "automountServiceAccountToken": False,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": POD_USER,
            "fsGroup": POD_USER,
            "fsGroupChangePolicy": "OnRootMismatch",
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "affinity": _affinity(ask),
        "tolerations": _tolerations(gpus=gpus, pool_label=ask.pool_label),
        "containers": [
            {
                "name": "ray",
                "image": ask.image,
                "imagePullPolicy": ask.pull_policy,
                "securityContext": {
                    "allowPrivilegeEscalation": False,
                    "capabilities": {"drop": ["ALL"]},
                },
                "env": _environment(ask, is_head=is_head, with_efa=efa > 0),
                "resources": _resources(cpus / ask.cpu_overcommit, memory, gpus, efa),
                "volumeMounts": [
                    *(
                        {"name": f"v{number}", "mountPath": one.path, "readOnly": one.read_only}
                        for number, one in enumerate(mounts)
                    ),
                    {"name": "shm", "mountPath": "/dev/shm"},  # noqa: S108 - where NCCL and Ray share memory
                ],
            }
        ],
        "volumes": [
            *(
                {
                    "name": f"v{number}",
                    "persistentVolumeClaim": {"claimName": one.claim, "readOnly": one.read_only},
                }
                for number, one in enumerate(mounts)
            ),
            {"name": "shm", "emptyDir": _shared_memory(ask.shared_memory_bytes, memory)},
        ],
    }
    if ask.service_account is not None:
        spec["serviceAccountName"] = ask.service_account
    if ask.pull_secrets:
        spec["imagePullSecrets"] = [{"name": name} for name in ask.pull_secrets]
    return {"metadata": {"labels": labels_of(ask)}, "spec": spec}


def _shared_memory(given_bytes: int | None, memory_bytes: int | None) -> dict[str, str]:
    size = given_bytes if given_bytes is not None else (memory_bytes or 0) // 3
    limit = {"sizeLimit": str(max(size, 2**30))} if size else {}
    return {"medium": "Memory", **limit}


def _affinity(ask: Ask) -> dict[str, Any]:
    """On nodes of the pools, required: Kueue then takes that flavor. In one zone, preferred."""
    chosen = {"key": ask.pool_label, "operator": "In", "values": list(ask.pools)}
    near = {
        "labelSelector": {"matchLabels": {RUN_LABEL: ask.run_id}},
        "topologyKey": "topology.kubernetes.io/zone",
    }
    return {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [chosen]}]
            }
        },
        "podAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "podAffinityTerm": near}]
        },
    }


def _tolerations(*, gpus: int, pool_label: str) -> list[dict[str, str]]:
    keys = [pool_label, *([GPU] if gpus else [])]
    return [{"key": key, "operator": "Exists", "effect": "NoSchedule"} for key in keys]


def _resources(cpus: float, memory_bytes: int | None, gpus: int, efa: int) -> dict[str, dict[str, str]]:
    requests = {"cpu": f"{max(1, round(cpus * 1000))}m"}
    limits: dict[str, str] = {}
    if memory_bytes is not None:
        requests["memory"] = limits["memory"] = str(memory_bytes)
    for name, count in ((GPU, gpus), (EFA, efa)):
        if count:
            requests[name] = limits[name] = str(count)
    return {"requests": requests, "limits": limits} if limits else {"requests": requests}


def _environment(ask: Ask, *, is_head: bool, with_efa: bool) -> list[dict[str, Any]]:
    plain = {**(_NCCL if with_efa else {}), **(ask.env or {})}
    found: list[dict[str, Any]] = [{"name": name, "value": value} for name, value in sorted(plain.items())]
    keys = {name: name for name in ask.secrets}
    if is_head:
        found += [
            {"name": "HEADWAY_GATEWAY", "value": ask.gateway},
            {"name": "HEADWAY_STORAGE", "value": ask.storage.path},
        ]
        keys["HEADWAY_TOKEN"] = TOKEN_KEY
    found += [
        {"name": name, "valueFrom": {"secretKeyRef": {"name": ask.name, "key": key}}}
        for name, key in keys.items()
    ]
    return found
