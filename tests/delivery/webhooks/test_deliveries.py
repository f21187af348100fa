"""Webhooks arrive: once if all goes well, in order, signed, and never lost; what goes wrong is on record."""

import asyncio
import json
import socket
import ssl
from datetime import timedelta
from typing import Any

import pytest
from sqlmodel import col
from standardwebhooks import Webhook as Verifier

from tests.support import spec
from tests.support.outbox import Post
from tests.support.sinks import HERE, Received, Sink, answering, closing, hanging, sink
from tests.support.timed import NOW
from wattgate.app.workers.deliveries import Carrier, Deliveries
from wattgate.clock import iso, utc_now
from wattgate.db.models import Webhook, WebhookEndpoint, WebhookError
from wattgate.delivery.channels.webhook import WebhookChannel
from wattgate.delivery.circuit_breaker import FAILURES, LONGEST, PROBING
from wattgate.delivery.http.outbound_http import Callout
from wattgate.delivery.schedule import WEBHOOK
from wattgate.enums import DeliveryKind
from wattgate.errors import NotFound
from wattgate.graphql.core.operation import Call, Kind, operation
from wattgate.graphql.resolvers import deliveries, webhook_endpoints, webhooks
from wattgate.graphql.services.webhook_events import enqueue_event
from wattgate.graphql.types.alerts import Channel
from wattgate.graphql.types.webhook_endpoints import NewWebhookEndpoint, WebhookEndpointChange
from wattgate.principal import Permission

HOUR, DAY = timedelta(hours=1), timedelta(days=1)


@operation(Kind.MUTATION, returns=None, needs=Permission.SYSTEM)
async def tell(
    call: Call, *, count: int = 1, first: int = 0, callback_url: str | None = None, fails: bool = False
) -> None:
    """Something happens so many times."""
    for number in range(first, first + count):
        await enqueue_event(call, "alert.sent", {"n": number}, callback_url=callback_url)
    if fails:
        raise NotFound("the rest of it cannot be done")


TLS = ssl.create_default_context()


def worker(post: Post, total: float = 5.0) -> Deliveries:
    """A worker as `wattgate worker` has it, for sinks on this machine."""
    channel = WebhookChannel(Callout(HERE, tls=TLS, total=total), post.clock)
    return post.worker_with({DeliveryKind.WEBHOOK: Carrier(webhooks.prepare_webhook, channel, webhooks.settle_webhook)})


async def register(post: Post, url: str, *events: str, **more: Any) -> webhook_endpoints.Issued:
    given = NewWebhookEndpoint(url=url, events=list(events) or ["*"], **more)
    issued: webhook_endpoints.Issued = await post.run(webhook_endpoints.add_webhook_endpoint, input=given)
    return issued


async def records(post: Post, endpoint_id: str) -> list[Any]:
    """The webhooks of an endpoint, in the order of their events."""
    of_it = col(Webhook.endpoint_id) == endpoint_id
    return await post.rows(Webhook, of_it, order_by=[Webhook.event_number])


async def health(post: Post, endpoint_id: str) -> Any:
    (found,) = await post.rows(WebhookEndpoint, col(WebhookEndpoint.endpoint_id) == endpoint_id)
    return found


def told(there: Sink) -> list[int]:
    """The numbers of the events that a sink was sent."""
    return [json.loads(one.body)["n"] for one in there.received]


async def test_an_event_arrives_signed_and_is_on_record(post: Post, there: Sink) -> None:
    post.clock.now = utc_now()
    issued = await register(post, there.url, "alert.*")
    await post.run(tell)
    assert await worker(post).work_once() == 1
    (received,) = there.received
    assert (received.method, received.target) == ("POST", "/events")
    assert received.headers["content-type"] == "application/json"
    assert Verifier(issued.secret).verify(received.body.decode(), received.headers) == {
        "n": 0,
        "eventCode": "alert.sent",
    }
    (record,) = await records(post, issued.endpoint.endpoint_id)
    assert (record.status, record.number_of_attempts, record.failed_attempts) == ("complete", 1, [])
    assert record.successful_attempt == {"attempt": 1, "statusCode": 204, "successedAt": iso(post.clock.now)}
    assert (received.headers["webhook-id"], record.callback_url) == (record.event_id, there.url)


