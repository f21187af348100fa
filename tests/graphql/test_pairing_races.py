"""Pairings of displays that several callers answer, take or end at the same moment, on both databases."""

import asyncio
from collections.abc import Awaitable, Sequence
from typing import Any

import pytest
from sqlalchemy import select, text
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlmodel import col

from tests.graphql.test_paired_displays import add_owner, code_of
from tests.support.house import House, Tenant
from tests.support.pairing import Interface, Refusal
from tests.support.scopes import EVERYTHING
from wattgate.db import models
from wattgate.db.identity.secrets import hash_secret
from wattgate.db.scope.tenancy_guard import SCOPED_OPTION
from wattgate.operations.core.anonymous_turns import ANONYMOUS_PART

pytestmark = pytest.mark.both_databases("locks and claims differ between databases")

PAIRING = "display_pairing WHERE device_digest = :key"
HOME = "virtual_entity WHERE ve_id = :key"
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"


@pytest.fixture
def interface(served: House) -> Interface:
    return Interface(served, is_rest=False)


@pytest.fixture
async def owner(served: House) -> Tenant:
    return await add_owner(served.one)


async def at_once(
    house: House,
    row: str,
    key: Any,
    *groups: Sequence[Awaitable[Any]],
    deletes: bool = False,
    maximum: int | None = None,
) -> list[Any]:
    """Send requests that need a row while it is locked, and unlock it when all of them wait. Return their outcomes.

    Each group begins when those before it wait, at most `maximum` of them. With `deletes`, the row is gone when the
    requests go on. SQLite has one writer at a time, and no locks of rows: there, the groups follow each other.
    """
    async with house.gateway.database.engine.connect() as connection:
        has_locks = connection.dialect.name == "postgresql"
        if deletes:
            await connection.execute(text(f"DELETE FROM {row}"), {"key": key})
        elif has_locks:
            await connection.execute(text(f"SELECT 1 FROM {row} FOR UPDATE"), {"key": key})
        if not has_locks:
            await connection.commit()
            return [outcome for group in groups for outcome in await asyncio.gather(*group, return_exceptions=True)]
        tasks: list[asyncio.Future[Any]] = []
        for group in groups:
            tasks += map(asyncio.ensure_future, group)
            await until_waiting(connection, min(len(tasks), maximum or len(tasks)))
        await connection.commit()
    return await asyncio.gather(*tasks, return_exceptions=True)


async def until_waiting(connection: AsyncConnection, count: int) -> None:
    while (await connection.execute(text(WAITING))).scalar_one() < count:
        await connection.execute(text("SELECT pg_stat_clear_snapshot()"))
        await asyncio.sleep(0.01)


async def stored(house: House, model: Any, owner: Tenant) -> list[Any]:
    """Return the stored records of a model that belong to displays of a user."""
    async with house.gateway.database.reader(EVERYTHING) as session:
        of_displays = col(model.user_id) == owner.user_id, col(model.ve_id).is_not(None)
        return list((await session.execute(select(model).where(*of_displays), execution_options=SCOPED_OPTION)).all())


async def test_first_of_two_answers_at_once_counts(interface: Interface, served: House, owner: Tenant) -> None:
    """Both accounts have found the open code before one of them approves it."""
    started, other = await interface.start(owner), await add_owner(served.one)
    answers = [
        interface.approve(who.headers["account"], started["userCode"], who.ids["virtual_entity"])
        for who in (owner, other)
    ]
    outcomes = await at_once(served, PAIRING, hash_secret(started["deviceCode"]), answers)
    refused = [outcome.code for outcome in outcomes if isinstance(outcome, Refusal)]
    assert refused == ["NOT_FOUND"]
    winner = other if isinstance(outcomes[0], Refusal) else owner
    display = (await interface.claim(owner, started["deviceCode"]))["display"]
    assert (display["userId"], display["veId"]) == (winner.user_id, winner.ids["virtual_entity"])


async def test_one_of_five_claims_at_once_gets_a_credential_and_the_next_ends_it(
    interface: Interface, served: House, owner: Tenant
) -> None:
    started = await interface.start(owner)
    await interface.approve(owner.headers["account"], started["userCode"], owner.ids["virtual_entity"])
    claims = [interface.claim(owner, started["deviceCode"]) for _ in range(5)]
    sessions = served.gateway.database.pool_size // ANONYMOUS_PART
    outcomes = await at_once(served, PAIRING, hash_secret(started["deviceCode"]), claims, maximum=sessions)
    reasons = [outcome.extensions["reason"] for outcome in outcomes if isinstance(outcome, Refusal)]
    assert reasons == ["invalid_grant"] * 4
    (claimed,) = [outcome for outcome in outcomes if not isinstance(outcome, Refusal)]
    assert claimed["state"] == "APPROVED"
    assert await code_of(interface.own({"token": claimed["token"]})) == "UNAUTHENTICATED"
    assert await stored(served, models.PairedDisplay, owner) == []


async def test_claim_of_a_pairing_that_is_deleted_meanwhile(interface: Interface, served: House, owner: Tenant) -> None:
    """The display learns that it must start again, as with any code that is gone."""
    started = await interface.start(owner)
    claim = interface.claim(owner, started["deviceCode"])
    (outcome,) = await at_once(served, PAIRING, hash_secret(started["deviceCode"]), [claim], deletes=True)
    assert isinstance(outcome, Refusal)
    assert (outcome.code, outcome.extensions["reason"]) == ("BAD_INPUT", "invalid_grant")


async def test_account_that_is_closed_during_a_claim_leaves_no_display(
    interface: Interface, served: House, owner: Tenant
) -> None:
    """The claim has locked the pairing when the account is closed, and waits for the home."""
    started = await interface.start(owner)
    await interface.approve(owner.headers["account"], started["userCode"], owner.ids["virtual_entity"])
    claim = interface.claim(owner, started["deviceCode"])
    close = served.call("DELETE", f"/account/{owner.account_id}", owner.headers["application"])
    claimed, closed = await at_once(served, HOME, owner.ids["virtual_entity"], [claim], [close])
    assert (claimed["state"], closed.status_code) == ("APPROVED", 200)
    assert await code_of(interface.own({"token": claimed["token"]})) == "UNAUTHENTICATED"
    for model in (models.PairedDisplay, models.DisplayPairing, models.Token):
        assert await stored(served, model, owner) == []
