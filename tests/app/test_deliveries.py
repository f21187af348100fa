"""The outbox and its workers: claims, retries, leases, order and outcomes. No delivery is lost."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from sqlmodel import col

from tests.support.house import Tenant
from tests.support.outbox import Post, Recorder
from tests.support.timed import NOW
from wattgate.db.models import Delivery
from wattgate.delivery.channels.channel import OutboundMessage, Outcome, PermanentFailure, Sent, TemporaryFailure
from wattgate.delivery.schedule import PUSH_SCHEDULE
from wattgate.enums import Channel, DeliveryKind, DeliveryState, NotificationState
from wattgate.errors import NotFound
from wattgate.operations.core.operation import Call, OperationKind, operation
from wattgate.operations.messages import deliveries, outbox
from wattgate.principal import Permission, Principal, Role
from wattgate.realtime import topics

pytestmark = pytest.mark.both_databases("locks and claims differ between databases")

MINUTE = timedelta(minutes=1)
KINDS = [DeliveryKind.WEBHOOK]


@pytest.fixture
async def post(settled: Tenant) -> AsyncIterator[Post]:
    """An outbox that is empty before and after the test."""
    post_office = Post(settled)
    await post_office.clear()
    post_office.clock.now = NOW
    yield post_office
    await post_office.clear()


@operation(OperationKind.MUTATION, returns=str, needs=Permission.SYSTEM)
async def enqueue(call: Call, *, order_key: str | None = None, fails: bool = False) -> str:
    """Enqueue a delivery, and raise afterwards if `fails`."""
    delivery = await outbox.enqueue(call, DeliveryKind.WEBHOOK, "any", order_key=order_key)
    if fails:
        raise NotFound("a later step fails")
    return delivery.delivery_id


async def claim(post: Post, worker: str = "one", limit: int = 100, lease: float = 60.0) -> list[Any]:
    arguments = {"kinds": KINDS, "worker": worker, "limit": limit, "lease": lease}
    return list(await post.run(deliveries.claim_deliveries, **arguments))


async def record_outcome(
    post: Post, delivery_id: str, worker: str = "one", attempt: int = 1, outcome: Any = None
) -> Any:
    @operation(OperationKind.MUTATION, returns=Delivery, needs=Permission.SYSTEM)
    async def keep(call: Call) -> Any:
        """Record the outcome of an attempt."""
        return await outbox.record_delivery_outcome(call, delivery_id, worker, attempt, outcome or Sent())

    return await post.run(keep)


async def test_inbox_alert_is_delivered_immediately(post: Post) -> None:
    alert_id = await post.send(Channel.INBOX)
    assert await post.log(alert_id) == [
        (1, "Added Notification Record", "OK", None),
        (2, "Put Into Inbox", "OK", None),
    ]
    assert (await post.notification(alert_id)).state is NotificationState.SENT
    assert await post.deliveries(alert_id) == []


async def test_failed_operation_leaves_no_delivery(post: Post) -> None:
    with pytest.raises(NotFound):
        await post.run(enqueue, fails=True)
    assert await claim(post) == []


async def test_sent_delivery_is_logged_and_final(post: Post) -> None:
    alert_id = await post.send(Channel.EMAIL)
    channel = Recorder(Sent("their id"))
    worker = post.worker(channel, DeliveryKind.EMAIL)
    assert (await post.notification(alert_id)).state is NotificationState.WAITING
    assert await worker.deliver_due() == 1
    assert await worker.deliver_due() == 0
    (delivery,) = await post.deliveries(alert_id)
    assert (delivery.state, delivery.attempts, delivery.reference) == (DeliveryState.SENT, 1, "their id")
    assert [message.delivery_id for message in channel.given] == [delivery.delivery_id]
    assert (await post.log(alert_id))[1:] == [(2, "Sent", "OK", None)]
    sent = await post.notification(alert_id)
    assert (sent.state, sent.status, sent.status_at) == (NotificationState.SENT, "OK", post.clock.now)


async def test_failed_attempt_is_retried_when_due(post: Post) -> None:
    alert_id = await post.send(Channel.EMAIL)
    channel = Recorder(TemporaryFailure("greylisted"), TemporaryFailure("busy", retry_after_seconds=7200))
    worker = post.worker(channel, DeliveryKind.EMAIL)
    assert await worker.deliver_due() == 1
    assert await worker.deliver_due() == 0
    post.pass_time(12 * MINUTE)
    assert await worker.deliver_due() == 1
    post.pass_time(60 * MINUTE)
    assert await worker.deliver_due() == 0
    post.pass_time(60 * MINUTE)
    assert await worker.deliver_due() == 1
    assert [(message.attempt, message.delivery_id) for message in channel.given] == [
        (n, channel.given[0].delivery_id) for n in (1, 2, 3)
    ]
    assert (await post.log(alert_id))[1:] == [
        (2, "Attempt Failed", "ERROR", "greylisted"),
        (3, "Attempt Failed", "ERROR", "busy"),
        (4, "Sent", "OK", None),
    ]
    assert (await post.notification(alert_id)).status == "OK"


async def test_permanent_failure_is_final_and_sent_to_callback(post: Post) -> None:
    alert_id = await post.send(Channel.EMAIL, callback_url="https://hooks.example.org/x")
    await post.worker(Recorder(PermanentFailure("address.unknown", "no such user")), DeliveryKind.EMAIL).deliver_due()
    assert (await post.log(alert_id))[1:] == [(2, "Given Up", "ERROR", "no such user")]
    sent = await post.notification(alert_id)
    assert (sent.state, sent.status) == (NotificationState.FAILED, "ERROR")
    (event,) = await post.events(alert_id)
    assert event.pop("errorId")
    assert event == {
        "errorCode": "error.alert.notification.email.address.unknown",
        "eventCode": "alert.notification.email.sent.error",
        "notificationid": sent.notification_id,
        "ns_alert_id": alert_id,
        "alertTypeId": post.tenant.ids["alert_type"],
        "systemAlertTypeId": "CM01",
        "channel": "email",
    }


async def test_delivery_fails_after_last_attempt_of_schedule(post: Post) -> None:
    alert_id = await post.send(Channel.EMAIL)
    (delivery,) = await post.deliveries(alert_id)
    worker = post.worker(Recorder(*[TemporaryFailure("away")] * 100), DeliveryKind.EMAIL)
    while delivery.state is DeliveryState.WAITING:
        post.clock.now = delivery.due_at
        assert await worker.deliver_due() == 1
        (delivery,) = await post.deliveries(alert_id)
    assert (delivery.state, delivery.attempts) == (DeliveryState.FAILED, 46)
    assert (await post.log(alert_id))[-1] == (47, "Given Up", "ERROR", "away")


async def test_concurrent_workers_claim_disjoint_deliveries(post: Post) -> None:
    ids = {await post.run(enqueue) for _ in range(60)}
    claims = await asyncio.gather(*[claim(post, f"worker {n}", limit=7) for n in range(12)])
    claimed_ids = [delivery.delivery_id for claimed in claims for delivery in claimed]
    claimed_ids += [delivery.delivery_id for delivery in await claim(post, "last")]
    assert sorted(claimed_ids) == sorted(ids)


async def test_delivery_of_dead_worker_is_claimed_after_lease_expires(post: Post) -> None:
    delivery_id = await post.run(enqueue)
    assert [delivery.attempts for delivery in await claim(post, "dead", lease=60)] == [1]
    post.pass_time(MINUTE - timedelta(seconds=1))
    assert await claim(post, "next") == []
    post.pass_time(timedelta(seconds=1))
    (claimed,) = await claim(post, "next")
    assert (claimed.delivery_id, claimed.attempts, claimed.worker) == (delivery_id, 2, "next")
    assert await record_outcome(post, delivery_id, "dead", 1) is None
    assert await record_outcome(post, delivery_id, "next", 1) is None
    assert (await record_outcome(post, delivery_id, "next", 2)).state is DeliveryState.SENT


async def test_deliveries_with_same_order_key_are_sent_in_order(post: Post) -> None:
    first, second = [await post.run(enqueue, order_key="a") for _ in "ab"]
    other = await post.run(enqueue, order_key="b")
    assert [delivery.delivery_id for delivery in await claim(post)] == [first, other]
    assert await claim(post) == []
    await record_outcome(post, first, outcome=TemporaryFailure("away", retry_after_seconds=600))
    assert await claim(post) == []
    post.pass_time(11 * MINUTE)
    assert {delivery.delivery_id for delivery in await claim(post, "two")} == {first, other}
    await record_outcome(post, first, "two", 2, PermanentFailure("gone", "gone"))
    assert [delivery.delivery_id for delivery in await claim(post)] == [second]


async def find_due(post: Post) -> deliveries.DueDeliveries:
    """Return the due deliveries of all applications, as the worker finds them."""
    due: deliveries.DueDeliveries = await post.runner.run(
        deliveries.due_deliveries, Principal(Role.SYSTEM), {"kinds": KINDS}
    )
    return due


async def test_due_deliveries_reports_next_due_time(post: Post) -> None:
    assert (await find_due(post)).next_at is None
    delivery_id = await post.run(enqueue, order_key="c")
    await post.run(enqueue, order_key="c")
    due = await find_due(post)
    assert due.applications == [post.tenant.application_id]
    await claim(post, lease=30)
    due = await find_due(post)
    assert (due.applications, due.next_at) == ([], post.clock.now + timedelta(seconds=30))
    failed = await record_outcome(post, delivery_id, outcome=TemporaryFailure("away", retry_after_seconds=100))
    assert (await find_due(post)).next_at == failed.due_at


class BlockingChannel:
    """A channel whose send blocks until the test sets `may_finish`."""

    def __init__(self) -> None:
        self.started, self.may_finish = asyncio.Event(), asyncio.Event()

    async def send(self, outgoing: OutboundMessage) -> Outcome:
        self.started.set()
        await self.may_finish.wait()
        return Sent()


async def test_cancelled_worker_finishes_deliveries_within_grace_period(post: Post) -> None:
    alert_id = await post.send(Channel.EMAIL)
    channel = BlockingChannel()
    task = asyncio.create_task(post.worker(channel, DeliveryKind.EMAIL, grace=20).run())
    await channel.started.wait()
    task.cancel()
    channel.may_finish.set()
    await asyncio.gather(task, return_exceptions=True)
    (delivery,) = await post.deliveries(alert_id)
    assert (delivery.state, delivery.attempts) == (DeliveryState.SENT, 1)


async def test_cancelled_worker_releases_unfinished_deliveries(post: Post) -> None:
    alert_id = await post.send(Channel.EMAIL)
    channel = BlockingChannel()
    task = asyncio.create_task(post.worker(channel, DeliveryKind.EMAIL, grace=0).run())
    await channel.started.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    (delivery,) = await post.deliveries(alert_id)
    assert (delivery.state, delivery.attempts, delivery.worker) == (DeliveryState.WAITING, 0, None)
    assert await post.worker(Recorder(), DeliveryKind.EMAIL).deliver_due() == 1


async def test_attempt_that_exceeds_lease_share_is_cancelled_and_retried(post: Post) -> None:
    alert_id = await post.send(Channel.EMAIL)
    await post.worker(BlockingChannel(), DeliveryKind.EMAIL, lease=0.1).deliver_due()
    (delivery,) = await post.deliveries(alert_id)
    assert (delivery.state, delivery.attempts) == (DeliveryState.WAITING, 1)
    assert delivery.reason == "it took longer than 0.075 seconds"


class FailingChannel:
    """A channel that raises an exception."""

    async def send(self, outgoing: OutboundMessage) -> Outcome:
        raise RuntimeError("a defect")


async def test_channel_exception_is_temporary_failure(post: Post) -> None:
    alert_id = await post.send(Channel.EMAIL)
    await post.worker(FailingChannel(), DeliveryKind.EMAIL).deliver_due()
    assert (await post.log(alert_id))[1:] == [
        (2, "Attempt Failed", "ERROR", "an unexpected error has occurred"),
    ]
    post.pass_time(12 * MINUTE)
    assert await post.worker(Recorder(), DeliveryKind.EMAIL).deliver_due() == 1


async def test_idle_worker_wakes_when_delivery_is_enqueued(post: Post, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wattgate.app.workers.deliveries.MAX_IDLE_SECONDS", 3600.0)
    channel = BlockingChannel()
    task = asyncio.create_task(post.worker(channel, DeliveryKind.EMAIL, grace=20).run())
    await _wait_until_topic_is_open(post)
    await post.send(Channel.EMAIL)
    async with asyncio.timeout(60):
        await channel.started.wait()
    channel.may_finish.set()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def _wait_until_topic_is_open(post: Post) -> None:
    while True:
        await asyncio.sleep(0.05)
        if post.bus.retained_topic_count:
            return


async def test_subscriber_of_alert_steps_receives_each_step(post: Post) -> None:
    user_id = post.tenant.user_id
    opened = await post.bus.open_topics([topics.alerts(user_id), topics.alert_steps(user_id)])
    alert_id = await post.send(Channel.EMAIL)
    worker = post.worker(Recorder(TemporaryFailure("busy")), DeliveryKind.EMAIL)
    await worker.deliver_due()
    post.pass_time(12 * MINUTE)
    await worker.deliver_due()
    positions = [(topic, opened[topic]) for topic in (topics.alerts(user_id), topics.alert_steps(user_id))]
    sent, steps = await post.bus.read_since(positions)
    assert [event.key for event in sent or ()] == [alert_id]
    assert [event.payload.alert_id for event in steps or ()] == [alert_id, alert_id]


async def test_worker_uses_schedule_of_delivery_kind(post: Post) -> None:
    delivery = (await claim_push(post))[0]
    failed = await record_outcome(post, delivery.delivery_id, outcome=TemporaryFailure("away"))
    pause = failed.due_at - post.clock.now
    assert PUSH_SCHEDULE.pauses[0] <= pause <= PUSH_SCHEDULE.pauses[0] * (1 + PUSH_SCHEDULE.jitter)
    (stored,) = await post.rows(Delivery, col(Delivery.delivery_id) == delivery.delivery_id)
    assert stored == failed


async def claim_push(post: Post) -> list[Any]:
    @operation(OperationKind.MUTATION, returns=str, needs=Permission.SYSTEM)
    async def put_push(call: Call) -> None:
        """Enqueue a push."""
        await outbox.enqueue(call, DeliveryKind.PUSH, "any")

    await post.run(put_push)
    arguments = {"kinds": [DeliveryKind.PUSH], "worker": "one", "limit": 1, "lease": 60.0}
    return list(await post.run(deliveries.claim_deliveries, **arguments))
