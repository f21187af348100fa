"""Secrets of webhook endpoints: a new one, and the old ones that still sign until their own ends."""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from wattgate.db import models
from wattgate.delivery.channels import webhook as signature
from wattgate.operations.core.operation import Call

MAX_OLD_SECRETS = 4
"""Maximum old secrets of an endpoint that are valid. Each adds a signature to every message."""


class OldSecret(msgspec.Struct, frozen=True):
    """A replaced secret, which signs messages until `expires_at`."""

    secret: str
    expires_at: datetime


_DECODER = msgspec.json.Decoder(list[OldSecret])


def set_new_secret(call: Call, endpoint: models.WebhookEndpoint) -> str:
    """Give an endpoint a new secret and return it. Only its encrypted form is stored."""
    secret = signature.new_secret()
    call.rows.encrypt(endpoint, "secret", secret)
    return secret


def valid_old_secrets(call: Call, endpoint: models.WebhookEndpoint) -> list[OldSecret]:
    """Return the replaced secrets of an endpoint that are still valid, newest first."""
    if endpoint.old_secrets is None:
        return []
    stored = _DECODER.decode(call.rows.decrypt(models.WebhookEndpoint, endpoint, "old_secrets"))
    return [old for old in stored if old.expires_at > call.rows.now]


def store_old_secrets(call: Call, endpoint: models.WebhookEndpoint, old: Sequence[OldSecret]) -> None:
    """Store the replaced secrets of an endpoint in encrypted form, and the end of the last one."""
    endpoint.old_secrets, endpoint.secret_expires_at = None, None
    if old:
        call.rows.encrypt(endpoint, "old_secrets", msgspec.json.encode(old).decode())
        endpoint.secret_expires_at = max(one.expires_at for one in old)


def signing_secrets(call: Call, endpoint: models.WebhookEndpoint) -> list[str]:
    """Return the secrets to sign with, newest first."""
    current = call.rows.decrypt(models.WebhookEndpoint, endpoint, "secret")
    return [current, *(old.secret for old in valid_old_secrets(call, endpoint))]
