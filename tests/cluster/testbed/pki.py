"""The cluster's keys and certificates, by openssl, and the kubeconfigs made of them."""

import base64
import json
import subprocess
from pathlib import Path

CLIENTS = {  # name: (common name, organisation), which Kubernetes reads as user and group
    "admin": ("admin", "system:masters"),
    "node-a": ("system:node:node-a", "system:nodes"),
    "controller-manager": ("system:kube-controller-manager", ""),
    "scheduler": ("system:kube-scheduler", ""),
    "proxy": ("system:kube-proxy", ""),
    "front-proxy": ("front-proxy", ""),  # how the API server calls the API of others, such as Kueue's
}
_CURVE = ("ec", "-pkeyopt", "ec_paramgen_curve:prime256v1")


def make(folder: Path, *, addresses: list[str]) -> None:
    """Make the authority, the API server's certificate for these addresses, and one per client."""
    folder.mkdir(parents=True)
    folder.chmod(0o700)
    (folder / "openssl.cnf").write_text("[req]\ndistinguished_name=dn\n[dn]\n", encoding="utf-8")
    _certificate(folder, "ca", "/CN=headway-testbed", "basicConstraints=critical,CA:TRUE")
    names = ["localhost", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"]
    wanted = [f"IP:{address}" for address in addresses] + [f"DNS:{name}" for name in names]
    _certificate(folder, "apiserver", "/CN=kube-apiserver", f"subjectAltName={','.join(wanted)}")
    for name, (user, group) in CLIENTS.items():
        subject = f"/O={group}/CN={user}" if group else f"/CN={user}"
        _certificate(folder, name, subject, "extendedKeyUsage=clientAuth")
    key = folder / "service-account.key"
    _openssl("genpkey", "-algorithm", *_CURVE, "-out", key)
    _openssl("pkey", "-in", key, "-pubout", "-out", key.with_suffix(".pub"))


def kubeconfig(folder: Path, name: str, server: str) -> Path:
    """Write how this client reaches the server, with its key inside."""
    cluster = {"server": server, "certificate-authority-data": _encoded(folder / "ca.crt")}
    user = {
        "client-certificate-data": _encoded(folder / f"{name}.crt"),
        "client-key-data": _encoded(folder / f"{name}.key"),
    }
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "testbed", "cluster": cluster}],
        "users": [{"name": name, "user": user}],
        "contexts": [{"name": "testbed", "context": {"cluster": "testbed", "user": name}}],
        "current-context": "testbed",
    }
    file = folder / f"{name}.kubeconfig"
    file.write_text(json.dumps(config, indent=1), encoding="utf-8")
    file.chmod(0o600)
    return file


def _certificate(folder: Path, name: str, subject: str, extension: str) -> None:
    """Make a key and its certificate, signed by the authority (or by itself, if it is the authority)."""
    signed = [] if name == "ca" else ["-CA", folder / "ca.crt", "-CAkey", folder / "ca.key"]
    words = ["-x509", "-nodes", "-days", "30", "-subj", subject, "-addext", extension, *signed]
    files = ["-keyout", folder / f"{name}.key", "-out", folder / f"{name}.crt"]
    _openssl("req", "-config", folder / "openssl.cnf", "-newkey", *_CURVE, *words, *files)


def _openssl(*words: object) -> None:
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)


def _encoded(file: Path) -> str:
    return base64.b64encode(file.read_bytes()).decode()
