"""Delivery of webhooks: order, signatures, retries, and records of failures."""

import asyncio
import json
import re
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import Engine, String, cast, event, insert, literal, select
from sqlmodel import col
from standardwebhooks import Webhook as Verifier

from tests.support import spec
from tests.support.outbox import Post
from tests.support.sinks import HERE, Received, Sink, answering, closing, hanging, sink
from tests.support.timed import NOW
from wattgate.app.workers.deliveries import DeliveryHandler, DeliveryWorker
from wattgate.app.workers.maintenance import OUTBOX_PURGES
from wattgate.clock import format_iso, utc_now
from wattgate.db.models import Delivery, Webhook, WebhookEndpoint, WebhookError
from wattgate.db.rows.lookups import model_columns
from wattgate.db.scope.tenancy_guard import SCOPED_OPTION
from wattgate.delivery.channels.webhook import WebhookChannel
from wattgate.delivery.outbound_http import OutboundHttpClient
from wattgate.delivery.schedule import WEBHOOK_SCHEDULE
from wattgate.enums import Channel, DeliveryKind, DeliveryState, WebhookStatus
from wattgate.errors import Conflict, CostTooHigh, NotFound
from wattgate.operations.core.operation import Call, OperationKind, operation
from wattgate.operations.messages import deliveries
from wattgate.operations.messages.webhook_events import enqueue_event
from wattgate.operations.types.messages.webhooks import NewWebhookEndpoint, WebhookEndpointChange
from wattgate.operations.vocabulary.cost_weights import DELIVERY_WEIGHT, MUTATION_WEIGHT
from wattgate.operations.webhooks import webhook_endpoints, webhooks
from wattgate.operations.webhooks.endpoint_secrets import MAX_OLD_SECRETS
from wattgate.operations.webhooks.webhooks import FAILURE_THRESHOLD, MAX_PAUSE, PROBE_TIMEOUT
from wattgate.principal import Permission, Principal, Role
from wattgate.rate_limit.budgets import Budgets, LocalBucketStore
from wattgate.rate_limit.scopes import Allowance, BudgetLimits
from wattgate.rest_compat.call_charge import CallCharge

HOUR, DAY = timedelta(hours=1), timedelta(days=1)


@operation(OperationKind.MUTATION, returns=None, needs=Permission.SYSTEM)
async def emit_events(
    call: Call, *, count: int = 1, first: int = 0, callback_url: str | None = None, fails: bool = False
) -> None:
    """Enqueue `count` events, and then fail if requested."""
    for number in range(first, first + count):
        await enqueue_event(call, "alert.sent", {"n": number}, callback_url=callback_url)
    if fails:
        raise NotFound("the rest of it cannot be done")


TLS = ssl.create_default_context()


def worker(outbox: Post, total: float = 5.0) -> DeliveryWorker:
    """Return a worker as in `wattgate worker`, but with receivers on this machine."""
    channel = WebhookChannel(OutboundHttpClient(HERE, tls=TLS, timeout_seconds=total), outbox.clock)
    return outbox.worker_with(
        {DeliveryKind.WEBHOOK: DeliveryHandler(webhooks.prepare_webhook, channel, webhooks.record_webhook_outcome)}
    )


async def register_endpoint(outbox: Post, url: str, *events: str, **more: Any) -> webhook_endpoints.IssuedSecretResult:
    endpoint = NewWebhookEndpoint(url=url, events=list(events) or ["*"], **more)
    issued: webhook_endpoints.IssuedSecretResult = await outbox.run(
        webhook_endpoints.add_webhook_endpoint, input=endpoint
    )
    return issued


async def webhook_records(outbox: Post, endpoint_id: str) -> list[Any]:
    """Return the webhooks of an endpoint, in the order of their events."""
    of_endpoint = col(Webhook.endpoint_id) == endpoint_id
    return await outbox.rows(Webhook, of_endpoint, order_by=[Webhook.event_number])


async def endpoint_health(outbox: Post, endpoint_id: str) -> Any:
    (endpoint,) = await outbox.rows(WebhookEndpoint, col(WebhookEndpoint.endpoint_id) == endpoint_id)
    return endpoint


def received_numbers(receiver: Sink) -> list[int]:
    """Return the numbers of the events that a receiver got."""
    return [json.loads(request.body)["n"] for request in receiver.received]


async def test_event_arrives_signed_and_is_recorded(outbox: Post, receiver: Sink) -> None:
    outbox.clock.now = utc_now()
    issued = await register_endpoint(outbox, receiver.url, "alert.*")
    await outbox.run(emit_events)
    assert await worker(outbox).deliver_due() == 1
    (received,) = receiver.received
    assert (received.method, received.target) == ("POST", "/events")
    assert received.headers["content-type"] == "application/json"
    assert Verifier(issued.secret).verify(received.body.decode(), received.headers) == {
        "n": 0,
        "eventCode": "alert.sent",
    }
    (record,) = await webhook_records(outbox, issued.endpoint.endpoint_id)
    assert (record.status, record.number_of_attempts, record.failed_attempts) == ("complete", 1, [])
    assert record.successful_attempt == {"attempt": 1, "statusCode": 204, "successedAt": format_iso(outbox.clock.now)}
    assert (received.headers["webhook-id"], record.callback_url) == (record.event_id, receiver.url)


