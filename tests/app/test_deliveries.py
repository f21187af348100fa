"""The outbox and its workers: what is in it leaves, once if all goes well, and is never lost."""

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
from wattgate.delivery.channels.channel import Outcome, Outgoing, Refused, Retry, Sent
from wattgate.delivery.schedule import PUSH
from wattgate.enums import DeliveryKind, DeliveryState, NotificationState
from wattgate.errors import NotFound
from wattgate.graphql.core.operation import Call, Kind, operation
from wattgate.graphql.resolvers import deliveries
from wattgate.graphql.services import outbox
from wattgate.graphql.types.alerts import Channel
from wattgate.principal import Permission
from wattgate.realtime import topics

MINUTE = timedelta(minutes=1)
KINDS = [DeliveryKind.WEBHOOK]


@pytest.fixture
async def post(settled: Tenant) -> AsyncIterator[Post]:
    """An outbox with nothing in it, before and after."""
    made = Post(settled)
    await made.clear()
    made.clock.now = NOW
    yield made
    await made.clear()


@operation(Kind.MUTATION, returns=str, needs=Permission.SYSTEM)
async def put(call: Call, *, order_key: str | None = None, fails: bool = False) -> str:
    """Put something into the outbox."""
    made = await outbox.enqueue(call, DeliveryKind.WEBHOOK, "any", order_key=order_key)
    if fails:
        raise NotFound("the rest of it cannot be done")
    return made.delivery_id


async def claim(post: Post, worker: str = "one", limit: int = 100, lease: float = 60.0) -> list[Any]:
    arguments = {"kinds": KINDS, "worker": worker, "limit": limit, "lease": lease}
    return list(await post.run(deliveries.claim_deliveries, **arguments))


async def delivered(post: Post, delivery_id: str, worker: str = "one", attempt: int = 1, outcome: Any = None) -> Any:
    @operation(Kind.MUTATION, returns=Delivery, needs=Permission.SYSTEM)
    async def keep(call: Call) -> Any:
        """What became of it."""
        return await outbox.settle(call, delivery_id, worker, attempt, outcome or Sent())

    return await post.run(keep)


async def test_an_alert_to_the_inbox_has_arrived_when_it_is_sent(post: Post) -> None:
    alert_id = await post.send(Channel.INBOX)
    assert await post.log(alert_id) == [
        (1, "Added Notification Record", "OK", None),
        (2, "Put Into Inbox", "OK", None),
    ]
    assert (await post.notification(alert_id)).state is NotificationState.SENT
    assert await post.deliveries(alert_id) == []


async def test_nothing_is_in_the_outbox_of_what_was_not_done(post: Post) -> None:
    with pytest.raises(NotFound):
        await post.run(put, fails=True)
    assert await claim(post) == []


async def test_what_is_delivered_is_logged_and_done(post: Post) -> None:
    alert_id = await post.send(Channel.EMAIL)
    channel = Recorder(Sent("their id"))
    worker = post.worker(channel, DeliveryKind.EMAIL)
    assert (await post.notification(alert_id)).state is NotificationState.WAITING
    assert await worker.work_once() == 1
    assert await worker.work_once() == 0
    (made,) = await post.deliveries(alert_id)
    assert (made.state, made.attempts, made.reference) == (DeliveryState.SENT, 1, "their id")
    assert [one.delivery_id for one in channel.given] == [made.delivery_id]
    assert (await post.log(alert_id))[1:] == [(2, "Sent", "OK", None)]
    sent = await post.notification(alert_id)
    assert (sent.state, sent.status, sent.status_at) == (NotificationState.SENT, "OK", post.clock.now)


async def test_what_fails_is_tried_again_when_it_is_due_and_not_before(post: Post) -> None:
    alert_id = await post.send(Channel.EMAIL)
    channel = Recorder(Retry("greylisted"), Retry("busy", after=7200))
    worker = post.worker(channel, DeliveryKind.EMAIL)
    assert await worker.work_once() == 1
    assert await worker.work_once() == 0
    post.pass_time(12 * MINUTE)
    assert await worker.work_once() == 1
    post.pass_time(60 * MINUTE)
    assert await worker.work_once() == 0
    post.pass_time(60 * MINUTE)
    assert await worker.work_once() == 1
    assert [(one.attempt, one.delivery_id) for one in channel.given] == [
        (n, channel.given[0].delivery_id) for n in (1, 2, 3)
    ]
    assert (await post.log(alert_id))[1:] == [
        (2, "Attempt Failed", "ERROR", "greylisted"),
        (3, "Attempt Failed", "ERROR", "busy"),
        (4, "Sent", "OK", None),
    ]
    assert (await post.notification(alert_id)).status == "OK"