async def test_an_endpoint_is_told_what_its_patterns_stand_for_and_nothing_else(post: Post, there: Sink) -> None:
    await register(post, there.url, "consent.*", "alert.notification.*.sent")
    await post.run(tell)
    await post.send(Channel.INBOX)
    await worker(post).work_once()
    assert [json.loads(one.body)["eventCode"] for one in there.received] == ["alert.notification.inbox.sent"]


async def test_nothing_is_told_of_what_was_not_done(post: Post, there: Sink) -> None:
    await register(post, there.url)
    with pytest.raises(NotFound):
        await post.run(tell, fails=True)
    assert await worker(post).work_once() == 0


async def test_a_disabled_endpoint_is_told_nothing(post: Post, there: Sink) -> None:
    await register(post, there.url, enabled=False)
    await post.run(tell)
    await worker(post).work_once()
    assert there.connections == 0


async def test_ten_attempts_are_made_over_three_days_and_then_it_is_given_up(post: Post, there: Sink) -> None:
    there.behave = answering(500)
    endpoint_id = (await register(post, there.url)).endpoint.endpoint_id
    await post.run(tell)
    begun = post.clock.now
    for pause in WEBHOOK.pauses:
        assert await worker(post).work_once() == 1
        post.pass_time(pause - timedelta(seconds=1))
        assert await worker(post).work_once() == 0
        post.pass_time(pause * WEBHOOK.jitter + timedelta(seconds=1))
    assert await worker(post).work_once() == 1
    assert 75 * HOUR < post.clock.now - begun < 84 * HOUR
    post.pass_time(30 * DAY)
    assert await worker(post).work_once() == 0
    assert (there.connections, len({one.headers["webhook-id"] for one in there.received})) == (10, 1)
    (record,) = await records(post, endpoint_id)
    assert (record.status, record.number_of_attempts, record.successful_attempt) == ("failed", 10, None)
    assert [one["attempt"] for one in record.failed_attempts] == list(range(1, 11))
    (error,) = await post.rows(WebhookError, col(WebhookError.webhook_id) == record.webhook_id)
    assert error.attempt == record.failed_attempts[-1]
    assert error.attempt["error"] == {
        "type": "response",
        "error": {"statusCode": 500, "message": "500 Internal Server Error"},
        "initialError": None,
    }


@pytest.mark.parametrize(("host", "code"), [("127.0.0.1", "ECONNREFUSED"), ("there-is-none.invalid", "ENOTFOUND")])
async def test_a_failure_of_the_network_is_recorded_in_the_shape_of_the_specification(
    post: Post, host: str, code: str
) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        endpoint_id = (await register(post, f"http://{host}:{port}/")).endpoint.endpoint_id
        await post.run(tell)
        await worker(post).work_once()
    (record,) = await records(post, endpoint_id)
    (attempt,) = record.failed_attempts
    table = spec.section("### Webhook").split("Each item of failedAttempts:")[1].strip().split("\n\n")[0]
    assert set(attempt) == {spec.cells(row)[0] for row in table.splitlines()[2:]}
    assert (attempt["attempt"], attempt["attemptAt"], attempt["statusCode"]) == (1, iso(post.clock.now), 0)
    error = attempt["error"]
    assert set(error) == {"type", "error", "initialError"}
    assert (error["type"], set(error["error"])) == ("connection", {"statusCode", "message"})
    initial = error["initialError"]
    assert set(initial) == {"errno", "code", "syscall", "hostname", "host", "port"}
    assert (initial["hostname"], initial["host"], initial["port"]) == (host, host, port)
    assert initial["code"] in (code, "EAI_AGAIN" if code == "ENOTFOUND" else code)