async def test_endpoint_receives_only_events_that_match_its_patterns(outbox: Post, receiver: Sink) -> None:
    await register_endpoint(outbox, receiver.url, "consent.*", "alert.notification.*.sent")
    await outbox.run(emit_events)
    await outbox.send(Channel.INBOX)
    await worker(outbox).deliver_due()
    assert [json.loads(request.body)["eventCode"] for request in receiver.received] == ["alert.notification.inbox.sent"]


async def test_no_event_is_sent_for_a_failed_operation(outbox: Post, receiver: Sink) -> None:
    await register_endpoint(outbox, receiver.url)
    with pytest.raises(NotFound):
        await outbox.run(emit_events, fails=True)
    assert await worker(outbox).deliver_due() == 0


async def test_disabled_endpoint_receives_no_events(outbox: Post, receiver: Sink) -> None:
    await register_endpoint(outbox, receiver.url, enabled=False)
    await outbox.run(emit_events)
    await worker(outbox).deliver_due()
    assert receiver.connections == 0


async def test_delivery_fails_after_ten_attempts_over_three_days(outbox: Post, receiver: Sink) -> None:
    receiver.behave = answering(500)
    endpoint_id = (await register_endpoint(outbox, receiver.url)).endpoint.endpoint_id
    await outbox.run(emit_events)
    started_at = outbox.clock.now
    for pause in WEBHOOK_SCHEDULE.pauses:
        assert await worker(outbox).deliver_due() == 1
        outbox.pass_time(pause - timedelta(seconds=1))
        assert await worker(outbox).deliver_due() == 0
        outbox.pass_time(pause * WEBHOOK_SCHEDULE.jitter + timedelta(seconds=1))
    assert await worker(outbox).deliver_due() == 1
    assert 75 * HOUR < outbox.clock.now - started_at < 84 * HOUR
    outbox.pass_time(30 * DAY)
    assert await worker(outbox).deliver_due() == 0
    assert (receiver.connections, len({item.headers["webhook-id"] for item in receiver.received})) == (10, 1)
    (record,) = await webhook_records(outbox, endpoint_id)
    assert (record.status, record.number_of_attempts, record.successful_attempt) == ("failed", 10, None)
    assert [item["attempt"] for item in record.failed_attempts] == list(range(1, 11))
    (error,) = await outbox.rows(WebhookError, col(WebhookError.webhook_id) == record.webhook_id)
    assert error.attempt == record.failed_attempts[-1]
    assert error.attempt["error"] == {
        "type": "response",
        "error": {"statusCode": 500, "message": "500 Internal Server Error"},
        "initialError": None,
    }


async def test_webhook_is_an_error_from_its_first_failure_until_it_arrives(outbox: Post, receiver: Sink) -> None:
    receiver.behave = answering(500)
    endpoint_id = (await register_endpoint(outbox, receiver.url)).endpoint.endpoint_id
    await outbox.run(emit_events)
    for number in (1, 2):
        await worker(outbox).deliver_due()
        (record,) = await webhook_records(outbox, endpoint_id)
        (error,) = await outbox.rows(WebhookError, col(WebhookError.webhook_id) == record.webhook_id)
        assert (record.status, error.attempt["attempt"]) == ("pending", number)
        outbox.pass_time(HOUR)
    receiver.behave = answering(204)
    await worker(outbox).deliver_due()
    (record,) = await webhook_records(outbox, endpoint_id)
    assert (record.status, record.number_of_attempts) == ("complete", 3)
    assert await outbox.rows(WebhookError, col(WebhookError.webhook_id) == record.webhook_id) == []


@pytest.mark.parametrize(("host", "code"), [("127.0.0.1", "ECONNREFUSED"), ("there-is-none.invalid", "ENOTFOUND")])
async def test_network_failure_is_recorded_in_the_form_of_the_specification(outbox: Post, host: str, code: str) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        endpoint_id = (await register_endpoint(outbox, f"http://{host}:{port}/")).endpoint.endpoint_id
        await outbox.run(emit_events)
        await worker(outbox).deliver_due()
    (record,) = await webhook_records(outbox, endpoint_id)
    (attempt,) = record.failed_attempts
    table = spec.section("### Webhook").split("Each item of failedAttempts:")[1].strip().split("\n\n")[0]
    assert set(attempt) == {spec.cells(row)[0] for row in table.splitlines()[2:]}
    assert (attempt["attempt"], attempt["attemptAt"], attempt["statusCode"]) == (1, format_iso(outbox.clock.now), 0)
    error = attempt["error"]
    assert set(error) == {"type", "error", "initialError"}
    assert (error["type"], set(error["error"])) == ("connection", {"statusCode", "message"})
    initial = error["initialError"]
    assert set(initial) == {"errno", "code", "syscall", "hostname", "host", "port"}
    assert (initial["hostname"], initial["host"], initial["port"]) == (host, host, port)
    assert initial["code"] in (code, "EAI_AGAIN" if code == "ENOTFOUND" else code)


