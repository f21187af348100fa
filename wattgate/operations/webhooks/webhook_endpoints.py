"""Webhook endpoints: register, change and test them, rotate secrets, send events again."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated

from sqlalchemy import ColumnElement, and_, or_
from sqlmodel import col

from wattgate.db import models
from wattgate.db.column_types import is_literally
from wattgate.db.models.messages.deliveries import MAX_ENDPOINTS
from wattgate.delivery import egress
from wattgate.delivery.channels.webhook import EVENT_PATTERN, matches_any
from wattgate.delivery.webhook_event_codes import EVENT_DESCRIPTIONS, PING_EVENT
from wattgate.enums import WebhookStatus
from wattgate.errors import BadInput, Conflict, Problem, ProblemPath
from wattgate.operations.core.input_limits import apply_input
from wattgate.operations.core.operation import Audit, Call, OperationKind, RestRoute, operation
from wattgate.operations.messages.webhook_events import enqueue_again, enqueue_ping, store_event
from wattgate.operations.types.messages import webhooks as webhook_types
from wattgate.operations.vocabulary import ids
from wattgate.operations.vocabulary.arguments import UNSET, Id
from wattgate.operations.vocabulary.cost_weights import DELIVERY_WEIGHT
from wattgate.operations.vocabulary.tags import Tag
from wattgate.operations.webhooks.endpoint_secrets import (
    MAX_OLD_SECRETS,
    OldSecret,
    set_new_secret,
    store_old_secrets,
    valid_old_secrets,
)
from wattgate.principal import Permission
from wattgate.values.annotations import Described

ENDPOINTS_PATH = "/webhook/endpoint"
ENDPOINT_PATH = ENDPOINTS_PATH + "/{endpointId}"

MAX_OVERLAP = timedelta(days=7)
"""Maximum time that a replaced secret stays valid."""

MAX_EVENTS_PER_CALL = 100
"""Maximum events that a call sends again. Their rows take some milliseconds of the database's one writer."""

MAX_WAITING_EVENTS = 1_000
"""Number of events that wait for an endpoint from which on a call sends it no more."""


Since = Annotated[datetime, Described("First instant of the events to send again, inclusive.")]
OptionalSince = Annotated[
    datetime | None,
    Described("First instant of the events to send again, inclusive. Default: no limit."),
]
After = Annotated[Id | None, Described("ID of the event after which to continue: `nextAfter` of the previous call.")]
Until = Annotated[datetime | None, Described("End of the events to send again, exclusive. Default: now.")]


@dataclass(frozen=True, slots=True)
class IssuedSecretResult:
    endpoint: models.WebhookEndpoint
    secret: str


@operation(
    OperationKind.MUTATION,
    returns=webhook_types.IssuedSecret,
    needs=Permission.WEBHOOK_MANAGE,
    audit=Audit.EVERY_CALL,
    rest=RestRoute("POST", ENDPOINTS_PATH, Tag.WEBHOOKS, status=201),
)
async def add_webhook_endpoint(call: Call, *, input: webhook_types.NewWebhookEndpoint) -> IssuedSecretResult:
    """Register a webhook endpoint, which receives events. An application has at most 50.

    Only this result shows its secret.
    """
    problems = [*_validate_url(call, input.url), *_validate_patterns(input.events)]
    if await call.rows.count(models.WebhookEndpoint) >= MAX_ENDPOINTS:
        problems.append(Problem(("input",), f"exceeds the maximum of {MAX_ENDPOINTS} endpoints; delete one first"))
    _raise_problems(problems)
    endpoint = models.WebhookEndpoint(
        url=input.url,
        events=input.events,
        description=input.description,
        enabled=input.enabled,
        ordered=input.ordered,
        secret="",
    )
    secret = set_new_secret(call, endpoint)
    return IssuedSecretResult(await call.rows.add(endpoint), secret)


@operation(
    OperationKind.MUTATION,
    returns=webhook_types.WebhookEndpoint,
    needs=Permission.WEBHOOK_MANAGE,
    audit=Audit.EVERY_CALL,
    rest=RestRoute("PUT", ENDPOINT_PATH, Tag.WEBHOOKS),
)
async def update_webhook_endpoint(
    call: Call, *, endpoint_id: ids.EndpointId, input: webhook_types.WebhookEndpointChange
) -> models.WebhookEndpoint:
    """Change a webhook endpoint. Omitted fields keep their values.

    Events that wait are sent to the new URL.
    """
    endpoint = await call.rows.edit(models.WebhookEndpoint, endpoint_id)
    problems = _validate_url(call, input.url) if isinstance(input.url, str) else []
    if input.events is not UNSET:
        problems += _validate_patterns(input.events or [])
    _raise_problems(problems)
    changed = apply_input(endpoint, input)
    if input.enabled is True:
        changed.failures, changed.failing_since, changed.paused_until = 0, None, None
        changed.disabled_reason = None
    return changed


