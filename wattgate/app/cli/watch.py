"""`wattgate watch`: live readings in a terminal, told as a display is told them."""

import asyncio
import base64
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any, NoReturn
from urllib.parse import urlsplit, urlunsplit

import typer
from pydantic_settings import BaseSettings, SettingsConfigDict
from rich.markup import escape
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus
from websockets.typing import Subprotocol

from wattgate.app.cli.gateway_context import err, run
from wattgate.clock import utc_now
from wattgate.realtime.backoff import Backoff

PROTOCOL = Subprotocol("graphql-transport-ws")
SUBSCRIPTION = """subscription ($resourceIds: [ID!]!, $since: String) {
  readings(resourceIds: $resourceIds, since: $since) { resourceId field at value unit quality }
}"""

ANSWER_WITHIN = 15.0
"""How many seconds a gateway may take to acknowledge a connection."""

SILENCE = 35.0
"""After how many seconds without a message the link is taken for lost; a gateway pings every 20."""

DISPLACED_FOR = 30.0
"""How many seconds to stay away after newer connections of the account took the place of this one."""

FORBIDDEN, DISPLACED = 4403, 4509
FATAL = {4400, 4401, 4406, 4409, 4429}
"""Close codes that say that this client and the gateway do not understand each other."""


class Refused(Exception):
    """It is of no use to try again; the message says why."""


class Away(Exception):
    """The subscription has ended by an error that may pass; the message says which."""


@dataclass(frozen=True)
class Caller:
    """Who watches: a token, or a name and a password with, for an account, its application."""

    token: str | None = None
    user: str | None = None
    password: str | None = None
    application: str | None = None

    def payload(self) -> dict[str, str]:
        """The credentials, as `connection_init` carries them."""
        if self.token is not None:
            return {"token": self.token}
        basic = base64.b64encode(f"{self.user}:{self.password}".encode()).decode()
        application = {"applicationId": self.application} if self.application is not None else {}
        return {"authorization": f"Basic {basic}", **application}


class Watcher:
    """Follows the readings of resources, and goes on where it was whenever the link was lost.

    `show` is given each reading, `tell` what happens to the connection.
    """

    def __init__(
        self,
        url: str,
        caller: Caller,
        resource_ids: list[str],
        *,
        show: Callable[[dict[str, Any]], None],
        tell: Callable[[str], None],
    ) -> None:
        self._url = socket_url(url)
        self._init = {"type": "connection_init", "payload": caller.payload()}
        self._variables: dict[str, Any] = {"resourceIds": resource_ids, "since": None}
        self._show, self._tell = show, tell
        self._backoff, self._failures = Backoff(1.0, 30.0), 0

    async def run(self) -> NoReturn:
        """Follow for ever. Refused where that is of no use."""
        while True:
            pause = 0.0
            try:
                await self._follow()
            except ConnectionClosed as closed:
                pause, why = self._closed(closed)
            except InvalidStatus as refused:
                why = f"the gateway answers with status {refused.response.status_code}"
                if refused.response.status_code < 500:
                    raise Refused(f"{self._url}: {why}") from None
            except (OSError, TimeoutError, InvalidHandshake, Away) as failure:
                why = str(failure) or "no answer"
            pause += self._backoff.seconds(self._failures)
            self._failures += 1
            self._tell(f"lost: {why}; again in {pause:.1f} s")
            await asyncio.sleep(pause)

    def _closed(self, closed: ConnectionClosed) -> tuple[float, str]:
        """How long to stay away at least, and why."""
        if closed.rcvd is None:
            return 0.0, "the connection was cut"
        code, reason = closed.rcvd.code, closed.rcvd.reason
        if code == FORBIDDEN:
            raise Refused("the gateway does not accept these credentials, or accepts them no longer")
        if code in FATAL:
            raise Refused(f"the gateway does not understand this client ({code}{reason and ' ' + reason})")
        if code == DISPLACED:
            return DISPLACED_FOR, "displaced by newer connections of the account"
        return 0.0, f"the gateway has closed the connection ({code}{reason and ' ' + reason})"

    async def _follow(self) -> NoReturn:
        """One connection, until it ends by an exception."""
        async with connect(self._url, subprotocols=[PROTOCOL], open_timeout=ANSWER_WITHIN, close_timeout=1) as socket:
            if socket.subprotocol != PROTOCOL:
                raise Refused(f"{self._url} does not speak {PROTOCOL}")
            await _say(socket, self._init)
            while (await _hear(socket, ANSWER_WITHIN))["type"] != "connection_ack":
                continue
            await _say(
                socket,
                {
                    "id": "watch",
                    "type": "subscribe",
                    "payload": {"query": SUBSCRIPTION, "variables": self._variables},
                },
            )
            self._tell(f"connected to {self._url}")
            while True:
                await self._take(socket, await _hear(socket, SILENCE))

    async def _take(self, socket: ClientConnection, message: dict[str, Any]) -> None:
        match message["type"]:
            case "ping":
                await _say(socket, {**message, "type": "pong"})
            case "next":
                self._failures = 0
                self._next(message["payload"])
            case "error":
                self._ended(message["payload"])
            case "complete":
                raise Refused("the gateway has ended the subscription")

    def _next(self, payload: dict[str, Any]) -> None:
        if payload.get("errors"):
            self._ended(payload["errors"])
        extensions = payload.get("extensions") or {}
        self._variables["since"] = extensions.get("position", self._variables["since"])
        if extensions.get("recovered") is True:
            self._tell("recovered: nothing was missed")
        elif extensions.get("recovered") is False:
            self._tell("not recovered: readings may be missing before the next ones")
        reading = (payload.get("data") or {}).get("readings")
        if reading is not None:
            self._show(reading)

    def _ended(self, errors: list[dict[str, Any]]) -> NoReturn:
        message = "; ".join(str(error.get("message")) for error in errors)
        if all((error.get("extensions") or {}).get("retryable") for error in errors):
            raise Away(message)
        raise Refused(message)


