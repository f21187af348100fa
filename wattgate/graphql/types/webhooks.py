"""Webhooks and what failed of them."""

from datetime import datetime

import strawberry

from wattgate.db import models
from wattgate.db.queries.references import referred
from wattgate.graphql.core.fields import edge
from wattgate.graphql.core.scalars import Json
from wattgate.graphql.types.webhook_endpoints import WebhookEndpoint
from wattgate.principal import Permission


@strawberry.type(description="An event on its way to a callback URL.")
class Webhook:
    webhook_id: strawberry.ID
    number_of_attempts: int
    status: str = strawberry.field(description="pending, complete or failed.")
    active: bool
    payload: Json = strawberry.field(description="The event data delivered.")
    application_id: strawberry.ID
    user_id: strawberry.ID | None
    callback_url: str
    created_at: datetime
    updated_at: datetime
    successful_attempt: Json | None = strawberry.field(description="attempt, statusCode and successedAt.")
    failed_attempts: list[Json] = strawberry.field(description="Each with attempt, attemptAt, statusCode and error.")
    endpoint: WebhookEndpoint | None = edge(
        referred(models.WebhookEndpoint, "endpoint_id"),
        needs=Permission.WEBHOOK_MANAGE,
        description="The endpoint that it is for; null for a callback of an alert, and where the endpoint is gone.",
    )


@strawberry.type(description="A webhook that was given up.")
class WebhookError:
    error_id: strawberry.ID
    webhook_id: strawberry.ID
    application_id: strawberry.ID
    user_id: strawberry.ID | None
    callback_url: str
    attempt: Json = strawberry.field(description="The last attempt: attempt, attemptAt, statusCode and error.")
    created_at: datetime
    webhook: Webhook | None = edge(
        referred(models.Webhook, "webhook_id"), needs=Permission.WEBHOOK_READ, description="The webhook."
    )
