"""The API server, as this product uses it: a few verbs on a few kinds, JSON in and out."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from kubernetes import client, config
from kubernetes.client.exceptions import ApiException
from kubernetes.config.config_exception import ConfigException as NoKubeConfigError
from urllib3.exceptions import HTTPError

from headway.backends.kubernetes.manifests import MANAGED_BY, RUN_LABEL
from headway.errors import ConfigError, ExternalError, HeadwayError, NotFoundError, StateError, UserError

TIMEOUT_SECONDS = (5.0, 30.0)
PAGE = 500
RAY_JOBS = ("/apis/ray.io/v1", "rayjobs")
SECRETS = ("/api/v1", "secrets")
_MINE = ",".join(f"{name}={value}" for name, value in MANAGED_BY.items())
_KUEUE = "/apis/kueue.x-k8s.io"

Thing = Mapping[str, Any]
Kind = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Abilities:
    """What the cluster has: KubeRay's token, and the version of Kueue's API (None: no Kueue)."""

    ray_token: bool
    kueue: str | None


class Kubernetes:
    """One API server, by `KUBECONFIG` or from within a pod."""

    def __init__(self, api: client.ApiClient) -> None:
        self._api = api

    @classmethod
    def connect(cls) -> Kubernetes:
        """By the service account of the pod this runs in, else by `KUBECONFIG` or its usual place.

        Raises:
            ConfigError: there is neither.
        """
        found = client.Configuration()
        try:
            config.load_incluster_config(found)
        except NoKubeConfigError:
            try:
                config.load_kube_config(client_configuration=found)
            except (NoKubeConfigError, OSError, TypeError) as error:
                raise ConfigError("kubernetes.no_config", cause=error) from error
        found.retries = 0
        return cls(client.ApiClient(found))

    def _ask(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Thing | None = None,
        kind: str = "application/json",
    ) -> dict[str, Any]:
        """One request; gives the answer's JSON.

        Raises:
            NotFoundError: there is no such thing.
            StateError: it is there already, or has changed meanwhile.
            UserError: the API server refuses it as it is.
            ExternalError: the API server is out of reach, or says no.
        """
        try:
            asked = self._api.param_serialize(
                method,
                path,
                query_params=list((query or {}).items()),
                header_params={"Accept": "application/json", "Content-Type": kind},
                body=body,
                auth_settings=["BearerToken"],
            )
            answer = self._api.call_api(*asked, _request_timeout=TIMEOUT_SECONDS)
            said = answer.read()
        except ApiException as error:
            raise _refused(error.status or 0, str(error.body or error.reason or ""), path) from error
        except (HTTPError, OSError) as error:
            raise ExternalError("kubernetes.unreachable", cause=error) from error
        if answer.status >= 400:
            raise _refused(answer.status, said.decode(errors="replace"), path)
        return cast("dict[str, Any]", json.loads(said))

    def abilities(self) -> Abilities:
        """What the cluster has.

        Raises:
            ConfigError: KubeRay is not installed.
        """
        try:
            spoken = str(self._ask("GET", "/openapi/v3/apis/ray.io/v1"))
        except NotFoundError as error:
            raise ConfigError("kubernetes.no_kuberay") from error
        try:
            versions = self._ask("GET", _KUEUE)["versions"]
        except NotFoundError:
            return Abilities("authOptions" in spoken, None)
        served = [str(one["version"]) for one in versions]
        return Abilities("authOptions" in spoken, next((one for one in served if "beta" in one), served[0]))

    def listed(self, kind: Kind, selector: str = "", namespace: str | None = None) -> list[dict[str, Any]]:
        """Everything of a kind by its labels."""
        return list(self._pages(_path(kind, namespace), selector))

    def _pages(self, path: str, selector: str) -> Iterator[dict[str, Any]]:
        more = ""
        while True:
            query = {"limit": str(PAGE), "labelSelector": selector, "continue": more}
            page = self._ask("GET", path, {name: value for name, value in query.items() if value})
            yield from page.get("items") or []
            more = (page.get("metadata") or {}).get("continue") or ""
            if not more:
                return

    def ray_jobs(self) -> list[dict[str, Any]]:
        """Our RayJobs in all namespaces."""
        return self.listed(RAY_JOBS, _MINE)

    def all_ray_jobs(self) -> list[dict[str, Any]]:
        """Every RayJob, whoever made it."""
        return self.listed(RAY_JOBS)

    def pods(self) -> list[dict[str, Any]]:
        """The pods of our runs."""
        return self.listed(("/api/v1", "pods"), RUN_LABEL)

    def nodes(self, pool_label: str) -> list[dict[str, Any]]:
        """The nodes of all pools."""
        return self.listed(("/api/v1", "nodes"), pool_label)

    def workloads(self, version: str | None) -> list[dict[str, Any]]:
        """Kueue's workloads; none without Kueue."""
        return [] if version is None else self.listed((f"{_KUEUE}/{version}", "workloads"))

    def queues(self, version: str | None, namespace: str) -> list[str]:
        """The names of the queues that a namespace has."""
        if version is None:
            return []
        found = self.listed((f"{_KUEUE}/{version}", "localqueues"), namespace=namespace)
        return sorted(str(one["metadata"]["name"]) for one in found)

    def priorities(self, version: str | None) -> list[str]:
        """The names of Kueue's priority classes."""
        if version is None:
            return []
        found = self.listed((f"{_KUEUE}/{version}", "workloadpriorityclasses"))
        return sorted(str(one["metadata"]["name"]) for one in found)

    def create(self, kind: Kind, thing: Thing, *, dry_run: bool = False) -> dict[str, Any]:
        """Create a thing; with `dry_run` the server checks it, unknown fields too, and keeps nothing."""
        query = {"fieldValidation": "Strict", **({"dryRun": "All"} if dry_run else {})}
        return self._ask("POST", _path(kind, thing["metadata"]["namespace"]), query, thing)

    def get(self, kind: Kind, namespace: str, name: str) -> dict[str, Any] | None:
        """A thing, or None."""
        try:
            return self._ask("GET", _path(kind, namespace, name))
        except NotFoundError:
            return None

    def cluster_thing(self, kind: Kind, name: str) -> dict[str, Any] | None:
        """A thing that lies in no namespace, or None."""
        try:
            return self._ask("GET", _path(kind, None, name))
        except NotFoundError:
            return None

    def patch(self, kind: Kind, namespace: str, name: str, patch: Thing) -> dict[str, Any]:
        """Change parts of a thing (JSON merge patch)."""
        path = _path(kind, namespace, name)
        return self._ask("PATCH", path, None, patch, "application/merge-patch+json")

    def delete(self, kind: Kind, namespace: str, name: str) -> None:
        """Have a thing deleted; one that is gone already is none."""
        body = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}
        try:
            self._ask("DELETE", _path(kind, namespace, name), None, body)
        except NotFoundError:
            return


def _path(kind: Kind, namespace: str | None = None, name: str | None = None) -> str:
    group, plural = kind
    within = "" if namespace is None else f"/namespaces/{namespace}"
    return f"{group}{within}/{plural}" + ("" if name is None else f"/{name}")


def _refused(status: int, body: str, path: str) -> HeadwayError:
    said = body[:2000]
    with contextlib.suppress(ValueError, TypeError, KeyError):
        said = str(json.loads(body)["message"])
    if status == 404:
        return NotFoundError("kubernetes.not_found", path=path)
    if status == 409:
        return StateError("kubernetes.conflict", path=path, said=said)
    if status in {400, 422} or (status == 403 and "violates PodSecurity" in said):
        return UserError("kubernetes.refused", path=path, said=said)
    return ExternalError("kubernetes.failed", path=path, status=status, said=said)
