"""One real node: containerd, kubelet, kube-proxy and the cluster's DNS, on this machine."""

import json
import subprocess
from pathlib import Path

from testbed import binaries, control_plane, host, pki
from testbed.client import Client
from testbed.processes import Programs

NAME = "node-a"
POOL = "local"
POOL_LABEL = "headway.dev/pool"
GPU = "nvidia.com/gpu"
GPUS = 4
_DNS_IP = "10.96.0.10"
_DNS_PORT = 15353
_SERVER = f"https://{host.NODE_IP}:{control_plane.PORT}"


def start(state: Path, pause_image: str, archives: list[Path]) -> None:
    """Start the node's programs; the images must be there before the kubelet asks for them."""
    _start_containerd(state, pause_image)
    for archive in archives:
        load(state, archive)
    programs = Programs(state)
    programs.start("kubelet", binaries.path("kubelet"), *_kubelet(state))
    proxy = pki.kubeconfig(state / "pki", "proxy", _SERVER)
    programs.start(
        "kube-proxy",
        binaries.path("kube-proxy"),
        f"--kubeconfig={proxy}",
        f"--hostname-override={NAME}",
        "--proxy-mode=iptables",
        "--masquerade-all",  # a pod's answer to its neighbour on the bridge would pass no iptables otherwise
        "--iptables-localhost-nodeports=false",
        "--healthz-bind-address=",
        f"--metrics-bind-address={host.NODE_IP}:10249",
        *("--conntrack-max-per-core=0", "--conntrack-tcp-timeout-established=0"),
        "--conntrack-tcp-timeout-close-wait=0",
    )
    corefile = state / "network" / "Corefile"
    corefile.write_text(
        _COREFILE.format(ip=host.NODE_IP, config=state / "admin.kubeconfig"), encoding="utf-8"
    )
    programs.start("coredns", binaries.path("coredns"), "-conf", corefile, f"-dns.port={_DNS_PORT}")


def load(state: Path, archive: Path) -> None:
    """Give containerd an image."""
    words = ["ctr", "-a", state / "containerd" / "socket", "-n", "k8s.io", "images", "import", archive]
    subprocess.run([str(word) for word in words], check=True, capture_output=True)


def make_ready(client: Client) -> None:
    """Wait until the node is ready, and give it GPUs that are none."""
    client.wait_for(lambda: is_ready(client), 60, f"{NAME} is ready")
    add_gpus(client)


def add_gpus(client: Client) -> None:
    """Let the node claim GPUs; a kubelet that starts anew forgets them."""
    patch = json.dumps({"status": {"capacity": {GPU: str(GPUS)}, "allocatable": {GPU: str(GPUS)}}})
    client.kubectl("patch", "node", NAME, "--subresource=status", "--type=merge", "-p", patch)
    client.wait_for(
        lambda: client.get("node", NAME)["status"]["allocatable"].get(GPU) == str(GPUS),
        30,
        "the node has GPUs",
    )


def is_ready(client: Client, name: str = NAME) -> bool:
    """Whether a node says that it is ready."""
    conditions = client.get("node", name)["status"].get("conditions", [])
    return any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions)


def dns_service() -> list[dict]:
    """The service at the address that every pod asks, which leads to the DNS server on the host."""
    ports = [("dns", "UDP"), ("dns-tcp", "TCP")]
    where = {"name": "kube-dns", "namespace": "kube-system"}
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": where,
        "spec": {
            "clusterIP": _DNS_IP,
            "ports": [
                {"name": name, "port": 53, "targetPort": _DNS_PORT, "protocol": protocol}
                for name, protocol in ports
            ],
        },
    }
    endpoints = {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {**where, "labels": {"kubernetes.io/service-name": "kube-dns"}},
        "addressType": "IPv4",
        "ports": [{"name": name, "port": _DNS_PORT, "protocol": protocol} for name, protocol in ports],
        "endpoints": [{"addresses": [host.NODE_IP]}],
    }
    return [service, endpoints]


def _start_containerd(state: Path, pause_image: str) -> None:
    folder, network = state / "containerd", state / "network"
    folder.mkdir()
    network.mkdir()
    config = folder / "config.toml"
    config.write_text(_CONTAINERD.format(folder=folder, network=network, pause=pause_image), encoding="utf-8")
    bridge = {
        "type": "bridge",
        "bridge": host.BRIDGE,
        "isGateway": True,
        "hairpinMode": True,
        "ipam": {
            "type": "host-local",
            "dataDir": str(network / "addresses"),
            "ranges": [[{"subnet": host.POD_CIDR}]],
            "routes": [{"dst": "0.0.0.0/0"}],
        },
    }
    plugins = {"cniVersion": "0.4.0", "name": host.NETWORK, "plugins": [bridge]}
    (network / "10-bridge.conflist").write_text(json.dumps(plugins), encoding="utf-8")
    Programs(state).start("containerd", "containerd", "--config", config)
    probe = ["ctr", "-a", str(folder / "socket"), "--connect-timeout", "1s", "version"]
    Client(Path()).wait_for(
        lambda: subprocess.run(probe, check=False, capture_output=True).returncode == 0,
        20,
        "containerd answers",
    )


def _kubelet(state: Path) -> list[str]:
    keys, folder = state / "pki", state / "kubelet"
    folder.mkdir()
    config = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": host.NODE_IP,
        "healthzPort": 0,
        "failCgroupV1": False,
        "failSwapOn": False,
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{host.CGROUP}",
        "enforceNodeAllocatable": [],
        "containerRuntimeEndpoint": f"unix://{state}/containerd/socket",
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": f"{keys}/ca.crt"},
        },
        "authorization": {"mode": "Webhook"},
        "clusterDNS": [_DNS_IP],
        "clusterDomain": "cluster.local",
        "podCIDR": host.POD_CIDR,
        "podLogsDir": f"{state}/kubelet/pod-logs",
        "volumePluginDir": f"{state}/kubelet/volume-plugins",
        "evictionHard": {"memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%"},
        "imageGCHighThresholdPercent": 100,
        "syncFrequency": "5s",  # what is mounted from a Secret is renewed as often: Kueue waits for its own
    }
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return [
        f"--config={folder}/config.json",
        f"--kubeconfig={pki.kubeconfig(keys, NAME, _SERVER)}",
        f"--root-dir={folder}/root",
        f"--cert-dir={folder}/certificates",
        f"--hostname-override={NAME}",
        f"--node-ip={host.NODE_IP}",
        f"--node-labels={POOL_LABEL}={POOL}",
    ]


# Where CAP_SYS_RESOURCE is missing, pods start only with restrict_oom_score_adj.
_CONTAINERD = """\
version = 2
root = "{folder}/root"
state = "{folder}/state"
disabled_plugins = [
  "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.devmapper",
  "io.containerd.tracing.processor.v1.otlp",
  "io.containerd.internal.v1.tracing",
]
[grpc]
  address = "{folder}/socket"
[plugins."io.containerd.internal.v1.opt"]
  path = "{folder}/opt"
[plugins."io.containerd.grpc.v1.cri"]
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  sandbox_image = "{pause}"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "{network}"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
"""
_COREFILE = """\
. {{
  bind {ip}
  errors
  kubernetes cluster.local in-addr.arpa {{
    kubeconfig {config} testbed
    endpoint_pod_names
  }}
  cache 5
}}
"""