async def test_kinds_of_receiver_failures_are_distinguished(outbox: Post) -> None:
    async with (
        sink(hanging) as hanging_sink,
        sink(closing) as closing_sink,
        sink() as large_sink,
        sink() as elsewhere,
        sink() as redirecting_sink,
    ):
        large_sink.behave = large_sink.flooding
        redirecting_sink.behave = answering(302, headers=f"Location: {elsewhere.url}\r\n")
        endpoint_ids = [
            (await register_endpoint(outbox, item.url)).endpoint.endpoint_id
            for item in (hanging_sink, closing_sink, large_sink, redirecting_sink)
        ]
        await outbox.run(emit_events)
        assert await worker(outbox, total=0.5).deliver_due() == 4
        webhooks_found = [(await webhook_records(outbox, item))[0] for item in endpoint_ids]
        assert [item.status for item in webhooks_found] == ["pending", "pending", "complete", "pending"]
        codes = [item.failed_attempts[0]["error"]["initialError"]["code"] for item in webhooks_found[:2]]
        assert codes == ["ETIMEDOUT", "ECONNRESET"]
        assert webhooks_found[3].failed_attempts[0]["statusCode"] == 302
        assert elsewhere.connections == 0


@pytest.mark.long("many deliveries with failures")
@pytest.mark.parametrize("ordered", [True, False])
async def test_unreliable_receiver_gets_all_events(outbox: Post, receiver: Sink, ordered: bool) -> None:
    accepted: list[int] = []

    async def behave(received: Received, writer: asyncio.StreamWriter) -> None:
        if len(receiver.received) % 3 == 0:
            return  # closes the connection without a response
        if len(receiver.received) % 10 == 0:
            await hanging(received, writer)
        await answering(200)(received, writer)
        accepted.append(json.loads(received.body)["n"])

    receiver.behave = behave
    endpoint_id = (await register_endpoint(outbox, receiver.url, ordered=ordered)).endpoint.endpoint_id
    await outbox.run(emit_events, count=30)
    for _ in range(60):
        await worker(outbox, total=1).deliver_due()
        outbox.pass_time(timedelta(minutes=10))
    assert sorted(accepted) == list(range(30))
    assert not ordered or accepted == sorted(accepted)
    assert {item.status for item in await webhook_records(outbox, endpoint_id)} == {"complete"}
    ids: dict[int, set[str]] = {}
    for item in receiver.received:
        ids.setdefault(json.loads(item.body)["n"], set()).add(item.headers["webhook-id"])
    assert all(len(item) == 1 for item in ids.values())  # all attempts for an event have the same id


async def test_event_waits_for_the_previous_one_of_the_same_endpoint_only(outbox: Post, receiver: Sink) -> None:
    async with sink() as other:
        receiver.behave = answering(500)
        await register_endpoint(outbox, receiver.url)
        await register_endpoint(outbox, other.url)
        await outbox.run(emit_events, count=3)
        await worker(outbox).deliver_due()
        assert (received_numbers(receiver), received_numbers(other)) == ([0], [0, 1, 2])
        receiver.behave = answering(200)
        outbox.pass_time(timedelta(seconds=6))
        await worker(outbox).deliver_due()
        assert received_numbers(receiver) == [0, 0, 1, 2]


async def test_several_workers_send_each_event_once_and_in_order(outbox: Post, receiver: Sink) -> None:
    await register_endpoint(outbox, receiver.url)
    await outbox.run(emit_events, count=15)
    workers = [worker(outbox) for _ in range(3)]
    while len(receiver.received) < 15:
        await asyncio.gather(*[each.deliver_due() for each in workers])
    await asyncio.gather(*[each.deliver_due() for each in workers])
    assert received_numbers(receiver) == list(range(15))


async def test_delivery_of_a_crashed_worker_arrives_with_the_same_id(outbox: Post, receiver: Sink) -> None:
    await register_endpoint(outbox, receiver.url)
    await outbox.run(emit_events)
    claim = {"kinds": [DeliveryKind.WEBHOOK], "worker": "that dies", "lease": 60.0, "limit": 1}
    (delivery,) = await outbox.run(deliveries.claim_deliveries, **claim)
    sent = await outbox.run(webhooks.prepare_webhook, delivery_id=delivery.delivery_id)
    assert await worker(outbox).deliver_due() == 0
    outbox.pass_time(timedelta(seconds=61))
    assert await worker(outbox).deliver_due() == 1
    assert receiver.received[0].headers["webhook-id"] == sent.headers["webhook-id"]


async def test_retry_after_pauses_all_deliveries_to_the_endpoint(outbox: Post, receiver: Sink) -> None:
    receiver.behave = answering(429, headers="Retry-After: 600\r\n")
    endpoint_id = (await register_endpoint(outbox, receiver.url, ordered=False)).endpoint.endpoint_id
    await outbox.run(emit_events)
    await worker(outbox).deliver_due()
    assert (await endpoint_health(outbox, endpoint_id)).paused_until == outbox.clock.now + timedelta(seconds=600)
    await outbox.run(emit_events, first=1)
    await worker(outbox).deliver_due()
    assert received_numbers(receiver) == [0]
    receiver.behave = answering(200)
    outbox.pass_time(timedelta(seconds=601))
    await worker(outbox).deliver_due()
    outbox.pass_time(PROBE_TIMEOUT)
    await worker(outbox).deliver_due()
    assert sorted(received_numbers(receiver)) == [0, 0, 1]
    records = await webhook_records(outbox, endpoint_id)
    assert {record.number_of_attempts for record in records} == {1, 2}  # waiting does not count as an attempt


