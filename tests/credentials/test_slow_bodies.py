"""When a gateway asks again for the caller of a body, which may arrive long after its head."""

from collections.abc import Collection
from datetime import timedelta

import pytest
from starlette.types import Message

from tests.support.timed import Clock
from wattgate.errors import Unauthenticated
from wattgate.principal import Principal, Role
from wattgate.requests.bodies import CREDENTIAL_CHECK_INTERVAL, BodyReader

CALLER = Principal(Role.ACCOUNT, application_id="application", user_id="user", account_id="account")


async def all_revoked(principals: Collection[Principal]) -> Collection[Principal]:
    return principals


class NoCharge:
    """The charge of a caller whose budget is never used up."""

    async def add_size(self, size: int) -> None: ...

    async def begin_parts(self) -> None: ...

    async def add_part(self, size: int, whole: int) -> None: ...

    async def refund_size(self, size: int) -> None: ...


async def read_body(passed: timedelta, *, length: int | None) -> bytes:
    """Read a body during which the clock moves, of a caller whose credentials have ended."""
    clock = Clock()

    async def receive() -> Message:
        clock.now += passed
        return {"type": "http.request", "body": b"{}"}

    body, hold = await BodyReader(all_revoked, clock).read(receive, CALLER, NoCharge(), length)
    if hold is not None:
        hold.release()
    return body


@pytest.mark.parametrize("length", [2, None])
@pytest.mark.parametrize("passed", [CREDENTIAL_CHECK_INTERVAL, timedelta(hours=1), timedelta(hours=-1)])
async def test_body_that_is_late_or_during_which_the_clock_was_set_back_needs_valid_credentials(
    passed: timedelta, length: int | None
) -> None:
    with pytest.raises(Unauthenticated):
        await read_body(passed, length=length)


@pytest.mark.parametrize("length", [2, None])
async def test_body_that_arrives_immediately_does_not_ask_again(length: int | None) -> None:
    assert await read_body(CREDENTIAL_CHECK_INTERVAL / 2, length=length) == b"{}"
