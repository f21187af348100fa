"""What the log says, and what it never says."""

import json
import logging
from typing import Any

import httpx
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.typing import Origin, Subprotocol

from tests.app.test_serving import AT_ONCE, Home, home
from tests.support.house import PASSWORD, basic
from tests.support.processes import gateway
from wattgate.app.observability.logs import JsonFormatter, TextFormatter, redact
from wattgate.enums import TRACE_ID
from wattgate.principal import Principal, Role
from wattgate.request_context import CURRENT_PRINCIPAL

__all__ = ["home"]

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
SUBPROTOCOL = Subprotocol("graphql-transport-ws")
LOG_IN = """mutation ($u: String!, $p: String!, $a: ID!) {
  authenticate(username: $u, password: $p, applicationId: $a) { token }
}"""


def record(message: str, *values: object, **extra: object) -> logging.LogRecord:
    return logging.getLogger("wattgate.test").makeRecord(
        "wattgate.test", logging.WARNING, __file__, 1, message, values, None, extra=extra
    )


async def refuse(url: str, home: Home) -> None:
    """Everything that a gateway refuses because of who asks, by REST, by GraphQL and on sockets."""
    account, application = home.tenant.headers["account"], {"applicationId": home.tenant.application_id}
    username = home.tenant.username
    async with httpx.AsyncClient(base_url=url, headers={"traceparent": f"00-{TRACE}-00f067aa0ba902b7-01"}) as client:
        body = {"username": username, "password": "swordfish-1"}
        refused = await client.post("/api/v0-1/auth", json=body, headers=application)
        assert refused.status_code == 401
        variables = {"u": username, "p": "swordfish-2", "a": home.tenant.application_id}
        await client.post("/graphql", json={"query": LOG_IN, "variables": variables})
        for headers in (basic(username, "swordfish-3") | application, {"token": "swordfish-4"}):
            assert (await client.get("/api/v0-1/account", headers=headers)).status_code == 401
        asked = {"query": "{ applicationStatistics { totalVirtualEntities } }"}
        await client.post("/graphql", json=asked, headers=account)
        await client.get("/api/v0-1/user", params={"username": username, "token": "swordfish-5"}, headers=account)
        taken = {"username": username, "password": PASSWORD, "userId": home.tenant.user_id}
        await client.post("/api/v0-1/account", json=taken, headers=home.tenant.headers["application"])
    socket = url.replace("http", "ws") + "/graphql"
    with pytest.raises(InvalidStatus):
        await connect(socket, subprotocols=[SUBPROTOCOL], origin=Origin("https://elsewhere.example"))
    async with connect(socket, subprotocols=[SUBPROTOCOL]) as display:
        await display.send(json.dumps({"type": "connection_init", "payload": {"token": "swordfish-6"}}))
        with pytest.raises(ConnectionClosed) as closed:
            await display.recv()
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 4403
    async with connect(socket, subprotocols=[SUBPROTOCOL]) as display:
        await display.send(json.dumps({"type": "connection_init", "payload": account}))
        assert "connection_ack" in str(await display.recv())


async def test_refusals_are_logged_with_who_was_refused_and_without_what_was_shown(home: Home) -> None:
    settings = {"LOG_FORMAT": "json", "LOG_LEVEL": "debug", "ALLOWED_ORIGINS": '["https://app.example"]'}
    async with gateway(folder=home.folder, **settings, **AT_ONCE) as one:
        await refuse(one.url, home)
        log = one.log
    token = home.tenant.headers["account"]["token"]
    for secret in ("swordfish", home.tenant.username, "@one.example", PASSWORD, token):
        assert secret not in log
    told = [json.loads(line) for line in log.splitlines()]

    def said(message: str) -> list[dict[str, Any]]:
        return [one for one in told if one["message"].startswith(message)]

    wrong = said("refused with UNAUTHENTICATED: the username or the password is wrong")
    assert [(one["level"], one["traceId"]) for one in wrong] == [("info", TRACE)] * 2
    assert wrong[0]["applicationId"] == home.tenant.application_id  # the other one named it in an argument
    assert len(said("refused with UNAUTHENTICATED: Access denied")) == 2
    (forbidden,) = said("refused with FORBIDDEN: these credentials do not allow statistics read")
    account = {"actor": f"account:{home.tenant.account_id}", "userId": home.tenant.user_id}
    assert account.items() <= forbidden.items()
    (ended,) = said("Closing a connection with code 4403: Forbidden")
    assert ended["level"] == "info"
    (opened,) = said("A connection is authenticated")
    assert (opened["level"], opened["actor"]) == ("debug", account["actor"])
    assert said("a page of the origin 'https://elsewhere.example' may not open sockets here")
    assert said("POST /api/v0-1/auth was answered with 401 in ")
    assert {"time", "level", "logger", "message", "process"} <= set.intersection(*map(set, told))


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Key (username)=(ada.lovelace+x@example.co.uk) already exists", "Key (username)=([e-mail]) already exists"),
        ("postgresql://wattgate:hunter2@db.internal/wattgate", "postgresql://[credentials]@db.internal/wattgate"),
        ("redis://:hunter2@cache:6379/0 is away", "redis://[credentials]@cache:6379/0 is away"),
        ("authorization: Bearer abc.def-ghi", "authorization: Bearer [credentials]"),
        ("Authorization: Basic ZGVtbzpkZW1v", "Authorization: Basic [credentials]"),
        ("no token 0123456789abcdefghijklmnopqrstuvwxyzABC-_0x", "no token [token]"),
        ('{"password": "hunter2", "name": "x"}', '{"password": "[secret]", "name": "x"}'),
        ("resource b0f1b774-a586-4f72-9edd-27ead8aa7a8d at 2026-11-21T12:00:00Z", None),
    ],
)
def test_what_would_let_others_in_is_left_out_of_words_that_are_not_ours(text: str, kept: str | None) -> None:
    assert redact(text) == (text if kept is None else kept)


def test_a_traceback_is_cleaned_too_and_stays_in_one_json_line() -> None:
    try:
        raise ValueError("ada@example.org\nwas here")
    except ValueError as error:
        failed = record("it failed")
        failed.exc_info = (ValueError, error, error.__traceback__)
    line = JsonFormatter().format(failed)
    assert "\n" not in line
    assert "ValueError: [e-mail]" in json.loads(line)["exception"]
    assert "ada@" not in line
    assert "ada@" not in TextFormatter().format(failed)


async def test_a_line_says_who_acts_where_that_is_known() -> None:
    TRACE_ID.set(TRACE)
    CURRENT_PRINCIPAL.set(Principal(Role.APPLICATION, application_id="app-1", user_id="user-1"))
    assert (
        TextFormatter()
        .format(record("%d readings", 3))
        .endswith(
            f"WARNING wattgate.test 3 readings traceId={TRACE} applicationId=app-1 actor=application userId=user-1"
        )
    )
    told = json.loads(JsonFormatter().format(record("x", caller=Principal(Role.ACCOUNT, account_id="acc-1"))))
    assert told["actor"] == "account:acc-1"  # what the line itself says comes first


def test_an_application_id_that_a_caller_thought_up_makes_no_second_line() -> None:
    caller = Principal(Role.ANONYMOUS, application_id="x\n2026-01-01 INFO all is well")
    assert "\n" not in TextFormatter().format(record("refused", caller=caller))
