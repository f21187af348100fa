"""What the gateway counts and measures, as Prometheus metrics. Whoever does the thing counts it.

Under several processes (`wattgate serve --workers`) each process writes its values to a folder, and what is told is
their sum; a gauge counts the processes that live. Labels take few values: no id, no path, no name that a caller chose.
"""

import asyncio

from prometheus_client import (
    REGISTRY,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
)
from prometheus_client.exposition import choose_encoder
from prometheus_client.multiprocess import MultiProcessCollector

disable_created_metrics()  # type: ignore[no-untyped-call]  # the times of their beginning: a second series each

_REQUEST_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10)
"""Those of OpenTelemetry's http.server.request.duration."""

_SHORT_BUCKETS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1)
"""For what takes a part of a turn of the event loop."""

_LAG_BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)

TALLY_SECONDS = 0.25


class Tally:
    """A counter that is told a little later, for what is counted with every message. It needs a running event loop."""

    def __init__(self, counter: Counter) -> None:
        self.counter = counter
        self._untold = 0

    def add(self, count: int) -> None:
        """Count some."""
        if not self._untold:
            asyncio.get_running_loop().call_later(TALLY_SECONDS, self._tell)
        self._untold += count

    def _tell(self) -> None:
        self.counter.inc(self._untold)
        self._untold = 0


CLIENTS = Gauge("wattgate_num_clients", "Open WebSocket connections and event streams.", multiprocess_mode="livesum")
SUBSCRIPTIONS = Gauge("wattgate_num_subscriptions", "Open subscriptions.", multiprocess_mode="livesum")
CHANNELS = Gauge(
    "wattgate_num_channels", "Topics with subscribers, counted in each process.", multiprocess_mode="livesum"
)
GROUPS = Gauge(
    "wattgate_num_groups",
    "Groups of subscribers that share one execution, counted in each process.",
    multiprocess_mode="livesum",
)
SERVER_DISCONNECTS = Counter(
    "wattgate_client_num_server_disconnects", "WebSocket connections that the gateway closed, by close code.", ["code"]
)
RECOVER = Counter(
    "wattgate_client_recover",
    "Subscriptions resumed from a position, by whether every event was recovered.",
    ["recovered"],
)
CONNECTION_LIMIT_REACHED = Counter(
    "wattgate_client_connection_limit_reached",
    "Connections rejected or replaced, by the limit that was reached.",
    ["limit"],
)
PING_PONG_SECONDS = Histogram(
    "wattgate_ping_pong_duration_seconds", "Time from a ping to its pong.", buckets=_REQUEST_BUCKETS
)
MESSAGES_SENT = Tally(Counter("wattgate_transport_messages_sent", "Messages sent to subscribers."))
MESSAGES_SENT_BYTES = Tally(
    Counter("wattgate_transport_messages_sent_size", "Bytes of the messages sent to subscribers.")
)
PUB_SUB_LAG_SECONDS = Histogram(
    "wattgate_pub_sub_lag_seconds",
    "Time from the publication of an event to its arrival at a process.",
    buckets=_LAG_BUCKETS,
)
BROADCAST_SECONDS = Histogram(
    "wattgate_broadcast_duration_seconds", "Time to pass an event to all its subscribers.", buckets=_SHORT_BUCKETS
)
COMMAND_SECONDS = Histogram(
    "wattgate_command_duration_seconds",
    "Time to process a message from a WebSocket, by its type.",
    ["type"],
    buckets=_REQUEST_BUCKETS,
)
EVENTS_LOST = Counter(
    "wattgate_events_lost", "Events that the gateway could not publish to the bus or receive from it."
)
DELIVERIES = Counter(
    "wattgate_deliveries", "Attempts to deliver mail, pushes and webhooks, by kind and outcome.", ["kind", "outcome"]
)
BUDGET_REFUSALS = Counter(
    "wattgate_budget_refusals", "Requests rejected because a budget was empty, by the policy of the budget.", ["policy"]
)
HTTP_SECONDS = Histogram(
    "wattgate_http_server_request_duration_seconds",
    "Time to answer a request, without event streams; by method, route and status.",
    ["method", "route", "status"],
    buckets=_REQUEST_BUCKETS,
)

METRICS = (
    CLIENTS,
    SUBSCRIPTIONS,
    CHANNELS,
    GROUPS,
    SERVER_DISCONNECTS,
    RECOVER,
    CONNECTION_LIMIT_REACHED,
    PING_PONG_SECONDS,
    MESSAGES_SENT.counter,
    MESSAGES_SENT_BYTES.counter,
    PUB_SUB_LAG_SECONDS,
    BROADCAST_SECONDS,
    COMMAND_SECONDS,
    EVENTS_LOST,
    DELIVERIES,
    BUDGET_REFUSALS,
    HTTP_SECONDS,
)
"""All of them, in the order of the documentation."""


def summed(folder: str | None = None) -> CollectorRegistry:
    """Where metrics are read: the sum over all processes that write to a folder (by default that of
    PROMETHEUS_MULTIPROC_DIR, which the launcher sets); where there is none, those of this process."""
    registry = CollectorRegistry()
    try:
        MultiProcessCollector(registry, folder)  # type: ignore[no-untyped-call]
    except ValueError:  # its way to say that there is no folder
        return REGISTRY
    return registry


def told(accept: str) -> tuple[bytes, str]:
    """The metrics as Prometheus reads them, and the media type, by what its request accepts."""
    encode, media_type = choose_encoder(accept)
    return encode(summed()), media_type
