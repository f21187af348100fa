"""Tests of the databases that tests copy: each content is filled once for a server, and copies are independent."""

import pytest
from sqlalchemy.engine import make_url

from tests.support.filled_databases import copy_filled
from tests.support.house import Tenant, tenant_on
from tests.support.servers import Databases, connected
from wattgate.db.migrate import is_current, upgrade


@pytest.mark.long("tests the copies of databases for tests; every other test uses them")
async def test_content_is_filled_once_for_all_copies(databases: Databases) -> None:
    filled = list[str]()

    async def fill(url: str) -> int:
        filled.append(url)
        async with connected(url) as new:
            await upgrade(new)
        return len(filled)

    for _ in range(3):
        async with databases() as url:
            assert await copy_filled(make_url(url), ["counted"], fill) == 1
            async with connected(url) as copy:
                assert await is_current(copy)
    assert len(filled) == 1


async def test_tenants_on_copies_have_the_same_records_and_change_only_their_own(databases: Databases) -> None:
    async with databases() as first_url, databases() as second_url:
        async with tenant_on(first_url) as first, tenant_on(second_url) as second:
            assert first.ids == second.ids
            await first.run("deactivate_virtual_entity", ve_id=first.ids["virtual_entity"])
            assert await active_homes(first) == []
            assert await active_homes(second) == [first.ids["virtual_entity"]]


async def active_homes(tenant: Tenant) -> list[str]:
    return [home.ve_id for home in await tenant.run("virtual_entities")]
