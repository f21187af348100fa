"""Webhook endpoints: register, change and test them, rotate secrets, send events again."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated

import strawberry
from sqlmodel import col

from wattgate.db import models
from wattgate.delivery.channels.webhook import EVENT_PATTERN, matches_any
from wattgate.delivery.http import egress, signature
from wattgate.delivery.webhook_event_codes import EVENT_DESCRIPTIONS, PING_EVENT
from wattgate.errors import BadInput, Problem, ProblemPath
from wattgate.graphql.core.inputs import apply_input
from wattgate.graphql.core.operation import Call, OperationKind, RestRoute, operation
from wattgate.graphql.services.webhook_events import FAILED, PENDING, enqueue_webhook, requeue_webhook, store_event
from wattgate.graphql.types import webhook_endpoints as types
from wattgate.graphql.types import webhooks as webhook_types
from wattgate.principal import Permission

ENDPOINTS_PATH = "/webhook/endpoint"
ENDPOINT_PATH = ENDPOINTS_PATH + "/{endpointId}"

MAX_ENDPOINTS = 50
"""Maximum endpoints of an application."""

MAX_OVERLAP = timedelta(days=7)
"""Maximum time that a replaced secret stays valid."""

MAX_EVENTS_PER_CALL = 1_000
"""Maximum events that a call sends again."""


Since = Annotated[datetime, strawberry.argument(description="From when on events are sent again.")]
OptionalSince = Annotated[
    datetime | None, strawberry.argument(description="From when on; all that was given up without.")
]
Until = Annotated[datetime | None, strawberry.argument(description="Before when; up to now where it is left out.")]


@dataclass(frozen=True, slots=True)
class IssuedSecretResult:
    endpoint: models.WebhookEndpoint
    secret: str


@operation(
    OperationKind.MUTATION,
    returns=types.IssuedSecret,
    needs=Permission.WEBHOOK_MANAGE,
    rest=RestRoute("POST", ENDPOINTS_PATH, status=201),
)
async def add_webhook_endpoint(call: Call, *, input: types.NewWebhookEndpoint) -> IssuedSecretResult:
    """Register an address to which events are told. Its secret is told in this answer alone."""
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
        secret=signature.new_secret(),
    )
    return IssuedSecretResult(await call.rows.add(endpoint), endpoint.secret)


@operation(
    OperationKind.MUTATION,
    returns=types.WebhookEndpoint,
    needs=Permission.WEBHOOK_MANAGE,
    rest=RestRoute("PUT", ENDPOINT_PATH),
)
async def update_webhook_endpoint(
    call: Call, *, endpoint_id: strawberry.ID, input: types.WebhookEndpointChange
) -> models.WebhookEndpoint:
    """Change an endpoint; what is left out stays as it is. What waits for it goes to where it is then."""
    endpoint = await call.rows.edit(models.WebhookEndpoint, endpoint_id)
    problems = _validate_url(call, input.url) if isinstance(input.url, str) else []
    if input.events is not strawberry.UNSET:
        problems += _validate_patterns(input.events or [])
    _raise_problems(problems)
    changed = apply_input(endpoint, input)
    if input.enabled is True:
        changed.failures, changed.failing_since, changed.paused_until = 0, None, None
        changed.disabled_reason = None
    return changed


@operation(
    OperationKind.MUTATION,
    returns=types.WebhookEndpoint,
    needs=Permission.WEBHOOK_MANAGE,
    rest=RestRoute("DELETE", ENDPOINT_PATH),
)
async def delete_webhook_endpoint(call: Call, *, endpoint_id: strawberry.ID) -> models.WebhookEndpoint:
    """Delete an endpoint. What waited for it is given up; the records of what it was sent stay."""
    endpoint = await call.rows.get(models.WebhookEndpoint, endpoint_id)
    await call.rows.delete(models.WebhookEndpoint, col(models.WebhookEndpoint.endpoint_id) == endpoint_id)
    return endpoint


@operation(
    OperationKind.MUTATION,
    returns=types.IssuedSecret,
    needs=Permission.WEBHOOK_MANAGE,
    rest=RestRoute("POST", ENDPOINT_PATH + "/secret"),
)
async def rotate_webhook_secret(
    call: Call, *, endpoint_id: strawberry.ID, overlap_hours: int = 24
) -> IssuedSecretResult:
    """Give an endpoint a new secret, told in this answer alone. The one before is good for some hours more."""
    overlap = timedelta(hours=min(max(overlap_hours, -1), 10_000))
    if not timedelta(0) <= overlap <= MAX_OVERLAP:
        message = f"is not between 0 and {MAX_OVERLAP // timedelta(hours=1)}"
        raise BadInput("Invalid overlapHours. See `problems`.", problems=[Problem(("overlapHours",), message)])
    endpoint = await call.rows.edit(models.WebhookEndpoint, endpoint_id)
    endpoint.secret_before = endpoint.secret if overlap else None
    endpoint.secret_expires_at = call.rows.now + overlap if overlap else None
    endpoint.secret = signature.new_secret()
    return IssuedSecretResult(endpoint, endpoint.secret)


@operation(
    OperationKind.MUTATION,
    returns=webhook_types.Webhook,
    needs=Permission.WEBHOOK_MANAGE,
    rest=RestRoute("POST", ENDPOINT_PATH + "/ping"),
)
async def ping_webhook_endpoint(call: Call, *, endpoint_id: strawberry.ID) -> models.Webhook:
    """Send a test to an endpoint at once, also to one that is disabled; the answer's record tells how it went."""
    endpoint = await call.rows.get(models.WebhookEndpoint, endpoint_id)
    event = await store_event(call, PING_EVENT, {"endpointId": endpoint.endpoint_id}, None)
    return await enqueue_webhook(call, endpoint, event, ordered=False)


