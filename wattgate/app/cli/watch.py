"""`wattgate watch`: print live readings in a terminal, received over the WebSocket protocol that displays use."""

import asyncio
import base64
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NoReturn
from urllib.parse import urlsplit, urlunsplit

import typer
from pydantic_settings import BaseSettings, SettingsConfigDict
from rich.markup import escape
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus
from websockets.typing import Subprotocol

from wattgate.app.cli.consoles import err, printable
from wattgate.clock import utc_now
from wattgate.realtime.backoff import Backoff
from wattgate.realtime.connections.reconnection import RECONNECTIONS, ReconnectAction, waiting_seconds

PROTOCOL = Subprotocol("graphql-transport-ws")
SUBSCRIPTION = """subscription ($resourceIds: [ID!]!, $since: String) {
  readings(resourceIds: $resourceIds, since: $since) { resourceId field at value unit quality }
}"""

ACKNOWLEDGE_SECONDS = 15.0
"""Maximum seconds to wait for `connection_ack`."""

MAX_SILENCE_SECONDS = 35.0
"""Seconds without a message after which the connection counts as lost. The gateway sends a ping every 20 seconds."""


class FatalError(Exception):
    """An error that a new attempt cannot solve."""


class TransientError(Exception):
    """The subscription ended with a retryable error."""


@dataclass(frozen=True)
class Credentials:
    """Credentials of the user: a token, or a username and password. An account also needs its application ID."""

    token: str | None = None
    user: str | None = None
    password: str | None = None
    application: str | None = None

    def to_payload(self) -> dict[str, str]:
        """Return the payload of `connection_init`."""
        if self.token is not None:
            return {"token": self.token}
        basic = base64.b64encode(f"{self.user}:{self.password}".encode()).decode()
        application = {"applicationId": self.application} if self.application is not None else {}
        return {"authorization": f"Basic {basic}", **application}


class Watcher:
    """Subscribe to the readings of resources, and resume at the last position after a lost connection.

    Calls `on_reading` with each reading, and `on_status` with a message for each change of the connection.
    """

    def __init__(
        self,
        url: str,
        credentials: Credentials,
        resource_ids: list[str],
        *,
        on_reading: Callable[[dict[str, Any]], None],
        on_status: Callable[[str], None],
    ) -> None:
        self._url = websocket_url(url)
        self._init_message = {"type": "connection_init", "payload": credentials.to_payload()}
        self._variables: dict[str, Any] = {"resourceIds": resource_ids, "since": None}
        self._on_reading, self._on_status = on_reading, on_status
        self._backoff, self._failures = Backoff(1.0, 30.0), 0

    async def run(self) -> NoReturn:
        """Receive readings until cancelled. Raise FatalError if a new attempt cannot succeed."""
        while True:
            pause = 0.0
            try:
                await self._run_connection()
            except ConnectionClosed as closed:
                pause, reason = self._handle_close(closed)
            except InvalidStatus as rejection:
                reason = f"the gateway answers with status {rejection.response.status_code}"
                if rejection.response.status_code < 500:
                    raise FatalError(f"{self._url}: {reason}") from None
            except (OSError, TimeoutError, InvalidHandshake, TransientError) as failure:
                reason = str(failure) or "no answer"
            pause += self._backoff.delay_seconds(self._failures)
            self._failures += 1
            self._on_status(f"connection lost: {reason}; next attempt in {pause:.1f} s")
            await asyncio.sleep(pause)

    def _handle_close(self, closed: ConnectionClosed) -> tuple[float, str]:
        """Return the minimum number of seconds to wait before the next attempt, and the reason of the close."""
        if closed.rcvd is None:
            return 0.0, "closed without a close frame"
        code, reason = closed.rcvd.code, closed.rcvd.reason
        detail = f"{code}{reason and ' ' + reason}"
        reconnection = RECONNECTIONS.get(code)
        if reconnection is None:
            return 0.0, f"the gateway closed the connection ({detail})"
        if reconnection.action is ReconnectAction.RENEW_TOKEN:
            raise FatalError("the gateway does not accept these credentials, or no longer accepts them")
        if reconnection.action is ReconnectAction.STOP:
            raise FatalError(f"the gateway does not understand this client ({detail})")
        pause = reconnection.minimum_seconds + waiting_seconds(reason)
        return pause, f"the gateway closed the connection ({detail})"

    async def _run_connection(self) -> NoReturn:
        """Open a connection and handle its messages until an exception ends it."""
        async with connect(
            self._url, subprotocols=[PROTOCOL], open_timeout=ACKNOWLEDGE_SECONDS, close_timeout=1
        ) as socket:
            if socket.subprotocol != PROTOCOL:
                raise FatalError(f"{self._url} does not support the subprotocol {PROTOCOL}")
            await _send_message(socket, self._init_message)
            while (await _receive_message(socket, ACKNOWLEDGE_SECONDS))["type"] != "connection_ack":
                continue
            await _send_message(
                socket,
                {
                    "id": "watch",
                    "type": "subscribe",
                    "payload": {"query": SUBSCRIPTION, "variables": self._variables},
                },
            )
            self._on_status(f"connected to {self._url}")
            while True:
                await self._handle_message(socket, await _receive_message(socket, MAX_SILENCE_SECONDS))

    async def _handle_message(self, socket: ClientConnection, message: dict[str, Any]) -> None:
        match message["type"]:
            case "ping":
                await _send_message(socket, {**message, "type": "pong"})
            case "next":
                self._failures = 0
                self._handle_next(message["payload"])
            case "error":
                self._raise_for_errors(message["payload"])
            case "complete":
                raise FatalError("the gateway ended the subscription")

    def _handle_next(self, payload: dict[str, Any]) -> None:
        if payload.get("errors"):
            self._raise_for_errors(payload["errors"])
        extensions = payload.get("extensions") or {}
        self._variables["since"] = extensions.get("position", self._variables["since"])
        if extensions.get("recovered") is True:
            self._on_status("resumed: no readings were missed")
        elif extensions.get("recovered") is False:
            self._on_status("resumed: readings may be missing before the next one")
        reading = (payload.get("data") or {}).get("readings")
        if reading is not None:
            self._on_reading(reading)

    def _raise_for_errors(self, errors: list[dict[str, Any]]) -> NoReturn:
        message = "; ".join(map(describe_error, errors))
        if all((error.get("extensions") or {}).get("retryable") for error in errors):
            raise TransientError(message)
        raise FatalError(message)


