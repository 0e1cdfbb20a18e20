"""Container images without a builder or a registry: OCI archives, each cached by what it is made of.

The Ray image holds Python and an unprivileged user, but no Ray: pods mount the project's own environment and
source at /opt/site and /opt/source, so that they run what is tested.
"""

import hashlib
import io
import json
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path

from testbed import binaries

PAUSE = "docker.io/headway-testbed/pause:1"
KUEUE = f"docker.io/headway-testbed/kueue:{binaries.KUEUE}"
RAY = "docker.io/headway-testbed/ray:1"

_FOLDER = binaries.CACHE / "images"
_MACHINE = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]
_PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_PAUSE_SOURCE = """
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
static void end(int signal) { _exit(0); }
static void reap(int signal) { while (waitpid(-1, NULL, WNOHANG) > 0) {} }
int main(void) { signal(SIGINT, end); signal(SIGTERM, end); signal(SIGCHLD, reap); for (;;) pause(); }
"""
SUITES = {
    (3, 11): "bookworm",
    (3, 13): "trixie",
}  # the Debian whose Python can import our environment's packages
_PACKAGES = "python3,python3-venv,ca-certificates,procps,wget"
_UNUSED = (
    "dev",
    "proc",
    "sys",
    "usr/share/doc",
    "usr/share/man",
    "var/cache/apt",
    "var/lib/apt/lists",
    "var/log",
)
_USER_ID = 1000
_RAY_WRAPPER = '#!/bin/sh\nexec python3 -m ray.scripts.scripts "$@"\n'
_RAY_ENVIRONMENT = [
    _PATH,
    "HOME=/home/ray",
    "USER=ray",
    "PYTHONPATH=/opt/site:/opt/source",
    "PYTHONDONTWRITEBYTECODE=1",
    "PYTHONUNBUFFERED=1",
    "RAY_USAGE_STATS_ENABLED=0",
]


def pause() -> Path:
    """The image of the process that holds a pod's namespaces."""

    def fill(root: Path) -> None:
        (root / "pause.c").write_text(_PAUSE_SOURCE, encoding="utf-8")
        words = ["cc", "-Os", "-static", "-o", root / "pause", root / "pause.c"]
        subprocess.run([str(word) for word in words], check=True)

    return _cached("pause", _PAUSE_SOURCE, PAUSE, fill, {"Entrypoint": ["/pause"], "User": "65535"})


def kueue() -> Path:
    """The image of Kueue's one program."""

    def fill(root: Path) -> None:
        shutil.copy(binaries.path("kueue"), root / "manager")

    return _cached("kueue", binaries.KUEUE, KUEUE, fill, {"Entrypoint": ["/manager"], "User": "65532:65532"})


def ray() -> Path:
    """The image of Ray's pods."""
    suite = SUITES.get(sys.version_info[:2])
    if suite is None:
        versions = ", ".join(f"{major}.{minor}" for major, minor in SUITES)
        raise RuntimeError(f"no Debian has this Python, so pods cannot use our packages; needed: {versions}")
    config = {"Env": _RAY_ENVIRONMENT, "User": str(_USER_ID), "WorkingDir": "/home/ray"}
    recipe = json.dumps([suite, _PACKAGES, _UNUSED, _RAY_WRAPPER, config])
    return _cached("ray", recipe, RAY, lambda root: _debian(root, suite), config)


def _debian(root: Path, suite: str) -> None:
    """A minimal Debian with a user `ray`, and `ray` and `python` on the path."""
    words = ["debootstrap", "--variant=minbase", f"--include={_PACKAGES}", suite, str(root)]
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"debootstrap: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    for name in _UNUSED:
        shutil.rmtree(root / name)
        (root / name).mkdir()
    with (root / "etc/passwd").open("a") as users, (root / "etc/group").open("a") as groups:
        users.write(f"ray:x:{_USER_ID}:{_USER_ID}::/home/ray:/bin/bash\n")
        groups.write(f"ray:x:{_USER_ID}:\n")
    (root / "home/ray").mkdir()
    shutil.chown(root / "home/ray", _USER_ID, _USER_ID)
    (root / "usr/local/bin/ray").write_text(_RAY_WRAPPER, encoding="utf-8")
    (root / "usr/local/bin/ray").chmod(0o755)
    (root / "usr/local/bin/python").symlink_to("/usr/bin/python3")


def _cached(file: str, recipe: str, image: str, fill: Callable[[Path], None], config: dict) -> Path:
    """The archive of an image made by this recipe, made now if it never was."""
    key = hashlib.sha256(f"{image}\n{recipe}".encode()).hexdigest()[:16]
    archive = _FOLDER / f"{file}-{key}.tar"
    if not archive.exists():
        _FOLDER.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=_FOLDER, prefix="making-") as making:
            root = Path(making, "root")
            root.mkdir(mode=0o755)
            fill(root)
            layer = Path(making, "layer.tar")
            with tarfile.open(layer, "w") as tar:
                tar.add(root, arcname=".")
            _write(Path(making, "image.tar"), image, layer, config)
            Path(making, "image.tar").rename(archive)
    return archive


def _write(archive: Path, image: str, layer: Path, config: dict) -> None:
    """Write an OCI archive of one layer, by the image specification."""
    with layer.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    kind = "application/vnd.oci.image"
    made_of = {"type": "layers", "diff_ids": [f"sha256:{digest}"]}
    configuration = _blob({"architecture": _MACHINE, "os": "linux", "config": config, "rootfs": made_of})
    layers = [_descriptor(f"{kind}.layer.v1.tar", digest, layer.stat().st_size)]
    manifest = _blob(
        {
            "schemaVersion": 2,
            "mediaType": f"{kind}.manifest.v1+json",
            "config": _descriptor(f"{kind}.config.v1+json", *configuration[:2]),
            "layers": layers,
        }
    )
    names = {"io.containerd.image.name": image, "org.opencontainers.image.ref.name": image}
    top = {**_descriptor(f"{kind}.manifest.v1+json", *manifest[:2]), "annotations": names}
    with tarfile.open(archive, "w") as tar:
        _add(tar, "oci-layout", json.dumps({"imageLayoutVersion": "1.0.0"}).encode())
        _add(tar, "index.json", json.dumps({"schemaVersion": 2, "manifests": [top]}).encode())
        for name, _, data in (configuration, manifest):
            _add(tar, f"blobs/sha256/{name}", data)
        tar.add(layer, arcname=f"blobs/sha256/{digest}")


def _blob(content: dict) -> tuple[str, int, bytes]:
    data = json.dumps(content).encode()
    return hashlib.sha256(data).hexdigest(), len(data), data


def _descriptor(media_type: str, digest: str, size: int) -> dict:
    return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": size}


def _add(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(data)
    tar.addfile(entry, io.BytesIO(data))
