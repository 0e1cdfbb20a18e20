"""etcd, the API server, the controller manager and the scheduler."""

import shutil
from pathlib import Path

from testbed import binaries, host, pki
from testbed.processes import Programs

PORT = 16443
SERVICE_CIDR = "10.96.0.0/16"
_SERVICE_IP = "10.96.0.1"
_ETCD = "http://127.0.0.1:23790"
_ETCD_PEERS = "http://127.0.0.1:23800"


def start(state: Path) -> None:
    """Make the keys, start the four programs, and write the kubeconfig of an administrator."""
    keys = state / "pki"
    pki.make(keys, addresses=["127.0.0.1", host.NODE_IP, _SERVICE_IP])
    shutil.copy(pki.kubeconfig(keys, "admin", f"https://127.0.0.1:{PORT}"), state / "admin.kubeconfig")
    programs = Programs(state)
    programs.start("etcd", *_etcd(state / "etcd"))
    programs.start("kube-apiserver", binaries.path("kube-apiserver"), *_apiserver(keys))
    for name in ("controller-manager", "scheduler"):
        config = pki.kubeconfig(keys, name, f"https://127.0.0.1:{PORT}")
        words = _controllers(keys) if name == "controller-manager" else []
        flags = [f"--kubeconfig={config}", "--leader-elect=false", "--secure-port=0", *words]
        programs.start(f"kube-{name}", binaries.path(f"kube-{name}"), *flags)


def _etcd(folder: Path) -> list[str]:
    return [
        "etcd",
        f"--data-dir={folder}",
        f"--listen-client-urls={_ETCD}",
        f"--advertise-client-urls={_ETCD}",
        f"--listen-peer-urls={_ETCD_PEERS}",
        f"--initial-advertise-peer-urls={_ETCD_PEERS}",
        f"--initial-cluster=default={_ETCD_PEERS}",
        "--unsafe-no-fsync",  # the cluster does not outlive the machine
    ]


def _apiserver(keys: Path) -> list[str]:
    return [
        f"--etcd-servers={_ETCD}",
        f"--secure-port={PORT}",
        "--bind-address=0.0.0.0",  # pods reach it by the bridge, tests by the loopback: they may use no other
        f"--advertise-address={host.NODE_IP}",
        f"--tls-cert-file={keys}/apiserver.crt",
        f"--tls-private-key-file={keys}/apiserver.key",
        f"--client-ca-file={keys}/ca.crt",
        "--anonymous-auth=false",
        f"--service-account-key-file={keys}/service-account.pub",
        f"--service-account-signing-key-file={keys}/service-account.key",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-cluster-ip-range={SERVICE_CIDR}",
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        "--allow-privileged=true",
        # Debian's etcd cannot say how far a watch is. Told so, clients list; else KWOK tries again for long.
        "--feature-gates=WatchList=false",
        # Without a client certificate the kubelet answers no `kubectl logs`.
        f"--kubelet-client-certificate={keys}/admin.crt",
        f"--kubelet-client-key={keys}/admin.key",
        "--kubelet-preferred-address-types=InternalIP",
        # Without these an API that Kueue serves cannot be asked, and no namespace's deletion would end.
        f"--requestheader-client-ca-file={keys}/ca.crt",
        "--requestheader-allowed-names=front-proxy",
        "--requestheader-username-headers=X-Remote-User",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        f"--proxy-client-cert-file={keys}/front-proxy.crt",
        f"--proxy-client-key-file={keys}/front-proxy.key",
    ]


def _controllers(keys: Path) -> list[str]:
    return [
        f"--service-account-private-key-file={keys}/service-account.key",
        f"--root-ca-file={keys}/ca.crt",
        "--use-service-account-credentials",
        "--controllers=*,-node-ipam-controller,-cloud-node-lifecycle-controller",
    ]
