"""What an attempt asks of the cluster, from the run as recorded; refused before anything is made."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, cast

from headway.backends.kubernetes.api import Abilities
from headway.backends.kubernetes.manifests import Ask, Mount
from headway.controller.cluster_pools import Chosen, Pools
from headway.errors import UserError
from headway.runs.ids import backend_name
from headway.runs.rows import RunRow
from headway.spec.cluster import ClusterSpec, Volume
from headway.spec.job import JobSpec
from headway.spec.loader import parse
from headway.spec.validation import validate

GRACE_SECONDS = 60
DEFAULT_QUEUE = "default"


@dataclass(frozen=True, slots=True)
class Namespace:
    """What is known of a team's namespace: its queues, and the cluster's priority classes."""

    name: str
    queues: Sequence[str]
    priorities: Sequence[str]


def job_of(run: RunRow) -> JobSpec:
    """The job as it was submitted."""
    return validate(JobSpec, parse(json.dumps(run.spec["job"]), "job"))


def namespace_of(cluster: ClusterSpec, team: str) -> str:
    """Where a team's runs go."""
    return cluster.namespaces.get(team, cluster.namespace)


def ask_of(
    run: RunRow,
    attempt: int,
    cluster: ClusterSpec,
    pools: Pools,
    where: Namespace,
    abilities: Abilities,
) -> tuple[Ask, Chosen]:
    """What attempt `attempt` asks for, and the pools it may land on.

    Raises:
        CapacityError: no pool may take it.
        UserError: it names a queue or a storage that is not there.
    """
    job = job_of(run)
    chosen = pools.for_job(job)
    resolved = cast("dict[str, Any]", run.spec["resolved"])
    mark = backend_name(run.id, attempt)
    _check_storage(resolved.get("storage"), cluster.storage)
    grace = cluster.stop_grace
    return (
        Ask(
            name=mark,
            job_id=mark,
            run_id=run.id,
            namespace=where.name,
            gateway=cluster.gateway.rstrip("/"),
            image=job.image or cluster.image,
            shape=chosen.shape,
            pools=tuple(pool.label for pool in chosen.pools),
            storage=_mount(cluster.storage),
            mounts=tuple(_mount(one) for one in cluster.volumes),
            env={**cluster.env, **cast("Mapping[str, str]", resolved["env"])},
            secrets=tuple(sorted(cast("dict[str, str]", resolved["secrets"]))),
            queue=_queue(job, where),
            priority=job.priority if job.priority in where.priorities else None,
            pool_label=cluster.pool_label,
            pull_policy=cluster.image_pull_policy,
            pull_secrets=cluster.image_pull_secrets,
            service_account=cluster.service_account,
            cpu_overcommit=cluster.cpu_overcommit,
            head_memory_bytes=int(cluster.head_memory),
            shared_memory_bytes=None if cluster.shared_memory is None else int(cluster.shared_memory),
            grace_seconds=GRACE_SECONDS if grace is None else int(grace),
            ray_token=abilities.ray_token,
        ),
        chosen,
    )


def _mount(volume: Volume) -> Mount:
    return Mount(volume.claim, volume.path, volume.read_only)


def _queue(job: JobSpec, where: Namespace) -> str | None:
    """The job's queue; None where the namespace has none at all: then runs start first in, first out."""
    if not where.queues:
        if job.queue != DEFAULT_QUEUE:
            raise UserError("kubernetes.no_queue", queue=job.queue, namespace=where.name, known="-")
        return None
    if job.queue not in where.queues:
        known = ", ".join(where.queues)
        raise UserError("kubernetes.no_queue", queue=job.queue, namespace=where.name, known=known)
    return job.queue


def _check_storage(given: object, storage: Volume) -> None:
    if given is None:
        return
    path = PurePosixPath(str(given))
    if "://" in str(given) or not path.is_relative_to(storage.path):
        raise UserError("kubernetes.storage", storage=given, path=storage.path)
