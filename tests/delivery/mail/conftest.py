"""An outbox with a user who gets mail, and a mail server."""

from collections.abc import AsyncIterator

import pytest

from tests.support.house import Tenant
from tests.support.outbox import Post
from tests.support.smtp import MailServer, mail_server
from tests.support.timed import NOW
from wattgate.db.models import Account, KeptMail, MailSuppression, Template
from wattgate.graphql.core.operation import Call, Kind, operation
from wattgate.principal import Permission


@pytest.fixture
async def post(settled: Tenant) -> AsyncIterator[Post]:
    """An outbox with nothing in it, and a user with one address who gets mail."""
    made = Post(settled)
    await made.clear()
    made.clock.now = NOW
    await made.run(address_of, email="user@example.org")
    yield made
    await made.clear()


@pytest.fixture
async def there() -> AsyncIterator[MailServer]:
    async with mail_server() as made:
        yield made


@operation(Kind.MUTATION, returns=None, needs=Permission.SYSTEM)
async def address_of(call: Call, *, email: str) -> None:
    """Give every account an address, forget which ones get no mail, and put no template to use."""
    await call.rows.update(Account, email=email)
    await call.rows.update(Template, active=False)
    await call.rows.delete(MailSuppression)
    await call.rows.delete(KeptMail)
