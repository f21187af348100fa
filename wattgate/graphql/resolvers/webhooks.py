"""Webhooks on record; only the system writes them."""

from typing import Any

from wattgate.db import models
from wattgate.graphql.operation import Call, Kind, operation
from wattgate.graphql.types import webhooks as types
from wattgate.principal import Permission

GIVEN_UP = "failed"


@operation(Kind.MUTATION, returns=types.Webhook, needs=Permission.SYSTEM)
async def record_webhook(
    call: Call,
    *,
    callback_url: str,
    payload: Any,
    user_id: str | None = None,
    successful_attempt: Any = None,
    failed_attempts: list[Any],
) -> models.Webhook:
    """Keep what became of a webhook; one without a successful attempt is failed, and stands among the errors too."""
    status = "complete" if successful_attempt else GIVEN_UP
    made = await call.rows.add(
        models.Webhook(
            user_id=user_id,
            callback_url=callback_url,
            payload=payload,
            status=status,
            number_of_attempts=len(failed_attempts) + bool(successful_attempt),
            successful_attempt=successful_attempt,
            failed_attempts=failed_attempts,
        )
    )
    if status == GIVEN_UP:
        await call.rows.add(
            models.WebhookError(
                webhook_id=made.webhook_id,
                user_id=user_id,
                callback_url=callback_url,
                attempt=failed_attempts[-1] if failed_attempts else {},
            )
        )
    return made
