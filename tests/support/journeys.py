"""Four journeys through the code: the modules whose functions run between two points, traced in a real gateway.

`make generate` writes them into the page of modules. Each journey runs four times. The first run fills the caches. The
other three are traced, and a module belongs to the journey if it runs in each of them. So a timer that happens to run
beside one of them adds nothing.

The tracer sees only threads that start after it. Therefore this module is a process of its own.
"""

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any, NamedTuple

import httpx
from starlette.routing import Mount
from strawberry import ID

import wattgate
from tests.support.house import Tenant, operation
from tests.support.live import Settled, settled_in
from tests.support.outbox import Post
from tests.support.servers import serving
from tests.support.smtp import MailServer, mail_server
from tests.support.socket import socket
from tests.support.timed import NOW
from wattgate.app.server.factory import Gateway, build_gateway, serve_gateway
from wattgate.app.settings import Settings
from wattgate.app.workers.alert_rules import AlertRuleWorker
from wattgate.app.workers.delivery_handlers import create_delivery_handlers
from wattgate.clock import format_iso, utc_now
from wattgate.enums import Channel, ReadingQuality, RuleKind
from wattgate.operations.catalogue import OPERATIONS
from wattgate.operations.types.messages.alert_rules import NewAlertRule
from wattgate.operations.types.messages.alert_types import NewAlertType
from wattgate.operations.types.messages.alerts import NewTemplateText
from wattgate.realtime import topics
from wattgate.realtime.events import Event, ReadingRecorded
from wattgate.rest_compat.routes import RestRouter, build_routes

PACKAGE = Path(wattgate.__file__).parent
FOLDER = f"{PACKAGE}/"
SENDER: Any = {
    "mail_from": "alerts@energy.example",
    "public_url": "https://energy.example",
    "link_key": "the key of the links in the journeys",
}
TRACED_RUNS = 3
RUNS = 1 + TRACED_RUNS

HOME = "query ($id: ID!) { home(homeId: $id) { name resources { name } } }"
READINGS = "subscription ($id: ID!) { readings(resourceIds: [$id]) { at value } }"
DISPLAY = "subscription ($id: ID!) { display(homeId: $id) { power { net { value } } } }"


class Journey(NamedTuple):
    """A journey: its name, where it begins and ends, and its modules in the order of their first function."""

    name: str
    span: str
    modules: list[str]


Step = Callable[[], Awaitable[Any]]
"""One run of a journey."""


class Tracer:
    """Collects the modules of the package whose functions run, in all threads that start after it."""

    def __init__(self) -> None:
        self._found: dict[str, None] = {}
        self._is_on = False

    def install(self) -> None:
        """Trace this thread and all later ones."""
        threading.setprofile(self._note)
        sys.setprofile(self._note)

    @contextmanager
    def recording(self) -> Iterator[dict[str, None]]:
        """Yield the modules that run in the context, in the order of their first function."""
        self._found, self._is_on = {}, True
        try:
            yield self._found
        finally:
            self._is_on = False

    def _note(self, frame: FrameType, event: str, argument: Any) -> None:
        if self._is_on and event == "call":
            path = frame.f_code.co_filename
            if path.startswith(FOLDER) and not path.endswith("__init__.py"):
                self._found.setdefault(path.removeprefix(FOLDER))


async def follow(tracer: Tracer, step: Step, prepare: Step | None = None) -> list[str]:
    """Return the modules that run in each traced run of a journey. `prepare` runs before each run, untraced."""
    runs: list[dict[str, None]] = []
    for _ in range(RUNS):
        if prepare is not None:
            await prepare()
        with tracer.recording() as found:
            await step()
            await asyncio.sleep(0.02)  # the work after the last byte belongs to the journey
        runs.append(found)
    first, *others = runs[1:]
    return [module for module in first if all(module in other for other in others)]


@dataclass(frozen=True, slots=True)
class Served:
    """A served gateway without background workers, a tenant of it, and an HTTP client."""

    gateway: Gateway
    tenant: Tenant
    http: httpx.AsyncClient

    async def query_home(self) -> None:
        """Send a query of a home, and read the response."""
        request = {"query": HOME, "variables": {"id": self.tenant.ids["virtual_entity"]}}
        answer = await self.http.post("/graphql", json=request, headers=self.tenant.headers["account"])
        assert "errors" not in answer.json(), answer.text

    @asynccontextmanager
    async def subscribed(self, document: str, target_id: str, topic: str) -> AsyncIterator[Step]:
        """Subscribe, and wait until the subscription receives the topic. Yield a function that waits for a message."""
        groups = self.gateway.realtime.groups._groups
        async with socket(str(self.http.base_url)) as opened:
            await opened.init(**self.tenant.headers["account"])
            await opened.say(type="subscribe", id="1", payload={"query": document, "variables": {"id": target_id}})
            async with asyncio.timeout(60):
                while not any(topic in group.topics and group.size for group in groups.values()):  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
            yield opened.hear

    async def record_reading(self, hear: Step, bodies: Iterator[Any]) -> None:
        """Send a reading to the REST interface, and wait until the subscriber has it."""
        path = f"/api/v0-1/resource/{self.tenant.ids['resource']}/readings"
        answer = await self.http.post(path, json=next(bodies), headers=self.tenant.headers["account"])
        assert answer.is_success, answer.text
        await hear()

    async def show_frame(self, hear: Step, events: Iterator[Event]) -> None:
        """Publish a reading of power, and wait for the frame that shows it."""
        await self.gateway.bus.publish([next(events)])
        await hear()


def new_readings() -> Iterator[Any]:
    """Return the bodies of requests that record a reading of power."""
    start = utc_now() - timedelta(hours=2)
    instants = [format_iso(start + number * timedelta(minutes=1)) for number in range(RUNS)]
    return iter([{"field": "POWER", "readings": [{"at": at, "value": 420}]} for at in instants])


