"""GraphQL types of webhook endpoints, to which the gateway sends events."""

from datetime import datetime

import strawberry

from wattgate.db import models
from wattgate.operations.vocabulary import ids
from wattgate.operations.vocabulary.node import Node
from wattgate.values import terms

MAX_PATTERNS = 50
"""Maximum number of event patterns of an endpoint."""


@strawberry.type(description="URL to which the gateway sends events. Its secret is shown only when it is created.")
class WebhookEndpoint(Node, model=models.WebhookEndpoint):
    endpoint_id: ids.EndpointId
    application_id: ids.ApplicationId
    url: str = strawberry.field(description="URL that receives the events as POST requests.")
    events: list[str] = strawberry.field(description="Patterns of event codes, such as alert.* or *.")
    description: terms.Description
    enabled: bool = strawberry.field(description="Whether the gateway sends events to the endpoint.")
    disabled_reason: str | None = strawberry.field(
        description="Why the gateway disabled the endpoint. Null if it did not."
    )
    ordered: bool = strawberry.field(
        description="Whether events are sent in order: each event waits until the one before it is delivered or failed."
    )
    failures: int = strawberry.field(description="Number of failed attempts since the last successful one.")
    failing_since: datetime | None = strawberry.field(
        description="When the first of these attempts failed. Null if there is none."
    )
    paused_until: datetime | None = strawberry.field(
        description="Until when deliveries are paused after failed attempts. Null if they are not paused."
    )
    secret_expires_at: datetime | None = strawberry.field(
        description="Until when the previous secret is also valid. Null if there is none."
    )
    created_at: terms.CreatedAt
    updated_at: terms.UpdatedAt


@strawberry.type(description="Webhook endpoint with its new secret, which is shown only in this result.")
class IssuedSecret:
    endpoint: WebhookEndpoint = strawberry.field(description="The webhook endpoint.")
    secret: str = strawberry.field(description="Secret that signs the webhooks: whsec_ followed by base64.")


@strawberry.input(description="Webhook endpoint to register.")
class NewWebhookEndpoint:
    url: terms.Url = strawberry.field(description="URL with https, without credentials and fragment.")
    events: list[terms.Text100] = strawberry.field(
        description="1 to 50 patterns of event codes, such as alert.*. Each must match at least one known event code."
    )
    description: terms.Description = ""
    enabled: bool = strawberry.field(default=True, description="Whether the gateway sends events to the endpoint.")
    ordered: bool = strawberry.field(
        default=True,
        description="Whether events are sent in order: each event waits until the one before it is delivered or "
        "failed.",
    )


@strawberry.input(description="Fields of a webhook endpoint to change. Omitted fields keep their values.")
class WebhookEndpointChange:
    url: terms.Url | None = strawberry.field(
        default=strawberry.UNSET, description="URL with https, without credentials and fragment."
    )
    events: list[terms.Text100] | None = strawberry.field(
        default=strawberry.UNSET, description="1 to 50 patterns of event codes, such as alert.*."
    )
    description: terms.Description | None = strawberry.UNSET
    enabled: bool | None = strawberry.field(
        default=strawberry.UNSET,
        description="Whether the gateway sends events to the endpoint. True also resets its failures.",
    )
    ordered: bool | None = strawberry.field(
        default=strawberry.UNSET,
        description="Whether events are sent in order: each event waits until the one before it is delivered or "
        "failed.",
    )


@strawberry.type(description="Result of sending events again.")
class Resent:
    queued: int = strawberry.field(
        description="Number of events that were queued. Events that were still waiting are not counted."
    )
    next_since: datetime | None = strawberry.field(
        description="Value for `since` of the next call, if one call cannot send all events. Otherwise null."
    )