async def test_what_is_refused_is_given_up_at_once_and_told_to_the_callback(post: Post) -> None:
    alert_id = await post.send(Channel.EMAIL, callback_url="https://hooks.example.org/x")
    await post.worker(Recorder(Refused("address.unknown", "no such user")), DeliveryKind.EMAIL).work_once()
    assert (await post.log(alert_id))[1:] == [(2, "Given Up", "ERROR", "no such user")]
    sent = await post.notification(alert_id)
    assert (sent.state, sent.status) == (NotificationState.FAILED, "ERROR")
    (told,) = await post.events(alert_id)
    assert told.pop("errorId")
    assert told == {
        "errorCode": "error.alert.notification.email.address.unknown",
        "eventCode": "alert.notification.email.sent.error",
        "notificationid": sent.notification_id,
        "ns_alert_id": alert_id,
        "alertTypeId": "CM01",
        "channel": "email",
    }


async def test_what_fails_as_often_as_its_schedule_says_is_given_up(post: Post) -> None:
    alert_id = await post.send(Channel.EMAIL)
    (made,) = await post.deliveries(alert_id)
    worker = post.worker(Recorder(*[Retry("away")] * 100), DeliveryKind.EMAIL)
    while made.state is DeliveryState.WAITING:
        post.clock.now = made.due_at
        assert await worker.work_once() == 1
        (made,) = await post.deliveries(alert_id)
    assert (made.state, made.attempts) == (DeliveryState.FAILED, 46)
    assert (await post.log(alert_id))[-1] == (47, "Given Up", "ERROR", "away")


async def test_no_two_workers_take_the_same(post: Post) -> None:
    ids = {await post.run(put) for _ in range(60)}
    taken = await asyncio.gather(*[claim(post, f"worker {n}", limit=7) for n in range(12)])
    found = [one.delivery_id for some in taken for one in some]
    found += [one.delivery_id for one in await claim(post, "last")]
    assert sorted(found) == sorted(ids)


async def test_a_delivery_whose_worker_has_died_is_taken_over_after_its_lease(post: Post) -> None:
    delivery_id = await post.run(put)
    assert [one.attempts for one in await claim(post, "dead", lease=60)] == [1]
    post.pass_time(MINUTE - timedelta(seconds=1))
    assert await claim(post, "next") == []
    post.pass_time(timedelta(seconds=1))
    (taken,) = await claim(post, "next")
    assert (taken.delivery_id, taken.attempts, taken.worker) == (delivery_id, 2, "next")
    assert await delivered(post, delivery_id, "dead", 1) is None
    assert await delivered(post, delivery_id, "next", 1) is None
    assert (await delivered(post, delivery_id, "next", 2)).state is DeliveryState.SENT


async def test_deliveries_of_one_key_leave_one_after_the_other(post: Post) -> None:
    first, second = [await post.run(put, order_key="a") for _ in "ab"]
    other = await post.run(put, order_key="b")
    assert [one.delivery_id for one in await claim(post)] == [first, other]
    assert await claim(post) == []
    await delivered(post, first, outcome=Retry("away", after=600))
    assert await claim(post) == []
    post.pass_time(11 * MINUTE)
    assert {one.delivery_id for one in await claim(post, "two")} == {first, other}
    await delivered(post, first, "two", 2, Refused("gone", "gone"))
    assert [one.delivery_id for one in await claim(post)] == [second]


async def test_it_is_known_when_the_next_is_due(post: Post) -> None:
    assert (await post.run(deliveries.due_deliveries, kinds=KINDS)).next_at is None
    delivery_id = await post.run(put, order_key="c")
    await post.run(put, order_key="c")
    due = await post.run(deliveries.due_deliveries, kinds=KINDS)
    assert due.applications == [post.tenant.application_id]
    await claim(post, lease=30)
    due = await post.run(deliveries.due_deliveries, kinds=KINDS)
    assert (due.applications, due.next_at) == ([], post.clock.now + timedelta(seconds=30))
    failed = await delivered(post, delivery_id, outcome=Retry("away", after=100))
    assert (await post.run(deliveries.due_deliveries, kinds=KINDS)).next_at == failed.due_at


class Slow:
    """A channel that is busy until the test lets it end."""

    def __init__(self) -> None:
        self.begun, self.end = asyncio.Event(), asyncio.Event()

    async def send(self, outgoing: Outgoing) -> Outcome:
        self.begun.set()
        await self.end.wait()
        return Sent()


