"""A running cluster that the tests of credentials share."""

from collections.abc import AsyncIterator

import pytest

from tests.credentials.cluster import Cluster, Holder
from tests.credentials.cluster import cluster as run_cluster


@pytest.fixture(scope="session")
async def cluster(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Cluster]:
    """Two gateway processes with two tenants. Tests add users of their own."""
    async with run_cluster(tmp_path_factory.mktemp("credentials")) as running:
        yield running


@pytest.fixture
async def holder(cluster: Cluster) -> Holder:
    """A user of a test's own."""
    return await cluster.person()
