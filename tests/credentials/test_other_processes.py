"""Credentials that another process ends, such as a command beside a gateway that has no Redis."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import httpx
import pytest
from sqlalchemy import func, select
from sqlmodel import col

from tests.support.endings import ENDINGS, Act, Authenticate, Caller, lose_role, name_of, rotate_secret
from tests.support.held_requests import HELD_NAME, HeldRequest, held_changes, held_reads
from tests.support.house import House, house
from tests.support.live import RESUMING, MovableClock, settled_in
from tests.support.processes import gateway, process
from tests.support.redis_server import RedisServer
from tests.support.refusals import refusal_of, refusals, with_refusals
from tests.support.scopes import EVERYTHING
from tests.support.servers import ON_POSTGRESQL_ONLY, Databases, connected
from tests.support.short_form import sample
from tests.support.socket import socket
from wattgate.clock import utc_now
from wattgate.db.models import Account
from wattgate.db.scope.tenancy_guard import SCOPED_OPTION
from wattgate.db.stored_events import (
    LATE_SECONDS,
    EncodedEvent,
    StoredEventReader,
    delete_old_events,
    insert_events,
)
from wattgate.operations.trusted_documents import require_trusted_documents
from wattgate.principal import Principal
from wattgate.realtime.connections.limits import ConnectionLimits
from wattgate.requests.bodies import CREDENTIAL_CHECK_INTERVAL

pytestmark = pytest.mark.both_databases("processes learn of changes from the database")

FORBIDDEN = 4403

CLOCK = MovableClock()

NEW_TOKEN = "mutation { createToken { ... on IssuedToken { token } ...Refused } }"

NEW_TYPE = 'mutation { createHomeType(input: {name: "Boat"}) { ... on HomeType { name } ...Refused } }'

BY_OPERATIONS = sorted(
    ((authenticate, act) for authenticate, act in ENDINGS if act is not lose_role),  # an operator changes the database
    key=lambda ending: ending[1] is rotate_secret,  # last, because it ends the credential of other callers too
)


FIRST_OF_ACTS = list({ending[1]: ending for ending in reversed(BY_OPERATIONS)}.values())[::-1]
"""The first kind of caller whose credential each act ends."""

FIRST_OF_CALLERS = list({ending[0]: ending for ending in reversed(BY_OPERATIONS)}.values())[::-1]
"""The first act that ends the credential of each kind of caller."""


@pytest.fixture(scope="module")
async def opened(databases: Databases) -> AsyncIterator[House]:
    """A gateway of its own, because the acts change the secret of the application."""
    async with databases() as url, house(url, clock=CLOCK.utc, shows_present=True) as served:
        yield served


async def hold_requests(
    opened: House, clock: MovableClock, principal: Principal, credential: Mapping[str, str]
) -> dict[str, HeldRequest]:
    """Begin a change and a read of each kind. Only the reads are so late that the gateway checks their caller again."""
    with clock.ago(CREDENTIAL_CHECK_INTERVAL):
        reads = await held_reads(opened.url, credential)
    return reads | await held_changes(opened.url, credential, principal.role)


async def accepting_requests(held: Mapping[str, HeldRequest]) -> list[str]:
    """Send the rest of held requests, and return the kinds that the gateway did not refuse.

    The stream of a change opens in the second in which nobody asks again, and ends without an event.
    """
    answers = {kind: await request.answer() for kind, request in held.items()}
    return [
        kind
        for kind, answer in answers.items()
        if not ("UNAUTHENTICATED" in answer or answer.startswith("HTTP/1.1 401 "))
        and (kind != "stream" or "event: next" in answer)
    ]


async def names_of_held_requests(opened: House) -> int:
    """Return the number of accounts whose name a held request has changed."""
    async with opened.gateway.database.reader(EVERYTHING) as session:
        changed = select(func.count()).where(col(Account.name) == HELD_NAME)
        return int((await session.execute(changed, execution_options=SCOPED_OPTION)).scalar_one())


async def end_each(
    opened: House, clock: MovableClock, endings: Sequence[tuple[Authenticate, Act]], subtests: pytest.Subtests
) -> None:
    """End each credential by the components beside the gateway, whose act the gateway learns of.

    No mutation succeeds after the act has returned, and the gateway closes the connections. It refuses the requests
    whose bodies come after the act.
    """
    assert opened.served_gateway is not None
    clock.stop()  # so that no body is late unless the test says so
    async with AsyncExitStack() as stack:
        held = []
        for authenticate, act in sample(endings, name_of):
            caller = await Caller.add(opened.one)
            principal, credential = await authenticate(caller), dict(caller.sent)
            client = await stack.enter_async_context(socket(opened.url))
            await client.init(**credential)
            await stack.enter_async_context(client.attended())
            assert not refusals(await opened.graphql("{ __typename }", credential))  # so that it is remembered
            held.append(((authenticate, act), caller, principal, credential, client))
        written, accepting = {}, {}
        requests: dict[str, dict[str, HeldRequest]] = {}
        for number, ((authenticate, act), caller, principal, credential, _) in enumerate(held):
            ends_with_it = held[number:] if act is rotate_secret else held[number : number + 1]
            for ending, _, holder, sent, _ in ends_with_it:
                if name_of(ending) not in requests:
                    requests[name_of(ending)] = await hold_requests(opened, clock, holder, sent)
            await act(caller, principal)
            written[name_of((authenticate, act))] = await opened.graphql(NEW_TOKEN, credential)
            accepting[name_of((authenticate, act))] = await accepting_requests(requests[name_of((authenticate, act))])
        await opened.served_gateway.connections.read_shared_events()
        for ending, _, _, credential, client in held:
            with subtests.test(name_of(ending)):
                assert refusals(written[name_of(ending)])
                async with asyncio.timeout(30):  # less than the check each minute
                    assert (await client.closed())[0] == FORBIDDEN
                assert refusals(await opened.graphql("{ __typename }", credential))
                assert accepting[name_of(ending)] == []
    assert await names_of_held_requests(opened) == 0


async def test_every_end_in_another_process_ends_connections_and_requests(
    opened: House, subtests: pytest.Subtests
) -> None:
    """The components beside the gateway are those of a command: their bus reaches no other process.

    One read of the changes closes the connections. Each pair of a caller and an act runs on one database: on PostgreSQL
    the first of each act.
    """
    is_sqlite = opened.gateway.database.is_sqlite
    endings = [ending for ending in BY_OPERATIONS if (ending in FIRST_OF_ACTS) != is_sqlite]
    await end_each(opened, CLOCK, endings, subtests)


@ON_POSTGRESQL_ONLY
async def test_every_end_in_another_process_reaches_a_gateway_by_redis(
    databases: Databases, redis: RedisServer, subtests: pytest.Subtests
) -> None:
    """The gateways of `tests/credentials/cluster.py` have Redis on SQLite. This one has it on PostgreSQL.

    One credential of each kind ends. Which rows an act changes, and what follows, does not depend on the bus.
    """
    clock = MovableClock()
    async with databases() as url, house(url, clock=clock.utc, redis_url=redis.url) as served, served.gateway.bus:
        await end_each(served, clock, FIRST_OF_CALLERS, subtests)


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
    assert not refusals(await opened.graphql("{ __typename }", anonymous))  # so that it is remembered
    await opened.other.gateway.runner.run(require, opened.other.system, {"required": True})
    await opened.served_gateway.connections.read_shared_events()
    assert refusals(await opened.graphql("{ __typename }", anonymous))
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


@pytest.mark.long("runs a gateway and two commands as processes; a walk through ends stays in the short form")
async def test_commands_end_the_credentials_of_a_running_gateway(tmp_path: Path) -> None:
    """No change succeeds after a command has ended, although the gateway remembers who its callers are."""
    async with settled_in(tmp_path) as settled, gateway(folder=tmp_path, DATABASE_URL=settled.url) as running:
        of_user, of_application = settled.other.headers["account"], settled.one.headers["application"]
        erase = ("user", "erase", settled.other.username, "--application", "other", "--yes")
        commands = ((("app", "rotate-secret", "one-app"), of_application, NEW_TYPE), (erase, of_user, NEW_TOKEN))
        async with (
            socket(running.url) as user,
            socket(running.url) as application,
            AsyncExitStack() as stack,
            httpx.AsyncClient(base_url=running.url, timeout=30) as http,
        ):
            await user.init(**of_user)
            await application.init(**{name.lower(): value for name, value in of_application.items()})
            for client in (user, application):
                await stack.enter_async_context(client.attended())
            for command, credential, change in commands:
                before = (await http.post("/graphql", json={"query": with_refusals(change)}, headers=credential)).json()
                assert not refusals(before), before
                async with process(*command, folder=tmp_path, DATABASE_URL=settled.url) as run:
                    assert await run.ends() == 0, run.log
                after = (await http.post("/graphql", json={"query": with_refusals(change)}, headers=credential)).json()
                assert refusal_of(after)["code"] == "UNAUTHENTICATED"
            async with asyncio.timeout(30):  # less than the check each minute
                assert [(await client.closed())[0] for client in (user, application)] == [FORBIDDEN] * 2
