"""Alerts are pushed to the apps of a user, and whoever sent them is told where there is none."""

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
from tests.support.house import House, operation
from tests.support.outbox import Post
from tests.support.sinks import Sink, answering, closing, sink
from wattgate.app.workers.deliveries import Carrier, Deliveries
from wattgate.db.models import Account, Delivery
from wattgate.delivery.channels.channel import Content, Outgoing, Sent
from wattgate.delivery.channels.push import Provider, Push
from wattgate.delivery.channels.web_push import MAX_PLAINTEXT, Vapid
from wattgate.delivery.http.egress import ANYWHERE, PUBLIC
from wattgate.delivery.http.outbound_http import Callout
from wattgate.enums import DeliveryKind, NotificationState
from wattgate.errors import BadInput
from wattgate.graphql.core.operation import Call, Kind
from wattgate.graphql.core.operation import operation as declare
from wattgate.graphql.resolvers import push as pushes
from wattgate.graphql.resolvers.accounts import MAX_TOKENS
from wattgate.graphql.types.alerts import Channel, Priority
from wattgate.principal import Permission

__all__ = ["post"]

CALLBACK = "https://hooks.example.org/alerts"


@pytest.fixture
async def service() -> AsyncIterator[Sink]:
    """A push service."""
    async with sink(answering(201, headers="Location: https://push.example.net/m/1\r\n")) as made:
        yield made


def worker(
    post: Post, service: Sink, *, reach: Any = ANYWHERE, provider: bool = True, vapid: bool = True
) -> Deliveries:
    push = Push(
        Callout(reach),
        Callout(ANYWHERE),
        vapid=Vapid(KEY, CONTACT) if vapid else None,
        provider=Provider(service.url, "our secret") if provider else None,
        clock=post.clock,
    )
    return post.worker_with({DeliveryKind.PUSH: Carrier(pushes.prepare_push, push, pushes.settle_push)})


async def test_an_alert_to_a_user_without_tokens_is_told_as_the_specification_shows_it(post: Post) -> None:
    await post.tokens()
    alert_id = await post.send(Channel.PUSH, callback_url=CALLBACK)
    sent = await post.notification(alert_id)
    (told,) = await post.events(alert_id)
    assert told.keys() == {
        "errorCode", "eventCode", "errorId", "notificationid", "ns_alert_id", "alertTypeId", "channel",
    }  # fmt: skip
    assert len(told.pop("errorId")) == 36
    assert told == {
        "errorCode": "error.alert.notification.push.user.tokens.not_found",
        "eventCode": "alert.notification.push.sent.error",
        "notificationid": sent.notification_id,
        "ns_alert_id": alert_id,
        "alertTypeId": "CM01",
        "channel": "push",
    }
    assert (sent.state, sent.status) == (NotificationState.FAILED, "ERROR")
    assert (await post.log(alert_id))[1:] == [(2, "User Has No Push Tokens", "ERROR", None)]
    (webhook,) = await post.webhooks(alert_id)
    (delivery,) = await post.rows(Delivery, col(Delivery.target_id) == webhook.webhook_id)
    assert delivery.kind is DeliveryKind.WEBHOOK
    assert delivery.user_id == post.tenant.user_id


async def test_an_alert_is_pushed_to_a_phone_through_the_provider(post: Post, service: Sink) -> None:
    await post.tokens("fcm:abc")
    alert_id = await post.send(Channel.PUSH, callback_url=CALLBACK)
    assert await worker(post, service).work_once() == 1
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
            "alertTypeId": "CM01",
            "priority": "Low",
        },
    }
    assert delivery.reference == "https://push.example.net/m/1"
    (told,) = await post.events(alert_id)
    assert told["eventCode"] == "alert.notification.push.sent"


async def test_an_alert_is_pushed_to_a_browser_which_alone_can_read_it(post: Post, service: Sink) -> None:
    browser = Browser(service.url)
    await post.tokens(browser.token)
    alert_id = await post.send(Channel.PUSH, priority=Priority.HIGH)
    assert await worker(post, service).work_once() == 1
    (received,) = service.received
    told = {name: received.headers[name] for name in ("ttl", "urgency", "content-encoding")}
    assert told == {"ttl": "86400", "urgency": "high", "content-encoding": "aes128gcm"}
    assert received.headers["authorization"].startswith("vapid t=")
    assert json.loads(browser.decrypt(received.body))["data"]["alertId"] == alert_id


