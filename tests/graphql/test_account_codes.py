"""Codes that were guessed, used, replaced, sent to others or have expired, over GraphQL and REST."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select
from sqlmodel import SQLModel

from tests.support import people
from tests.support.house import PASSWORD, House, Tenant
from tests.support.interfaces import INTERFACES, InterfaceResult, by_interface
from tests.support.scopes import EVERYTHING
from tests.support.timed import Timed
from wattgate.db.scope.tenancy_guard import SCOPED_OPTION
from wattgate.delivery.account_mails import CONFIRM_EMAIL, RESET, VERIFY
from wattgate.operations.accounts import registration
from wattgate.operations.accounts.one_time_codes import MAX_CODE_ATTEMPTS
from wattgate.operations.core.runner import Runner
from wattgate.principal import Principal, Role
from wattgate.realtime import topics
from wattgate.realtime.bus.memory import MemoryBus
from wattgate.realtime.events import Event

NEW_PASSWORD = "battery staple"
Who = dict[str, str]


@dataclass(frozen=True)
class CodeUse:
    """A kind of codes: how a new holder gets one, and the operation that takes it."""

    short_code: str
    operation: str
    new_holder: Callable[[Any], Awaitable[Who]]
    request: Callable[[Any, Who], Awaitable[str]]
    has_username: bool = True
    more: dict[str, str] = field(default_factory=dict)

    async def use(
        self, house: House, interface: str, tenant: Tenant, who: Who, code: str, **more: str
    ) -> InterfaceResult:
        """Send a code in the name of its holder to an application."""
        named = {"username": who["username"]} if self.has_username else {}
        variables = {**named, **self.more, **more, "token": code, "applicationId": tenant.application_id}
        return await by_interface(house, interface, self.operation, variables, {})


async def new_email_code(tenant: Any, who: Who) -> str:
    return await people.email_change_token(tenant, who, f"new-{who['username']}")


KINDS = [
    CodeUse(VERIFY, "verify_user", people.registered, people.verification_code, more={"password": PASSWORD}),
    CodeUse(RESET, "reset_password", people.active, people.reset_token, more={"newPassword": NEW_PASSWORD}),
    CodeUse(CONFIRM_EMAIL, "confirm_email_change", people.active, new_email_code, has_username=False),
]


@pytest.fixture(params=KINDS, ids=lambda kind: kind.short_code)
def kind(request: pytest.FixtureRequest) -> CodeUse:
    used: CodeUse = request.param
    return used


@pytest.fixture(params=INTERFACES)
def interface(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def test_code_works_once(served: House, kind: CodeUse, interface: str) -> None:
    who = await kind.new_holder(served.one)
    code = await kind.request(served.one, who)
    assert (await kind.use(served, interface, served.one, who, f" {code} ")).code is None
    assert (await kind.use(served, interface, served.one, who, code)).code == "BAD_INPUT"


async def test_two_uses_at_the_same_time_are_one(served: House, kind: CodeUse, interface: str) -> None:
    who = await kind.new_holder(served.one)
    code = await kind.request(served.one, who)
    uses = (kind.use(served, interface, served.one, who, code) for _ in range(2))
    codes = [result.code for result in await asyncio.gather(*uses)]
    assert codes.count(None) == 1, codes


async def test_code_of_another_account_or_application_is_wrong(served: House, kind: CodeUse, interface: str) -> None:
    who, stranger = await kind.new_holder(served.one), await kind.new_holder(served.one)
    code = await kind.request(served.one, who)
    if kind.has_username:  # the code alone names the account otherwise
        while kind.short_code == VERIFY and code == await kind.request(served.one, stranger):
            stranger = await kind.new_holder(served.one)  # codes of six digits may be the same
        assert (await kind.use(served, interface, served.one, stranger, code)).code == "BAD_INPUT"
    assert (await kind.use(served, interface, served.other, who, code)).code == "BAD_INPUT"
    assert (await kind.use(served, interface, served.one, who, code)).code is None


async def test_guessed_code_is_wrong_and_says_nothing_more(served: House, kind: CodeUse, interface: str) -> None:
    who = await kind.new_holder(served.one)
    code = await kind.request(served.one, who)
    for guess in (different(code), "", "é" * 20):
        result = await kind.use(served, interface, served.one, who, guess)
        assert result.code == "BAD_INPUT"
        assert code not in str(result.body)
    assert (await kind.use(served, interface, served.one, who, code)).code is None


async def test_verification_code_ends_after_wrong_attempts(served: House, interface: str) -> None:
    (kind, *_) = KINDS
    who = await people.registered(served.one)
    code = await kind.request(served.one, who)
    for _ in range(MAX_CODE_ATTEMPTS):
        assert (await kind.use(served, interface, served.one, who, different(code))).code == "BAD_INPUT"
    assert (await kind.use(served, interface, served.one, who, code)).code == "BAD_INPUT"
    newer = await kind.request(served.one, who)
    assert (await kind.use(served, interface, served.one, who, newer)).code is None


async def test_code_without_the_password_verifies_nothing(served: House, interface: str) -> None:
    (kind, *_) = KINDS
    who = await people.registered(served.one)
    code = await kind.request(served.one, who)
    assert (await kind.use(served, interface, served.one, who, code, password="wrong one")).code == "BAD_INPUT"


async def test_code_expires(timed: Timed, kind: CodeUse, interface: str) -> None:
    tenant = timed.house.one
    who = await kind.new_holder(tenant)
    code = await kind.request(tenant, who)
    timed.pass_time(timedelta(hours=24 if kind.short_code == CONFIRM_EMAIL else 1))
    assert (await kind.use(timed.house, interface, tenant, who, code)).code == "BAD_INPUT"


class RecordingBus(MemoryBus):
    """A bus that also keeps all published events."""

    def __init__(self) -> None:
        super().__init__()
        self.published: list[Event] = []

    async def publish(self, events: Sequence[Event]) -> None:
        self.published += events
        await super().publish(events)


async def test_code_is_nowhere_but_in_its_mail(served: House, caplog: pytest.LogCaptureFixture) -> None:
    """No table, log record or event has the code in clear, before and after its use."""
    caplog.set_level(logging.DEBUG)
    bus = RecordingBus()
    runner = Runner(served.gateway.database, bus)
    who = await people.active(served.one)
    anonymous = Principal(Role.ANONYMOUS, application_id=served.one.application_id)
    request = {"username": who["username"]}
    await runner.run(registration.request_password_reset, anonymous, request)
    code = await people.newest_code(served.one, who["accountId"], RESET)
    assert await tables_with(served, code) == []
    await runner.run(registration.reset_password, anonymous, {**request, "token": code, "new_password": NEW_PASSWORD})
    assert await tables_with(served, code) == []
    assert {event.topic for event in bus.published} >= {topics.deliveries()}
    assert code not in str(bus.published)
    assert code not in caplog.text


async def tables_with(house: House, code: str) -> list[str]:
    """Return the tables with a row that has a code in clear."""
    found = []
    async with house.gateway.database.session(EVERYTHING) as session:
        for table in SQLModel.metadata.sorted_tables:
            rows = await session.execute(select(table), execution_options=SCOPED_OPTION)
            if any(code in str(tuple(row)) for row in rows):
                found.append(table.name)
    return found


def different(code: str) -> str:
    """Return a code of the same form."""
    return code[:-1] + ("0" if code[-1] != "0" else "1")
