"""Credentials that another process ends, such as a command beside a gateway that has no Redis."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest

from tests.support.endings import ENDINGS, Caller, lose_role, name_of, rotate_secret
from tests.support.house import House, house
from tests.support.live import RESUMING, settled_in
from tests.support.processes import gateway, process
from tests.support.redis_server import RedisServer
from tests.support.scopes import EVERYTHING
from tests.support.servers import ON_POSTGRESQL_ONLY, Databases, connected
from tests.support.socket import socket
from wattgate.clock import utc_now
from wattgate.db.stored_events import (
    LATE_SECONDS,
    EncodedEvent,
    StoredEventReader,
    delete_old_events,
    insert_events,
)
from wattgate.graphql.resolvers.trusted_documents import require_trusted_documents
from wattgate.realtime.connections.limits import ConnectionLimits

pytestmark = pytest.mark.both_databases("processes learn of changes from the database")

FORBIDDEN = 4403

NEW_TOKEN = "mutation { newToken { token } }"

BY_OPERATIONS = sorted(
    ((authenticate, act) for authenticate, act in ENDINGS if act is not lose_role),  # an operator changes the database
    key=lambda ending: ending[1] is rotate_secret,  # last, because it ends the credential of other callers too
)


@pytest.fixture(scope="module")
async def opened(databases: Databases) -> AsyncIterator[House]:
    """A gateway of its own, because the acts change the secret of the application."""
    async with databases() as url, house(url) as served:
        yield served


async def end_everything(opened: House, subtests: pytest.Subtests) -> None:
    """End each credential by the components beside the gateway, whose act the gateway learns of.

    No mutation succeeds after the act has returned, and the gateway closes the connections.
    """
    assert opened.served_gateway is not None
    async with AsyncExitStack() as stack:
        held = []
        for authenticate, act in BY_OPERATIONS:
            caller = await Caller.add(opened.one)
            principal, credential = await authenticate(caller), dict(caller.sent)
            client = await stack.enter_async_context(socket(opened.url))
            await client.init(**credential)
            await stack.enter_async_context(client.attended())
            assert "errors" not in await opened.graphql("{ __typename }", credential)  # so that it is remembered
            held.append(((authenticate, act), caller, principal, credential, client))
        written = {}
        for (authenticate, act), caller, principal, credential, _ in held:
            await act(caller, principal)
            written[name_of((authenticate, act))] = await opened.graphql(NEW_TOKEN, credential)
        await opened.served_gateway.connections.read_shared_events()
        for ending, _, _, credential, client in held:
            with subtests.test(name_of(ending)):
                assert "errors" in written[name_of(ending)]
                async with asyncio.timeout(30):  # less than the check each minute
                    assert (await client.closed())[0] == FORBIDDEN
                assert "errors" in await opened.graphql("{ __typename }", credential)


async def test_every_end_in_another_process_ends_connections_and_requests(
    opened: House, subtests: pytest.Subtests
) -> None:
    """The components beside the gateway are those of a command: their bus reaches no other process.

    One read of the changes closes the connections.
    """
    await end_everything(opened, subtests)


@ON_POSTGRESQL_ONLY
async def test_every_end_in_another_process_reaches_a_gateway_by_redis(
    databases: Databases, redis: RedisServer, subtests: pytest.Subtests
) -> None:
    """The gateways of `tests/credentials/cluster.py` have Redis on SQLite. This one has it on PostgreSQL."""
    async with databases() as url, house(url, redis_url=redis.url) as served, served.gateway.bus:
        await end_everything(served, subtests)


async def test_revocation_of_a_consent_in_another_process_ends_the_live_readings(opened: House) -> None:
    assert opened.served_gateway is not None
    mpxn = str(uuid4().int)[:13]
    resource_id = await opened.one.add_resource(mpxn=mpxn)
    consent = await opened.one.run("verify_meter_point", mpxn=mpxn)
    async with socket(opened.url) as client:
        await client.init(**opened.one.headers["account"])
        await client.subscribe(RESUMING, ids=[resource_id], since=None)
        while not (await client.payload())["extensions"]["position"]:
            continue
        await opened.one.run("revoke_consents", mpxns=[consent.mpxn])
        await opened.served_gateway.connections.read_shared_events()
        assert (await client.error())["extensions"]["code"] == "CONSENT_REVOKED"


async def test_callers_without_credentials_learn_that_their_application_requires_documents(opened: House) -> None:
    assert opened.served_gateway is not None
    anonymous, require = {"applicationId": opened.other.application_id}, require_trusted_documents
    assert "errors" not in await opened.graphql("{ __typename }", anonymous)  # so that it is remembered
    await opened.other.gateway.runner.run(require, opened.other.system, {"required": True})
    await opened.served_gateway.connections.read_shared_events()
    assert "errors" in await opened.graphql("{ __typename }", anonymous)
    await opened.other.gateway.runner.run(require, opened.other.system, {"required": False})


def test_stored_events_are_read_often_enough() -> None:
    assert ConnectionLimits().shared_event_seconds <= 0.5


@ON_POSTGRESQL_ONLY
async def test_events_that_commit_late_are_read_once(databases: Databases) -> None:
    """SQLite runs one transaction that writes at a time. On PostgreSQL, the one with the lower number can end last."""
    seconds = [0.0]
    async with databases() as url, connected(url) as database:
        reader = StoredEventReader(database, lambda: seconds[0])
        assert await reader.read_new() == []
        first, second, third = (EncodedEvent(key, "{}") for key in ("first", "second", "third"))
        async with database.session(EVERYTHING) as late, database.session(EVERYTHING) as early:
            await insert_events(late, "other", [first])
            await insert_events(early, "other", [second])
            await early.commit()
            assert await reader.read_new() == [second]
            await late.commit()
        assert await reader.read_new() == [first]
        assert await reader.read_new() == []
        seconds[0] = LATE_SECONDS
        assert await reader.read_new() == []
        async with database.session(EVERYTHING) as session:
            await delete_old_events(session, utc_now() + timedelta(days=1))
            await insert_events(session, "other", [third])
            await session.commit()
        assert await reader.read_new() == [third]
        assert await StoredEventReader(database).read_new() == [third]
        async with database.session(EVERYTHING) as session:
            await insert_events(session, database.instance_id, [third])
            await session.commit()
        assert await reader.read_new() == [third._replace(is_own=True)]


@pytest.mark.long("runs a gateway and two commands as processes; the walk through all ends stays in the short form")
async def test_commands_end_the_connections_of_a_running_gateway(tmp_path: Path) -> None:
    async with settled_in(tmp_path) as settled, gateway(folder=tmp_path, DATABASE_URL=settled.url) as running:
        of_user, of_application = settled.other.headers["account"], settled.one.headers["application"]
        async with socket(running.url) as user, socket(running.url) as application, AsyncExitStack() as stack:
            await user.init(**of_user)
            await application.init(**{name.lower(): value for name, value in of_application.items()})
            for client in (user, application):
                await stack.enter_async_context(client.attended())
            erase = ("user", "erase", settled.other.username, "--application", "other", "--yes")
            for command in (("app", "rotate-secret", "one-app"), erase):
                async with process(*command, folder=tmp_path, DATABASE_URL=settled.url) as run:
                    assert await run.ends() == 0, run.log
            async with asyncio.timeout(30):  # less than the check each minute
                assert [(await client.closed())[0] for client in (user, application)] == [FORBIDDEN] * 2