@pytest.mark.parametrize("status", [502, 504])
async def test_bad_gateway_and_gateway_timeout_throttle(outbox: Post, receiver: Sink, status: int) -> None:
    receiver.behave = answering(status)
    endpoint_id = (await register_endpoint(outbox, receiver.url)).endpoint.endpoint_id
    await outbox.run(emit_events)
    await worker(outbox).deliver_due()
    assert (await endpoint_health(outbox, endpoint_id)).paused_until == outbox.clock.now + timedelta(minutes=1)


async def test_gone_disables_the_endpoint_and_fails_waiting_deliveries(outbox: Post, receiver: Sink) -> None:
    receiver.behave = answering(410)
    endpoint_id = (await register_endpoint(outbox, receiver.url)).endpoint.endpoint_id
    await outbox.run(emit_events, count=3)
    await worker(outbox).deliver_due()
    assert received_numbers(receiver) == [0]
    health = await endpoint_health(outbox, endpoint_id)
    assert (health.enabled, health.disabled_reason) == (False, "it answered 410 Gone")
    assert [(record.status, record.number_of_attempts) for record in await webhook_records(outbox, endpoint_id)] == [
        ("failed", 1),
        ("failed", 0),
        ("failed", 0),
    ]


async def test_failing_endpoint_is_probed_by_one_delivery_at_a_time(outbox: Post, receiver: Sink) -> None:
    receiver.behave = answering(500)
    endpoint_id = (await register_endpoint(outbox, receiver.url, ordered=False)).endpoint.endpoint_id
    await outbox.run(emit_events, count=FAILURE_THRESHOLD)
    await worker(outbox).deliver_due()
    assert receiver.connections == FAILURE_THRESHOLD
    assert (await endpoint_health(outbox, endpoint_id)).paused_until == outbox.clock.now + timedelta(minutes=1)
    await outbox.run(emit_events, count=20, first=FAILURE_THRESHOLD)
    outbox.pass_time(timedelta(seconds=30))
    await worker(outbox).deliver_due()
    assert receiver.connections == FAILURE_THRESHOLD  # the circuit is open
    outbox.pass_time(timedelta(seconds=31))
    await worker(outbox).deliver_due()
    assert receiver.connections == FAILURE_THRESHOLD + 1  # half open: one probe, and the others wait
    assert (await endpoint_health(outbox, endpoint_id)).paused_until == outbox.clock.now + timedelta(minutes=2)
    receiver.behave = answering(200)
    for _ in range(10):
        outbox.pass_time(timedelta(minutes=2))
        await worker(outbox).deliver_due()
    assert {record.status for record in await webhook_records(outbox, endpoint_id)} == {"complete"}
    assert (await endpoint_health(outbox, endpoint_id)).failures == 0


@pytest.mark.long("many attempts of a delivery; an unreliable receiver stays in the short form")
async def test_endpoint_without_success_for_five_days_is_disabled(outbox: Post, receiver: Sink) -> None:
    receiver.behave = answering(500)
    endpoint_id = (await register_endpoint(outbox, receiver.url, ordered=False)).endpoint.endpoint_id
    for day in range(6):
        await outbox.run(emit_events, first=day)
        for _ in range(4):
            await worker(outbox).deliver_due()
            assert (await endpoint_health(outbox, endpoint_id)).enabled is (outbox.clock.now - NOW < 5 * DAY)
            outbox.pass_time(6 * HOUR)
    health = await endpoint_health(outbox, endpoint_id)
    assert (health.enabled, health.disabled_reason) == (False, "it accepted no message for 5 days")
    sent = receiver.connections
    change = WebhookEndpointChange(enabled=True)
    updated = await outbox.run(webhook_endpoints.update_webhook_endpoint, endpoint_id=endpoint_id, input=change)
    assert (updated.enabled, updated.disabled_reason, updated.failures, updated.failing_since) == (True, None, 0, None)
    await outbox.run(emit_events, first=10)
    await worker(outbox).deliver_due()
    assert receiver.connections > sent


@pytest.mark.long("many attempts of a delivery; an unreliable receiver stays in the short form")
async def test_circuit_is_open_for_at_most_an_hour(outbox: Post, receiver: Sink) -> None:
    receiver.behave = answering(500)
    endpoint_id = (await register_endpoint(outbox, receiver.url, ordered=False)).endpoint.endpoint_id
    for day in range(12):
        await outbox.run(emit_events, first=day)
        await worker(outbox).deliver_due()
        outbox.pass_time(HOUR)
    health = await endpoint_health(outbox, endpoint_id)
    assert health.failures > FAILURE_THRESHOLD
    assert health.paused_until - outbox.clock.now <= MAX_PAUSE