def describe_error(error: Mapping[str, Any]) -> str:
    """Return the message of a GraphQL error, with its code and the trace ID under which the log has it."""
    extensions = error.get("extensions") or {}
    named = {"code": extensions.get("code"), "trace ID": extensions.get("traceId")}
    details = ", ".join(f"{name} {value}" for name, value in named.items() if value)
    return f"{error.get('message')}{details and f' ({details})'}"


async def _send_message(socket: ClientConnection, message: dict[str, Any]) -> None:
    await socket.send(json.dumps(message))


async def _receive_message(socket: ClientConnection, timeout_seconds: float) -> dict[str, Any]:
    """Return the next message. Raise TimeoutError if none arrives in time."""
    try:
        async with asyncio.timeout(timeout_seconds):
            message = json.loads(await socket.recv())
    except TimeoutError:
        raise TimeoutError(f"no message for {timeout_seconds:.0f} s") from None
    except ValueError:
        message = None
    if not isinstance(message, dict) or not isinstance(message.get("type"), str):
        raise FatalError(f"the server sent a message that is not valid in {PROTOCOL}")
    return message


def websocket_url(url: str) -> str:
    """Return the WebSocket URL of a gateway's address. The path is `/graphql` unless the address has a path."""
    parts = urlsplit(url)
    scheme = {"http": "ws", "https": "wss"}.get(parts.scheme, parts.scheme)
    if scheme not in ("ws", "wss") or not parts.hostname:
        raise FatalError(f"{url} is not an address such as http://127.0.0.1:8000")
    return urlunsplit((scheme, parts.netloc, parts.path.rstrip("/") or "/graphql", "", ""))


def format_reading(reading: dict[str, Any], now: datetime) -> str:
    """Return a reading as a line of text, with its local time and its age."""
    at = datetime.fromisoformat(reading["at"])
    value = str(reading["value"]).removesuffix(".0")
    reading_text = f"{at.astimezone():%Y-%m-%d %H:%M:%S}  {reading['resourceId']}  {reading['field']:<9}"
    return f"{reading_text} {value:>12} {reading['unit']:<6} {format_age(now - at)}"


def format_age(age: timedelta) -> str:
    """Return an age in the largest unit of which it has at least one, rounded down."""
    seconds = int(age.total_seconds())
    for unit, unit_seconds in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= unit_seconds:
            return f"{seconds // unit_seconds} {unit}"
    return f"{seconds} s"


class WatchEnvironment(BaseSettings):
    """The password, which only the environment may hold: all users of the machine can see a command line."""

    model_config = SettingsConfigDict(env_prefix="WATTGATE_")

    password: str | None = None


def watch(
    *, resources: list[str], url: str, token: str | None, user: str | None, application: str | None, as_json: bool
) -> None:
    """Print live readings until Ctrl+C: time, resource, field, value, unit and age."""
    if (token is None) == (user is None):
        raise typer.BadParameter("pass either --token or --user", param_hint="--token / --user")
    password = None
    if user is not None:
        password = WatchEnvironment().password or typer.prompt("Password", hide_input=True, err=True)

    def show_reading(reading: dict[str, Any]) -> None:
        typer.echo(json.dumps(reading) if as_json else printable(format_reading(reading, utc_now())))

    def report_status(event: str) -> None:
        err.print(escape(event), highlight=False, soft_wrap=True)

    try:
        asyncio.run(
            Watcher(
                url,
                Credentials(token, user, password, application),
                resources,
                on_reading=show_reading,
                on_status=report_status,
            ).run()
        )
    except FatalError as error:
        report_status(str(error))
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        sys.exit(0)