def power_events(resource_id: str) -> Iterator[Event]:
    """Return events of new readings of power."""
    start = utc_now() - timedelta(seconds=RUNS)
    readings = [
        ReadingRecorded(
            resource_id,
            "POWER",
            "W",
            start + number * timedelta(seconds=1),
            300.0 + 10 * number,
            ReadingQuality.ACTUAL,
        )
        for number in range(RUNS)
    ]
    return iter([Event(topics.readings(resource_id), "POWER", reading) for reading in readings])


@asynccontextmanager
async def served(settled: Settled) -> AsyncIterator[Served]:
    """Serve /graphql and the REST interface, with the server and the gate of `wattgate serve`."""
    settings = Settings(_env_file=None, database_url=settled.url)
    gateway = build_gateway(settings)
    rest = build_routes(
        OPERATIONS,
        runner=gateway.runner,
        schema=gateway.schema,
        authenticate=gateway.authenticator.authenticate,
        bodies=gateway.bodies,
        budgets=gateway.budgets,
        address_limits=gateway.address_limits,
    )
    app = serve_gateway(settings, gateway, [Mount(settings.base_path, RestRouter(rest))])
    async with gateway.bus, gateway.realtime, serving(app) as url, httpx.AsyncClient(base_url=url, timeout=60) as http:
        yield Served(gateway, settled.one, http)
    await gateway.database.close()


async def add_breached_rule(post: Post, alert_type_id: str) -> None:
    """Add a rule, and readings that break it."""
    tenant = post.tenant
    resource_id = await tenant.add_resource()
    rule = NewAlertRule(
        name="Too much",
        kind=RuleKind.THRESHOLD,
        window_minutes=60,
        threshold=Decimal("0.25"),
        alert_type_id=ID(alert_type_id),
        channels=[Channel.EMAIL],
        resource_id=ID(resource_id),
    )
    await post.run(operation("add_alert_rule"), input=rule)
    start = post.clock.now.replace(minute=30)
    await tenant.record(resource_id, *((start + number * timedelta(minutes=30), "1") for number in (1, 2)))
    post.pass_time(timedelta(hours=2))


async def send_mail(post: Post, server: MailServer, rules: AlertRuleWorker, handlers: Any) -> None:
    """Evaluate the rules that are due, and send the mails."""
    before = len(server.taken)
    assert await rules.evaluate_pending() == 1
    assert await post.worker_with(handlers).deliver_due() == 1
    assert len(server.taken) == before + 1


async def trace_mail(tracer: Tracer, tenant: Tenant) -> list[str]:
    """Return the modules from a rule that is due to the mail at the server."""
    post = Post(tenant)
    await post.clear()
    post.clock.now = NOW
    new_type = NewAlertType(name="Too much", system_alert_type_id="JOURNEY", rule_kind=RuleKind.THRESHOLD)
    alert_type_id = (await post.run(operation("add_alert_type"), input=new_type)).alert_type_id
    template = NewTemplateText(name="Mail", html_template="<p>{{ value | quantity: unit }}</p>", active=True)
    kind = {"alert_type_id": alert_type_id, "channel_type": Channel.EMAIL, "culture_code": "en-GB"}
    await post.run(operation("add_template_for"), **kind, input=template)
    async with mail_server() as server:
        settings = Settings(_env_file=None, smtp_url=f"smtp://127.0.0.1:{server.port}", **SENDER)
        handlers = await asyncio.to_thread(create_delivery_handlers, settings, post.runner, post.clock)
        send = partial(send_mail, post, server, AlertRuleWorker(post.runner, post.hub), handlers)
        modules = await follow(tracer, send, partial(add_breached_rule, post, str(alert_type_id)))
        for handler in handlers.values():
            if handler.close is not None:
                await handler.close()
    return modules


async def trace_journeys(folder: Path) -> list[Journey]:
    """Trace all journeys through gateways on a new SQLite database."""
    tracer = Tracer()
    tracer.install()
    async with settled_in(folder, is_shared=False) as settled:
        async with served(settled) as house:
            ids = settled.one.ids
            topic = topics.readings(ids["resource"])
            query = await follow(tracer, house.query_home)
            async with house.subscribed(READINGS, ids["resource"], topic) as hear:
                reading = await follow(tracer, partial(house.record_reading, hear, new_readings()))
            async with house.subscribed(DISPLAY, ids["virtual_entity"], topic) as hear:
                await hear()
                frame = await follow(tracer, partial(house.show_frame, hear, power_events(ids["resource"])))
        mail = await trace_mail(tracer, settled.one)
    return [
        Journey("A GraphQL query of a home", "from the bytes of the request to those of the response", query),
        Journey("A reading", "from a REST request to the message of a subscriber on a WebSocket", reading),
        Journey("An alert", "from a rule that is due to the mail at the mail server", mail),
        Journey("A frame of a display", "from a reading of power on the event bus to the frame on a WebSocket", frame),
    ]


def traced_journeys() -> list[Journey]:
    """Trace the journeys in a new process."""
    command = [sys.executable, "-W", "ignore", "-m", "tests.support.journeys"]
    output = subprocess.run(command, cwd=PACKAGE.parent, stdout=subprocess.PIPE, check=True, timeout=600).stdout
    return [Journey(*journey) for journey in json.loads(output)]


def print_journeys() -> None:
    """Print the journeys as JSON."""
    with TemporaryDirectory() as folder:
        print(json.dumps(asyncio.run(trace_journeys(Path(folder)))))  # noqa: T201 (it is the output of the process)


if __name__ == "__main__":
    print_journeys()