async def test_sinks_that_misbehave_are_told_apart(post: Post) -> None:
    async with sink(hanging) as slow, sink(closing) as closed, sink() as large, sink() as elsewhere, sink() as sly:
        large.behave = large.flooding
        sly.behave = answering(302, headers=f"Location: {elsewhere.url}\r\n")
        made = [(await register(post, one.url)).endpoint.endpoint_id for one in (slow, closed, large, sly)]
        await post.run(tell)
        assert await worker(post, total=0.5).work_once() == 4
        found = [(await records(post, one))[0] for one in made]
        assert [one.status for one in found] == ["pending", "pending", "complete", "pending"]
        codes = [one.failed_attempts[0]["error"]["initialError"]["code"] for one in found[:2]]
        assert codes == ["ETIMEDOUT", "ECONNRESET"]
        assert found[3].failed_attempts[0]["statusCode"] == 302
        assert elsewhere.connections == 0


@pytest.mark.parametrize("ordered", [True, False])
async def test_a_sink_that_fails_and_hangs_again_and_again_loses_nothing(
    post: Post, there: Sink, ordered: bool
) -> None:
    taken: list[int] = []

    async def behave(received: Received, writer: asyncio.StreamWriter) -> None:
        if len(there.received) % 3 == 0:
            return  # the connection is closed without an answer
        if len(there.received) % 10 == 0:
            await hanging(received, writer)
        await answering(200)(received, writer)
        taken.append(json.loads(received.body)["n"])

    there.behave = behave
    endpoint_id = (await register(post, there.url, ordered=ordered)).endpoint.endpoint_id
    await post.run(tell, count=30)
    for _ in range(60):
        await worker(post, total=1).work_once()
        post.pass_time(timedelta(minutes=10))
    assert sorted(taken) == list(range(30))
    assert not ordered or taken == sorted(taken)
    assert {one.status for one in await records(post, endpoint_id)} == {"complete"}
    ids: dict[int, set[str]] = {}
    for one in there.received:
        ids.setdefault(json.loads(one.body)["n"], set()).add(one.headers["webhook-id"])
    assert all(len(one) == 1 for one in ids.values())  # attempts at one event have one id


async def test_an_event_waits_for_the_one_before_and_other_endpoints_do_not(post: Post, there: Sink) -> None:
    async with sink() as other:
        there.behave = answering(500)
        await register(post, there.url)
        await register(post, other.url)
        await post.run(tell, count=3)
        await worker(post).work_once()
        assert (told(there), told(other)) == ([0], [0, 1, 2])
        there.behave = answering(200)
        post.pass_time(timedelta(seconds=6))
        await worker(post).work_once()
        assert told(there) == [0, 0, 1, 2]


async def test_several_workers_send_everything_once_and_in_order(post: Post, there: Sink) -> None:
    await register(post, there.url)
    await post.run(tell, count=15)
    workers = [worker(post) for _ in range(3)]
    while len(there.received) < 15:
        await asyncio.gather(*[one.work_once() for one in workers])
    await asyncio.gather(*[one.work_once() for one in workers])
    assert told(there) == list(range(15))


async def test_what_a_worker_did_not_finish_arrives_again_with_the_same_id(post: Post, there: Sink) -> None:
    await register(post, there.url)
    await post.run(tell)
    claim = {"kinds": [DeliveryKind.WEBHOOK], "worker": "that dies", "lease": 60.0, "limit": 1}
    (delivery,) = await post.run(deliveries.claim_deliveries, **claim)
    sent = await post.run(webhooks.prepare_webhook, delivery_id=delivery.delivery_id)
    assert await worker(post).work_once() == 0
    post.pass_time(timedelta(seconds=61))
    assert await worker(post).work_once() == 1
    assert there.received[0].headers["webhook-id"] == sent.headers["webhook-id"]


