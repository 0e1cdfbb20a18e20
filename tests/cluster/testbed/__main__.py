"""`python -m testbed build|up|down|status`; `keep` is what `up` starts beside the cluster."""

import sys

from testbed import binaries


def main(command: str, *words: str) -> None:
    """Do one of them. To build needs only Python's standard library."""
    if command == "build":
        binaries.build()
        _make_images()
        return
    from testbed import claim, cluster
    from testbed.processes import Process

    if command == "keep":
        claim.keep(cluster.state_folder(), Process(*map(int, words)) if words else None)
    elif command == "up":
        own = _own()
        own.up(owned=False)
        print(f"export KUBECONFIG={own.kubeconfig}")
    elif command == "down":
        _own().down()
    elif command == "status":
        for name, alive in _own().programs().items():
            print(f"{name}: {'runs' if alive else 'has ended'}")
    else:
        raise SystemExit(__doc__)


def _own():
    import os

    from testbed.cluster import Cluster

    os.environ["HEADWAY_TESTBED_OWN"] = "1"
    return Cluster()


def _make_images() -> None:
    """Make the images too, where this Python is one whose packages they can import."""
    from testbed import images

    if not binaries.missing_packages() and sys.version_info[:2] in images.SUITES:
        for make in (images.pause, images.kueue, images.ray):
            print(make(), file=sys.stderr)


if __name__ == "__main__":
    main(*(sys.argv[1:] or ["help"]))
