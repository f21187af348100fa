"""Every purpose of SPEC.md is complete: the other interface shows the effect of each call."""

import pytest

from tests.rest_compat.purposes import devices, homes, kinds, messages, people, resources
from tests.rest_compat.purposes.walk import Walk
from tests.support import spec
from tests.support.house import house
from tests.support.openid import LOOPBACK
from tests.support.servers import Databases

JOURNEYS = (
    *kinds.JOURNEYS,
    *people.JOURNEYS,
    *homes.JOURNEYS,
    *resources.JOURNEYS,
    *messages.JOURNEYS,
    *devices.JOURNEYS,
)


@pytest.mark.timeout(600)
async def test_effect_of_each_purpose(databases: Databases, subtests: pytest.Subtests) -> None:
    """The gateway is one of its own, because it may reach a directory on this machine."""
    async with databases() as url, house(url, **LOOPBACK) as served:
        walk = Walk(served, subtests.test)
        for journey in JOURNEYS:
            with subtests.test(journey.__name__):
                await journey(walk)
    assert len(spec.purpose_names()) == 158
    assert sorted(walk.names) == sorted(spec.purpose_names())
