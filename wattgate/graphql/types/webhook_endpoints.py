"""Endpoints: where an application wants to be told of events."""

from datetime import datetime

import strawberry

MAX_PATTERNS = 50


@strawberry.type(description="A place to which an application wants events told. Its secret is never told again.")
class WebhookEndpoint:
    endpoint_id: strawberry.ID
    application_id: strawberry.ID
    url: str = strawberry.field(description="Where events are posted to.")
    events: list[str] = strawberry.field(description="Patterns of the events' codes, such as alert.* or *.")
    description: str
    enabled: bool = strawberry.field(description="Whether anything is sent to it.")
    disabled_reason: str | None = strawberry.field(description="Why the gateway disabled it; null where it did not.")
    ordered: bool = strawberry.field(description="Whether an event waits until the one before it is taken.")
    failures: int = strawberry.field(description="How many attempts have failed since the last that did not.")
    failing_since: datetime | None = strawberry.field(description="When the first of them failed.")
    paused_until: datetime | None = strawberry.field(description="Until when nothing is sent, for it cannot be taken.")
    secret_expires_at: datetime | None = strawberry.field(
        description="Until when the secret before this one is good too; null where there is none."
    )
    created_at: datetime
    updated_at: datetime


@strawberry.type(description="An endpoint with its secret, which is told this once.")
class IssuedSecret:
    endpoint: WebhookEndpoint = strawberry.field(description="The endpoint.")
    secret: str = strawberry.field(description="What its messages are signed with: whsec_ and base64.")


@strawberry.input(description="An endpoint to register.")
class NewWebhookEndpoint:
    url: str = strawberry.field(description="An https address with a path and a query alone.")
    events: list[str] = strawberry.field(description="Patterns such as alert.*, which stand for one event at least.")
    description: str = ""
    enabled: bool = strawberry.field(default=True, description="Whether anything is sent to it.")
    ordered: bool = strawberry.field(
        default=True, description="Whether an event waits until the one before it is taken, or given up."
    )


@strawberry.input(description="What may change on an endpoint; what is left out stays as it is.")
class WebhookEndpointChange:
    url: str | None = strawberry.field(default=strawberry.UNSET, description="Where events are posted to.")
    events: list[str] | None = strawberry.field(default=strawberry.UNSET, description="Patterns of events' codes.")
    description: str | None = strawberry.UNSET
    enabled: bool | None = strawberry.field(
        default=strawberry.UNSET, description="true also forgets that the endpoint has failed."
    )
    ordered: bool | None = strawberry.field(
        default=strawberry.UNSET, description="Whether an event waits until the one before it is taken, or given up."
    )


@strawberry.type(description="What is sent again.")
class Resent:
    queued: int = strawberry.field(description="How many events; those that wait already are not counted.")
    next_since: datetime | None = strawberry.field(
        description="Where there are more than one call sends: what to give as since in the next one."
    )
