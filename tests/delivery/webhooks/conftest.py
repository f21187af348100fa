"""Fixtures: an outbox at a fixed time, and a receiver of webhooks on this machine."""

from collections.abc import AsyncIterator

import pytest

from tests.support.house import Tenant
from tests.support.outbox import Post
from tests.support.sinks import Sink, sink
from tests.support.timed import NOW
from wattgate.db import models
from wattgate.operations.webhooks import webhook_endpoints, webhooks


@pytest.fixture
async def outbox(settled: Tenant) -> AsyncIterator[Post]:
    """An outbox without deliveries and endpoints. It is cleared before and after the test."""
    outbox = Post(settled)
    await clear(outbox)
    outbox.clock.now = NOW
    yield outbox
    await clear(outbox)


async def clear(outbox: Post) -> None:
    for endpoint in await outbox.rows(models.WebhookEndpoint):
        await outbox.run(webhook_endpoints.delete_webhook_endpoint, endpoint_id=endpoint.endpoint_id)
    await outbox.clear()
    await outbox.run(webhooks.purge_events)


@pytest.fixture
async def receiver() -> AsyncIterator[Sink]:
    async with sink() as receiver:
        yield receiver