async def test_a_receiver_that_asks_for_patience_is_left_alone_with_everything(post: Post, there: Sink) -> None:
    there.behave = answering(429, headers="Retry-After: 600\r\n")
    endpoint_id = (await register(post, there.url, ordered=False)).endpoint.endpoint_id
    await post.run(tell)
    await worker(post).work_once()
    assert (await health(post, endpoint_id)).paused_until == post.clock.now + timedelta(seconds=600)
    await post.run(tell, first=1)
    await worker(post).work_once()
    assert told(there) == [0]
    there.behave = answering(200)
    post.pass_time(timedelta(seconds=601))
    await worker(post).work_once()
    post.pass_time(PROBING)
    await worker(post).work_once()
    assert sorted(told(there)) == [0, 0, 1]
    assert {one.number_of_attempts for one in await records(post, endpoint_id)} == {1, 2}  # waiting is no attempt


@pytest.mark.parametrize("status", [502, 504])
async def test_a_gateway_that_cannot_reach_the_receiver_throttles(post: Post, there: Sink, status: int) -> None:
    there.behave = answering(status)
    endpoint_id = (await register(post, there.url)).endpoint.endpoint_id
    await post.run(tell)
    await worker(post).work_once()
    assert (await health(post, endpoint_id)).paused_until == post.clock.now + timedelta(minutes=1)


async def test_gone_disables_at_once_and_gives_up_what_waits(post: Post, there: Sink) -> None:
    there.behave = answering(410)
    endpoint_id = (await register(post, there.url)).endpoint.endpoint_id
    await post.run(tell, count=3)
    await worker(post).work_once()
    assert told(there) == [0]
    found = await health(post, endpoint_id)
    assert (found.enabled, found.disabled_reason) == (False, "it answered 410 Gone")
    assert [(one.status, one.number_of_attempts) for one in await records(post, endpoint_id)] == [
        ("failed", 1),
        ("failed", 0),
        ("failed", 0),
    ]


async def test_an_endpoint_that_fails_again_and_again_is_probed_by_one_delivery_at_a_time(
    post: Post, there: Sink
) -> None:
    there.behave = answering(500)
    endpoint_id = (await register(post, there.url, ordered=False)).endpoint.endpoint_id
    await post.run(tell, count=FAILURES)
    await worker(post).work_once()
    assert there.connections == FAILURES
    assert (await health(post, endpoint_id)).paused_until == post.clock.now + timedelta(minutes=1)
    await post.run(tell, count=20, first=FAILURES)
    post.pass_time(timedelta(seconds=30))
    await worker(post).work_once()
    assert there.connections == FAILURES  # the circuit is open
    post.pass_time(timedelta(seconds=31))
    await worker(post).work_once()
    assert there.connections == FAILURES + 1  # half open: one probe, and the rest waits
    assert (await health(post, endpoint_id)).paused_until == post.clock.now + timedelta(minutes=2)
    there.behave = answering(200)
    for _ in range(10):
        post.pass_time(timedelta(minutes=2))
        await worker(post).work_once()
    assert {one.status for one in await records(post, endpoint_id)} == {"complete"}
    assert (await health(post, endpoint_id)).failures == 0


async def test_an_endpoint_that_takes_nothing_for_five_days_is_disabled(post: Post, there: Sink) -> None:
    there.behave = answering(500)
    endpoint_id = (await register(post, there.url, ordered=False)).endpoint.endpoint_id
    for day in range(6):
        await post.run(tell, first=day)
        for _ in range(4):
            await worker(post).work_once()
            assert (await health(post, endpoint_id)).enabled is (post.clock.now - NOW < 5 * DAY)
            post.pass_time(6 * HOUR)
    found = await health(post, endpoint_id)
    assert (found.enabled, found.disabled_reason) == (False, "it has taken nothing for 5 days")
    sent = there.connections
    change = WebhookEndpointChange(enabled=True)
    again = await post.run(webhook_endpoints.update_webhook_endpoint, endpoint_id=endpoint_id, input=change)
    assert (again.enabled, again.disabled_reason, again.failures, again.failing_since) == (True, None, 0, None)
    await post.run(tell, first=10)
    await worker(post).work_once()
    assert there.connections > sent


