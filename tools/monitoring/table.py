"""The table for operators: each metric with its use and panel, and each alert.

`make generate` writes the documentation, the rules of Prometheus and the dashboard of Grafana from it. Name, type,
labels and meaning of a metric come from the metric itself (`wattgate/metrics.py`).
"""

from dataclasses import dataclass
from enum import Enum

from prometheus_client.metrics import MetricWrapperBase

from wattgate import metrics


class Section(Enum):
    """A row of the dashboard."""

    DISPLAYS = "Displays and live data"
    REQUESTS = "Requests"
    SERVERS = "Processes, database and deliveries"


class Unit(Enum):
    """The unit of a panel, by its name in Grafana."""

    COUNT = "short"
    PER_SECOND = "ops"
    SECONDS = "s"
    BYTES = "bytes"
    BYTES_PER_SECOND = "Bps"


@dataclass(frozen=True)
class MonitoredMetric:
    """A metric, its panel on the dashboard, and what operators read from it (Markdown).

    A histogram with `counted_by` has a second panel: the rate of what it observes, by this label.
    """

    metric: MetricWrapperBase
    section: Section
    title: str
    unit: Unit
    use: str
    counted_by: str | None = None


class Severity(Enum):
    """How soon somebody has to act."""

    CRITICAL = "critical"  # now: households are affected
    WARNING = "warning"  # on the next working day


@dataclass(frozen=True)
class Alert:
    """A rule of Prometheus. `minutes` is how long the expression must hold; `action` says what to do."""

    name: str
    expression: str
    minutes: int
    severity: Severity
    summary: str
    action: str


