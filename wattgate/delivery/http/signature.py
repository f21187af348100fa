"""Symmetric signatures (v1) of Standard Webhooks: https://www.standardwebhooks.com. No I/O."""

import base64
import binascii
import hashlib
import hmac
import secrets
from collections.abc import Sequence
from datetime import datetime

SECRET_PREFIX = "whsec_"  # noqa: S105 (not a credential)
MIN_SECRET_BYTES, MAX_SECRET_BYTES = 24, 64
"""Minimum and maximum bytes of a decoded secret."""

NEW_SECRET_BYTES = 32


def new_secret() -> str:
    """Return a new random secret in the form that receivers get."""
    return SECRET_PREFIX + base64.b64encode(secrets.token_bytes(NEW_SECRET_BYTES)).decode()


def decode_secret(secret: str) -> bytes:
    """Return the key that a secret encodes. Raise ValueError if the secret is invalid."""
    try:
        key = base64.b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("is not whsec_ followed by base64") from None
    if not secret.startswith(SECRET_PREFIX) or not MIN_SECRET_BYTES <= len(key) <= MAX_SECRET_BYTES:
        raise ValueError(f"is not whsec_ followed by {MIN_SECRET_BYTES} to {MAX_SECRET_BYTES} bytes in base64")
    return key


def signature_headers(message_id: str, sent_at: datetime, body: bytes, secrets: Sequence[str]) -> dict[str, str]:
    """Return the headers of a message: its id, the time of this attempt, and a signature for each secret.

    A receiver accepts a message with any valid signature, so that secrets can be rotated without interruption.
    """
    timestamp = str(int(sent_at.timestamp()))
    headers = {"webhook-id": message_id, "webhook-timestamp": timestamp}
    if secrets:
        headers["webhook-signature"] = " ".join(_sign(message_id, timestamp, body, secret) for secret in secrets)
    return headers


def _sign(message_id: str, timestamp: str, body: bytes, secret: str) -> str:
    content = f"{message_id}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.digest(decode_secret(secret), content, hashlib.sha256)).decode()