@operation(
    OperationKind.MUTATION,
    returns=types.Resent,
    needs=Permission.WEBHOOK_MANAGE,
    rest=RestRoute("POST", ENDPOINT_PATH + "/replay"),
)
async def replay_webhooks(call: Call, *, endpoint_id: strawberry.ID, since: Since, until: Until = None) -> types.Resent:
    """Send an endpoint every event again that it wants and that happened since an instant, in their order.

    Also those from before it was registered, and under the same ids as at the first time. Events are kept for 30 days.
    """
    endpoint = await call.rows.get(models.WebhookEndpoint, endpoint_id)
    upper = [] if until is None else [col(models.WebhookEvent.created_at) < until]
    events = await call.rows.all(
        models.WebhookEvent,
        col(models.WebhookEvent.created_at) >= since,
        *upper,
        order_by=[models.WebhookEvent.number],
        limit=MAX_EVENTS_PER_CALL + 1,
    )
    next_since = events.pop().created_at if len(events) > MAX_EVENTS_PER_CALL else None
    known = await _webhooks_by_event(call, endpoint, events)
    queued = 0
    for event in events:
        webhook = known.get(event.event_id)
        if event.event_code == PING_EVENT or not matches_any(endpoint.events, event.event_code):
            continue
        if webhook is None:
            await enqueue_webhook(call, endpoint, event)
        elif webhook.status == PENDING:
            continue
        else:
            await requeue_webhook(call, endpoint, webhook)
        queued += 1
    return types.Resent(queued=queued, next_since=next_since)


@operation(
    OperationKind.MUTATION,
    returns=types.Resent,
    needs=Permission.WEBHOOK_MANAGE,
    rest=RestRoute("POST", ENDPOINT_PATH + "/redrive"),
)
async def redrive_webhooks(call: Call, *, endpoint_id: strawberry.ID, since: OptionalSince = None) -> types.Resent:
    """Send an endpoint once more what was given up, in the order in which it happened, under the same ids.

    At most 1,000 events a call: call again until none is queued.
    """
    endpoint = await call.rows.get(models.WebhookEndpoint, endpoint_id)
    recent = [] if since is None else [col(models.Webhook.created_at) >= since]
    given_up = await call.rows.all(
        models.Webhook,
        col(models.Webhook.endpoint_id) == endpoint_id,
        col(models.Webhook.status) == FAILED,
        *recent,
        order_by=[models.Webhook.event_number],
        limit=MAX_EVENTS_PER_CALL,
    )
    for webhook in given_up:
        await requeue_webhook(call, endpoint, webhook)
    return types.Resent(queued=len(given_up), next_since=None)


async def _webhooks_by_event(
    call: Call, endpoint: models.WebhookEndpoint, events: list[models.WebhookEvent]
) -> dict[str | None, models.Webhook]:
    """Return the webhooks of these events to the endpoint, by event id."""
    if not events:
        return {}
    webhooks = await call.rows.all(
        models.Webhook,
        col(models.Webhook.endpoint_id) == endpoint.endpoint_id,
        col(models.Webhook.event_number).between(events[0].number, events[-1].number),
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
    if not 0 < len(patterns) <= types.MAX_PATTERNS:
        return [Problem(path, f"must have 1 to {types.MAX_PATTERNS} patterns")]
    return [
        Problem((*path, position), f"{pattern[:100]} matches no event")
        for position, pattern in enumerate(patterns)
        if not EVENT_PATTERN.fullmatch(pattern) or not any(matches_any([pattern], code) for code in EVENT_DESCRIPTIONS)
    ]


def _raise_problems(problems: list[Problem]) -> None:
    if problems:
        raise BadInput("Invalid webhook endpoint. See `problems`.", problems=problems)
