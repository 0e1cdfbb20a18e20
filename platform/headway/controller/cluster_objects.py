"""An attempt's objects in the cluster: made once, found again after a kill at any point, taken away whole."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from headway.backends.kubernetes.api import RAY_JOBS, SECRETS, Abilities, Kubernetes
from headway.backends.kubernetes.manifests import GROUP, VERSION, Ask, ray_job, secret
from headway.backends.kubernetes.observed import Observation, SeenJob, SeenNode, observations, seen_node
from headway.controller.cluster_ask import Namespace
from headway.errors import StateError, UserError
from headway.runs.rows import RunRow
from headway.runs.store import Ledger, now_microseconds
from headway.runs.tokens import Principal, Role, issue
from headway.spec.cluster import ClusterSpec

NAMESPACES = ("/api/v1", "namespaces")
CLAIMS = ("/api/v1", "persistentvolumeclaims")


@dataclass(frozen=True, slots=True)
class Look:
    """Everything of ours in the cluster, as it was at some moment after `at`."""

    at: int
    runs: Mapping[str, Observation]
    nodes: Mapping[str, SeenNode]

    def of(self, run_id: str) -> Observation:
        """What there is of a run; nothing is an observation too."""
        return self.runs.get(run_id) or Observation(self.at, None)


class ClusterObjects:
    """The cluster as the controller sees and changes it."""

    def __init__(self, cluster: ClusterSpec, ledger: Ledger, api: Kubernetes) -> None:
        self.api, self._cluster, self._ledger = api, cluster, ledger
        self.abilities: Abilities = api.abilities()

    def look(self) -> Look:
        """List what there is."""
        at = now_microseconds()
        api = self.api
        jobs, pods = api.ray_jobs(), api.pods()
        queued = api.workloads(self.abilities.kueue)
        label = self._cluster.pool_label
        nodes = [seen_node(one, label) for one in api.nodes(label)]
        return Look(at, observations(at, jobs, pods, queued), {node.name: node for node in nodes})

    def namespace(self, name: str) -> Namespace:
        """A namespace that can take runs, as `namespace_in` finds it."""
        return namespace_in(self.api, self.abilities, self._cluster, name)

    def create(self, run: RunRow, ask: Ask) -> str:
        """Make the attempt's Secret and RayJob, or find them; gives the RayJob's uid."""
        there = self.api.get(RAY_JOBS, ask.namespace, ask.name)
        if there is None:
            self._make_secret(run, ask)
            try:
                there = self.api.create(RAY_JOBS, ray_job(ask))
            except StateError:  # made by a controller before this one, since we looked
                there = self.api.get(RAY_JOBS, ask.namespace, ask.name)
                if there is None:
                    raise
        uid = str(there["metadata"]["uid"])
        owner = {
            "apiVersion": f"{GROUP}/{VERSION}",
            "kind": "RayJob",
            "name": ask.name,
            "uid": uid,
        }
        # The Secret goes when the RayJob goes, whoever deletes it.
        self.api.patch(SECRETS, ask.namespace, ask.name, {"metadata": {"ownerReferences": [owner]}})
        return uid

    def _make_secret(self, run: RunRow, ask: Ask) -> None:
        with self._ledger.write() as connection:
            who = Principal(f"run:{run.id}", Role.RUN, run.team_id, run.id)
            token = issue(connection, who, now_microseconds())
        thing = secret(ask, token, secret_values(run))
        try:
            self.api.create(SECRETS, thing)
        except StateError:
            self.api.patch(SECRETS, ask.namespace, ask.name, {"stringData": thing["stringData"]})

    def rename(self, job: SeenJob, mark: str) -> None:
        """Give a suspended RayJob to the next attempt."""
        self.api.patch(RAY_JOBS, job.namespace, job.name, {"spec": {"jobId": mark}})

    def remove(self, namespace: str, *names: str) -> None:
        """Have RayJobs and their Secrets deleted; those that are gone already are none."""
        for name in dict.fromkeys(names):
            self.api.delete(RAY_JOBS, namespace, name)
            self.api.delete(SECRETS, namespace, name)


def namespace_in(api: Kubernetes, abilities: Abilities, cluster: ClusterSpec, name: str) -> Namespace:
    """A namespace with its queues; its claim for storage is there too.

    Raises:
        UserError: the namespace, or the claim, is not there.
    """
    if api.cluster_thing(NAMESPACES, name) is None:
        raise UserError("kubernetes.no_namespace", namespace=name)
    claim = cluster.storage.claim
    if api.get(CLAIMS, name, claim) is None:
        raise UserError("kubernetes.no_claim", namespace=name, claim=claim)
    return Namespace(name, api.queues(abilities.kueue, name), api.priorities(abilities.kueue))


def secret_values(run: RunRow) -> dict[str, str]:
    """The values of a run's secrets, from the controller's environment.

    Raises:
        UserError: one is not there.
    """
    resolved = cast("dict[str, Any]", run.spec["resolved"])
    wanted = cast("dict[str, str]", resolved["secrets"])
    missing = [variable for variable in wanted.values() if variable not in os.environ]
    if missing:
        raise UserError("kubernetes.no_secret", names=", ".join(missing))
    return {name: os.environ[variable] for name, variable in wanted.items()}
