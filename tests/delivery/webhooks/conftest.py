"""A tenant whose webhooks go to sinks of this machine, at a time that tests set."""

from collections.abc import AsyncIterator

import pytest

from tests.support.house import Tenant
from tests.support.outbox import Post
from tests.support.sinks import Sink, sink
from tests.support.timed import NOW
from wattgate.db import models
from wattgate.graphql.resolvers import webhook_endpoints, webhooks


@pytest.fixture
async def post(settled: Tenant) -> AsyncIterator[Post]:
    """An outbox with nothing in it and no endpoints, before and after."""
    made = Post(settled)
    await clear(made)
    made.clock.now = NOW
    yield made
    await clear(made)


async def clear(post: Post) -> None:
    for endpoint in await post.rows(models.WebhookEndpoint):
        await post.run(webhook_endpoints.delete_webhook_endpoint, endpoint_id=endpoint.endpoint_id)
    await post.clear()
    await post.run(webhooks.forget_events)


@pytest.fixture
async def there() -> AsyncIterator[Sink]:
    async with sink() as made:
        yield made