async def test_failed_webhooks_are_sent_again_on_request(outbox: Post, receiver: Sink) -> None:
    receiver.behave = answering(410)
    endpoint_id = (await register_endpoint(outbox, receiver.url)).endpoint.endpoint_id
    await outbox.run(emit_events, count=3)
    await worker(outbox).deliver_due()
    receiver.behave = answering(200)
    change = WebhookEndpointChange(enabled=True)
    await outbox.run(webhook_endpoints.update_webhook_endpoint, endpoint_id=endpoint_id, input=change)
    assert (await outbox.run(webhook_endpoints.redrive_webhooks, endpoint_id=endpoint_id)).queued == 3
    assert (await outbox.run(webhook_endpoints.redrive_webhooks, endpoint_id=endpoint_id)).queued == 0
    await worker(outbox).deliver_due()
    assert received_numbers(receiver) == [0, 0, 1, 2]
    assert receiver.received[0].headers["webhook-id"] == receiver.received[1].headers["webhook-id"]
    records = await webhook_records(outbox, endpoint_id)
    assert [(record.status, record.number_of_attempts) for record in records] == [
        ("complete", 2),
        ("complete", 1),
        ("complete", 1),
    ]
    assert (
        await outbox.rows(WebhookError, col(WebhookError.webhook_id).in_([record.webhook_id for record in records]))
        == []
    )


async def test_replay_sends_events_since_an_instant_in_order_and_to_new_endpoints(outbox: Post, receiver: Sink) -> None:
    old = (await register_endpoint(outbox, receiver.url)).endpoint.endpoint_id
    await outbox.run(emit_events, count=2)
    outbox.pass_time(HOUR)
    since = outbox.clock.now
    await outbox.run(emit_events, count=2, first=2)
    await worker(outbox).deliver_due()
    assert received_numbers(receiver) == [0, 1, 2, 3]
    ids = [request.headers["webhook-id"] for request in receiver.received]
    assert (await outbox.run(webhook_endpoints.replay_webhooks, endpoint_id=old, since=since)).queued == 2
    repeated = await outbox.run(webhook_endpoints.replay_webhooks, endpoint_id=old, since=since)
    assert repeated.queued == 0  # they are waiting already
    await worker(outbox).deliver_due()
    assert received_numbers(receiver)[4:] == [2, 3]
    assert [request.headers["webhook-id"] for request in receiver.received][4:] == ids[2:]
    async with sink() as later:
        new = (await register_endpoint(outbox, later.url, "alert.*")).endpoint.endpoint_id
        replayed = await outbox.run(webhook_endpoints.replay_webhooks, endpoint_id=new, since=since - HOUR, until=since)
        assert (replayed.queued, replayed.next_after) == (2, None)
        await worker(outbox).deliver_due()
        assert received_numbers(later) == [0, 1]


@operation(OperationKind.MUTATION, returns=None, needs=Permission.SYSTEM)
async def fail_webhooks(call: Call, *, endpoint_id: str, status: WebhookStatus = WebhookStatus.FAILED) -> None:
    """Give all webhooks of an endpoint a status, as if their attempts had ended so."""
    await call.rows.update(Webhook, col(Webhook.endpoint_id) == endpoint_id, status=status)


def charge_of(budget: int) -> CallCharge:
    """Return the charge of a call whose caller has a budget that does not fill again."""
    budgets = Budgets(BudgetLimits(Allowance(budget, 0.001), None), LocalBucketStore())
    return CallCharge(budgets, Principal(Role.ACCOUNT, application_id="one", account_id="ada"))


@contextmanager
def written_statements(outbox: Post) -> Iterator[list[str]]:
    """Collect the statements that insert, change or delete rows."""
    statements = list[str]()

    def note(connection: Any, cursor: Any, statement: str, *others: Any) -> None:
        if statement.startswith(("INSERT", "UPDATE", "DELETE")):
            statements.append(statement)

    engine = outbox.tenant.gateway.database.engine.sync_engine
    event.listen(engine, "before_cursor_execute", note)
    try:
        yield statements
    finally:
        event.remove(engine, "before_cursor_execute", note)


async def delivered_order(outbox: Post, endpoint_id: str) -> list[int]:
    """Return the numbers of the events whose deliveries to an endpoint are open, in the order of the deliveries."""
    numbers = {webhook.webhook_id: webhook.payload["n"] for webhook in await webhook_records(outbox, endpoint_id)}
    is_open = col(Delivery.order_key) == endpoint_id, col(Delivery.state) == DeliveryState.WAITING
    return [numbers[row.target_id] for row in await outbox.rows(Delivery, *is_open, order_by=[Delivery.number])]


