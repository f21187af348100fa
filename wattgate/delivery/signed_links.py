"""Signed links in messages that act for the user who follows them. The signature prevents forged links."""

import base64
import hashlib
import hmac
from dataclasses import dataclass, field

UNSUBSCRIBE_PATH = "/unsubscribe"

_SIGNATURE_BYTES = 16
"""Bytes of the signature in a link. 128 bits cannot be guessed."""


@dataclass(frozen=True, slots=True)
class SignedLinks:
    """Creates and verifies links below `base_url`, the public URL of the gateway. `key` signs them."""

    base_url: str
    key: bytes = field(repr=False)

    def unsubscribe_url(self, application_id: str, delivery_id: str) -> str:
        """Return the link that unsubscribes the recipient of a delivery. It contains no address."""
        return f"{self.base_url.rstrip('/')}{UNSUBSCRIBE_PATH}/{self._token(application_id, delivery_id)}"

    def parse_unsubscribe_token(self, token: str) -> tuple[str, str] | None:
        """Return the application id and delivery id of a link's token; None if its signature is invalid."""
        application_id, _, rest = token.partition(".")
        delivery_id = rest.partition(".")[0]
        valid = hmac.compare_digest(self._token(application_id, delivery_id).encode(), token.encode())
        return (application_id, delivery_id) if valid else None

    def _token(self, application_id: str, delivery_id: str) -> str:
        content = f"unsubscribe.{application_id}.{delivery_id}"
        signature = hmac.digest(self.key, content.encode(), hashlib.sha256)[:_SIGNATURE_BYTES]
        return f"{application_id}.{delivery_id}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"
