"""The cluster that tests use: one started here, or the one that `KUBECONFIG` names."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Self

from testbed import addons, binaries, claim, control_plane, host, images, namespaces, node
from testbed.client import Client, KubectlError
from testbed.processes import Process, Programs


def state_folder() -> Path:
    """Where a cluster started here keeps its files and logs."""
    return Path(os.environ.get("HEADWAY_TESTBED_STATE") or f"/tmp/headway-testbed-{os.getuid()}")


def lacking() -> str:
    """What must be installed before a cluster can start here, empty if nothing."""
    if os.getuid() != 0:
        return "a cluster starts only as root; or set KUBECONFIG to one that runs"
    if packages := binaries.missing_packages():
        return f"apt-get install {' '.join(packages)}"
    if programs := binaries.missing():
        return f"PYTHONPATH=tests/cluster python3 -m testbed build ({', '.join(programs)})"
    return ""


class Cluster(Client):
    """A Kubernetes cluster with KubeRay and Kueue.

    `KUBECONFIG` names one that runs already; it is used as it is, unless `HEADWAY_TESTBED_OWN` is set. `here`
    tells whether its programs run on this machine, by this package: only then can they be killed, volumes be
    folders of this machine, and nodes be faked. One that `make cluster-up` started is here too.
    """

    def __init__(self) -> None:
        """Choose the cluster; `up` starts it."""
        self.state = state_folder()
        given = "" if os.environ.get("HEADWAY_TESTBED_OWN") else os.environ.get("KUBECONFIG", "")
        ours = self.state / "admin.kubeconfig"
        super().__init__(Path(given) if given else ours)
        self.given = bool(given)
        self.here = self.kubeconfig == ours
        self.storage = self.state / "storage"
        self.ray_image = os.environ.get("HEADWAY_TESTBED_RAY_IMAGE") or images.RAY
        self._programs = Programs(self.state)
        self._lock = None

    def __enter__(self) -> Self:
        """Start it, owned by this process."""
        self.up()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take it down, if it was started here."""
        self.down()

    def up(self, *, owned: bool = True) -> None:
        """Start the cluster; `owned`, it goes down with this process, however that ends."""
        if self.given:
            self.kubectl("version")
            return
        if lack := lacking():
            raise RuntimeError(f"the cluster cannot start: {lack}")
        owner = Process.of(os.getpid()) if owned else None
        self.state.mkdir(mode=0o711, parents=True, exist_ok=True)
        self._lock = claim.claim(self.state, owner)
        try:
            claim.start_keeper(self.state, self._lock, owner)
            self._start()
        except BaseException:
            self.down(keep_logs=True)
            raise

    def _start(self) -> None:
        """Start everything, the slow next to each other."""
        host.prepare(self.state)
        self.storage.mkdir(mode=0o711)
        with ThreadPoolExecutor() as beside:
            ray = beside.submit(images.ray)
            control_plane.start(self.state)
            self.wait_for(self._serves, 60, "the API server is ready")
            node.start(self.state, images.PAUSE, [images.pause(), images.kueue()])
            self.apply(*node.dns_service())
            addons.install_kuberay(self.state, self)
            addons.install_kueue(self.state, self)
            addons.start_kwok(self.state, self)
            loaded = beside.submit(lambda: node.load(self.state, ray.result()))
            node.make_ready(self)
            addons.await_kueue(self)
            addons.queue_for_all_pools(self)
            loaded.result()

    def down(self, *, keep_logs: bool = False) -> None:
        """Stop the cluster that runs here, whoever started it, and leave nothing but the logs."""
        if self.given:
            return
        host.sweep(self.state)
        if "keeper" in self._programs.names():
            self._programs.stop("keeper")
        if self._lock:
            self._lock.close()
            self._lock = None

    def kill(self, program: str) -> None:
        """End one of the programs by SIGKILL, and wait until it is gone."""
        self._needs_here()
        self._programs.kill(program)

    def restart(self, program: str) -> None:
        """Start a program anew, killing it if it runs, and wait until it serves."""
        self._needs_here()
        self._programs.again(program)
        if program == "kube-apiserver":
            self.wait_for(self._serves, 60, "the API server is ready")
        elif program == "kubelet":
            node.make_ready(self)

    def programs(self) -> dict[str, bool]:
        """Each program that was started here, and whether it runs."""
        return {name: self._programs.alive(name) for name in self._programs.names()}

    def log(self, program: str, lines: int = 50) -> str:
        """The end of a program's log."""
        return self._programs.tail(program, lines)

    def namespace(self, name: str, *, restricted: bool = True) -> None:
        """Make a namespace with the LocalQueue `default` and, in a cluster here, the claims of volumes."""
        namespaces.create(self, name, restricted=restricted)
        if self.here:
            namespaces.create_volumes(self, name, self.storage)

    def remove_namespace(self, name: str) -> None:
        """Remove it with all that is in it."""
        namespaces.remove(self, name, self.storage)

    def fake_nodes(self, count: int, pool: str, gpus: int = 8) -> list[str]:
        """Add nodes that only seem to run what is scheduled to them; return their names."""
        self._needs_here()
        return addons.fake_nodes(self, count, pool, gpus)

    def remove_fake_nodes(self, pool: str) -> None:
        """Take them away."""
        addons.remove_fake_nodes(self, pool)

    def _serves(self) -> bool:
        try:
            return self.kubectl("get", "--raw", "/readyz", timeout_seconds=5) == "ok"
        except KubectlError:
            if not self._programs.alive("kube-apiserver"):
                raise RuntimeError(f"kube-apiserver ended: {self.log('kube-apiserver')}") from None
            raise

    def _needs_here(self) -> None:
        if not self.here:
            raise RuntimeError("this cluster's programs do not run here")