async def test_a_worker_that_ends_finishes_what_it_can(post: Post) -> None:
    alert_id = await post.send(Channel.EMAIL)
    channel = Slow()
    running = asyncio.create_task(post.worker(channel, DeliveryKind.EMAIL, grace=20).run())
    await channel.begun.wait()
    running.cancel()
    channel.end.set()
    await asyncio.gather(running, return_exceptions=True)
    (made,) = await post.deliveries(alert_id)
    assert (made.state, made.attempts) == (DeliveryState.SENT, 1)


async def test_a_worker_that_ends_gives_back_what_it_cannot_finish(post: Post) -> None:
    alert_id = await post.send(Channel.EMAIL)
    channel = Slow()
    running = asyncio.create_task(post.worker(channel, DeliveryKind.EMAIL, grace=0).run())
    await channel.begun.wait()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    (made,) = await post.deliveries(alert_id)
    assert (made.state, made.attempts, made.worker) == (DeliveryState.WAITING, 0, None)
    assert await post.worker(Recorder(), DeliveryKind.EMAIL).work_once() == 1


async def test_what_takes_longer_than_its_lease_allows_is_cut_short_and_tried_again(post: Post) -> None:
    alert_id = await post.send(Channel.EMAIL)
    await post.worker(Slow(), DeliveryKind.EMAIL, lease=0.1).work_once()
    (made,) = await post.deliveries(alert_id)
    assert (made.state, made.attempts) == (DeliveryState.WAITING, 1)
    assert made.reason == "it took longer than 0.075 seconds"


class Broken:
    """A channel with a fault."""

    async def send(self, outgoing: Outgoing) -> Outcome:
        raise RuntimeError("a fault of ours")


async def test_a_fault_of_a_channel_ends_neither_the_worker_nor_the_delivery(post: Post) -> None:
    alert_id = await post.send(Channel.EMAIL)
    await post.worker(Broken(), DeliveryKind.EMAIL).work_once()
    assert (await post.log(alert_id))[1:] == [
        (2, "Attempt Failed", "ERROR", "an unexpected error has occurred"),
    ]
    post.pass_time(12 * MINUTE)
    assert await post.worker(Recorder(), DeliveryKind.EMAIL).work_once() == 1


async def test_a_worker_that_rests_is_woken_by_what_is_put_into_the_outbox(
    post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wattgate.app.workers.deliveries.LONGEST_REST", 3600.0)
    channel = Slow()
    running = asyncio.create_task(post.worker(channel, DeliveryKind.EMAIL, grace=20).run())
    await _until_watched(post)
    await post.send(Channel.EMAIL)
    async with asyncio.timeout(20):
        await channel.begun.wait()
    channel.end.set()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def _until_watched(post: Post) -> None:
    while True:
        await asyncio.sleep(0.05)
        if post.bus.kept:
            return


async def test_whoever_watches_steps_is_told_of_each(post: Post) -> None:
    user_id = post.tenant.user_id
    opened = await post.bus.open([topics.alerts(user_id), topics.alert_steps(user_id)])
    alert_id = await post.send(Channel.EMAIL)
    worker = post.worker(Recorder(Retry("busy")), DeliveryKind.EMAIL)
    await worker.work_once()
    post.pass_time(12 * MINUTE)
    await worker.work_once()
    wanted = [(topic, opened[topic]) for topic in (topics.alerts(user_id), topics.alert_steps(user_id))]
    sent, steps = await post.bus.read_since(wanted)
    assert [event.key for event in sent or ()] == [alert_id]
    assert [event.payload.alert_id for event in steps or ()] == [alert_id, alert_id]


async def test_the_schedule_of_a_push_is_the_worker_s_too(post: Post) -> None:
    delivery = (await claim_push(post))[0]
    failed = await delivered(post, delivery.delivery_id, outcome=Retry("away"))
    pause = failed.due_at - post.clock.now
    assert PUSH.pauses[0] <= pause <= PUSH.pauses[0] * (1 + PUSH.jitter)
    (found,) = await post.rows(Delivery, col(Delivery.delivery_id) == delivery.delivery_id)
    assert found == failed


async def claim_push(post: Post) -> list[Any]:
    @operation(Kind.MUTATION, returns=str, needs=Permission.SYSTEM)
    async def put_push(call: Call) -> None:
        """A push that waits."""
        await outbox.enqueue(call, DeliveryKind.PUSH, "any")

    await post.run(put_push)
    arguments = {"kinds": [DeliveryKind.PUSH], "worker": "one", "limit": 1, "lease": 60.0}
    return list(await post.run(deliveries.claim_deliveries, **arguments))
