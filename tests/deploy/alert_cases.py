"""Situations for the unit tests of the alert rules by promtool: each alert fires in some and stays quiet in others."""

from dataclasses import dataclass

REQUESTS = "wattgate_http_server_request_duration_seconds"
LOOP = "wattgate_event_loop_delay_seconds"


@dataclass(frozen=True)
class AlertCase:
    """Samples of one per minute, in promtool's notation, and the labels of the alerts that fire after `minutes`."""

    alert: str
    situation: str
    series: dict[str, str]
    minutes: int
    firing: tuple[dict[str, str], ...] = ()


FIRES: tuple[dict[str, str], ...] = ({},)
"""One alert without labels of its own."""


def buckets(histogram: str, upper: str, labels: str = "") -> dict[str, str]:
    """Return samples of a histogram whose observations, 60 a minute, all lie below `upper` and above 0.05."""
    comma = "," if labels else ""
    return {
        f'{histogram}_bucket{{{labels}{comma}le="0.05"}}': "0x60",
        f'{histogram}_bucket{{{labels}{comma}le="{upper}"}}': "0+60x60",
        f'{histogram}_bucket{{{labels}{comma}le="+Inf"}}': "0+60x60",
    }


def requests(status: str, rate: str, route: str = "/graphql") -> dict[str, str]:
    """Return samples of answered requests, such as 6 a minute: `0+6x60`."""
    return {f'{REQUESTS}_count{{method="POST",route="{route}",status="{status}"}}': rate}


def deliveries(kind: str, **outcomes: str) -> dict[str, str]:
    """Return samples of the attempts of a kind, by outcome. Outcomes that are not named stay at 0."""
    counts = dict.fromkeys(("sent", "retry", "refused"), "0x240") | outcomes
    return {f'wattgate_deliveries_total{{kind="{kind}",outcome="{name}"}}': count for name, count in counts.items()}


