"""A real Kubernetes cluster for the tests in this folder: started once, taken down at the end.

`KUBECONFIG` names one that runs already (kind, minikube, `make cluster-up`); it is used as it is.
"""

import uuid

import pytest
from testbed import host
from testbed.cluster import Cluster, lacking

from needed import lacks


def pytest_collection_modifyitems(items):
    """Put first what needs that no cluster is up."""
    items.sort(key=lambda item: "no_cluster" not in getattr(item, "fixturenames", ()))


def _chosen():
    """The cluster, not started; where it cannot be, skip with what to install, but fail in CI."""
    chosen = Cluster()
    lack = "" if chosen.given else lacking()
    if lack:
        lacks(f"the cluster cannot start: {lack}")
    return chosen


@pytest.fixture(scope="session")
def cluster():
    """The cluster; when it is down again, nothing of it is left."""
    with _chosen() as chosen:
        yield chosen
    assert chosen.given or host.traces(chosen.state) == []


@pytest.fixture
def no_cluster():
    """The cluster before any test has started it."""
    chosen = _chosen()
    if chosen.given:
        pytest.skip("a cluster is given")
    return chosen


@pytest.fixture
def namespace(cluster):
    """A restricted namespace with the queue `default` and the claims `site`, `source` and `storage`."""
    name = f"test-{uuid.uuid4().hex[:8]}"
    cluster.namespace(name)
    yield name
    cluster.remove_namespace(name)
