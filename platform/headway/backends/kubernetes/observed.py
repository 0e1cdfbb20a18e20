"""PURE. What the API server said, as the few facts that decisions rest on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, cast

from headway.backends.kubernetes.manifests import GPU, RUN_LABEL
from headway.errors import DataError
from headway.runs.states import FailureClass

Thing = Mapping[str, Any]

_ENDED_PHASES = frozenset({"Succeeded", "Failed"})
_IMAGE_REASONS = frozenset(
    {
        "ImagePullBackOff", "ErrImagePull", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError",
        "CreateContainerConfigError", "CreateContainerError", "RunContainerError",
    }
)  # fmt: skip
# Reasons of the condition DisruptionTarget by which a cluster takes pods away on purpose.
_TAKEN_AWAY = frozenset(
    {"PreemptionByScheduler", "EvictionByEvictionAPI", "DeletionByTaintManager", "TerminationByKubelet"}
)
_UNITS = {
    "": Decimal(1), "m": Decimal("0.001"), "u": Decimal("0.000001"), "n": Decimal("0.000000001"),
    "k": Decimal(10**3), "M": Decimal(10**6), "G": Decimal(10**9), "T": Decimal(10**12), "P": Decimal(10**15),
    "E": Decimal(10**18),
    **{f"{name}i": Decimal(1024**power) for power, name in enumerate("KMGTPE", start=1)},
}  # fmt: skip
_QUANTITY = re.compile(r"([+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)([numkKMGTPE]?i?)")


@dataclass(frozen=True, slots=True)
class SeenJob:
    """A RayJob: its Ray job's status, KubeRay's own, and whether somebody holds it back."""

    name: str
    namespace: str
    uid: str
    run_id: str | None
    job_id: str | None
    ray_status: str
    deployment: str
    said: str
    suspended: bool
    deleting: bool
    ended: int | None


@dataclass(frozen=True, slots=True)
class SeenPod:
    """A pod of a run; times in UTC microseconds."""

    name: str
    namespace: str
    uid: str
    run_id: str
    is_head: bool
    node: str | None
    phase: str
    deleting: bool
    placed: int | None
    ended: int | None
    millicores: int
    memory_bytes: int
    gpus: int
    failure: FailureClass | None
    said: str

    @property
    def has_ended(self) -> bool:
        """Whether nothing of it runs any more."""
        return self.phase in _ENDED_PHASES


@dataclass(frozen=True, slots=True)
class SeenWorkload:
    """Kueue's view of a RayJob."""

    owner_uid: str
    admitted: bool
    evicted: str
    said: str


@dataclass(frozen=True, slots=True)
class SeenNode:
    """A node: its pool by the label, and what it has."""

    name: str
    pool: str
    zone_id: str | None
    millicores: int
    memory_bytes: int
    gpus: int


@dataclass(frozen=True, slots=True)
class Observation:
    """Everything of one run in the cluster at a time; `has_queue` where Kueue holds its job."""

    at: int
    job: SeenJob | None
    pods: tuple[SeenPod, ...] = ()
    workload: SeenWorkload | None = None

    @property
    def head(self) -> SeenPod | None:
        """The head that runs or is to run: the newest that is not on its way out."""
        heads = [pod for pod in self.pods if pod.is_head and not pod.deleting and not pod.has_ended]
        return max(heads, key=lambda pod: (pod.placed or 0, pod.name), default=None)

    @property
    def failure(self) -> tuple[FailureClass, str] | None:
        """What the pods say went wrong, the gravest first."""
        order = (FailureClass.OOM, FailureClass.IMAGE, FailureClass.PREEMPTION, FailureClass.INFRA)
        for failure in order:
            for pod in self.pods:
                if pod.failure is failure:
                    return failure, pod.said
        return None


def quantity(text: object) -> Decimal:
    """A Kubernetes quantity as a number.

    >>> quantity("250m"), quantity("2Gi"), quantity(3)
    (Decimal('0.250'), Decimal('2147483648'), Decimal('3'))

    Raises:
        DataError: it is none.
    """
    found = _QUANTITY.fullmatch(str(text))
    if found is None or found[2] not in _UNITS:
        raise DataError("kubernetes.bad_quantity", value=str(text)[:40])
    return Decimal(found[1]) * _UNITS[found[2]]


def microseconds(text: str | None) -> int | None:
    """An RFC 3339 time as the ledger keeps it."""
    if not text:
        return None
    return round(datetime.fromisoformat(text).timestamp() * 1_000_000)


def seen_job(thing: Thing) -> SeenJob:
    """From a RayJob."""
    meta, spec, status = thing["metadata"], thing.get("spec") or {}, thing.get("status") or {}
    return SeenJob(
        name=str(meta["name"]),
        namespace=str(meta["namespace"]),
        uid=str(meta["uid"]),
        run_id=(meta.get("labels") or {}).get(RUN_LABEL),
        job_id=spec.get("jobId"),
        ray_status=str(status.get("jobStatus") or ""),
        deployment=str(status.get("jobDeploymentStatus") or ""),
        said=": ".join(str(status[key]) for key in ("reason", "message") if status.get(key)),
        suspended=bool(spec.get("suspend")),
        deleting=bool(meta.get("deletionTimestamp")),
        ended=microseconds(status.get("endTime")),
    )


