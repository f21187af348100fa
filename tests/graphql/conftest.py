"""Fixtures: two users of the first application, who have nothing in common."""

import pytest

from tests.support.house import House, Tenant
from tests.support.residents import resident


@pytest.fixture
async def ada(served: House) -> Tenant:
    return await resident(served.one)


@pytest.fixture
async def bob(served: House) -> Tenant:
    return await resident(served.one)
