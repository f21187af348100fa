"""GraphQL types of webhooks and webhook errors."""

import strawberry

from wattgate.db import models
from wattgate.db.queries.references import reference_loader
from wattgate.operations.core.fields import edge
from wattgate.operations.types.messages.webhook_endpoints import WebhookEndpoint
from wattgate.operations.vocabulary import ids
from wattgate.operations.vocabulary.node import Node
from wattgate.operations.vocabulary.scalars import Json
from wattgate.principal import Permission
from wattgate.values import terms


@strawberry.type(description="Delivery of one event to one URL.")
class Webhook(Node, model=models.Webhook):
    webhook_id: ids.WebhookId
    number_of_attempts: int = strawberry.field(description="Number of delivery attempts so far.")
    status: str = strawberry.field(description="State of the delivery: pending, complete or failed.")
    active: terms.Active
    payload: Json = strawberry.field(description="Event data in the body of the request.")
    application_id: ids.ApplicationId
    user_id: strawberry.ID | None = strawberry.field(
        description="ID of the user that the event is about. Null if it is about no user."
    )
    callback_url: str = strawberry.field(description="URL that receives the event.")
    created_at: terms.CreatedAt
    updated_at: terms.UpdatedAt
    successful_attempt: Json | None = strawberry.field(
        description="Successful attempt: an object with attempt, statusCode and successedAt. Null if there is none."
    )
    failed_attempts: list[Json] = strawberry.field(
        description="Failed attempts: objects with attempt, attemptAt, statusCode and error."
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
    attempt: Json = strawberry.field(
        description="Last attempt: an object with attempt, attemptAt, statusCode and error."
    )
    created_at: terms.CreatedAt
    webhook: Webhook | None = edge(
        reference_loader(models.Webhook, "webhook_id"),
        needs=Permission.WEBHOOK_READ,
        description="The webhook. Null if the caller may not see it.",
    )
