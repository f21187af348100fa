"""Endpoints: registered, changed, tested, given new secrets, and sent again what they have missed."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated

import strawberry
from sqlmodel import col

from wattgate.db import models
from wattgate.delivery.channels.webhook import PATTERN, wants
from wattgate.delivery.http import egress, signature
from wattgate.delivery.webhook_event_codes import EVENTS, PING
from wattgate.errors import BadInput, Path, Problem
from wattgate.graphql.core.inputs import change
from wattgate.graphql.core.operation import Call, Kind, Rest, operation
from wattgate.graphql.services.webhook_events import FAILED, PENDING, keep_event, send_again, send_to
from wattgate.graphql.types import webhook_endpoints as types
from wattgate.graphql.types import webhooks as webhook_types
from wattgate.principal import Permission

BASE = "/webhook/endpoint"
ONE = BASE + "/{endpointId}"

MAX_ENDPOINTS = 50
"""How many endpoints an application has at most."""

MAX_OVERLAP = timedelta(days=7)
"""For how long a secret may be good beside its successor."""

AT_ONCE = 1_000
"""How many events are sent again by one call."""


Since = Annotated[datetime, strawberry.argument(description="From when on events are sent again.")]
SinceAny = Annotated[datetime | None, strawberry.argument(description="From when on; all that was given up without.")]
Until = Annotated[datetime | None, strawberry.argument(description="Before when; up to now where it is left out.")]


@dataclass(frozen=True, slots=True)
class Issued:
    endpoint: models.WebhookEndpoint
    secret: str


@dataclass(frozen=True, slots=True)
class Resent:
    queued: int
    next_since: SinceAny = None


@operation(
    Kind.MUTATION, returns=types.IssuedSecret, needs=Permission.WEBHOOK_MANAGE, rest=Rest("POST", BASE, status=201)
)
async def add_webhook_endpoint(call: Call, *, input: types.NewWebhookEndpoint) -> Issued:
    """Register an address to which events are told. Its secret is told in this answer alone."""
    problems = [*_problems_of_url(call, input.url), *_problems_of_events(input.events)]
    if await call.rows.count(models.WebhookEndpoint) >= MAX_ENDPOINTS:
        problems.append(Problem(("input",), f"would be one endpoint more than {MAX_ENDPOINTS}"))
    _refuse(problems)
    made = models.WebhookEndpoint(
        url=input.url,
        events=input.events,
        description=input.description,
        enabled=input.enabled,
        ordered=input.ordered,
        secret=signature.new_secret(),
    )
    return Issued(await call.rows.add(made), made.secret)


@operation(Kind.MUTATION, returns=types.WebhookEndpoint, needs=Permission.WEBHOOK_MANAGE, rest=Rest("PUT", ONE))
async def update_webhook_endpoint(
    call: Call, *, endpoint_id: strawberry.ID, input: types.WebhookEndpointChange
) -> models.WebhookEndpoint:
    """Change an endpoint; what is left out stays as it is. What waits for it goes to where it is then."""
    endpoint = await call.rows.edit(models.WebhookEndpoint, endpoint_id)
    problems = _problems_of_url(call, input.url) if isinstance(input.url, str) else []
    if input.events is not strawberry.UNSET:
        problems += _problems_of_events(input.events or [])
    _refuse(problems)
    changed = change(endpoint, input)
    if input.enabled is True:
        changed.failures, changed.failing_since, changed.paused_until = 0, None, None
        changed.disabled_reason = None
    return changed


@operation(Kind.MUTATION, returns=types.WebhookEndpoint, needs=Permission.WEBHOOK_MANAGE, rest=Rest("DELETE", ONE))
async def delete_webhook_endpoint(call: Call, *, endpoint_id: strawberry.ID) -> models.WebhookEndpoint:
    """Delete an endpoint. What waited for it is given up; the records of what it was sent stay."""
    endpoint = await call.rows.get(models.WebhookEndpoint, endpoint_id)
    await call.rows.delete(models.WebhookEndpoint, col(models.WebhookEndpoint.endpoint_id) == endpoint_id)
    return endpoint


@operation(
    Kind.MUTATION,
    returns=types.IssuedSecret,
    needs=Permission.WEBHOOK_MANAGE,
    rest=Rest("POST", ONE + "/secret"),
)
async def rotate_webhook_secret(call: Call, *, endpoint_id: strawberry.ID, overlap_hours: int = 24) -> Issued:
    """Give an endpoint a new secret, told in this answer alone. The one before is good for some hours more."""
    overlap = timedelta(hours=min(max(overlap_hours, -1), 10_000))
    if not timedelta(0) <= overlap <= MAX_OVERLAP:
        told = f"is not 0 to {MAX_OVERLAP // timedelta(hours=1)} hours"
        raise BadInput("the old secret cannot be good for so long", problems=[Problem(("overlapHours",), told)])
    endpoint = await call.rows.edit(models.WebhookEndpoint, endpoint_id)
    endpoint.secret_before = endpoint.secret if overlap else None
    endpoint.secret_expires_at = call.rows.now + overlap if overlap else None
    endpoint.secret = signature.new_secret()
    return Issued(endpoint, endpoint.secret)


@operation(
    Kind.MUTATION, returns=webhook_types.Webhook, needs=Permission.WEBHOOK_MANAGE, rest=Rest("POST", ONE + "/ping")
)
async def ping_webhook_endpoint(call: Call, *, endpoint_id: strawberry.ID) -> models.Webhook:
    """Send a test to an endpoint at once, also to one that is disabled; the answer's record tells how it went."""
    endpoint = await call.rows.get(models.WebhookEndpoint, endpoint_id)
    event = await keep_event(call, PING, {"endpointId": endpoint.endpoint_id}, None)
    return await send_to(call, endpoint, event, ordered=False)


