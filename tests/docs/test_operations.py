"""docs/how-to/operate.md and docs/reference/observability.md match the code: metrics, log fields, settings, memory."""

import json
import logging
import re
from pathlib import Path
from uuid import uuid4

from prometheus_client import CollectorRegistry, generate_latest
from starlette.applications import Starlette

from monitoring.table import ALERTS
from tests.support.redis_server import redis_server
from tests.support.watching import reading
from wattgate.app.observability.logs import JsonFormatter
from wattgate.app.server.edge.serving import build_uvicorn_config
from wattgate.app.settings import Settings
from wattgate.enums import TRACE_ID
from wattgate.metrics import METRICS
from wattgate.principal import Principal, Role
from wattgate.realtime.bus import MIN_RETAINED_ENTRIES
from wattgate.realtime.bus.primary import create_finder
from wattgate.realtime.bus.redis import RedisBus
from wattgate.realtime.bus.redis_client import stream_key

DOCS = Path(__file__).parents[2] / "docs"
GUIDE = (DOCS / "how-to" / "operate.md").read_text()
REFERENCE = (DOCS / "reference" / "observability.md").read_text()
PAGE = GUIDE + REFERENCE
FULL_STREAM = 20 * 1024
"""Memory of a Redis stream in bytes, as documented on the page."""


def part(name: str) -> str:
    """Return the text between the two marks with this name."""
    found = re.search(rf"<!-- {name} -->\n(.*?)<!-- end of {name} -->", PAGE, re.DOTALL)
    assert found is not None, name
    return found[1]


def cells(name: str, *columns: int) -> list[list[str]]:
    """Return columns of the table between the marks with this name, without its head."""
    rows = [re.split(r"(?<!\\)\|", row)[1:-1] for row in part(name).splitlines()[2:]]
    return [[row[column].strip() for column in columns] for row in rows]


def registered_metrics() -> list[list[str]]:
    """Return the name, type, labels and help of each metric, as exported to Prometheus."""
    metric_rows = []
    for metric in METRICS:
        (family,) = metric.collect()
        name = f"{family.name}_total" if family.type == "counter" else family.name
        labels = ", ".join(f"`{label}`" for label in metric._labelnames)
        metric_rows.append([f"`{name}`", family.type, labels, family.documentation])
    return metric_rows


def test_page_lists_the_registered_metrics() -> None:
    assert cells("metrics", 0, 1, 2, 3) == registered_metrics()


def test_page_states_the_use_of_every_metric() -> None:
    assert all(use for (use,) in cells("metrics", 4))


def test_alert_rules_use_existing_metrics() -> None:
    registry = CollectorRegistry()
    for metric in METRICS:
        registry.register(metric)
    types = dict(re.findall(r"^# TYPE (\S+) (\S+)$", generate_latest(registry).decode(), re.MULTILINE))
    known = {*types} | {
        f"{name}{more}" for name, kind in types.items() if kind == "histogram" for more in ("_bucket", "_count")
    }
    named = {name for alert in ALERTS for name in re.findall(r"wattgate_\w+", alert.expression)}
    assert named
    assert named <= known
    assert set(re.findall(r"`(wattgate_[a-z_]+)`", PAGE)) <= known


async def test_page_lists_the_log_fields() -> None:
    TRACE_ID.set("4bf92f3577b34da6a3ce929d0e0e4736")
    caller = Principal(Role.ACCOUNT, application_id="a", account_id="b", user_id="c")
    try:
        raise ValueError("it failed")
    except ValueError as error:
        failed = (ValueError, error, error.__traceback__)
    extra = {"caller": caller, "client_address": "192.0.2.1"}
    record = logging.getLogger("wattgate").makeRecord(
        "wattgate", logging.ERROR, __file__, 1, "it failed", (), failed, extra=extra
    )
    assert [f"`{name}`" for name in json.loads(JsonFormatter().format(record))] == [
        name for (name,) in cells("fields", 0)
    ]


def test_settings_on_the_pages_exist() -> None:
    named = {name.lower() for name in re.findall(r"WATTGATE_(\w+)", PAGE)}
    assert named <= set(Settings.model_fields)


def test_page_states_the_keep_alive_timeout() -> None:
    keep_alive = build_uvicorn_config(Starlette()).timeout_keep_alive
    assert f"the gateway keeps them for {keep_alive} seconds" in " ".join(PAGE.split())


async def test_full_stream_uses_at_most_the_documented_redis_memory(tmp_path: Path) -> None:
    topic = f"readings:{uuid4()}"
    async with redis_server(tmp_path, "--appendonly", "no") as server:
        bus = RedisBus(create_finder(server.url))
        async with bus:
            await bus.open_topics([topic])
            for n in range(4 * MIN_RETAINED_ENTRIES):
                await bus.publish([reading(topic, n)])
            used = await server.command("MEMORY", "USAGE", stream_key(topic), "SAMPLES", "0")
    assert 0 < int(used) < FULL_STREAM
    page_text = " ".join(PAGE.split())
    assert f"less than {FULL_STREAM // 1024} KiB" in page_text
    assert f"of {MIN_RETAINED_ENTRIES} events at least" in page_text
