"""Fixtures: an outbox with a user who gets mail, and a mail server."""

from collections.abc import AsyncIterator

import pytest

from tests.support.house import Tenant
from tests.support.outbox import Post
from tests.support.smtp import MailServer, mail_server
from tests.support.timed import NOW
from wattgate.db.models import Account, Delivery, KeptMail, MailSuppression, Template
from wattgate.operations.core.operation import Call, OperationKind, operation
from wattgate.principal import Permission


@pytest.fixture
async def outbox(settled: Tenant) -> AsyncIterator[Post]:
    """An empty outbox, and a user with one mail address."""
    outbox = Post(settled)
    await outbox.clear()
    await outbox.run(forget_sent_mails)
    outbox.clock.now = NOW
    await outbox.run(set_address, email="user@example.org")
    yield outbox
    await outbox.clear()


@pytest.fixture
async def smtp() -> AsyncIterator[MailServer]:
    async with mail_server() as server:
        yield server


@operation(OperationKind.MUTATION, returns=None, needs=Permission.SYSTEM)
async def set_address(call: Call, *, email: str) -> None:
    """Set the address of every account, clear suppressions and kept mails, and deactivate all templates."""
    await call.rows.update(Account, email=email)
    await call.rows.update(Template, active=False)
    await call.rows.delete(MailSuppression)
    await call.rows.delete(KeptMail)


@operation(OperationKind.MUTATION, returns=None, needs=Permission.SYSTEM)
async def forget_sent_mails(call: Call) -> None:
    """Delete all deliveries, so that mails of other tests to the same address do not count."""
    await call.rows.delete(Delivery)


@operation(OperationKind.MUTATION, returns=None, needs=Permission.SYSTEM)
async def set_accounts_active(call: Call, *, active: bool) -> None:
    """Close every account, or open it again."""
    await call.rows.update(Account, active=active)