async def _say(socket: ClientConnection, message: dict[str, Any]) -> None:
    await socket.send(json.dumps(message))


async def _hear(socket: ClientConnection, within: float) -> dict[str, Any]:
    """The next message. TimeoutError where none comes."""
    try:
        async with asyncio.timeout(within):
            message = json.loads(await socket.recv())
    except TimeoutError:
        raise TimeoutError(f"no message for {within:.0f} s") from None
    except ValueError:
        message = None
    if not isinstance(message, dict) or not isinstance(message.get("type"), str):
        raise Refused(f"the server does not speak {PROTOCOL}")
    return message


def socket_url(url: str) -> str:
    """Where the sockets of the gateway at an address are: at its path `/graphql` unless the address has a path."""
    parts = urlsplit(url)
    scheme = {"http": "ws", "https": "wss"}.get(parts.scheme, parts.scheme)
    if scheme not in ("ws", "wss") or not parts.hostname:
        raise Refused(f"{url} is not an address such as http://127.0.0.1:8000")
    return urlunsplit((scheme, parts.netloc, parts.path.rstrip("/") or "/graphql", "", ""))


def line(reading: dict[str, Any], now: datetime) -> str:
    """A reading for people: by the clock of this machine, and how old it is."""
    at = datetime.fromisoformat(reading["at"])
    value = str(reading["value"]).removesuffix(".0")
    told = f"{at.astimezone():%Y-%m-%d %H:%M:%S}  {reading['resourceId']}  {reading['field']:<9}"
    return f"{told} {value:>12} {reading['unit']:<6} {age(now - at)}"


def age(span: timedelta) -> str:
    """How long ago something was, in the largest unit that is full."""
    seconds = int(span.total_seconds())
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds // length} {unit}"
    return f"{seconds} s"


class Environment(BaseSettings):
    """What may be known from the environment alone: a command line is seen by everyone on the machine."""

    model_config = SettingsConfigDict(env_prefix="WATTGATE_")

    password: str | None = None


def watch(
    resources: Annotated[list[str], typer.Argument(metavar="RESOURCE...", help="IDs of the resources to watch.")],
    url: Annotated[str, typer.Option(envvar="WATTGATE_URL", help="Address of the gateway.")] = "http://127.0.0.1:8000",
    token: Annotated[str | None, typer.Option(envvar="WATTGATE_TOKEN", help="Token of a log-in.")] = None,
    user: Annotated[
        str | None,
        typer.Option(
            envvar="WATTGATE_USER", help="Username. The command asks for the password unless WATTGATE_PASSWORD is set."
        ),
    ] = None,
    application: Annotated[
        str | None, typer.Option(envvar="WATTGATE_APPLICATION", help="ID of the application that owns the account.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print each reading as one line of JSON.")] = False,
) -> None:
    """Print live readings until Ctrl+C: time, resource, field, value, unit and age.

    Pass either --token or --user. After a lost connection, the command resumes where it stopped. It reports the state
    of the connection on standard error.

    Example: wattgate watch RESOURCE --user ada@example.org --application APPLICATION
    """
    if (token is None) == (user is None):
        raise typer.BadParameter("give either a token or a user", param_hint="--token / --user")
    password = None
    if user is not None:
        password = Environment().password or typer.prompt("Password", hide_input=True, err=True)

    def show(reading: dict[str, Any]) -> None:
        typer.echo(json.dumps(reading) if as_json else line(reading, utc_now()))

    def tell(event: str) -> None:
        err.print(escape(event), highlight=False, soft_wrap=True)

    try:
        run(Watcher(url, Caller(token, user, password, application), resources, show=show, tell=tell).run())
    except Refused as refused:
        tell(str(refused))
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        sys.exit(0)