@operation(
    OperationKind.MUTATION,
    returns=webhook_types.WebhookEndpoint,
    needs=Permission.WEBHOOK_MANAGE,
    audit=Audit.EVERY_CALL,
    rest=RestRoute("DELETE", ENDPOINT_PATH, Tag.WEBHOOKS),
)
async def delete_webhook_endpoint(call: Call, *, endpoint_id: ids.EndpointId) -> models.WebhookEndpoint:
    """Delete a webhook endpoint. Events that wait for it are not sent; the records of sent events are kept."""
    endpoint = await call.rows.get(models.WebhookEndpoint, endpoint_id)
    await call.rows.delete(models.WebhookEndpoint, col(models.WebhookEndpoint.endpoint_id) == endpoint_id)
    return endpoint


@operation(
    OperationKind.MUTATION,
    returns=webhook_types.IssuedSecret,
    needs=Permission.WEBHOOK_MANAGE,
    audit=Audit.EVERY_CALL,
    rest=RestRoute("POST", ENDPOINT_PATH + "/secret", Tag.WEBHOOKS),
    raises=(Conflict,),
)
async def rotate_webhook_secret(
    call: Call,
    *,
    endpoint_id: ids.EndpointId,
    overlap_hours: Annotated[
        int, Described("How many hours the old secret stays valid beside the new one: 0 to 168.")
    ] = 24,
) -> IssuedSecretResult:
    """Create a new secret for a webhook endpoint. The old secret stays valid for `overlapHours`.

    Only this result shows the new secret. Secrets that earlier calls replaced stay valid until their own ends. With
    `overlapHours: 0`, all old secrets end immediately. At most 4 old secrets are valid at the same time.
    """
    overlap = timedelta(hours=min(max(overlap_hours, -1), 10_000))
    if not timedelta(0) <= overlap <= MAX_OVERLAP:
        message = f"is not between 0 and {MAX_OVERLAP // timedelta(hours=1)}"
        raise BadInput("Invalid overlapHours. See `problems`.", problems=[Problem(("overlapHours",), message)])
    endpoint = await call.rows.edit(models.WebhookEndpoint, endpoint_id)
    old = valid_old_secrets(call, endpoint) if overlap else []
    if len(old) >= MAX_OLD_SECRETS:
        raise Conflict(
            f"The endpoint has {MAX_OLD_SECRETS} old secrets that are still valid. Rotate it after "
            f"{min(one.expires_at for one in old):%Y-%m-%dT%H:%M:%SZ}, or with overlapHours 0, which ends all of them."
        )
    if overlap:
        previous = call.rows.decrypt(models.WebhookEndpoint, endpoint, "secret")
        old.insert(0, OldSecret(previous, call.rows.now + overlap))
    store_old_secrets(call, endpoint, old)
    return IssuedSecretResult(endpoint, set_new_secret(call, endpoint))


@operation(
    OperationKind.MUTATION,
    returns=webhook_types.Webhook,
    needs=Permission.WEBHOOK_MANAGE,
    audit=Audit.EVERY_CALL,
    rest=RestRoute("POST", ENDPOINT_PATH + "/ping", Tag.WEBHOOKS),
    raises=(Conflict,),
)
async def ping_webhook_endpoint(call: Call, *, endpoint_id: ids.EndpointId) -> models.Webhook:
    """Send a test event to a webhook endpoint immediately, even if it is disabled.

    The returned webhook records the outcome.
    """
    endpoint = await call.rows.get(models.WebhookEndpoint, endpoint_id)
    await _check_queue(call, endpoint)
    event = await store_event(call, PING_EVENT, {"endpointId": endpoint.endpoint_id}, None)
    return await enqueue_ping(call, endpoint, event)


@operation(
    OperationKind.MUTATION,
    returns=webhook_types.Resent,
    needs=Permission.WEBHOOK_MANAGE,
    audit=Audit.EVERY_CALL,
    rest=RestRoute("POST", ENDPOINT_PATH + "/replay", Tag.WEBHOOKS),
    raises=(Conflict,),
)
async def replay_webhooks(
    call: Call, *, endpoint_id: ids.EndpointId, since: Since, until: Until = None, after: After = None
) -> webhook_types.Resent:
    """Send all matching events since an instant to a webhook endpoint again, in their order.

    One call reads 100 events; continue with `after`, and the same other arguments. Each event that it queues costs 50.
    Events from before its registration are included. They keep their IDs, and the gateway stores events for 30 days.
    CONFLICT while 1,000 or more events wait for the endpoint.
    """
    endpoint = await call.rows.get(models.WebhookEndpoint, endpoint_id)
    await _check_queue(call, endpoint)
    upper = [] if until is None else [col(models.WebhookEvent.created_at) < until]
    events = await call.rows.all(
        models.WebhookEvent,
        col(models.WebhookEvent.created_at) >= since,
        *upper,
        *([] if after is None else _comes_after(await call.rows.get(models.WebhookEvent, after))),
        order_by=[models.WebhookEvent.created_at, models.WebhookEvent.number],
        limit=MAX_EVENTS_PER_CALL + 1,
    )
    has_more = len(events) > MAX_EVENTS_PER_CALL
    events = events[:MAX_EVENTS_PER_CALL]
    known = await _webhooks_by_event(call, endpoint, events)
    matching = [
        event for event in events if event.event_code != PING_EVENT and matches_any(endpoint.events, event.event_code)
    ]
    new = [event for event in matching if event.event_id not in known]
    found = [known[event.event_id] for event in matching if event.event_id in known]
    ended = [webhook for webhook in found if webhook.status is not WebhookStatus.PENDING]
    _charge(call, len(new) + len(ended))
    await enqueue_again(call, endpoint, ended, new)
    return webhook_types.Resent(queued=len(new) + len(ended), next_after=Id(events[-1].event_id) if has_more else None)


