"""How long a small query of one tenant waits while a client of another tenant, or of none, floods the gateway.

The gateway is `wattgate serve` with the default settings, on PostgreSQL. The client that floods has one core; the
gateway, PostgreSQL and the tenant with the small query have both. Only loopback addresses are used. A machine with
other work measures that work.

`python -m bench.flood` measures all floods, `python -m bench.flood log-ins pairings` those whose name begins so.
"""

import asyncio
import http.client
import multiprocessing
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import orjson
import uvloop
from pydantic import SecretStr
from sqlalchemy import text

from bench.flood_client import FloodTask, run_flood
from bench.floods import ALERT_TYPE, AUDIENCE, FLOODS, Attacker
from bench.gateway import (
    PASSWORD,
    SeededGateway,
    add_user,
    free_port,
    seed,
    seeded_gateway,
    start_server,
    wait_until_served,
)
from bench.goals import Judgement, at_most, print_goals
from bench.pinned import cores
from bench.slow_receiver import slow_receiver
from bench.table import print_table
from tests.support.house import operation
from tests.support.scopes import EVERYTHING
from tests.support.servers import database_on, postgresql
from wattgate.app.server.factory import Gateway
from wattgate.app.settings import Settings
from wattgate.db.encryption.key_ring import new_key
from wattgate.db.scope.tenancy_guard import SCOPED_OPTION
from wattgate.operations.accounts import provisioning
from wattgate.operations.types.identity.directories import NewDirectory
from wattgate.operations.types.messages.alert_types import NewAlertType
from wattgate.operations.types.messages.webhooks import NewWebhookEndpoint
from wattgate.principal import Principal, Role

SECONDS = 4.0
"""The duration of a flood."""
SETTLE_SECONDS = 1.0
"""The time before each flood, in which the small query is measured alone."""
PAUSE_SECONDS = 0.02
"""The pause between two small queries."""
LIMIT_MS = 250.0
LOOPBACK = ip_network("127.0.0.0/8")
SMALL_QUERY = "{ viewer { resources(first: 1) { edges { node { name } } } } }"


@dataclass(frozen=True)
class Waits:
    """The durations of the small queries of a measurement, in ms."""

    milliseconds: list[float]

    @property
    def longest(self) -> float:
        """The longest one."""
        return max(self.milliseconds)

    @property
    def median(self) -> float:
        """The median."""
        return statistics.median(self.milliseconds)


async def bench_flood(names: list[str]) -> list[Judgement]:
    """Measure the floods whose name begins with one of the names. No name means all. Return the longest waits."""
    positions = [n for n, flood in enumerate(FLOODS) if not names or flood.name.startswith(tuple(names))]
    with tempfile.TemporaryDirectory(prefix="wattgate-bench-") as folder, postgresql(Path(folder)) as server:
        async with database_on(server) as url, slow_receiver() as receiver:
            settings = Settings(
                _env_file=None,
                database_url=url,
                secret_keys=SecretStr(new_key()),
                callout_networks=[LOOPBACK],
                callout_http=True,
            )
            async with seeded_gateway(settings, count=0) as seeded:
                gateway = seeded.gateway
                callers = {
                    n: (await _add_attacker(gateway, n, receiver.url), await _add_victim(gateway, n)) for n in positions
                }
                receiver.is_slow = True
                variables = _variables(settings, receiver.url)
                judgements = await asyncio.to_thread(_measure_all, variables, Path(folder, "gateway.log"), callers)
                print(f"requests to slow receivers: {receiver.count:,}", file=sys.stderr)
                return judgements


def _variables(settings: Settings, receiver: str) -> dict[str, str]:
    """Return the environment of the gateway under attack, whose push service is the slow receiver."""
    assert settings.secret_keys is not None
    return {
        "WATTGATE_DATABASE_URL": settings.database_url,
        "WATTGATE_SECRET_KEYS": settings.secret_keys.get_secret_value(),
        "WATTGATE_CALLOUT_NETWORKS": orjson.dumps([str(LOOPBACK)]).decode(),
        "WATTGATE_CALLOUT_HTTP": "true",
        "WATTGATE_PUSH_URL": f"{receiver}/push",
    }