async def test_replay_sends_a_page_of_events_that_is_paid_before_it_is_written(outbox: Post) -> None:
    """A page has few statements, also if all events have the same instant. The next page begins after its last one."""
    await outbox.run(emit_events, count=130)
    endpoint_id = (await register_endpoint(outbox, "https://hooks.invalid/")).endpoint.endpoint_id
    page = {"endpoint_id": endpoint_id, "since": outbox.clock.now}
    replay = partial(outbox.runner.run, webhook_endpoints.replay_webhooks, outbox.tenant.system)
    with written_statements(outbox) as written, pytest.raises(CostTooHigh):
        await replay(page, charge=charge_of(4_000))
    assert written == []
    charge = charge_of(10_000)
    with written_statements(outbox) as written:
        first = await replay(page, charge=charge)
    assert (first.queued, charge.charged) == (100, 100 * DELIVERY_WEIGHT - MUTATION_WEIGHT)
    assert len(written) < 10
    last = await replay({**page, "after": first.next_after})
    assert (last.queued, last.next_after) == (30, None)
    assert await delivered_order(outbox, endpoint_id) == list(range(130))


async def test_redrive_sends_a_page_of_events_that_is_paid_before_it_is_written(outbox: Post) -> None:
    endpoint_id = (await register_endpoint(outbox, "https://hooks.invalid/")).endpoint.endpoint_id
    await outbox.run(emit_events, count=130)
    await outbox.clear()
    await outbox.run(fail_webhooks, endpoint_id=endpoint_id)
    redrive = partial(outbox.runner.run, webhook_endpoints.redrive_webhooks, outbox.tenant.system)
    arguments = {"endpoint_id": endpoint_id}
    with written_statements(outbox) as written, pytest.raises(CostTooHigh):
        await redrive(arguments, charge=charge_of(4_000))
    assert written == []
    charge = charge_of(10_000)
    with written_statements(outbox) as written:
        assert (await redrive(arguments, charge=charge)).queued == 100
    assert charge.charged == 100 * DELIVERY_WEIGHT - MUTATION_WEIGHT
    assert len(written) < 10
    assert [(await redrive(arguments)).queued for _ in range(2)] == [30, 0]
    assert await delivered_order(outbox, endpoint_id) == list(range(130))


async def test_endpoint_with_many_waiting_events_gets_no_more_of_them_again(
    outbox: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhook_endpoints, "MAX_WAITING_EVENTS", 3)
    endpoint_id = (await register_endpoint(outbox, "https://hooks.invalid/")).endpoint.endpoint_id
    await outbox.run(emit_events, count=3)
    for again in (
        partial(outbox.run, webhook_endpoints.replay_webhooks, since=outbox.clock.now),
        partial(outbox.run, webhook_endpoints.redrive_webhooks),
        partial(outbox.run, webhook_endpoints.ping_webhook_endpoint),
    ):
        with pytest.raises(Conflict, match="3 or more events wait for the endpoint"):
            await again(endpoint_id=endpoint_id)
    await outbox.run(fail_webhooks, endpoint_id=endpoint_id)
    assert (await outbox.run(webhook_endpoints.redrive_webhooks, endpoint_id=endpoint_id)).queued == 3


async def test_event_for_many_endpoints_is_paid_before_it_is_written(outbox: Post) -> None:
    """A mutation includes two deliveries. All others of its events are charged at once, for all events together."""
    for number in range(5):
        await register_endpoint(outbox, f"https://hooks.invalid/{number}")
    emit = partial(outbox.runner.run, emit_events, outbox.tenant.system)
    extra = 15 * DELIVERY_WEIGHT - MUTATION_WEIGHT
    with written_statements(outbox) as written, pytest.raises(CostTooHigh):
        await emit({"count": 3}, charge=charge_of(extra - 1))
    assert written == []
    charge = charge_of(extra)
    await emit({"count": 3}, charge=charge)
    assert charge.charged == extra
    assert len(await outbox.rows(Delivery, col(Delivery.state) == DeliveryState.WAITING)) == 15


async def test_event_for_few_endpoints_costs_no_more_than_the_mutation(outbox: Post) -> None:
    for number in range(2):
        await register_endpoint(outbox, f"https://hooks.invalid/{number}")
    await outbox.runner.run(emit_events, outbox.tenant.system, {}, charge=charge_of(0))
    assert len(await outbox.rows(Delivery, col(Delivery.state) == DeliveryState.WAITING)) == 2


INDEXES_OF_OPEN = {"ix_delivery_open", "ix_delivery_leased", "ix_delivery_due"}
"""The indexes of deliveries that have no ended ones."""


@operation(OperationKind.MUTATION, returns=None, needs=Permission.SYSTEM)
async def add_deliveries(call: Call, *, order_key: str, waiting: int, ended: int) -> None:
    """Add deliveries with an order key: first those that have ended, then those that wait."""
    for state, count in ((DeliveryState.SENT, ended), (DeliveryState.WAITING, waiting)):
        values = {"kind": DeliveryKind.WEBHOOK, "target_id": "any", "order_key": order_key, "state": state}
        values |= {"application_id": call.rows.application_id, "attempts": 0, "due_at": call.rows.now}
        values |= {"created_at": call.rows.now, "ended_at": call.rows.now if state is DeliveryState.SENT else None}
        numbers = select(literal(1).label("number")).cte(recursive=True)
        numbers = numbers.union_all(select(numbers.c.number + 1).where(numbers.c.number < count))
        keys = literal(f"{order_key} {state.value} ") + cast(numbers.c.number, String)
        columns = {name: literal(value, model_columns(Delivery)[name].type) for name, value in values.items()}
        rows = select(keys, *columns.values()).select_from(numbers)
        added = insert(Delivery).from_select(["delivery_id", *columns], rows)
        await call.rows.write_session.execute(added, execution_options=SCOPED_OPTION)


