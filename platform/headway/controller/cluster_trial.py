"""What a job would be in the cluster, without recording or making anything."""

from __future__ import annotations

from typing import Any, cast

from headway.backends.kubernetes.api import RAY_JOBS, SECRETS, Abilities, Kubernetes
from headway.backends.kubernetes.manifests import ray_job, secret
from headway.controller.cluster_ask import Namespace, ask_of, namespace_of
from headway.controller.cluster_objects import namespace_in
from headway.controller.cluster_pools import Pools
from headway.runs.rows import RunRow
from headway.runs.states import RunState
from headway.settings import Settings
from headway.spec.cluster import ClusterSpec

RUN_ID = "dry-run-0000000000"
_NEWEST = Abilities(ray_token=True, kueue="v1beta2")


def trial_run(body: dict[str, object]) -> RunRow:
    """The run that a submission's body would be recorded as."""
    return RunRow(
        id=RUN_ID,
        name=str(body["name"]),
        team_id=str(body.get("team") or "default"),
        state=RunState.QUEUED,
        reason=None,
        failure_class=None,
        spec=cast("dict[str, object]", body["spec"]),
        code_sha=None,
        labels={},
        created=0,
        ended=None,
    )


def objects_of(
    settings: Settings, cluster: ClusterSpec, run: RunRow, api: Kubernetes | None
) -> list[dict[str, Any]]:
    """The objects of a run's first attempt; with `api`, the API server has checked each and kept none.

    Without it the newest KubeRay and Kueue are taken to be there, with the queue that the job names.

    Raises:
        CapacityError: no pool may take it.
        UserError: what it names is not there, or the API server refuses an object.
    """
    name = namespace_of(cluster, run.team_id)
    job = cast("dict[str, Any]", run.spec["job"])
    queue, priority = str(job.get("queue") or "default"), job.get("priority")
    where = Namespace(name, [queue], [str(priority)] if priority else [])
    abilities = _NEWEST
    if api is not None:
        abilities = api.abilities()
        where = namespace_in(api, abilities, cluster, name)
    ask, _chosen = ask_of(run, 1, cluster, Pools(settings, cluster), where, abilities)
    values = dict.fromkeys(ask.secrets, "")
    things = [(SECRETS, secret(ask, "", values)), (RAY_JOBS, ray_job(ask))]
    if api is not None:
        for kind, thing in things:
            api.create(kind, thing, dry_run=True)
    return [thing for _kind, thing in things]
