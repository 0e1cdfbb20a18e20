"""Namespaces for tests, with a queue and with the volumes that restricted pods may mount.

Restricted pods may mount no folder of the host, but claims of volumes that are such folders: `site` (the
packages of this environment) and `source` (our own code), both for reading, and `storage`, which all share.
"""

import shutil
import sysconfig
from pathlib import Path

from testbed import addons
from testbed.client import Client

SITE, SOURCE, STORAGE = "site", "source", "storage"
_POD_USER = 1000


def create(client: Client, name: str, *, restricted: bool = True) -> None:
    """Make a namespace and its queue; `restricted` holds its pods to that Pod Security Standard."""
    labels = {"pod-security.kubernetes.io/enforce": "restricted"} if restricted else {}
    client.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})
    client.apply(addons.local_queue(name))


def create_volumes(client: Client, name: str, storage: Path) -> None:
    """Make the namespace's claims `site`, `source` and `storage`, each bound to a volume of its own."""
    folder = storage / name
    folder.mkdir(parents=True, exist_ok=True)
    shutil.chown(folder, _POD_USER, _POD_USER)
    places = {
        SITE: (sysconfig.get_path("purelib"), "ReadOnlyMany"),
        SOURCE: (str(Path(__file__).parents[3] / "platform"), "ReadOnlyMany"),
        STORAGE: (str(folder), "ReadWriteMany"),
    }
    for purpose, (place, access) in places.items():
        client.apply(_volume(name, purpose, place, access), _claim(name, purpose, access))
    client.wait_for(lambda: _all_bound(client, name), 30, f"{name}'s claims are bound")


def remove(client: Client, name: str, storage: Path) -> None:
    """Remove the namespace: its pods and volumes are gone on return, the rest soon after."""
    client.kubectl("delete", "namespace", name, "--wait=false", "--ignore-not-found")
    client.kubectl("-n", name, "delete", "pods", "--all", "--grace-period=1", "--timeout=100s")
    client.kubectl("delete", "pv", "-l", f"headway.dev/namespace={name}", "--wait=false")
    shutil.rmtree(storage / name, ignore_errors=True)


def _all_bound(client: Client, namespace: str) -> bool:
    return all(claim["status"]["phase"] == "Bound" for claim in client.list("pvc", namespace))


def _volume(namespace: str, purpose: str, place: str, access: str) -> dict:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": f"{namespace}-{purpose}", "labels": {"headway.dev/namespace": namespace}},
        "spec": {
            **_size_and_access(access),
            "persistentVolumeReclaimPolicy": "Retain",
            "storageClassName": "",
            "claimRef": {"namespace": namespace, "name": purpose},
            "hostPath": {"path": place, "type": "Directory"},
        },
    }


def _claim(namespace: str, purpose: str, access: str) -> dict:
    spec = {"accessModes": [access], "storageClassName": "", "volumeName": f"{namespace}-{purpose}"}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": purpose, "namespace": namespace},
        "spec": {**spec, "resources": {"requests": {"storage": "10Gi"}}},
    }


def _size_and_access(access: str) -> dict:
    return {"capacity": {"storage": "10Gi"}, "accessModes": [access]}
