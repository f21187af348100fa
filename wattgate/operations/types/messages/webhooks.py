"""GraphQL types of webhooks, their endpoints and their errors."""

from datetime import datetime

import strawberry

from wattgate.db import models
from wattgate.db.queries.content import reference_loader
from wattgate.enums import WebhookStatus
from wattgate.operations.core.fields import RestForm, edge, field_with_rest_form
from wattgate.operations.vocabulary import ids
from wattgate.operations.vocabulary.node import Node
from wattgate.operations.vocabulary.scalars import Json
from wattgate.operations.vocabulary.strawberry_adapter import StrawberryList, StrawberryOptional
from wattgate.principal import Permission
from wattgate.values import terms

# GraphQL types of webhook endpoints, to which the gateway sends events.

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
        description="Until when the last of the old secrets is also valid. Null if there is none."
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
    next_after: strawberry.ID | None = strawberry.field(
        description="Value for `after` of the next call, if one call cannot send all events. Otherwise null."
    )


# GraphQL types of webhooks and webhook errors.


@strawberry.type(description="Attempt to deliver a webhook.")
class WebhookAttempt:
    number: int = strawberry.field(description="Number of the attempt, counted from 1.")
    at: datetime = strawberry.field(description="Instant of the attempt.")
    status_code: int | None = strawberry.field(description="HTTP status of the response. Null if none arrived.")
    reason: str | None = strawberry.field(description="Why the attempt failed. Null if it succeeded.")


@strawberry.type(description="Delivery of one event to one URL.")
class Webhook(Node, model=models.Webhook):
    webhook_id: ids.WebhookId
    number_of_attempts: int = strawberry.field(description="Number of delivery attempts so far.")
    status: WebhookStatus = strawberry.field(description="State of the delivery.")
    active: terms.Active
    payload: Json = strawberry.field(description="Event data in the body of the request.")
    application_id: ids.ApplicationId
    person_id: strawberry.ID | None = strawberry.field(
        name="userId", description="ID of the user that the event is about. Null if it is about no user."
    )
    callback_url: str = strawberry.field(description="URL that receives the event.")
    created_at: terms.CreatedAt
    updated_at: terms.UpdatedAt
    success: WebhookAttempt | None = field_with_rest_form(
        "successfulAttempt",
        RestForm(
            "successful_attempt",
            StrawberryOptional(Json),
            "Successful attempt: an object with attempt, statusCode and successedAt. Null if there is none.",
        ),
        description="Successful attempt. Null if there is none.",
    )
    failures: list[WebhookAttempt] = field_with_rest_form(
        "failedAttempts",
        RestForm(
            "failed_attempts",
            StrawberryList(Json),
            "Failed attempts: objects with attempt, attemptAt, statusCode and error.",
        ),
        description="Failed attempts, the first one first.",
    )
    endpoint: WebhookEndpoint | None = edge(
        reference_loader(models.WebhookEndpoint, "endpoint_id"),
        needs=Permission.WEBHOOK_MANAGE,
        description="The webhook endpoint. Null for the callback URL of an alert, and after the endpoint was deleted.",
    )


@strawberry.type(
    description="Webhook whose last attempt failed. The gateway tries again while the status of the webhook is pending."
)
class WebhookError(Node, model=models.WebhookError):
    error_id: strawberry.ID = strawberry.field(description="ID of the webhook error.")
    webhook_id: ids.WebhookId
    application_id: ids.ApplicationId
    user_id: strawberry.ID | None = strawberry.field(
        description="ID of the user that the event is about. Null if it is about no user."
    )
    callback_url: str = strawberry.field(description="URL that receives the event.")
    failure: WebhookAttempt | None = field_with_rest_form(
        "attempt",
        RestForm("attempt", Json, "Last attempt: an object with attempt, attemptAt, statusCode and error."),
        description="Last attempt. Null if the webhook failed without one.",
    )
    created_at: terms.CreatedAt
    webhook: Webhook | None = edge(
        reference_loader(models.Webhook, "webhook_id"),
        needs=Permission.WEBHOOK_READ,
        description="The webhook. Null if the caller may not see it.",
    )