async def test_a_circuit_is_never_open_for_longer_than_an_hour(post: Post, there: Sink) -> None:
    there.behave = answering(500)
    endpoint_id = (await register(post, there.url, ordered=False)).endpoint.endpoint_id
    for day in range(12):
        await post.run(tell, first=day)
        await worker(post).work_once()
        post.pass_time(HOUR)
    found = await health(post, endpoint_id)
    assert found.failures > FAILURES
    assert found.paused_until - post.clock.now <= LONGEST


async def test_what_was_given_up_is_sent_again_when_that_is_asked_for(post: Post, there: Sink) -> None:
    there.behave = answering(410)
    endpoint_id = (await register(post, there.url)).endpoint.endpoint_id
    await post.run(tell, count=3)
    await worker(post).work_once()
    there.behave = answering(200)
    change = WebhookEndpointChange(enabled=True)
    await post.run(webhook_endpoints.update_webhook_endpoint, endpoint_id=endpoint_id, input=change)
    assert (await post.run(webhook_endpoints.redrive_webhooks, endpoint_id=endpoint_id)).queued == 3
    assert (await post.run(webhook_endpoints.redrive_webhooks, endpoint_id=endpoint_id)).queued == 0
    await worker(post).work_once()
    assert told(there) == [0, 0, 1, 2]
    assert there.received[0].headers["webhook-id"] == there.received[1].headers["webhook-id"]
    found = await records(post, endpoint_id)
    assert [(one.status, one.number_of_attempts) for one in found] == [
        ("complete", 2),
        ("complete", 1),
        ("complete", 1),
    ]
    assert await post.rows(WebhookError, col(WebhookError.webhook_id).in_([one.webhook_id for one in found])) == []


async def test_events_since_an_instant_are_sent_again_in_their_order_to_new_endpoints_too(
    post: Post, there: Sink
) -> None:
    old = (await register(post, there.url)).endpoint.endpoint_id
    await post.run(tell, count=2)
    post.pass_time(HOUR)
    since = post.clock.now
    await post.run(tell, count=2, first=2)
    await worker(post).work_once()
    assert told(there) == [0, 1, 2, 3]
    ids = [one.headers["webhook-id"] for one in there.received]
    assert (await post.run(webhook_endpoints.replay_webhooks, endpoint_id=old, since=since)).queued == 2
    assert (
        await post.run(webhook_endpoints.replay_webhooks, endpoint_id=old, since=since)
    ).queued == 0  # they wait already
    await worker(post).work_once()
    assert told(there)[4:] == [2, 3]
    assert [one.headers["webhook-id"] for one in there.received][4:] == ids[2:]
    async with sink() as later:
        new = (await register(post, later.url, "alert.*")).endpoint.endpoint_id
        again = await post.run(webhook_endpoints.replay_webhooks, endpoint_id=new, since=since - HOUR, until=since)
        assert (again.queued, again.next_since) == (2, None)
        await worker(post).work_once()
        assert told(later) == [0, 1]


async def test_events_are_forgotten_after_a_month(post: Post, there: Sink) -> None:
    begun = post.clock.now
    await post.run(tell)
    post.pass_time(webhooks.KEPT + HOUR)
    assert post.tenant.application_id in await post.run(webhooks.applications_with_old_events)
    assert await post.run(webhooks.forget_events) > 0
    assert await post.run(webhooks.applications_with_old_events) == []
    endpoint_id = (await register(post, there.url)).endpoint.endpoint_id
    assert (await post.run(webhook_endpoints.replay_webhooks, endpoint_id=endpoint_id, since=begun)).queued == 0


