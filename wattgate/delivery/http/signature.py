"""Standard Webhooks signatures, symmetric (v1): https://www.standardwebhooks.com. Pure."""

import base64
import binascii
import hashlib
import hmac
import secrets
from collections.abc import Sequence
from datetime import datetime

PREFIX = "whsec_"
MIN_BYTES, MAX_BYTES = 24, 64
"""How long a secret may be, decoded."""

NEW_BYTES = 32


def new_secret() -> str:
    """A fresh random secret, as receivers are given it."""
    return PREFIX + base64.b64encode(secrets.token_bytes(NEW_BYTES)).decode()


def key_of(secret: str) -> bytes:
    """The key that a secret stands for. ValueError where it is none."""
    try:
        key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("is not whsec_ and base64") from None
    if not secret.startswith(PREFIX) or not MIN_BYTES <= len(key) <= MAX_BYTES:
        raise ValueError(f"is not whsec_ and {MIN_BYTES} to {MAX_BYTES} bytes in base64")
    return key


def headers(message_id: str, sent_at: datetime, body: bytes, keys: Sequence[str]) -> dict[str, str]:
    """The headers of a message: its id, the instant of this attempt, and one signature for each secret, if any.

    A receiver takes the message where one of the signatures holds, so that secrets can change without a gap.
    """
    timestamp = str(int(sent_at.timestamp()))
    told = {"webhook-id": message_id, "webhook-timestamp": timestamp}
    if keys:
        told["webhook-signature"] = " ".join(_signed(message_id, timestamp, body, secret) for secret in keys)
    return told


def _signed(message_id: str, timestamp: str, body: bytes, secret: str) -> str:
    content = f"{message_id}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.digest(key_of(secret), content, hashlib.sha256)).decode()