def seen_pod(thing: Thing) -> SeenPod:
    """From a pod that carries a run's label."""
    meta, spec, status = thing["metadata"], thing["spec"], thing.get("status") or {}
    labels = meta.get("labels") or {}
    conditions = {one["type"]: one for one in status.get("conditions") or []}
    placed = conditions.get("PodScheduled", {})
    requests = [one.get("resources", {}).get("requests", {}) for one in spec.get("containers") or []]

    def total(name: str) -> Decimal:
        return sum((quantity(one.get(name, 0)) for one in requests), Decimal(0))

    failure, said = _pod_failure(status, conditions)
    ends = [
        state["terminated"].get("finishedAt")
        for one in status.get("containerStatuses") or []
        if (state := one.get("state") or {}).get("terminated")
    ]
    has_ended = status.get("phase") in _ENDED_PHASES
    ended = max((found for text in ends if (found := microseconds(text)) is not None), default=None)
    return SeenPod(
        name=str(meta["name"]),
        namespace=str(meta["namespace"]),
        uid=str(meta["uid"]),
        run_id=str(labels[RUN_LABEL]),
        is_head=labels.get("ray.io/node-type") == "head",
        node=spec.get("nodeName"),
        phase=str(status.get("phase") or "Pending"),
        deleting=bool(meta.get("deletionTimestamp")),
        placed=microseconds(placed.get("lastTransitionTime")) if placed.get("status") == "True" else None,
        ended=ended if has_ended else None,
        millicores=int(total("cpu") * 1000),
        memory_bytes=int(total("memory")),
        gpus=int(total(GPU)),
        failure=failure,
        said=said,
    )


def _pod_failure(status: Thing, conditions: Mapping[str, Thing]) -> tuple[FailureClass | None, str]:
    for one in cast("Sequence[Thing]", status.get("containerStatuses") or []):
        for state in (one.get("state") or {}, one.get("lastState") or {}):
            if (state.get("terminated") or {}).get("reason") == "OOMKilled":
                return FailureClass.OOM, f"{one['name']}: OOMKilled"
        waiting = (one.get("state") or {}).get("waiting") or {}
        if waiting.get("reason") in _IMAGE_REASONS:
            return FailureClass.IMAGE, f"{waiting['reason']}: {waiting.get('message', '')}".strip(": ")
    disruption = conditions.get("DisruptionTarget", {})
    if disruption.get("status") == "True":
        taken = disruption.get("reason") in _TAKEN_AWAY
        said = f"{disruption.get('reason')}: {disruption.get('message', '')}".strip(": ")
        return FailureClass.PREEMPTION if taken else FailureClass.INFRA, said
    if status.get("phase") == "Failed" and status.get("reason"):
        return FailureClass.INFRA, f"{status['reason']}: {status.get('message', '')}".strip(": ")
    unplaced = conditions.get("PodScheduled", {})
    if unplaced.get("status") == "False":
        return None, str(unplaced.get("message") or "")
    return None, ""


def seen_workload(thing: Thing) -> SeenWorkload | None:
    """From a Workload; None of one that no RayJob owns."""
    owners = [one for one in thing["metadata"].get("ownerReferences") or [] if one.get("kind") == "RayJob"]
    if not owners:
        return None
    conditions = {one["type"]: one for one in (thing.get("status") or {}).get("conditions") or []}

    def holds(kind: str) -> bool:
        return conditions.get(kind, {}).get("status") == "True"

    waits = conditions.get("QuotaReserved", {})
    evicted = conditions.get("Evicted", {})
    return SeenWorkload(
        owner_uid=str(owners[0]["uid"]),
        admitted=holds("Admitted"),
        evicted=f"{evicted.get('reason')}: {evicted.get('message')}" if holds("Evicted") else "",
        said="" if waits.get("status") == "True" else str(waits.get("message") or ""),
    )


def seen_node(thing: Thing, pool_label: str) -> SeenNode:
    """From a node that carries the pool label."""
    meta, labels = thing["metadata"], thing["metadata"].get("labels") or {}
    has = (thing.get("status") or {}).get("capacity") or {}
    return SeenNode(
        name=str(meta["name"]),
        pool=str(labels[pool_label]),
        zone_id=labels.get("topology.k8s.aws/zone-id") or labels.get("topology.kubernetes.io/zone"),
        millicores=int(quantity(has.get("cpu", 0)) * 1000),
        memory_bytes=int(quantity(has.get("memory", 0))),
        gpus=int(quantity(has.get(GPU, 0))),
    )


def observations(
    at: int, jobs: Iterable[Thing], pods: Iterable[Thing], workloads: Iterable[Thing]
) -> dict[str, Observation]:
    """What was listed, by run; a run with several RayJobs keeps the one that is not being deleted."""
    found: dict[str, SeenJob] = {}
    for job in map(seen_job, jobs):
        known = found.get(job.run_id or "")
        if job.run_id is not None and (known is None or (known.deleting and not job.deleting)):
            found[job.run_id] = job
    of_run: dict[str, list[SeenPod]] = {}
    for pod in map(seen_pod, pods):
        of_run.setdefault(pod.run_id, []).append(pod)
    queued = {one.owner_uid: one for thing in workloads if (one := seen_workload(thing)) is not None}
    return {
        run_id: Observation(
            at,
            (job := found.get(run_id)),
            tuple(of_run.get(run_id, ())),
            None if job is None else queued.get(job.uid),
        )
        for run_id in {*found, *of_run}
    }
