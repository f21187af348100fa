"""Prometheus metrics of the gateway. Each module updates its own metrics.

With several processes (`wattgate serve --workers`), each process writes its values to a folder, and the exported value
is their sum. Gauges sum over running processes only. Labels have few values: never a path or a caller's text, and no
ID but those of the first applications.
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

from wattgate.enums import DeliveryKind

disable_created_metrics()  # type: ignore[no-untyped-call]  # a creation time would double the series

_REQUEST_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10)
"""The buckets of OpenTelemetry's http.server.request.duration, in seconds."""

_LOOP_TURN_BUCKETS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1)
"""Buckets in seconds for work within one iteration of the event loop."""

_LAG_BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)

BATCH_SECONDS = 0.25

DELIVERY_OUTCOMES = ("sent", "retry", "refused")


class BatchedCounter:
    """A counter that is updated at most every BATCH_SECONDS, for events as frequent as messages.

    It needs a running event loop.
    """

    def __init__(self, counter: Counter) -> None:
        self.counter = counter
        self._pending = 0

    def add(self, count: int) -> None:
        """Add to the count."""
        if not self._pending:
            asyncio.get_running_loop().call_later(BATCH_SECONDS, self._flush)
        self._pending += count

    def _flush(self) -> None:
        self.counter.inc(self._pending)
        self._pending = 0


ACCESSES_DROPPED = Counter(
    "wattgate_access_log_dropped",
    "Reads of households' data that the access log does not hold, because too many waited for storage.",
)
REPLICA_READS = Counter(
    "wattgate_database_replica_reads",
    "Readers of queries while a read replica is set, by outcome: replica, or the reason to use the primary.",
    ["outcome"],
)
REPLICA_LAG = Gauge(
    "wattgate_database_replica_lag_bytes",
    "Bytes of the write-ahead log that the read replica lacked when a query last asked it.",
    multiprocess_mode="livemax",
)
OPEN_CONNECTIONS = Gauge(
    "wattgate_num_clients", "Open WebSocket connections and event streams.", multiprocess_mode="livesum"
)
OPEN_SUBSCRIPTIONS = Gauge("wattgate_num_subscriptions", "Open subscriptions.", multiprocess_mode="livesum")
WATCHED_TOPICS = Gauge(
    "wattgate_num_channels", "Topics with subscribers, counted in each process.", multiprocess_mode="livesum"
)
SUBSCRIBER_GROUPS = Gauge(
    "wattgate_num_groups",
    "Groups of subscribers that share one execution, counted in each process.",
    multiprocess_mode="livesum",
)
SERVER_DISCONNECTS = Counter(
    "wattgate_client_num_server_disconnects", "WebSocket connections that the gateway closed, by close code.", ["code"]
)
RECOVERIES = Counter(
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
MESSAGES_SENT = BatchedCounter(Counter("wattgate_transport_messages_sent", "Messages sent to subscribers."))
MESSAGES_SENT_BYTES = BatchedCounter(
    Counter("wattgate_transport_messages_sent_size", "Bytes of the messages sent to subscribers.")
)
PUB_SUB_LAG_SECONDS = Histogram(
    "wattgate_pub_sub_lag_seconds",
    "Time from the publication of an event to its arrival at a process.",
    buckets=_LAG_BUCKETS,
)
BROADCAST_SECONDS = Histogram(
    "wattgate_broadcast_duration_seconds", "Time to pass an event to all its subscribers.", buckets=_LOOP_TURN_BUCKETS
)
COMMAND_SECONDS = Histogram(
    "wattgate_command_duration_seconds",
    "Time to process a message from a WebSocket, by its type.",
    ["type"],
    buckets=_REQUEST_BUCKETS,
)
EVENTS_LOST = Counter("wattgate_events_lost", "Events that the gateway could not publish to Redis within a second.")
REDIS_DISCONNECTED = Gauge(
    "wattgate_redis_disconnected",
    "Processes that wait for the connection to Redis which brings live events.",
    multiprocess_mode="livesum",
)
DELIVERIES = Counter(
    "wattgate_deliveries", "Attempts to deliver mail, pushes and webhooks, by kind and outcome.", ["kind", "outcome"]
)
for _kind in DeliveryKind:
    for _outcome in DELIVERY_OUTCOMES:
        DELIVERIES.labels(_kind.value, _outcome)  # at 0 from the start, so that Prometheus sees the first increment
RATE_LIMIT_REJECTIONS = Counter(
    "wattgate_budget_refusals", "Requests rejected because a budget was empty, by the policy of the budget.", ["policy"]
)
APPLICATION_COST = Counter(
    "wattgate_application_cost",
    "Cost charged to the budgets of the callers of an application, by its ID; of strangers without one as `none`.",
    ["application"],
)
APPLICATION_REFUSALS = Counter(
    "wattgate_application_refusals",
    "Requests that an empty budget refused, by the ID of the application of the caller.",
    ["application"],
)
REFUSED_CONNECTIONS = Counter(
    "wattgate_http_refused_connections",
    "HTTP connections refused by a limit (total, address) or for a malformed or too large request (message), and cut "
    "because the client does not read (unread).",
    ["limit"],
)
for _limit in ("total", "address", "message", "unread"):
    REFUSED_CONNECTIONS.labels(_limit)
LOOP_DELAY_SECONDS = Histogram(
    "wattgate_event_loop_delay_seconds",
    "Time by which a timer of the event loop is late, measured 20 times a second.",
    buckets=_LAG_BUCKETS,
)
HTTP_SECONDS = Histogram(
    "wattgate_http_server_request_duration_seconds",
    "Time to answer a request, without event streams; by method, route and status.",
    ["method", "route", "status"],
    buckets=_REQUEST_BUCKETS,
)

METRICS = (
    OPEN_CONNECTIONS,
    OPEN_SUBSCRIPTIONS,
    WATCHED_TOPICS,
    SUBSCRIBER_GROUPS,
    SERVER_DISCONNECTS,
    RECOVERIES,
    CONNECTION_LIMIT_REACHED,
    PING_PONG_SECONDS,
    MESSAGES_SENT.counter,
    MESSAGES_SENT_BYTES.counter,
    PUB_SUB_LAG_SECONDS,
    BROADCAST_SECONDS,
    COMMAND_SECONDS,
    EVENTS_LOST,
    REDIS_DISCONNECTED,
    DELIVERIES,
    RATE_LIMIT_REJECTIONS,
    APPLICATION_COST,
    APPLICATION_REFUSALS,
    REFUSED_CONNECTIONS,
    LOOP_DELAY_SECONDS,
    HTTP_SECONDS,
    ACCESSES_DROPPED,
    REPLICA_READS,
    REPLICA_LAG,
)
"""All metrics, in the order of the documentation."""


def build_registry(directory: str | None = None) -> CollectorRegistry:
    """Return the registry to read metrics from.

    It sums over all processes that write to the folder, by default PROMETHEUS_MULTIPROC_DIR, which the launcher sets.
    Without a folder, it has the metrics of this process.
    """
    registry = CollectorRegistry()
    try:
        MultiProcessCollector(registry, directory)  # type: ignore[no-untyped-call]
    except ValueError:  # raised if there is no folder
        return REGISTRY
    return registry


def render_metrics(accept: str) -> tuple[bytes, str]:
    """Return the metrics and their media type, in the format that the Accept header of the request selects."""
    encode, media_type = choose_encoder(accept)
    return encode(build_registry()), media_type