async def test_every_app_of_the_user_gets_it_and_one_is_enough(post: Post, service: Sink) -> None:
    browser = Browser("http://127.0.0.1:1/nobody")
    await post.tokens("fcm:abc", "fcm:def", browser.token)
    alert_id = await post.send(Channel.PUSH, callback_url=CALLBACK)
    assert await worker(post, service).work_once() == 3
    assert sorted(json.loads(one.body)["token"] for one in service.received) == ["fcm:abc", "fcm:def"]
    assert (await post.notification(alert_id)).state is NotificationState.SENT
    assert [told["eventCode"] for told in await post.events(alert_id)] == ["alert.notification.push.sent"]
    states = sorted(one.state.value for one in await post.deliveries(alert_id))
    assert states == ["SENT", "SENT", "WAITING"]


@pytest.mark.parametrize("status", [404, 410])
async def test_the_subscription_of_a_browser_that_has_gone_is_removed(post: Post, service: Sink, status: int) -> None:
    service.behave = answering(status)
    await post.tokens(Browser(service.url).token)
    alert_id = await post.send(Channel.PUSH, callback_url=CALLBACK)
    await worker(post, service).work_once()
    assert await post.known_tokens() == []
    (told,) = await post.events(alert_id)
    assert told["errorCode"] == "error.alert.notification.push.user.tokens.not_found"
    assert (await post.log(alert_id))[-1][1:] == ("Given Up", "ERROR", "the push token is good no more and was removed")


async def test_a_token_that_the_provider_calls_gone_is_removed_and_the_others_stay(post: Post, service: Sink) -> None:
    await post.tokens("fcm:gone", "fcm:here")

    async def behave(received: Any, writer: Any) -> None:
        gone = json.loads(received.body)["token"] == "fcm:gone"
        await answering(410 if gone else 204)(received, writer)

    service.behave = behave
    alert_id = await post.send(Channel.PUSH, callback_url=CALLBACK)
    await worker(post, service).work_once()
    assert await post.known_tokens() == ["fcm:here"]
    assert (await post.notification(alert_id)).state is NotificationState.SENT


async def test_a_provider_at_a_wrong_address_costs_nobody_a_token(post: Post, service: Sink) -> None:
    service.behave = answering(404)
    await post.tokens("fcm:abc")
    alert_id = await post.send(Channel.PUSH, callback_url=CALLBACK)
    await worker(post, service).work_once()
    assert await post.known_tokens() == ["fcm:abc"]
    (told,) = await post.events(alert_id)
    assert told["errorCode"] == "error.alert.notification.push.provider.refused"


@pytest.mark.parametrize("status", [429, 500, 502, 503])
async def test_a_push_service_that_is_not_well_is_asked_again(post: Post, service: Sink, status: int) -> None:
    service.behave = answering(status, headers="Retry-After: 90\r\n")
    await post.tokens("fcm:abc")
    alert_id = await post.send(Channel.PUSH)
    sender = worker(post, service)
    await sender.work_once()
    (delivery,) = await post.deliveries(alert_id)
    assert delivery.due_at == post.clock.now + timedelta(seconds=90)
    assert (await post.log(alert_id))[-1][1:] == ("Attempt Failed", "ERROR", f"the push service answered {status}")
    service.behave = answering(204)
    post.pass_time(timedelta(seconds=90))
    assert await sender.work_once() == 1
    assert len({json.loads(one.body)["id"] for one in service.received}) == 1
    assert (await post.notification(alert_id)).state is NotificationState.SENT


async def test_a_push_service_that_hangs_up_is_asked_again(post: Post, service: Sink) -> None:
    service.behave = closing
    await post.tokens("fcm:abc")
    alert_id = await post.send(Channel.PUSH)
    await worker(post, service).work_once()
    assert (await post.notification(alert_id)).state is NotificationState.WAITING


async def test_a_subscription_that_leads_into_the_house_is_refused(post: Post, service: Sink) -> None:
    await post.tokens(Browser(service.url).token)
    alert_id = await post.send(Channel.PUSH, callback_url=CALLBACK)
    await worker(post, service, reach=PUBLIC).work_once()
    assert service.connections == 0
    (told,) = await post.events(alert_id)
    assert told["errorCode"] == "error.alert.notification.push.user.tokens.refused"


@pytest.mark.parametrize("token", ["fcm:abc", Browser("https://push.example.net/1").token])
async def test_without_a_provider_it_is_said_that_there_is_none(post: Post, service: Sink, token: str) -> None:
    await post.tokens(token)
    alert_id = await post.send(Channel.PUSH, callback_url=CALLBACK)
    await worker(post, service, provider=False, vapid=False).work_once()
    (told,) = await post.events(alert_id)
    assert told["errorCode"] == "error.alert.notification.push.provider.not_configured"