MONITORED = (
    MonitoredMetric(
        metrics.OPEN_CONNECTIONS,
        Section.DISPLAYS,
        "Open connections",
        Unit.COUNT,
        "capacity; alert on a sudden fall",
    ),
    MonitoredMetric(
        metrics.OPEN_SUBSCRIPTIONS,
        Section.DISPLAYS,
        "Open subscriptions",
        Unit.COUNT,
        "capacity; several for each client are usual",
    ),
    MonitoredMetric(
        metrics.WATCHED_TOPICS,
        Section.DISPLAYS,
        "Topics with subscribers",
        Unit.COUNT,
        "load on Redis and memory",
    ),
    MonitoredMetric(
        metrics.SUBSCRIBER_GROUPS,
        Section.DISPLAYS,
        "Groups of subscribers",
        Unit.COUNT,
        "work for each event; far fewer than subscriptions if many displays send the same document",
    ),
    MonitoredMetric(
        metrics.SERVER_DISCONNECTS,
        Section.DISPLAYS,
        "Connections closed by the gateway",
        Unit.PER_SECOND,
        "4403 tokens, 4503 drains, 4508 slow readers, 4509 and 4511 limits; alert on 4508 to 4511",
    ),
    MonitoredMetric(
        metrics.RECOVERIES,
        Section.DISPLAYS,
        "Resumed subscriptions",
        Unit.PER_SECOND,
        "`false` means a gap at a display; alert if it grows",
    ),
    MonitoredMetric(
        metrics.CONNECTION_LIMIT_REACHED,
        Section.DISPLAYS,
        "Connections above a limit",
        Unit.PER_SECOND,
        "screens that replace each other, or a limit that is too low",
    ),
    MonitoredMetric(
        metrics.PING_PONG_SECONDS,
        Section.DISPLAYS,
        "Ping to pong",
        Unit.SECONDS,
        "quality of the links to displays; load of the event loop",
    ),
    MonitoredMetric(
        metrics.MESSAGES_SENT.counter,
        Section.DISPLAYS,
        "Messages to subscribers",
        Unit.PER_SECOND,
        "traffic",
    ),
    MonitoredMetric(
        metrics.MESSAGES_SENT_BYTES.counter,
        Section.DISPLAYS,
        "Bytes to subscribers",
        Unit.BYTES_PER_SECOND,
        "bandwidth, without frames and TLS",
    ),
    MonitoredMetric(
        metrics.PUB_SUB_LAG_SECONDS,
        Section.DISPLAYS,
        "Lag of events",
        Unit.SECONDS,
        "delay of displays; needs clocks that agree with the clock of Redis; alert if it reaches seconds",
    ),
    MonitoredMetric(
        metrics.BROADCAST_SECONDS,
        Section.DISPLAYS,
        "Time of a broadcast",
        Unit.SECONDS,
        "time for which an event blocks everything else in a process; alert above 0.1 s",
    ),
    MonitoredMetric(
        metrics.COMMAND_SECONDS,
        Section.REQUESTS,
        "Time of messages from WebSockets",
        Unit.SECONDS,
        "logins and starts of operations; slow if the database is slow",
    ),
    MonitoredMetric(
        metrics.EVENTS_LOST,
        Section.DISPLAYS,
        "Lost events",
        Unit.PER_SECOND,
        "alert on any",
    ),
    MonitoredMetric(
        metrics.REDIS_DISCONNECTED,
        Section.DISPLAYS,
        "Processes without live events",
        Unit.COUNT,
        "alert if it is not 0: displays of these processes are not live",
    ),
    MonitoredMetric(
        metrics.DELIVERIES,
        Section.SERVERS,
        "Attempts to deliver",
        Unit.PER_SECOND,
        "share of `retry` and `refused` beside `sent`; alert if nothing is `sent` for long",
    ),
    MonitoredMetric(
        metrics.RATE_LIMIT_REJECTIONS,
        Section.REQUESTS,
        "Requests rejected by a budget",
        Unit.PER_SECOND,
        "clients that send too much, or budgets that are too low; alert on `application` and `anonymous`",
    ),
    MonitoredMetric(
        metrics.APPLICATION_COST,
        Section.REQUESTS,
        "Cost by application",
        Unit.PER_SECOND,
        "the applications that use the gateway most",
    ),
    MonitoredMetric(
        metrics.APPLICATION_REFUSALS,
        Section.REQUESTS,
        "Refused requests by application",
        Unit.PER_SECOND,
        "whose budget is too low, or whose client sends too much",
    ),
    MonitoredMetric(
        metrics.REFUSED_CONNECTIONS,
        Section.REQUESTS,
        "Refused HTTP connections",
        Unit.PER_SECOND,
        "connections above the [limits of the HTTP server](limits.md#connections-and-slow-clients); alert on `total`",
    ),
    MonitoredMetric(
        metrics.LOOP_DELAY_SECONDS,
        Section.SERVERS,
        "Delay of the event loop",
        Unit.SECONDS,
        "time for which one request holds up all others of a process; alert if any is above 0.25 s for long",
    ),
    MonitoredMetric(
        metrics.HTTP_SECONDS,
        Section.REQUESTS,
        "Time of requests",
        Unit.SECONDS,
        "traffic, errors and latency; alert on 5xx and on the 99th percentile",
        counted_by="status",
    ),
    MonitoredMetric(
        metrics.ACCESSES_DROPPED,
        Section.SERVERS,
        "Entries that the access log lacks",
        Unit.PER_SECOND,
        "alert if it grows: the database does not store the log",
    ),
    MonitoredMetric(
        metrics.REPLICA_READS,
        Section.SERVERS,
        "Readers of queries by server",
        Unit.PER_SECOND,
        "`replica` is the usual one; alert if `behind` or `away` stay for long",
    ),
    MonitoredMetric(
        metrics.REPLICA_LAG,
        Section.SERVERS,
        "Lag of the read replica",
        Unit.BYTES,
        "alert if it grows for long",
    ),
)
"""One row for each metric, in the order of the documentation."""

_REQUESTS = "wattgate_http_server_request_duration_seconds"
_NO_PROBES = 'route!~"/healthz|/readyz"'


