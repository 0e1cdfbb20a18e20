"""A cluster file: the Kubernetes cluster that the controller runs jobs on, and what its pods are like."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from headway.spec.parts import Found, Part
from headway.spec.quantities import Bytes, Number, Seconds, Version, byte_size, duration, entries, within
from headway.spec.texts import Environment, Name, Person, Uri, matching

Label = Annotated[str, matching(r"[a-z0-9A-Z]([a-zA-Z0-9._-]{0,61}[a-zA-Z0-9])?", "spec.not_k8s_name")]
KubeName = Annotated[str, matching(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", "spec.not_k8s_name")]
LabelKeyName = Annotated[
    str, matching(r"([a-z0-9.-]{1,200}/)?[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?", "spec.not_k8s_name")
]
Folder = Annotated[str, entries("uri"), matching(r"/[A-Za-z0-9._/-]*[A-Za-z0-9]", "spec.not_folder")]
Image = Annotated[str, entries("uri"), matching(r"[a-z0-9][\w.:/@-]*", "spec.not_image")]


class Volume(Part):
    """A claim that every pod mounts, and where."""

    claim: KubeName
    path: Folder
    read_only: bool = False


class ClusterPool(Part):
    """Nodes with one value of the pool label, priced as one pool of the sites file."""

    name: Label
    site: Name
    pool: Name


class ClusterSpec(Part):
    """One cluster.

    `gateway` is the address at which its pods reach the gateway. `storage` is a claim that all pods of a run
    can write at once; checkpoints and code lie there. Where `pools` is left out, every pool of the sites file
    is looked for under its own name. `cpu_overcommit` divides what pods request of processors.
    """

    version: Version
    gateway: Uri
    image: Image
    image_pull_policy: Literal["Always", "IfNotPresent", "Never"] = "IfNotPresent"
    image_pull_secrets: Annotated[tuple[KubeName, ...], entries("cluster.entries")] = ()
    namespace: KubeName = "default"
    namespaces: Annotated[dict[Person, KubeName], entries("cluster.entries")] = Field(default_factory=dict)
    service_account: KubeName | None = None
    storage: Volume
    volumes: Annotated[tuple[Volume, ...], entries("cluster.entries")] = ()
    env: Environment = Field(default_factory=dict)
    pool_label: LabelKeyName = "headway.dev/pool"
    pools: Annotated[tuple[ClusterPool, ...], entries("cluster.entries")] = ()
    cpu_overcommit: Annotated[Number, within("cluster.cpu_overcommit")] = 1.0
    head_memory: Annotated[Bytes, byte_size("cluster.head_memory")] = 4 * 2**30
    shared_memory: Annotated[Bytes, byte_size("cluster.head_memory")] | None = None
    start_deadline: Annotated[Seconds, duration("cluster.deadline")] | None = None
    stop_grace: Annotated[Seconds, duration("cluster.deadline")] | None = None

    def conflicts(self) -> Iterator[Found]:
        """Each folder is mounted once, each label has one price."""
        seen: set[str] = {self.storage.path}
        for index, volume in enumerate(self.volumes):
            if volume.path in seen:
                yield Found(("volumes", index, "path"), "spec.name_twice", {"name": volume.path})
            seen.add(volume.path)
        if self.storage.read_only:
            yield Found(("storage", "read_only"), "spec.storage_read_only", {})
        names: set[str] = set()
        for index, pool in enumerate(self.pools):
            if pool.name in names:
                yield Found(("pools", index, "name"), "spec.name_twice", {"name": pool.name})
            names.add(pool.name)
