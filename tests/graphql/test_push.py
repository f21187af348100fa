"""Push notifications to the apps of a user, and the error events if there are none."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from gql import Client, gql
from gql.transport.websockets import WebsocketsTransport
from sqlmodel import col

from tests.app.test_deliveries import post
from tests.delivery.test_web_push import CONTACT, KEY, NOW
from tests.support.browsers import Browser
from tests.support.house import House, Tenant, operation
from tests.support.outbox import Post
from tests.support.refusals import refusal_of
from tests.support.residents import resident
from tests.support.sinks import Sink, answering, closing, sink
from wattgate.app.workers.deliveries import DeliveryHandler, DeliveryWorker
from wattgate.db.models import Account, Delivery
from wattgate.delivery.channels.channel import MessageContent, OutboundMessage, Sent
from wattgate.delivery.channels.push import PushChannel, PushProvider
from wattgate.delivery.channels.web_push import MAX_PLAINTEXT_BYTES, Vapid
from wattgate.delivery.egress import ALLOW_ALL, PUBLIC_HTTPS_ONLY
from wattgate.delivery.outbound_http import OutboundHttpClient
from wattgate.enums import Channel, DeliveryKind, NotificationState, Priority
from wattgate.errors import BadInput
from wattgate.operations.accounts.accounts import MAX_PUSH_TOKENS
from wattgate.operations.core.operation import Call, OperationKind
from wattgate.operations.core.operation import operation as declare
from wattgate.operations.messages import push as push_resolvers
from wattgate.principal import Permission
from wattgate.realtime import topics

__all__ = ["post"]

CALLBACK = "https://hooks.example.org/alerts"


@pytest.fixture
async def service() -> AsyncIterator[Sink]:
    """A push service."""
    async with sink(answering(201, headers="Location: https://push.example.net/m/1\r\n")) as push_service:
        yield push_service


def worker(
    post: Post, service: Sink, *, reach: Any = ALLOW_ALL, provider: bool = True, vapid: bool = True
) -> DeliveryWorker:
    push = PushChannel(
        OutboundHttpClient(reach),
        OutboundHttpClient(ALLOW_ALL),
        vapid=Vapid(KEY, CONTACT) if vapid else None,
        provider=PushProvider(service.url, "our secret") if provider else None,
        clock=post.clock,
    )
    return post.worker_with(
        {DeliveryKind.PUSH: DeliveryHandler(push_resolvers.prepare_push, push, push_resolvers.record_push_outcome)}
    )


async def test_alert_to_a_user_without_tokens_sends_the_specified_error_event(post: Post) -> None:
    await post.tokens()
    alert_id = await post.send(Channel.PUSH, callback_url=CALLBACK)
    sent = await post.notification(alert_id)
    (event,) = await post.events(alert_id)
    assert event.keys() == {
        "errorCode", "eventCode", "errorId", "notificationid", "ns_alert_id", "alertTypeId", "systemAlertTypeId",
        "channel",
    }  # fmt: skip
    assert len(event.pop("errorId")) == 36
    assert event == {
        "errorCode": "error.alert.notification.push.user.tokens.not_found",
        "eventCode": "alert.notification.push.sent.error",
        "notificationid": sent.notification_id,
        "ns_alert_id": alert_id,
        "alertTypeId": post.tenant.ids["alert_type"],
        "systemAlertTypeId": "CM01",
        "channel": "push",
    }
    assert (sent.state, sent.status) == (NotificationState.FAILED, "ERROR")
    assert (await post.log(alert_id))[1:] == [(2, "User Has No Push Tokens", "ERROR", None)]
    (webhook,) = await post.webhooks(alert_id)
    (delivery,) = await post.rows(Delivery, col(Delivery.target_id) == webhook.webhook_id)
    assert delivery.kind is DeliveryKind.WEBHOOK
    assert delivery.user_id == post.tenant.user_id


async def test_alert_is_pushed_to_a_phone_through_the_provider(post: Post, service: Sink) -> None:
    await post.tokens("fcm:abc")
    alert_id = await post.send(Channel.PUSH, callback_url=CALLBACK)
    assert await worker(post, service).deliver_due() == 1
    (received,) = service.received
    (delivery,) = await post.deliveries(alert_id)
    assert received.headers["authorization"] == "Bearer our secret"
    assert received.headers["idempotency-key"] == delivery.delivery_id
    assert json.loads(received.body) == {
        "id": delivery.delivery_id,
        "token": "fcm:abc",
        "title": "High",
        "body": "High use",
        "data": {
            "alertId": alert_id,
            "notificationId": delivery.target_id,
            "alertTypeId": post.tenant.ids["alert_type"],
            "systemAlertTypeId": "CM01",
            "priority": "Low",
        },
    }
    assert delivery.reference == "https://push.example.net/m/1"
    (event,) = await post.events(alert_id)
    assert event["eventCode"] == "alert.notification.push.sent"


async def test_alert_is_pushed_to_a_browser_encrypted(post: Post, service: Sink) -> None:
    browser = Browser(service.url)
    await post.tokens(browser.token)
    alert_id = await post.send(Channel.PUSH, priority=Priority.HIGH)
    assert await worker(post, service).deliver_due() == 1
    (received,) = service.received
    headers = {name: received.headers[name] for name in ("ttl", "urgency", "content-encoding")}
    assert headers == {"ttl": "86400", "urgency": "high", "content-encoding": "aes128gcm"}
    assert received.headers["authorization"].startswith("vapid t=")
    assert json.loads(browser.decrypt(received.body))["data"]["alertId"] == alert_id


async def test_alert_goes_to_every_app_and_counts_as_sent_after_the_first(post: Post, service: Sink) -> None:
    browser = Browser("http://127.0.0.1:1/nobody")
    await post.tokens("fcm:abc", "fcm:def", browser.token)
    alert_id = await post.send(Channel.PUSH, callback_url=CALLBACK)
    assert await worker(post, service).deliver_due() == 3
    assert sorted(json.loads(request.body)["token"] for request in service.received) == ["fcm:abc", "fcm:def"]
    assert (await post.notification(alert_id)).state is NotificationState.SENT
    assert [event["eventCode"] for event in await post.events(alert_id)] == ["alert.notification.push.sent"]
    states = sorted(delivery.state.value for delivery in await post.deliveries(alert_id))
    assert states == ["SENT", "SENT", "WAITING"]


@pytest.mark.parametrize("status", [404, 410])
async def test_expired_browser_subscription_is_removed(post: Post, service: Sink, status: int) -> None:
    service.behave = answering(status)
    await post.tokens(Browser(service.url).token)
    alert_id = await post.send(Channel.PUSH, callback_url=CALLBACK)
    await worker(post, service).deliver_due()
    assert await post.known_tokens() == []
    (event,) = await post.events(alert_id)
    assert event["errorCode"] == "error.alert.notification.push.user.tokens.not_found"
    assert (await post.log(alert_id))[-1][1:] == ("Given Up", "ERROR", "the push token has expired and was removed")


async def test_token_that_the_provider_reports_gone_is_removed(post: Post, service: Sink) -> None:
    await post.tokens("fcm:gone", "fcm:here")

    async def behave(received: Any, writer: Any) -> None:
        gone = json.loads(received.body)["token"] == "fcm:gone"
        await answering(410 if gone else 204)(received, writer)

    service.behave = behave
    alert_id = await post.send(Channel.PUSH, callback_url=CALLBACK)
    await worker(post, service).deliver_due()
    assert await post.known_tokens() == ["fcm:here"]
    assert (await post.notification(alert_id)).state is NotificationState.SENT


async def test_404_of_the_provider_removes_no_token(post: Post, service: Sink) -> None:
    service.behave = answering(404)
    await post.tokens("fcm:abc")
    alert_id = await post.send(Channel.PUSH, callback_url=CALLBACK)
    await worker(post, service).deliver_due()
    assert await post.known_tokens() == ["fcm:abc"]
    (event,) = await post.events(alert_id)
    assert event["errorCode"] == "error.alert.notification.push.provider.refused"


@pytest.mark.parametrize("status", [429, 500, 502, 503])
async def test_push_is_retried_after_an_error_of_the_service(post: Post, service: Sink, status: int) -> None:
    service.behave = answering(status, headers="Retry-After: 90\r\n")
    await post.tokens("fcm:abc")
    alert_id = await post.send(Channel.PUSH)
    sender = worker(post, service)
    await sender.deliver_due()
    (delivery,) = await post.deliveries(alert_id)
    assert delivery.due_at == post.clock.now + timedelta(seconds=90)
    assert (await post.log(alert_id))[-1][1:] == ("Attempt Failed", "ERROR", f"the push service answered {status}")
    service.behave = answering(204)
    post.pass_time(timedelta(seconds=90))
    assert await sender.deliver_due() == 1
    assert len({json.loads(request.body)["id"] for request in service.received}) == 1
    assert (await post.notification(alert_id)).state is NotificationState.SENT


async def test_push_is_retried_after_a_closed_connection(post: Post, service: Sink) -> None:
    service.behave = closing
    await post.tokens("fcm:abc")
    alert_id = await post.send(Channel.PUSH)
    await worker(post, service).deliver_due()
    assert (await post.notification(alert_id)).state is NotificationState.WAITING


async def test_subscription_at_a_private_address_is_blocked(post: Post, service: Sink) -> None:
    await post.tokens(Browser(service.url).token)
    alert_id = await post.send(Channel.PUSH, callback_url=CALLBACK)
    await worker(post, service, reach=PUBLIC_HTTPS_ONLY).deliver_due()
    assert service.connections == 0
    (event,) = await post.events(alert_id)
    assert event["errorCode"] == "error.alert.notification.push.user.tokens.refused"


@pytest.mark.parametrize("token", ["fcm:abc", Browser("https://push.example.net/1").token])
async def test_push_without_a_provider_fails_as_not_configured(post: Post, service: Sink, token: str) -> None:
    await post.tokens(token)
    alert_id = await post.send(Channel.PUSH, callback_url=CALLBACK)
    await worker(post, service, provider=False, vapid=False).deliver_due()
    (event,) = await post.events(alert_id)
    assert event["errorCode"] == "error.alert.notification.push.provider.not_configured"


async def test_token_removed_before_delivery_receives_no_push(post: Post, service: Sink) -> None:
    await post.tokens("fcm:abc")
    alert_id = await post.send(Channel.PUSH)
    await post.tokens()
    await worker(post, service).deliver_due()
    assert service.received == []
    assert (await post.notification(alert_id)).state is NotificationState.FAILED


async def test_apps_of_a_closed_account_receive_no_push(post: Post) -> None:
    await post.tokens("fcm:abc")
    await set_active(post, False)
    try:
        alert_id = await post.send(Channel.PUSH)
    finally:
        await set_active(post, True)
    assert await post.deliveries(alert_id) == []
    assert (await post.log(alert_id))[-1][1] == "User Has No Push Tokens"


async def set_active(post: Post, active: bool) -> None:
    @declare(OperationKind.MUTATION, returns=str, needs=Permission.SYSTEM)
    async def change(call: Call) -> None:
        """Activate or close the account."""
        await call.rows.update(Account, col(Account.account_id) == post.tenant.account_id, active=active)

    await post.run(change)


async def test_invalid_tokens_are_rejected_and_the_oldest_are_deleted_above_the_maximum(post: Post) -> None:
    for invalid in ("", "{}", "x" * 5000):
        with pytest.raises(BadInput):
            await post.tokens(invalid)
    await post.tokens()
    for n in range(MAX_PUSH_TOKENS + 3):
        post.pass_time(timedelta(seconds=1))
        add = operation("add_mobile_app_token")
        await post.run(add, account_id=post.tenant.account_id, new_token=f"fcm:{n}")
    assert await post.known_tokens() == [f"fcm:{n}" for n in range(3, MAX_PUSH_TOKENS + 3)]
    await post.tokens()


async def test_message_to_a_browser_is_shortened_to_the_maximum(service: Sink) -> None:
    browser = Browser(service.url)
    content = MessageContent(subject="ä" * 900, text="☀" * 20_000, data={"alertId": "a"})
    outgoing = OutboundMessage("id", "app", 1, NOW, (browser.token,), content)
    push = PushChannel(OutboundHttpClient(ALLOW_ALL), OutboundHttpClient(ALLOW_ALL), vapid=Vapid(KEY, CONTACT))
    assert isinstance(await push.send(outgoing), Sent)
    (received,) = service.received
    assert len(received.body) <= 4096
    message = browser.decrypt(received.body)
    assert len(message) <= MAX_PLAINTEXT_BYTES
    assert len(json.loads(message)["body"]) > 400


TOKENS = "query ($id: ID!) { pushTokens(accountId: $id) { token createdAt } webPush { publicKey } }"


async def test_account_lists_only_its_own_tokens(served: House) -> None:
    account = served.one.headers["account"]
    add = 'mutation ($id: ID!) { createPushToken(accountId: $id, pushToken: "fcm:list") { ...Refused } }'
    assert (await served.graphql(add, account, id=served.one.account_id))["data"]
    response = await served.graphql(TOKENS, account, id=served.one.account_id)
    assert "fcm:list" in [token["token"] for token in response["data"]["pushTokens"]]
    assert response["data"]["webPush"] == {"publicKey": None}
    refused = await served.graphql(TOKENS, served.other.headers["account"], id=served.one.account_id)
    assert refusal_of(refused)["code"] == "NOT_FOUND"


async def test_push_token_belongs_to_the_account_that_registered_it_last(served: House) -> None:
    first, second = await resident(served.one), await resident(served.one)
    endpoint = f"https://push.example.net/{first.user_id}"
    browser, with_new_keys = Browser(endpoint).token, Browser(endpoint).token
    phone = f"fcm:{first.user_id}"

    async def listed(who: Tenant) -> list[str]:
        answer = await served.graphql(TOKENS, who.headers["account"], id=who.account_id)
        return [token["token"] for token in answer["data"]["pushTokens"]]

    for who in (first, second, second):
        for token in (phone, browser):
            path = f"/account/{who.account_id}/mobileapptoken"
            answer = await served.call("POST", path, who.headers["account"], json={"newToken": token})
            assert answer.status_code == 200, answer.text
    assert (await listed(first), await listed(second)) == ([], [phone, browser])
    path = f"/account/{second.account_id}/mobileapptoken"
    await served.call("POST", path, second.headers["account"], json={"newToken": with_new_keys})
    assert await listed(second) == [phone, with_new_keys]


async def test_subscriber_with_steps_receives_every_delivery_step(served: House) -> None:
    account, url = served.one.headers["account"], served.url.replace("http", "ws") + "/graphql"
    add = 'mutation ($id: ID!) { createPushToken(accountId: $id, pushToken: "fcm:steps") { ...Refused } }'
    await served.graphql(add, account, id=served.one.account_id)
    transport = WebsocketsTransport(url=url, headers=account, subprotocols=["graphql-transport-ws"])
    document = gql("subscription { alerts(steps: true) { alertId notifications { state log { stage detail } } } }")
    stages: list[list[str]] = []
    async with Client(transport=transport) as session, asyncio.timeout(60):
        send_later = asyncio.create_task(_send_later(served))
        async for payload in session.subscribe(document):
            (notification,) = payload["alerts"]["notifications"]
            stages.append([step["stage"] for step in notification["log"]])
            if notification["state"] == "FAILED":
                break
        assert payload["alerts"]["alertId"] == await send_later
    assert {tuple(seen[:1]) for seen in stages} == {("Added Notification Record",)}
    assert notification["log"][-1] == {
        "stage": "Given Up",
        "detail": "the gateway has no push provider (WATTGATE_PUSH_URL)",
    }


async def _send_later(served: House) -> str:
    await served.until_subscribed(topics.alert_steps(served.one.user_id))
    body = {
        "userId": served.one.user_id,
        "alertTypeId": "CM01",
        "send2Push": "yes",
    }
    answer = await served.call("POST", "/alert", served.one.headers["application"], json=body)
    return str(answer.json()["ns_alert_id"])