@pytest.mark.both_databases("the planners of both")
async def test_search_for_due_deliveries_reads_no_ended_ones(outbox: Post) -> None:
    """Ended deliveries stay for a month, and there may be thousands for each one that waits."""
    database = outbox.tenant.gateway.database
    order_key = uuid4().hex
    await outbox.run(add_deliveries, order_key=order_key, waiting=200, ended=5_000)
    found, kinds = list[tuple[str, Any]](), {"kinds": [DeliveryKind.WEBHOOK]}

    def note(connection: Any, cursor: Any, statement: str, parameters: Any, *others: Any) -> None:
        # other gateways of this process search in their databases
        is_own = connection.engine.url.database == database.engine.url.database
        if is_own and "order_key" in statement and "min(" in statement:
            found.append((statement, parameters))

    event.listen(Engine, "before_cursor_execute", note)
    try:
        await outbox.runner.run(deliveries.due_deliveries, Principal(Role.SYSTEM), kinds)
        await outbox.run(deliveries.claim_deliveries, **kinds, worker="any", lease=60.0, limit=1)
        outbox.pass_time(-HOUR)
        await outbox.runner.run(deliveries.due_deliveries, Principal(Role.SYSTEM), kinds)
    finally:
        event.remove(Engine, "before_cursor_execute", note)
    explain = "EXPLAIN QUERY PLAN " if database.is_sqlite else "EXPLAIN "
    async with database.engine.connect() as connection:
        await connection.exec_driver_sql("ANALYZE delivery")
        for statement, parameters in found:
            rows = (await connection.exec_driver_sql(explain + statement, parameters)).all()
            plan = "\n".join(str(row[-1]) for row in rows)
            used = set(re.findall(r"ix_delivery_\w+", plan))
            assert {"ix_delivery_open", "ix_delivery_leased"} <= used <= INDEXES_OF_OPEN, plan
            assert "Seq Scan" not in plan
    assert len(found) == 4


async def test_events_and_records_of_deliveries_are_deleted_after_a_month(outbox: Post, receiver: Sink) -> None:
    """Records of events that still wait stay, whatever their age."""
    started_at = outbox.clock.now
    receiver.behave = answering(410)
    ended = (await register_endpoint(outbox, receiver.url)).endpoint.endpoint_id
    await outbox.run(emit_events)
    await worker(outbox).deliver_due()
    waiting = (await register_endpoint(outbox, receiver.url)).endpoint.endpoint_id
    await outbox.run(emit_events)
    (gone,) = await webhook_records(outbox, ended)
    of_gone = col(WebhookError.webhook_id) == gone.webhook_id
    assert len(await outbox.rows(WebhookError, of_gone)) == 1
    outbox.clock.now = utc_now() + 2_000 * DAY  # other tests have moved their clocks by years
    system = Principal(Role.SYSTEM)
    for find, purge in OUTBOX_PURGES:
        assert outbox.tenant.application_id in await outbox.runner.run(find, system, {})
        while await outbox.run(purge):
            pass
        assert outbox.tenant.application_id not in await outbox.runner.run(find, system, {})
    assert await webhook_records(outbox, ended) == []
    assert await outbox.rows(WebhookError, of_gone) == []
    assert {item.state for item in await outbox.rows(Delivery)} == {DeliveryState.WAITING}
    (left,) = await webhook_records(outbox, waiting)
    assert left.status is WebhookStatus.PENDING
    endpoint_id = (await register_endpoint(outbox, receiver.url)).endpoint.endpoint_id
    assert (await outbox.run(webhook_endpoints.replay_webhooks, endpoint_id=endpoint_id, since=started_at)).queued == 0


async def test_ping_is_also_sent_to_a_disabled_endpoint(outbox: Post, receiver: Sink) -> None:
    endpoint_id = (await register_endpoint(outbox, receiver.url, "consent.*", enabled=False)).endpoint.endpoint_id
    ping = await outbox.run(webhook_endpoints.ping_webhook_endpoint, endpoint_id=endpoint_id)
    await worker(outbox).deliver_due()
    assert json.loads(receiver.received[0].body) == {"endpointId": endpoint_id, "eventCode": "webhook.ping"}
    (record,) = await webhook_records(outbox, endpoint_id)
    assert (record.webhook_id, record.status) == (ping.webhook_id, "complete")


async def test_rotated_secret_signs_with_the_old_one_until_the_overlap_ends(outbox: Post, receiver: Sink) -> None:
    issued = await register_endpoint(outbox, receiver.url)
    endpoint_id = issued.endpoint.endpoint_id
    outbox.clock.now = utc_now() - timedelta(hours=24, minutes=1)
    rotated = await outbox.run(webhook_endpoints.rotate_webhook_secret, endpoint_id=endpoint_id, overlap_hours=24)
    await outbox.run(emit_events)
    await worker(outbox).deliver_due()
    assert len(receiver.received[0].headers["webhook-signature"].split(" ")) == 2
    outbox.pass_time(timedelta(hours=24, minutes=1))
    await outbox.run(emit_events)
    await worker(outbox).deliver_due()
    received = receiver.received[1]
    assert len(received.headers["webhook-signature"].split(" ")) == 1
    assert Verifier(rotated.secret).verify(received.body.decode(), received.headers)