async def test_a_token_that_is_removed_before_its_push_leaves_gets_none(post: Post, service: Sink) -> None:
    await post.tokens("fcm:abc")
    alert_id = await post.send(Channel.PUSH)
    await post.tokens()
    await worker(post, service).work_once()
    assert service.received == []
    assert (await post.notification(alert_id)).state is NotificationState.FAILED


async def test_apps_of_an_account_that_is_closed_get_nothing(post: Post) -> None:
    await post.tokens("fcm:abc")
    await set_active(post, False)
    try:
        alert_id = await post.send(Channel.PUSH)
    finally:
        await set_active(post, True)
    assert await post.deliveries(alert_id) == []
    assert (await post.log(alert_id))[-1][1] == "User Has No Push Tokens"


async def set_active(post: Post, active: bool) -> None:
    @declare(Kind.MUTATION, returns=str, needs=Permission.SYSTEM)
    async def change(call: Call) -> None:
        """Open or close the account."""
        await call.rows.update(Account, col(Account.account_id) == post.tenant.account_id, active=active)

    await post.run(change)


async def test_what_is_no_token_is_refused_and_of_very_many_the_oldest_gives_way(post: Post) -> None:
    for wrong in ("", "{}", "x" * 5000):
        with pytest.raises(BadInput):
            await post.tokens(wrong)
    await post.tokens()
    for n in range(MAX_TOKENS + 3):
        post.pass_time(timedelta(seconds=1))
        add = operation("add_mobile_app_token")
        await post.run(add, account_id=post.tenant.account_id, new_token=f"fcm:{n}")
    assert await post.known_tokens() == [f"fcm:{n}" for n in range(3, MAX_TOKENS + 3)]
    await post.tokens()


async def test_a_message_for_a_browser_is_never_too_long(service: Sink) -> None:
    browser = Browser(service.url)
    content = Content(subject="ä" * 900, text="☀" * 20_000, data={"alertId": "a"})
    outgoing = Outgoing("id", "app", 1, NOW, (browser.token,), content)
    push = Push(Callout(ANYWHERE), Callout(ANYWHERE), vapid=Vapid(KEY, CONTACT))
    assert isinstance(await push.send(outgoing), Sent)
    (received,) = service.received
    assert len(received.body) <= 4096
    message = browser.decrypt(received.body)
    assert len(message) <= MAX_PLAINTEXT
    assert len(json.loads(message)["body"]) > 400


TOKENS = "query ($id: ID!) { mobileAppTokens(accountId: $id) { token createdAt } webPush { publicKey } }"


async def test_an_account_lists_its_own_tokens_and_nobody_elses(served: House) -> None:
    account = served.one.headers["account"]
    add = 'mutation ($id: ID!) { addMobileAppToken(accountId: $id, newToken: "fcm:list") { valid } }'
    assert (await served.graphql(add, account, id=served.one.account_id))["data"]
    told = await served.graphql(TOKENS, account, id=served.one.account_id)
    assert "fcm:list" in [one["token"] for one in told["data"]["mobileAppTokens"]]
    assert told["data"]["webPush"] == {"publicKey": None}
    refused = await served.graphql(TOKENS, served.other.headers["account"], id=served.one.account_id)
    assert refused["errors"][0]["extensions"]["code"] == "NOT_FOUND"


async def test_a_subscriber_is_told_every_step_if_that_is_asked_for(served: House) -> None:
    account, url = served.one.headers["account"], served.url.replace("http", "ws") + "/graphql"
    add = 'mutation ($id: ID!) { addMobileAppToken(accountId: $id, newToken: "fcm:steps") { valid } }'
    await served.graphql(add, account, id=served.one.account_id)
    transport = WebsocketsTransport(url=url, headers=account, subprotocols=["graphql-transport-ws"])
    document = gql("subscription { alerts(steps: true) { alertId notifications { state log { stage detail } } } }")
    stages: list[list[str]] = []
    async with Client(transport=transport) as session, asyncio.timeout(30):
        asked = asyncio.create_task(_send_later(served))
        async for told in session.subscribe(document):
            (one,) = told["alerts"]["notifications"]
            stages.append([step["stage"] for step in one["log"]])
            if one["state"] == "FAILED":
                break
        assert told["alerts"]["alertId"] == await asked
    assert {tuple(seen[:1]) for seen in stages} == {("Added Notification Record",)}
    assert one["log"][-1] == {
        "stage": "Given Up",
        "detail": "the gateway has no push provider (WATTGATE_PUSH_URL)",
    }


async def _send_later(served: House) -> str:
    await asyncio.sleep(0.5)  # the subscription has to stand first
    body = {"userId": served.one.user_id, "alertTypeId": "CM01", "send2Push": "yes"}
    answer = await served.call("POST", "/alert", served.one.headers["application"], json=body)
    return str(answer.json()["ns_alert_id"])