async def _add_attacker(gateway: Gateway, position: int, receiver: str) -> Attacker:
    """Add an application of the flood's own, with accounts, a resource, an alert type and slow servers."""
    name = f"flood{position}"
    username = f"user@{name}.example"
    seeded = await seed(gateway, 1, name=name, username=username, secret=PASSWORD)
    owner = Principal(Role.SYSTEM, application_id=seeded.application_id)
    _, editor_token = await add_user(gateway, seeded.application_id, f"editor@{name}.example", template_editor=True)

    async def run(name: str, **arguments: object) -> Any:
        return await gateway.runner.run(operation(name), owner, arguments)

    values = {"username": f"pushed@{name}.example", "password": PASSWORD}
    pushed = await gateway.runner.run(provisioning.create_user, owner, values)
    await run("add_mobile_app_token", account_id=pushed.account_id, new_token=f"fcm:{name}")
    await run("add_alert_type", input=NewAlertType(name=ALERT_TYPE, system_alert_type_id=ALERT_TYPE))
    await _add_alerts(gateway, seeded, FLOODS[position].alerts)
    await run("add_webhook_endpoint", input=NewWebhookEndpoint(url=f"{receiver}/hook", events=["alert.*"]))
    directory = await run("add_directory", input=NewDirectory(name=name, issuer=receiver, audiences=[AUDIENCE]))
    return Attacker(
        seeded.application_id,
        seeded.token,
        editor_token,
        username,
        PASSWORD,
        resource_id=seeded.resource_ids[0],
        application_name=name,
        directory_id=directory.directory_id,
        issuer=receiver,
        push_user_id=pushed.user_id,
    )


async def _add_alerts(gateway: Gateway, owner: SeededGateway, count: int) -> None:
    """Store alerts of the owner's account that are read, without deliveries."""
    statement = text(
        "INSERT INTO alert (alert_id, application_id, user_id, alert_type_id, system_alert_type_id, channels,"
        " priority, data, created_at, read_at) SELECT gen_random_uuid(), application_id, :user, alert_type_id,"
        " system_alert_type_id, '[\"INBOX\"]', 'LOW', '{}', now() - n * interval '1 minute', now()"
        " FROM alert_type, generate_series(1, :count) AS n WHERE application_id = :application"
    )
    values = {"user": owner.user_id, "application": owner.application_id, "count": count}
    async with gateway.database.session(EVERYTHING) as session:
        await session.execute(statement, values, execution_options=SCOPED_OPTION)
        await session.commit()


async def _add_victim(gateway: Gateway, position: int) -> str:
    """Add an application with an account and a resource for the small queries beside a flood. Return its token."""
    name = f"tenant{position}"
    return (await seed(gateway, 1, name=name, username=f"user@{name}.example")).token


def _measure_all(
    settings: Mapping[str, str], log_path: Path, callers: Mapping[int, tuple[Attacker, str]]
) -> list[Judgement]:
    port = free_port()
    with log_path.open("wb") as log:
        process = start_server(settings, port, log)
    try:
        wait_until_served(port)
        rows, judgements = [], []
        for position, (attacker, token) in callers.items():
            alone, flooded, answers = _measure(position, attacker, port, token)
            name = FLOODS[position].name
            row = (name, f"{alone.longest:,.0f}", f"{flooded.median:,.0f}", f"{flooded.longest:,.0f}")
            print(f"{name}: at most {row[-1]} ms", file=sys.stderr)  # the table comes minutes later
            rows.append((*row, " ".join(f"{count:,} x {status}" for status, count in sorted(answers.items()))))
            judgements.append((at_most(LIMIT_MS, f"{name}: longest wait of another tenant, ms"), flooded.longest))
        columns = ("flood", "longest before, ms", "median, ms", "longest, ms", "answers to the flood, by status")
        print_table("The small query of another tenant", columns, rows)
        return judgements
    finally:
        process.terminate()
        process.wait()


def _measure(position: int, attacker: Attacker, port: int, token: str) -> tuple[Waits, Waits, dict[int, int]]:
    """Measure the small query alone, then beside the flood. Return both and the answers to the flood by status."""
    context = multiprocessing.get_context("spawn")
    started, counts = context.Event(), context.Queue()
    alone = _small_queries(port, token, SETTLE_SECONDS)
    task = FloodTask(position, port, SECONDS, attacker, cores()[1])
    client = context.Process(target=run_flood, args=(task, started, counts))
    client.start()
    started.wait()
    flooded = _small_queries(port, token, SECONDS)
    answers = counts.get()
    client.join()
    return alone, flooded, answers


def _small_queries(port: int, token: str, seconds: float) -> Waits:
    """Send small queries one after the other for some seconds. The last one ends later if it waits."""
    waits, done = list[float](), threading.Event()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    body = orjson.dumps({"query": SMALL_QUERY})
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        before = time.monotonic()
        connection.request("POST", "/graphql", body, {"token": token, "Content-Type": "application/json"})
        answer = orjson.loads(connection.getresponse().read())
        waits.append((time.monotonic() - before) * 1000)
        if "errors" in answer:
            raise RuntimeError(answer["errors"])
        done.wait(PAUSE_SECONDS)
    connection.close()
    return Waits(waits)


if __name__ == "__main__":
    print_goals(uvloop.run(bench_flood(sys.argv[1:])))