async def test_each_old_secret_signs_until_its_own_end(outbox: Post, receiver: Sink) -> None:
    """Rotations within an overlap end no secret early. One without an overlap ends all of them."""
    outbox.clock.now = utc_now() - timedelta(days=1)
    rotate = partial(outbox.run, webhook_endpoints.rotate_webhook_secret)
    issued = await register_endpoint(outbox, receiver.url)
    endpoint_id = issued.endpoint.endpoint_id
    short = await rotate(endpoint_id=endpoint_id, overlap_hours=3)
    secrets = [issued.secret, short.secret]
    secrets += [(await rotate(endpoint_id=endpoint_id, overlap_hours=hours)).secret for hours in (1, 2)]

    async def valid() -> list[bool]:
        await outbox.run(emit_events)
        await worker(outbox).deliver_due()
        received = receiver.received[-1]
        signatures = received.headers["webhook-signature"].split(" ")
        signed = [sign(secret, received) in signatures for secret in secrets]
        assert sum(signed) == len(signatures)
        return signed

    assert await valid() == [True, True, True, True]
    outbox.pass_time(timedelta(hours=1, minutes=1))
    assert await valid() == [True, False, True, True]
    outbox.pass_time(timedelta(hours=1))
    assert await valid() == [True, False, False, True]
    last = await rotate(endpoint_id=endpoint_id, overlap_hours=0)
    assert last.endpoint.secret_expires_at is None
    secrets.append(last.secret)
    assert await valid() == [False, False, False, False, True]
    for _ in range(MAX_OLD_SECRETS):
        last = await rotate(endpoint_id=endpoint_id, overlap_hours=1)
    with pytest.raises(Conflict, match=r"4 old secrets that are still valid.* overlapHours 0"):
        await rotate(endpoint_id=endpoint_id, overlap_hours=1)
    outbox.pass_time(timedelta(hours=1, minutes=1))
    assert (await rotate(endpoint_id=endpoint_id, overlap_hours=1)).secret != last.secret


def sign(secret: str, received: Received) -> str:
    """Return the signature of a received message with a secret."""
    at = datetime.fromtimestamp(int(received.headers["webhook-timestamp"]), tz=UTC)
    return str(Verifier(secret).sign(received.headers["webhook-id"], at, received.body.decode()))


async def test_callback_of_an_alert_receives_its_outcome(outbox: Post, receiver: Sink) -> None:
    alert_id = await outbox.send(Channel.INBOX, callback_url=receiver.url)
    await worker(outbox).deliver_due()
    (received,) = receiver.received
    body = json.loads(received.body)
    assert (body["eventCode"], body["ns_alert_id"]) == ("alert.notification.inbox.sent", alert_id)
    assert "webhook-signature" not in received.headers  # the callback URL has no secret


async def test_callback_to_the_url_of_an_endpoint_is_signed_and_sent_once(outbox: Post, receiver: Sink) -> None:
    outbox.clock.now = utc_now()
    issued = await register_endpoint(outbox, receiver.url, "consent.*")
    await outbox.send(Channel.INBOX, callback_url=receiver.url)
    await worker(outbox).deliver_due()
    (received,) = receiver.received
    assert Verifier(issued.secret).verify(received.body.decode(), received.headers)
    change = WebhookEndpointChange(events=["alert.notification.*.sent"])
    await outbox.run(webhook_endpoints.update_webhook_endpoint, endpoint_id=issued.endpoint.endpoint_id, input=change)
    await outbox.send(Channel.INBOX, callback_url=receiver.url)
    await worker(outbox).deliver_due()
    assert len(receiver.received) == 2


async def test_waiting_delivery_to_a_deleted_endpoint_fails(outbox: Post, receiver: Sink) -> None:
    endpoint_id = (await register_endpoint(outbox, receiver.url)).endpoint.endpoint_id
    await outbox.run(emit_events)
    await outbox.run(webhook_endpoints.delete_webhook_endpoint, endpoint_id=endpoint_id)
    await worker(outbox).deliver_due()
    (record,) = await webhook_records(outbox, endpoint_id)
    assert (record.status, receiver.connections) == ("failed", 0)


async def test_waiting_delivery_goes_to_the_new_url_of_its_endpoint(outbox: Post, receiver: Sink) -> None:
    endpoint_id = (await register_endpoint(outbox, "https://hooks.invalid/old")).endpoint.endpoint_id
    await outbox.run(emit_events)
    change = WebhookEndpointChange(url=receiver.url)
    await outbox.run(webhook_endpoints.update_webhook_endpoint, endpoint_id=endpoint_id, input=change)
    await worker(outbox).deliver_due()
    (record,) = await webhook_records(outbox, endpoint_id)
    assert (record.status, record.callback_url) == ("complete", receiver.url)
