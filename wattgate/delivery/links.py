"""Links in messages that do something for whoever follows them, signed so that nobody can make one up."""

import base64
import hashlib
import hmac
from dataclasses import dataclass, field

UNSUBSCRIBE_PATH = "/unsubscribe"

_SIGNED = 16
"""Octets of a signature that a link carries: 128 bits cannot be guessed."""


@dataclass(frozen=True, slots=True)
class Links:
    """Makes links below `base`, where people reach the gateway, and knows its own again by the key."""

    base: str
    key: bytes = field(repr=False)

    def unsubscribe(self, application_id: str, delivery_id: str) -> str:
        """The link that ends mail to whoever got a delivery. Nobody's address stands in it."""
        return f"{self.base.rstrip('/')}{UNSUBSCRIBE_PATH}/{self._token(application_id, delivery_id)}"

    def unsubscribed(self, token: str) -> tuple[str, str] | None:
        """The application and delivery of such a link, by what stands after its path; None where it is no such link."""
        application_id, _, rest = token.partition(".")
        delivery_id = rest.partition(".")[0]
        good = hmac.compare_digest(self._token(application_id, delivery_id).encode(), token.encode())
        return (application_id, delivery_id) if good else None

    def _token(self, application_id: str, delivery_id: str) -> str:
        said = f"unsubscribe.{application_id}.{delivery_id}"
        signature = hmac.digest(self.key, said.encode(), hashlib.sha256)[:_SIGNED]
        return f"{application_id}.{delivery_id}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"