@operation(
    OperationKind.MUTATION,
    returns=webhook_types.Resent,
    needs=Permission.WEBHOOK_MANAGE,
    audit=Audit.EVERY_CALL,
    rest=RestRoute("POST", ENDPOINT_PATH + "/redrive", Tag.WEBHOOKS),
    raises=(Conflict,),
)
async def redrive_webhooks(
    call: Call, *, endpoint_id: ids.EndpointId, since: OptionalSince = None
) -> webhook_types.Resent:
    """Send failed events to a webhook endpoint again, in their order and with the same IDs.

    One call queues at most 100 events, and each costs 50; call again until none is queued. CONFLICT while 1,000 or more
    events wait for the endpoint.
    """
    endpoint = await call.rows.get(models.WebhookEndpoint, endpoint_id)
    await _check_queue(call, endpoint)
    recent = [] if since is None else [col(models.Webhook.created_at) >= since]
    given_up = await call.rows.all(
        models.Webhook,
        col(models.Webhook.endpoint_id) == endpoint_id,
        col(models.Webhook.status) == WebhookStatus.FAILED,
        *recent,
        order_by=[models.Webhook.event_number],
        limit=MAX_EVENTS_PER_CALL,
    )
    _charge(call, len(given_up))
    await enqueue_again(call, endpoint, given_up)
    return webhook_types.Resent(queued=len(given_up), next_after=None)


def _charge(call: Call, count: int) -> None:
    """Charge the deliveries of events before they are written. Raise WorkNeeded to let the operation run again."""
    if not call.outside.demand(DELIVERY_WEIGHT * count):
        raise call.outside.payment()


async def _check_queue(call: Call, endpoint: models.WebhookEndpoint) -> None:
    """Raise Conflict if MAX_WAITING_EVENTS wait for an endpoint, or more."""
    count = await call.rows.count(
        models.Webhook,
        col(models.Webhook.endpoint_id) == endpoint.endpoint_id,
        is_literally(col(models.Webhook.status), WebhookStatus.PENDING),
        limit=MAX_WAITING_EVENTS,
    )
    if count >= MAX_WAITING_EVENTS:
        raise Conflict(
            f"{MAX_WAITING_EVENTS:,} or more events wait for the endpoint. Send events again when it has received them."
        )


def _comes_after(event: models.WebhookEvent) -> list[ColumnElement[bool]]:
    """Return the conditions that an event comes after this one in the order of replays."""
    created_at, number = col(models.WebhookEvent.created_at), col(models.WebhookEvent.number)
    later = or_(created_at > event.created_at, and_(created_at == event.created_at, number > event.number))
    return [created_at >= event.created_at, later]


async def _webhooks_by_event(
    call: Call, endpoint: models.WebhookEndpoint, events: list[models.WebhookEvent]
) -> dict[str | None, models.Webhook]:
    """Return the webhooks of these events to the endpoint, by event id."""
    if not events:
        return {}
    webhooks = await call.rows.all(
        models.Webhook,
        col(models.Webhook.endpoint_id) == endpoint.endpoint_id,
        col(models.Webhook.event_number).in_([event.number for event in events]),
    )
    return {webhook.event_id: webhook for webhook in webhooks}


def _validate_url(call: Call, url: str) -> list[Problem]:
    try:
        egress.parse_destination(url, call.outbound_policy.egress)
    except egress.BlockedDestination as refused:
        return [Problem(("input", "url"), str(refused))]
    return []


def _validate_patterns(patterns: list[str]) -> list[Problem]:
    """Return the problems of event patterns. A pattern must match at least one event code."""
    path: ProblemPath = ("input", "events")
    if not 0 < len(patterns) <= webhook_types.MAX_PATTERNS:
        return [Problem(path, f"must have 1 to {webhook_types.MAX_PATTERNS} patterns")]
    return [
        Problem((*path, position), f"{pattern[:100]} matches no event")
        for position, pattern in enumerate(patterns)
        if not EVENT_PATTERN.fullmatch(pattern) or not any(matches_any([pattern], code) for code in EVENT_DESCRIPTIONS)
    ]


def _raise_problems(problems: list[Problem]) -> None:
    if problems:
        raise BadInput("Invalid webhook endpoint. See `problems`.", problems=problems)
