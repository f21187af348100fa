"""Log records: refusals, callers and redaction of secrets."""

import asyncio
import json
import logging
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.typing import Origin, Subprotocol

from tests.app.test_serving import NO_DRAIN_DELAY, Home, home
from tests.support.house import PASSWORD, basic
from tests.support.processes import gateway
from wattgate.app.observability.logs import JsonFormatter, TextFormatter, redact
from wattgate.enums import TRACE_ID
from wattgate.principal import Principal, Role
from wattgate.requests.request_context import CURRENT_PRINCIPAL

__all__ = ["home"]

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
SUBPROTOCOL = Subprotocol("graphql-transport-ws")
LOG_IN = """mutation ($u: String!, $p: String!, $a: ID!) {
  authenticate(username: $u, password: $p, applicationId: $a) { ... on Login { token } }
}"""

MESSAGES = {"swordfish-8": 4400, '{"type": "subscribe", "id": "1", "payload": {"query": "{ __typename }"}}': 4401}
"""Messages that close a socket without credentials, and the codes."""


def record(message: str, *values: object, **extra: object) -> logging.LogRecord:
    return logging.getLogger("wattgate.test").makeRecord(
        "wattgate.test", logging.WARNING, __file__, 1, message, values, None, extra=extra
    )


async def cause_refusals(url: str, home: Home) -> None:
    """Cause each refusal that depends on the caller, over REST, GraphQL and WebSocket."""
    account, application = home.tenant.headers["account"], {"applicationId": home.tenant.application_id}
    username = home.tenant.username
    async with httpx.AsyncClient(base_url=url, headers={"traceparent": f"00-{TRACE}-00f067aa0ba902b7-01"}) as client:
        body = {"username": username, "password": "swordfish-1"}
        response = await client.post("/api/v0-1/auth", json=body, headers=application)
        assert response.status_code == 401
        variables = {"u": username, "p": "swordfish-2", "a": home.tenant.application_id}
        await client.post("/graphql", json={"query": LOG_IN, "variables": variables})
        for headers in (basic(username, "swordfish-3") | application, {"token": "swordfish-4"}):
            assert (await client.get("/api/v0-1/account", headers=headers)).status_code == 401
        forbidden_query = {"query": "{ applicationStatistics { totalHomes } }"}
        await client.post("/graphql", json=forbidden_query, headers=account)
        await client.get("/api/v0-1/user", params={"username": username, "token": "swordfish-5"}, headers=account)
        duplicate_account = {"username": username, "password": PASSWORD, "userId": home.tenant.user_id}
        await client.post("/api/v0-1/account", json=duplicate_account, headers=home.tenant.headers["application"])
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


async def repeat_refusals(url: str) -> None:
    """Cause 60 refusals of a malformed head, 60 of a wrong token behind a proxy, and 12 of each of two messages."""
    where = urlsplit(url)
    for _ in range(60):
        reader, writer = await asyncio.open_connection(where.hostname, where.port)
        writer.write(b"nonsense\r\n\r\n")
        assert b" 400 " in await reader.readline()
        writer.close()
    async with httpx.AsyncClient(base_url=url, headers={"x-forwarded-for": "192.0.2.9, 203.0.113.7"}) as client:
        for _ in range(60):
            assert (await client.get("/api/v0-1/account", headers={"token": "swordfish-7"})).status_code == 401
    for message in MESSAGES:
        for _ in range(12):
            async with connect(url.replace("http", "ws") + "/graphql", subprotocols=[SUBPROTOCOL]) as display:
                await display.send(message)
                await display.wait_closed()


async def test_refusals_are_logged_with_caller_and_without_credentials(home: Home) -> None:
    settings = {
        "LOG_FORMAT": "json",
        "LOG_LEVEL": "debug",
        "ALLOWED_ORIGINS": '["https://app.example"]',
        "TRUSTED_PROXIES": '["127.0.0.1"]',
    }
    async with gateway(folder=home.folder, **settings, **NO_DRAIN_DELAY) as process:
        await cause_refusals(process.url, home)
        await repeat_refusals(process.url)
        log = process.log
    token = home.tenant.headers["account"]["token"]
    for secret in ("swordfish", home.tenant.username, "@one.example", PASSWORD, token):
        assert secret not in log
    lines = [json.loads(line) for line in log.splitlines()]

    def lines_with(message: str) -> list[dict[str, Any]]:
        return [line for line in lines if line["message"].startswith(message)]

    wrong_passwords = lines_with("request rejected with UNAUTHENTICATED: the username or the password is wrong")
    assert [(line["level"], line["traceId"]) for line in wrong_passwords] == [("info", TRACE)] * 2
    assert wrong_passwords[0]["applicationId"] == home.tenant.application_id  # the other request has it in an argument
    assert len(lines_with("request rejected with UNAUTHENTICATED: The username or the password in the header ")) == 1
    wrong_tokens = lines_with("request rejected with UNAUTHENTICATED: The token is unknown, revoked or expired.")
    assert [line["clientAddress"] for line in wrong_tokens] == ["127.0.0.1", *(["203.0.113.7"] * 10)]
    (forbidden,) = lines_with("request rejected with FORBIDDEN: these credentials do not allow statistics read")
    account = {"actor": f"account:{home.tenant.account_id}", "userId": home.tenant.user_id}
    assert account.items() <= forbidden.items()
    (ended,) = lines_with("Closing a connection with code 4403: Forbidden")
    assert ended["level"] == "info"
    (opened,) = lines_with("A connection is authenticated")
    assert (opened["level"], opened["actor"]) == ("debug", account["actor"])
    (foreign,) = lines_with("WebSocket rejected: the origin 'https://elsewhere.example' is not allowed")
    security_events = [*wrong_passwords, forbidden, ended, foreign]
    assert {line["clientAddress"] for line in security_events} == {"127.0.0.1"}
    assert "clientAddress" not in opened
    malformed = lines_with("HTTP connection refused with 400: The request is no valid HTTP message.")
    assert [line["clientAddress"] for line in malformed] == ["127.0.0.1"] * 10
    for code in MESSAGES.values():
        closed = lines_with(f"Closing a connection with code {code}")
        assert [line.get("clientAddress") for line in closed] == ["127.0.0.1"] * 10
    assert lines_with("POST /api/v0-1/auth responded with 401 in ")
    assert {"time", "level", "logger", "message", "process"} <= set.intersection(*map(set, lines))


@pytest.mark.parametrize(
    ("text", "expected"),
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
def test_redact_removes_credentials_and_addresses(text: str, expected: str | None) -> None:
    assert redact(text) == (text if expected is None else expected)


def test_traceback_is_redacted_and_stays_in_one_json_line() -> None:
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


async def test_log_line_has_caller_of_task_or_record() -> None:
    TRACE_ID.set(TRACE)
    CURRENT_PRINCIPAL.set(Principal(Role.APPLICATION, application_id="app-1", user_id="user-1"))
    assert (
        TextFormatter()
        .format(record("%d readings", 3))
        .endswith(
            f"WARNING wattgate.test 3 readings traceId={TRACE} applicationId=app-1 actor=application userId=user-1"
        )
    )
    fields = json.loads(JsonFormatter().format(record("x", caller=Principal(Role.ACCOUNT, account_id="acc-1"))))
    assert fields["actor"] == "account:acc-1"  # the caller of the record has precedence


def test_forged_application_id_adds_no_log_line() -> None:
    caller = Principal(Role.ANONYMOUS, application_id="x\n2026-01-01 INFO all is well")
    assert "\n" not in TextFormatter().format(record("refused", caller=caller))