async def test_a_test_goes_to_an_endpoint_that_is_disabled_too(post: Post, there: Sink) -> None:
    endpoint_id = (await register(post, there.url, "consent.*", enabled=False)).endpoint.endpoint_id
    made = await post.run(webhook_endpoints.ping_webhook_endpoint, endpoint_id=endpoint_id)
    await worker(post).work_once()
    assert json.loads(there.received[0].body) == {"endpointId": endpoint_id, "eventCode": "webhook.ping"}
    (record,) = await records(post, endpoint_id)
    assert (record.webhook_id, record.status) == (made.webhook_id, "complete")


async def test_while_a_secret_changes_both_sign_and_then_the_new_one_alone(post: Post, there: Sink) -> None:
    issued = await register(post, there.url)
    endpoint_id = issued.endpoint.endpoint_id
    post.clock.now = utc_now() - timedelta(hours=24, minutes=1)
    again = await post.run(webhook_endpoints.rotate_webhook_secret, endpoint_id=endpoint_id, overlap_hours=24)
    await post.run(tell)
    await worker(post).work_once()
    assert len(there.received[0].headers["webhook-signature"].split(" ")) == 2
    post.pass_time(timedelta(hours=24, minutes=1))
    await post.run(tell)
    await worker(post).work_once()
    received = there.received[1]
    assert len(received.headers["webhook-signature"].split(" ")) == 1
    assert Verifier(again.secret).verify(received.body.decode(), received.headers)


async def test_the_callback_of_an_alert_is_told_what_becomes_of_it(post: Post, there: Sink) -> None:
    alert_id = await post.send(Channel.INBOX, callback_url=there.url)
    await worker(post).work_once()
    (received,) = there.received
    body = json.loads(received.body)
    assert (body["eventCode"], body["ns_alert_id"]) == ("alert.notification.inbox.sent", alert_id)
    assert "webhook-signature" not in received.headers  # nobody has a secret for it


async def test_a_callback_to_the_address_of_an_endpoint_is_signed_and_comes_once(post: Post, there: Sink) -> None:
    post.clock.now = utc_now()
    issued = await register(post, there.url, "consent.*")
    await post.send(Channel.INBOX, callback_url=there.url)
    await worker(post).work_once()
    (received,) = there.received
    assert Verifier(issued.secret).verify(received.body.decode(), received.headers)
    change = WebhookEndpointChange(events=["alert.notification.*.sent"])
    await post.run(webhook_endpoints.update_webhook_endpoint, endpoint_id=issued.endpoint.endpoint_id, input=change)
    await post.send(Channel.INBOX, callback_url=there.url)
    await worker(post).work_once()
    assert len(there.received) == 2


async def test_what_waits_for_an_endpoint_that_is_deleted_is_given_up(post: Post, there: Sink) -> None:
    endpoint_id = (await register(post, there.url)).endpoint.endpoint_id
    await post.run(tell)
    await post.run(webhook_endpoints.delete_webhook_endpoint, endpoint_id=endpoint_id)
    await worker(post).work_once()
    (record,) = await records(post, endpoint_id)
    assert (record.status, there.connections) == ("failed", 0)


async def test_what_waits_goes_to_where_the_endpoint_is_then(post: Post, there: Sink) -> None:
    endpoint_id = (await register(post, "https://hooks.invalid/old")).endpoint.endpoint_id
    await post.run(tell)
    change = WebhookEndpointChange(url=there.url)
    await post.run(webhook_endpoints.update_webhook_endpoint, endpoint_id=endpoint_id, input=change)
    await worker(post).work_once()
    (record,) = await records(post, endpoint_id)
    assert (record.status, record.callback_url) == ("complete", there.url)