@operation(Kind.MUTATION, returns=types.Resent, needs=Permission.WEBHOOK_MANAGE, rest=Rest("POST", ONE + "/replay"))
async def replay_webhooks(call: Call, *, endpoint_id: strawberry.ID, since: Since, until: Until = None) -> Resent:
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
        limit=AT_ONCE + 1,
    )
    following = events.pop().created_at if len(events) > AT_ONCE else None
    known = await _known(call, endpoint, events)
    queued = 0
    for event in events:
        before = known.get(event.event_id)
        if event.event_code == PING or not wants(endpoint.events, event.event_code):
            continue
        if before is None:
            await send_to(call, endpoint, event)
        elif before.status == PENDING:
            continue
        else:
            await send_again(call, endpoint, before)
        queued += 1
    return Resent(queued, following)


@operation(Kind.MUTATION, returns=types.Resent, needs=Permission.WEBHOOK_MANAGE, rest=Rest("POST", ONE + "/redrive"))
async def redrive_webhooks(call: Call, *, endpoint_id: strawberry.ID, since: SinceAny = None) -> Resent:
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
        limit=AT_ONCE,
    )
    for webhook in given_up:
        await send_again(call, endpoint, webhook)
    return Resent(len(given_up))


async def _known(
    call: Call, endpoint: models.WebhookEndpoint, events: list[models.WebhookEvent]
) -> dict[str | None, models.Webhook]:
    """What stands on record of these events and the endpoint, by the event's id."""
    if not events:
        return {}
    found = await call.rows.all(
        models.Webhook,
        col(models.Webhook.endpoint_id) == endpoint.endpoint_id,
        col(models.Webhook.event_number).between(events[0].number, events[-1].number),
    )
    return {one.event_id: one for one in found}


def _problems_of_url(call: Call, url: str) -> list[Problem]:
    try:
        egress.parse(url, call.outside.reach)
    except egress.Refused as refused:
        return [Problem(("input", "url"), str(refused))]
    return []


def _problems_of_events(patterns: list[str]) -> list[Problem]:
    """What is wrong with patterns: one that stands for nothing that ever happens is a mistake."""
    path: Path = ("input", "events")
    if not 0 < len(patterns) <= types.MAX_PATTERNS:
        return [Problem(path, f"are not 1 to {types.MAX_PATTERNS} patterns")]
    return [
        Problem((*path, place), f"{pattern[:100]} stands for no event")
        for place, pattern in enumerate(patterns)
        if not PATTERN.fullmatch(pattern) or not any(wants([pattern], code) for code in EVENTS)
    ]


def _refuse(problems: list[Problem]) -> None:
    if problems:
        raise BadInput("the endpoint cannot be like this", problems=problems)
