"""What the cluster changes on the machine, and how all of it is undone."""

import contextlib
import errno
import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

from testbed.processes import Process, Programs

BRIDGE = "headway0"
NODE_IP = "10.244.0.1"
POD_CIDR = "10.244.0.0/24"
CGROUP = "headway-testbed"
NETWORK = "headway-testbed"
FOLDERS = (
    "pki",
    "etcd",
    "containerd",
    "kubelet",
    "network",
    "storage",
)  # in the state folder, besides the logs
_SYSCTLS = (  # the kubelet and kube-proxy set these
    "net/ipv4/ip_forward",
    "net/ipv4/conf/all/route_localnet",
    "vm/overcommit_memory",
    "vm/panic_on_oom",
    "kernel/panic",
    "kernel/panic_on_oops",
    "kernel/keys/root_maxkeys",
    "kernel/keys/root_maxbytes",
)
_RESULTS = Path("/var/lib/cni/results")  # where the network plugins of every runtime keep theirs
_DEVICES = Path("/var/lib/kubelet/device-plugins")  # where every kubelet listens, whatever its root folder
_CHAINS = re.compile(r"\bKUBE-")


def prepare(state: Path) -> None:
    """Make the bridge, the cgroup and the settings that the node needs."""
    saved = {name: _sysctl(name).read_text().strip() for name in _SYSCTLS if _sysctl(name).exists()}
    (state / "sysctls.json").write_text(json.dumps(saved), encoding="utf-8")
    _sysctl("net/ipv4/ip_forward").write_text("1")
    _run("ip", "link", "add", BRIDGE, "type", "bridge")
    _run("ip", "addr", "add", f"{NODE_IP}/24", "dev", BRIDGE)
    _run("ip", "link", "set", BRIDGE, "up")
    for hierarchy in _hierarchies():
        (hierarchy / CGROUP).mkdir(exist_ok=True)
        delegated = hierarchy / "cgroup.subtree_control"
        if delegated.exists():  # cgroup v2: children get the controllers that their parent hands on
            names = (hierarchy / "cgroup.controllers").read_text().split()
            for name in names:
                with contextlib.suppress(OSError):
                    delegated.write_text(f"+{name}")


def sweep(state: Path) -> None:
    """Stop everything of a cluster and undo what it changed; does nothing where nothing is left."""
    _stop_all(state)
    for mounted in reversed(mounts(state)):
        _run("umount", "--lazy", mounted, check=False)
    if Path(f"/sys/class/net/{BRIDGE}").exists():
        _run("ip", "link", "delete", BRIDGE)
    _drop_chains("iptables")
    _drop_chains("ip6tables")
    for root in cgroups():
        for folder in [*sorted(root.rglob("*/"), reverse=True), root]:
            _remove_cgroup(folder)
    _forget_traces(state)
    _restore_sysctls(state)
    if left := mounts(state):
        raise RuntimeError(f"still mounted, so nothing is deleted: {left}")
    for name in FOLDERS:
        shutil.rmtree(state / name, ignore_errors=True)
    for file in (state / "sysctls.json", state / "admin.kubeconfig"):
        file.unlink(missing_ok=True)


def processes(state: Path) -> list[Process]:
    """Every process of the cluster: the programs, the pods' shims, and all that runs in pods."""
    programs = Programs(state)
    running = [programs.process(name) for name in programs.names() if programs.alive(name)]
    return running + _of_pods(state)


def traces(state: Path) -> list[str]:
    """Whatever there is of a cluster on this machine, besides its logs."""
    bridge = [f"bridge {BRIDGE}"] if Path(f"/sys/class/net/{BRIDGE}").exists() else []
    files = [*(state / name for name in FOLDERS), *_RESULTS.glob(f"{NETWORK}-*"), _DEVICES]
    found = [str(file) for file in [*files, *cgroups()] if file.exists()]
    return [*map(str, processes(state)), *mounts(state), *bridge, *chains(), *found]