def _increase(series: str, window: str, by: str = "") -> str:
    """Return the growth of a counter in a window, over all processes or by a label."""
    return f"sum {f'by ({by}) ' if by else ''}(increase({series}[{window}]))"


_ANSWERS = _increase(f"{_REQUESTS}_count{{{_NO_PROBES}}}", "15m")
_FAILURES = _increase(f'{_REQUESTS}_count{{status=~"5..",{_NO_PROBES}}}', "15m")
_DELIVERIES = "wattgate_deliveries_total"


def _deliveries_fail(kinds: str) -> str:
    """Return the expression for kinds of which nothing was sent for three hours, and attempts failed."""
    retried, refused, sent = (
        _increase(f'{_DELIVERIES}{{kind{kinds},outcome="{outcome}"}}', "3h", by="kind")
        for outcome in ("retry", "refused", "sent")
    )
    return f"({retried} > 0 or {refused} > 3) unless {sent} > 0"


def _percentile(histogram: str, by: str = "", of: str = "") -> str:
    """Return the 99th percentile in the last five minutes, over all processes or by a label."""
    return (
        f"histogram_quantile(0.99, sum by ({', '.join(filter(None, ('le', by)))}) (rate({histogram}_bucket{of}[5m])))"
    )


ALERTS = (
    Alert(
        "WattgateDown",
        'up{job="wattgate"} == 0',
        2,
        Severity.CRITICAL,
        "Prometheus cannot read the metrics of a process",
        "Look whether the process runs and what its log says. If it runs, check `WATTGATE_METRICS_HOST`, "
        "`WATTGATE_METRICS_PORT` and the network between it and Prometheus.",
    ),
    Alert(
        "WattgateNoGateway",
        "absent(wattgate_event_loop_delay_seconds_count > 0)",
        2,
        Severity.CRITICAL,
        "Prometheus reads the metrics of no gateway",
        "Look whether a gateway runs, and whether Prometheus has its address.",
    ),
    Alert(
        "WattgateRequestsFail",
        f"{_FAILURES} > 0.01 * {_ANSWERS} and {_FAILURES} > 5",
        0,
        Severity.CRITICAL,
        "more than 1 % of the requests fail because of the gateway",
        "Search the log for the trace ID of such an answer. `UNAVAILABLE` names the server that does not answer: run "
        "`wattgate doctor`.",
    ),
    Alert(
        "WattgateRequestsSlow",
        _percentile(_REQUESTS, of='{route="/graphql"}') + " > 1",
        10,
        Severity.WARNING,
        "1 % of the GraphQL requests take longer than a second",
        "Look at the load of the database and of the processors. Add gateways, or a read replica.",
    ),
    Alert(
        "WattgateEventsLost",
        "sum(increase(wattgate_events_lost_total[5m])) > 0",
        0,
        Severity.WARNING,
        "stored readings did not arrive live: Redis was unavailable for too long, or is full",
        "Check Redis with `wattgate doctor`. The displays have been informed and show the contents of the database.",
    ),
    Alert(
        "WattgateRedisDisconnected",
        "sum(wattgate_redis_disconnected) > 0",
        2,
        Severity.CRITICAL,
        "displays are not live: processes wait for their connection to Redis",
        "Check Redis with `wattgate doctor`, and look at its log.",
    ),
    Alert(
        "WattgateEventsLate",
        f"{_percentile('wattgate_pub_sub_lag_seconds')} > 1",
        5,
        Severity.WARNING,
        "displays are behind: Redis or a process is busy, or clocks differ",
        "Run `wattgate doctor` on each machine: it compares the clocks. Then look at the load of Redis and of the "
        "gateways.",
    ),
    Alert(
        "WattgateSubscriptionsNotRecovered",
        'sum(rate(wattgate_client_recover_total{recovered="false"}[15m])) > '
        "0.5 * sum(rate(wattgate_client_recover_total[15m])) and "
        'sum(increase(wattgate_client_recover_total{recovered="false"}[15m])) > 10',
        0,
        Severity.WARNING,
        "displays reconnect later than their streams reach back, or Redis was restarted",
        "If Redis was not restarted, look at the links of the displays, and at the memory of Redis.",
    ),
    Alert(
        "WattgateClientsCutOff",
        'sum by (code) (rate(wattgate_client_num_server_disconnects_total{code=~"4508|4509|4510|4511"}[15m])) > 1',
        0,
        Severity.WARNING,
        "slow readers, screens that replace each other, clients that send too much, or a limit that is used up",
        "Look up the close code in the reference of live data, and the caller in the log.",
    ),
    Alert(
        "WattgateClientsGone",
        "sum(wattgate_num_clients) < 0.5 * max_over_time(sum(wattgate_num_clients)[1h:1m]) and "
        "max_over_time(sum(wattgate_num_clients)[1h:1m]) >= 20",
        2,
        Severity.CRITICAL,
        "half of the displays are gone: a link, a proxy or a certificate has failed",
        "Open a display from outside. Check the certificate and the log of the proxy.",
    ),
    Alert(
        "WattgateBroadcastsSlow",
        f"{_percentile('wattgate_broadcast_duration_seconds')} > 0.1",
        10,
        Severity.WARNING,
        "an event for many subscribers blocks a process for more than 0.1 seconds",
        "Spread the subscribers over more gateways.",
    ),
    Alert(
        "WattgateEventLoopBlocked",
        f"{_percentile('wattgate_event_loop_delay_seconds', by='instance')} > 0.25",
        10,
        Severity.WARNING,
        "requests hold up all others of a process",
        "Look at the load of the processors of this machine. If they have time to spare, set "
        "`WATTGATE_ENVIRONMENT=development` on one gateway: its log then has the code that blocks.",
    ),
    Alert(
        "WattgateConnectionsRefused",
        'sum(increase(wattgate_http_refused_connections_total{limit="total"}[5m])) > 0',
        0,
        Severity.CRITICAL,
        "a gateway refuses connections, because it has as many as it may have",
        "Add gateways, or raise `WATTGATE_MAX_CONNECTIONS` and the limit of open files.",
    ),
    Alert(
        "WattgateBudgetsEmpty",
        'sum by (policy) (rate(wattgate_budget_refusals_total{policy=~"application|anonymous"}[15m])) > 1',
        0,
        Severity.WARNING,
        "requests are rejected because the budget of an application or of anonymous callers is empty",
        "Find the caller in the log (`RATE_LIMITED`). Raise the budget if these requests are wanted.",
    ),
    Alert(
        "WattgateMessagesFail",
        _deliveries_fail('!="webhook"'),
        0,
        Severity.CRITICAL,
        "no mail or push of this kind was sent for 3 hours, and attempts failed",
        "Look at the outbox page and the log of the workers. Check the mail server with `wattgate doctor`.",
    ),
    Alert(
        "WattgateWebhooksFail",
        _deliveries_fail('="webhook"'),
        0,
        Severity.WARNING,
        "no webhook was sent for 3 hours, and attempts failed",
        "Look at the deliveries of the webhooks in the log of the workers. Usually, a receiver has failed.",
    ),
    Alert(
        "WattgateAccessLogIncomplete",
        "sum(increase(wattgate_access_log_dropped_total[15m])) > 0",
        0,
        Severity.CRITICAL,
        "the access log lacks reads of households' data, because the database does not store it",
        "Check the database with `wattgate doctor`.",
    ),
    Alert(
        "WattgateReplicaUnused",
        'sum(rate(wattgate_database_replica_reads_total{outcome!="replica"}[5m])) > '
        "0.5 * sum(rate(wattgate_database_replica_reads_total[5m]))",
        10,
        Severity.WARNING,
        "queries read from the primary, because the read replica is behind or does not answer",
        "Run `wattgate doctor`, and look at the replication of PostgreSQL.",
    ),
)
"""The alerts, in the order of the documentation."""