CASES = (
    AlertCase(
        "WattgateDown",
        "a process does not answer for two minutes",
        {'up{job="wattgate",instance="one:9090"}': "1x60", 'up{job="wattgate",instance="other:9090"}': "1x10 0x20"},
        13,
        ({"job": "wattgate", "instance": "other:9090"},),
    ),
    AlertCase(
        "WattgateDown",
        "a process misses one scrape",
        {'up{job="wattgate",instance="one:9090"}': "1x10 0 1x20"},
        15,
    ),
    AlertCase("WattgateNoGateway", "no process is scraped", {'up{job="other"}': "1x60"}, 10, FIRES),
    AlertCase(
        "WattgateNoGateway", "only a worker is scraped", {f'{LOOP}_count{{instance="worker"}}': "0x60"}, 10, FIRES
    ),
    AlertCase(
        "WattgateNoGateway",
        "a gateway and a worker are scraped",
        {f'{LOOP}_count{{instance="worker"}}': "0x60", f'{LOOP}_count{{instance="one"}}': "0+1200x60"},
        10,
    ),
    AlertCase(
        "WattgateRequestsFail",
        "one of ten requests fails",
        requests("200", "0+90x60") | requests("503", "0+10x60"),
        20,
        FIRES,
    ),
    AlertCase(
        "WattgateRequestsFail",
        "one of a thousand requests fails",
        requests("200", "0+9990x60") | requests("500", "0+10x60"),
        20,
    ),
    AlertCase("WattgateRequestsFail", "all of two requests a minute fail", requests("503", "0+2x60"), 20, FIRES),
    AlertCase("WattgateRequestsFail", "the only request in an hour fails", requests("500", "0x10 1x50"), 14),
    AlertCase(
        "WattgateRequestsFail",
        "a gateway drains while nobody calls it",
        requests("503", "0+60x60", "/readyz") | requests("200", "0+1x60"),
        20,
    ),
    AlertCase("WattgateRequestsFail", "callers send bad requests", requests("400", "0+600x60"), 20),
    AlertCase(
        "WattgateRequestsSlow", "GraphQL takes over a second", buckets(REQUESTS, "2.5", 'route="/graphql"'), 20, FIRES
    ),
    AlertCase("WattgateRequestsSlow", "GraphQL takes half a second", buckets(REQUESTS, "0.5", 'route="/graphql"'), 20),
    AlertCase("WattgateRequestsSlow", "an export is slow", buckets(REQUESTS, "10", 'route="/export"'), 20),
    AlertCase("WattgateEventsLost", "an event is lost", {"wattgate_events_lost_total": "0x10 1x20"}, 12, FIRES),
    AlertCase("WattgateEventsLost", "an event was lost an hour ago", {"wattgate_events_lost_total": "0x5 1x60"}, 60),
    AlertCase(
        "WattgateRedisDisconnected",
        "one process of two has no connection",
        {
            'wattgate_redis_disconnected{instance="one"}': "0x60",
            'wattgate_redis_disconnected{instance="other"}': "0x9 1x50",
        },
        15,
        FIRES,
    ),
    AlertCase("WattgateRedisDisconnected", "Redis restarts", {"wattgate_redis_disconnected": "0x9 1 0x50"}, 15),
    AlertCase("WattgateEventsLate", "events take seconds", buckets("wattgate_pub_sub_lag_seconds", "5"), 20, FIRES),
    AlertCase("WattgateEventsLate", "events take tenths", buckets("wattgate_pub_sub_lag_seconds", "0.25"), 20),
    AlertCase(
        "WattgateSubscriptionsNotRecovered",
        "most subscriptions have a gap",
        {
            'wattgate_client_recover_total{recovered="false"}': "0+5x60",
            'wattgate_client_recover_total{recovered="true"}': "0+1x60",
        },
        30,
        FIRES,
    ),
    AlertCase(
        "WattgateSubscriptionsNotRecovered",
        "some subscriptions have a gap",
        {
            'wattgate_client_recover_total{recovered="false"}': "0+5x60",
            'wattgate_client_recover_total{recovered="true"}': "0+50x60",
        },
        30,
    ),
    AlertCase(
        "WattgateSubscriptionsNotRecovered",
        "a single display was away for a day",
        {'wattgate_client_recover_total{recovered="false"}': "0x10 1x50"},
        20,
    ),
    AlertCase(
        "WattgateClientsCutOff",
        "two slow readers a second are closed",
        {'wattgate_client_num_server_disconnects_total{code="4508"}': "0+120x60"},
        30,
        ({"code": "4508"},),
    ),
    AlertCase(
        "WattgateClientsCutOff",
        "a drain closes all connections",
        {'wattgate_client_num_server_disconnects_total{code="4503"}': "0+600x60"},
        30,
    ),
    AlertCase(
        "WattgateClientsGone",
        "half of the displays disappear",
        {'wattgate_num_clients{instance="one"}': "500x60", 'wattgate_num_clients{instance="other"}': "600x20 0x40"},
        25,
        FIRES,
    ),
    AlertCase("WattgateClientsGone", "they are still gone", {"wattgate_num_clients": "1000x20 0x60"}, 50, FIRES),
    AlertCase("WattgateClientsGone", "some displays disappear", {"wattgate_num_clients": "1000x20 800x40"}, 25),
    AlertCase("WattgateClientsGone", "the only display is switched off", {"wattgate_num_clients": "1x20 0x40"}, 25),
    AlertCase(
        "WattgateBroadcastsSlow",
        "a broadcast takes a quarter of a second",
        buckets("wattgate_broadcast_duration_seconds", "0.25"),
        20,
        FIRES,
    ),
    AlertCase(
        "WattgateBroadcastsSlow",
        "a broadcast takes less than 0.1 seconds",
        buckets("wattgate_broadcast_duration_seconds", "0.1"),
        20,
    ),
    AlertCase(
        "WattgateEventLoopBlocked",
        "the loop of one process is half a second late",
        buckets("wattgate_event_loop_delay_seconds", "0.5", 'instance="one:9090"')
        | buckets("wattgate_event_loop_delay_seconds", "0.1", 'instance="other:9090"'),
        20,
        ({"instance": "one:9090"},),
    ),
    AlertCase(
        "WattgateEventLoopBlocked",
        "the loops are a tenth of a second late",
        buckets("wattgate_event_loop_delay_seconds", "0.1", 'instance="one:9090"'),
        20,
    ),
    AlertCase(
        "WattgateConnectionsRefused",
        "a gateway is full",
        {'wattgate_http_refused_connections_total{limit="total"}': "0+3x60"},
        20,
        FIRES,
    ),
    AlertCase(
        "WattgateConnectionsRefused",
        "one address opens too many connections",
        {'wattgate_http_refused_connections_total{limit="address"}': "0+300x60"},
        20,
    ),
    AlertCase(
        "WattgateBudgetsEmpty",
        "the budget of an application is empty",
        {'wattgate_budget_refusals_total{policy="application"}': "0+120x60"},
        30,
        ({"policy": "application"},),
    ),
    AlertCase(
        "WattgateBudgetsEmpty",
        "the budget of one caller is empty",
        {'wattgate_budget_refusals_total{policy="caller"}': "0+120x60"},
        30,
    ),
    AlertCase(
        "WattgateMessagesFail",
        "the mail server is away, and one mail waits",
        deliveries("email", retry="0x10 1x40 2x150") | deliveries("push", sent="0+9x240"),
        60,
        ({"kind": "email"},),
    ),
    AlertCase(
        "WattgateMessagesFail",
        "the provider of pushes refuses all",
        deliveries("push", refused="0x10 1+1x60"),
        60,
        ({"kind": "push"},),
    ),
    AlertCase(
        "WattgateMessagesFail",
        "some mails are tried again",
        deliveries("email", retry="0+1x240", sent="0+9x240"),
        200,
    ),
    AlertCase(
        "WattgateMessagesFail", "the only mail has a wrong address", deliveries("email", refused="0x10 1x90"), 60
    ),
    AlertCase("WattgateMessagesFail", "nothing is to be delivered", deliveries("email"), 200),
    AlertCase("WattgateMessagesFail", "a webhook fails", deliveries("webhook", retry="0+1x240"), 200),
    AlertCase(
        "WattgateWebhooksFail",
        "the only receiver fails",
        deliveries("webhook", retry="0x10 1x40 2x150"),
        60,
        ({"kind": "webhook"},),
    ),
    AlertCase(
        "WattgateWebhooksFail",
        "one of several receivers fails",
        deliveries("webhook", retry="0+1x240", sent="0+2x240"),
        200,
    ),
    AlertCase(
        "WattgateAccessLogIncomplete",
        "entries are dropped",
        {"wattgate_access_log_dropped_total": "0x10 4x20"},
        15,
        FIRES,
    ),
    AlertCase("WattgateAccessLogIncomplete", "the log is complete", {"wattgate_access_log_dropped_total": "0x60"}, 15),
    AlertCase(
        "WattgateReplicaUnused",
        "the replica lags",
        {
            'wattgate_database_replica_reads_total{outcome="replica"}': "0+1x60",
            'wattgate_database_replica_reads_total{outcome="behind"}': "0+300x60",
        },
        30,
        FIRES,
    ),
    AlertCase(
        "WattgateReplicaUnused",
        "the replica serves",
        {
            'wattgate_database_replica_reads_total{outcome="replica"}': "0+300x60",
            'wattgate_database_replica_reads_total{outcome="away"}': "0+1x60",
        },
        30,
    ),
    AlertCase("WattgateReplicaUnused", "there is no replica", {"wattgate_num_clients": "1x60"}, 30),
)
