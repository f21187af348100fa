"""Deliveries of several applications: equal shares, in turn, and free slots beside an application that hangs."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import uuid4

import pytest

from tests.support.house import Tenant
from tests.support.outbox import Post, Recorder, prepare_bare, settle_bare
from tests.support.timed import NOW
from tests.support.waiting import until
from wattgate.app.workers.deliveries import MAX_CONCURRENT_DELIVERIES, DeliveryHandler, DeliveryWorker
from wattgate.delivery.channels.channel import OutboundMessage, Outcome, Sent
from wattgate.enums import DeliveryKind
from wattgate.operations.accounts import provisioning
from wattgate.operations.core.operation import Call, OperationKind, operation
from wattgate.operations.messages import outbox
from wattgate.principal import Permission, Principal, Role


@operation(OperationKind.MUTATION, returns=None, needs=Permission.SYSTEM)
async def enqueue_many(call: Call, *, count: int) -> None:
    """Enqueue deliveries of the application."""
    for _ in range(count):
        await outbox.enqueue(call, DeliveryKind.WEBHOOK, "any")


@pytest.fixture
async def post(settled: Tenant) -> AsyncIterator[Post]:
    """An outbox that is empty before and after the test."""
    post_office = Post(settled)
    await post_office.clear()
    post_office.clock.now = NOW
    yield post_office
    await post_office.clear()


async def add_applications(post: Post, count: int) -> list[str]:
    system = Principal(Role.SYSTEM)
    return [
        (
            await post.runner.run(
                provisioning.create_application, system, {"name": "fair", "username": f"fair-{uuid4().hex}"}
            )
        ).application_id
        for _ in range(count)
    ]


async def enqueue(post: Post, application_id: str, count: int) -> None:
    await post.runner.run(enqueue_many, Principal(Role.SYSTEM, application_id=application_id), {"count": count})


def build_worker(post: Post, channel: Any) -> DeliveryWorker:
    return post.worker_with({DeliveryKind.WEBHOOK: DeliveryHandler(prepare_bare, channel, settle_bare)}, grace=0.0)


class HangingFor:
    """A channel that never finishes the messages of some applications, and reports those of others."""

    def __init__(self, *hanging: str) -> None:
        self.started = Counter[str]()
        self.delivered = asyncio.Queue[str]()
        self._hanging = hanging

    def has_started(self, application_id: str) -> bool:
        return self.started[application_id] > 0

    async def send(self, outgoing: OutboundMessage) -> Outcome:
        self.started[outgoing.application_id] += 1
        if outgoing.application_id in self._hanging:
            await asyncio.Event().wait()
        self.delivered.put_nowait(outgoing.application_id)
        return Sent()


async def test_application_whose_deliveries_hang_does_not_hold_up_another(post: Post) -> None:
    first, second, other = await add_applications(post, 3)
    channel = HangingFor(first, second)
    for hostile in (first, second):
        await enqueue(post, hostile, 3 * MAX_CONCURRENT_DELIVERIES)
    running = asyncio.create_task(build_worker(post, channel).run())
    try:
        async with asyncio.timeout(60):
            while sum(channel.started.values()) < MAX_CONCURRENT_DELIVERIES // 2:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            await enqueue(post, other, 1)
            assert await channel.delivered.get() == other
        assert max(channel.started.values()) <= MAX_CONCURRENT_DELIVERIES // 2
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_applications_whose_deliveries_hang_leave_slots_for_others(post: Post) -> None:
    """They begin to hang one after another, so that the first one gets the largest share."""
    *hanging, other = await add_applications(post, 4)
    channel = HangingFor(*hanging)
    running = asyncio.create_task(build_worker(post, channel).run())
    try:
        async with asyncio.timeout(60):
            for hostile in hanging:
                await enqueue(post, hostile, 3 * MAX_CONCURRENT_DELIVERIES)
                await until(partial(channel.has_started, hostile))
            await enqueue(post, other, 1)
            assert await channel.delivered.get() == other
        assert sum(channel.started[hostile] for hostile in hanging) < MAX_CONCURRENT_DELIVERIES, "none has ended"
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_applications_are_served_in_turn_with_equal_shares(post: Post) -> None:
    applications = await add_applications(post, 3)
    for application_id in applications:
        await enqueue(post, application_id, 30)
    recorder = Recorder()
    assert await build_worker(post, recorder).deliver_due() == 90
    share = MAX_CONCURRENT_DELIVERIES // 4
    first = Counter(message.application_id for message in recorder.given[: 3 * share])
    assert first == dict.fromkeys(applications, share)


@pytest.mark.long("lets many deliveries wait for slots; one application that hangs stays in the short form")
async def test_more_applications_than_slots_are_all_served_in_turn(post: Post) -> None:
    applications = await add_applications(post, MAX_CONCURRENT_DELIVERIES + 5)
    for application_id in applications:
        await enqueue(post, application_id, 2)
    recorder = Recorder()
    await build_worker(post, recorder).deliver_due()
    given = [message.application_id for message in recorder.given]
    assert set(given[: len(applications)]) == set(applications), "each one is served once before one is served twice"
    post.pass_time(timedelta(seconds=1))