def mounts(state: Path) -> list[str]:
    """What is mounted in the state folder, in the order it was."""
    places = [line.split()[1] for line in Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines()]
    return [place for place in places if place.startswith(f"{state}/")]


def chains() -> list[str]:
    """Kubernetes' chains and rules in iptables."""
    lines = [*_output("iptables-save").splitlines(), *_output("ip6tables-save").splitlines()]
    return [line for line in lines if _CHAINS.search(line)]


def cgroups() -> list[Path]:
    """Our folders in the cgroup hierarchies."""
    return [hierarchy / CGROUP for hierarchy in _hierarchies() if (hierarchy / CGROUP).exists()]


def _stop_all(state: Path) -> None:
    """End the programs, containerd too, then what it leaves running: the pods and their shims."""
    programs = Programs(state)
    for name in programs.names():
        if name != "keeper":
            programs.stop(name, seconds=0.5)
    for _ in range(50):
        if not (left := _of_pods(state)):
            break
        for process in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)
        time.sleep(0.1)


def _of_pods(state: Path) -> list[Process]:
    """What runs in our cgroup, and the shims, which name our containerd's socket."""
    found = {pid for root in cgroups() for file in root.rglob("cgroup.procs") for pid in _numbers(file)}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
            shim = Path(words[0]).name.startswith("containerd-shim")
            if shim and any(word.startswith(f"{state}/") for word in words):
                found.add(int(folder.name))
    return [process for process in map(Process.of, found) if process.alive()]


def _numbers(file: Path) -> list[int]:
    try:
        return [int(line) for line in file.read_text(encoding="utf-8").split()]
    except OSError:  # the cgroup is gone, or a thread of it asks
        return []


def _hierarchies() -> list[Path]:
    root = Path("/sys/fs/cgroup")
    if (root / "cgroup.controllers").exists():
        return [root]
    return [
        folder for folder in root.iterdir() if (folder / "cgroup.procs").exists() and not folder.is_symlink()
    ]


def _remove_cgroup(folder: Path) -> None:
    for _ in range(50):
        with contextlib.suppress(FileNotFoundError):
            try:
                folder.rmdir()
            except OSError as error:
                if error.errno != errno.EBUSY:  # its last process is not quite gone
                    raise
                time.sleep(0.1)
                continue
        return


def _forget_traces(state: Path) -> None:
    """Remove what kubelet, shims and network plugins write outside any folder they are given."""
    for task in (state / "containerd/state/io.containerd.runtime.v2.task/k8s.io").glob("*"):
        if (task / "address").exists():
            socket = (task / "address").read_text(encoding="utf-8").removeprefix("unix://")
            Path(socket).unlink(missing_ok=True)
        for result in _RESULTS.glob(f"*-{task.name}-*"):
            result.unlink()
    for link in Path("/var/log/containers").glob("*.log"):
        if str(link.readlink()).startswith(f"{state}/"):
            link.unlink()
    for name in ("kubelet.sock", "kubelet_internal_checkpoint", "DEPRECATION"):
        (_DEVICES / name).unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        _DEVICES.rmdir()


def _drop_chains(version: str) -> None:
    if not shutil.which(version):
        return
    saved = _output(f"{version}-save")
    if _CHAINS.search(saved):
        kept = "\n".join(line for line in saved.splitlines() if not _CHAINS.search(line))
        subprocess.run([f"{version}-restore"], input=kept + "\n", text=True, check=True)


def _restore_sysctls(state: Path) -> None:
    file = state / "sysctls.json"
    saved = json.loads(file.read_text()) if file.exists() else {}
    for name, value in saved.items():
        with contextlib.suppress(OSError):
            _sysctl(name).write_text(value)


def _sysctl(name: str) -> Path:
    return Path("/proc/sys", name)


def _output(*words: str) -> str:
    return (
        subprocess.run(words, check=False, capture_output=True, text=True).stdout
        if shutil.which(words[0])
        else ""
    )


def _run(*words: str, check: bool = True) -> None:
    subprocess.run(words, check=check, capture_output=not check)
