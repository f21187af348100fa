"""Signed links: to unsubscribe from mail, and to see the preview of a template. The signature prevents forged links."""

import base64
import hashlib
import hmac
from dataclasses import dataclass, field
from datetime import UTC, datetime

UNSUBSCRIBE_PATH = "/unsubscribe"
SHARED_PREVIEW_PATH = "/preview/shared"

MAIL_TOKEN = "token-of-this-mail"  # noqa: S105 (stands for a token)
"""Stands for the token of the unsubscribe link in the content of a mail. Each recipient has another token.

No escaping changes its characters, nor those of a token.
"""

MAX_TOKEN_LENGTH = 200
"""Maximum characters of the token in a link. A longer one is not examined."""

_SIGNATURE_BYTES = 16
"""Bytes of the signature in a link. 128 bits cannot be guessed."""


@dataclass(frozen=True, slots=True)
class SharedPreview:
    """The version of a template that the holders of a link see until `expires_at`, which is in whole seconds."""

    application_id: str
    template_id: str
    version: int
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class SignedLinks:
    """Creates and verifies links below `base_url`, the public URL of the gateway. `key` signs them."""

    base_url: str
    key: bytes = field(repr=False)

    def unsubscribe_url(self, application_id: str, delivery_id: str) -> str:
        """Return the link that unsubscribes the recipient of a delivery. It contains no address."""
        return f"{self.base_url.rstrip('/')}{UNSUBSCRIBE_PATH}/{self._token(application_id, delivery_id)}"

    def unsubscribe_url_of_content(self) -> str:
        """Return the unsubscribe link for the content of mails to several recipients. See `fill_tokens`."""
        return f"{self.base_url.rstrip('/')}{UNSUBSCRIBE_PATH}/{MAIL_TOKEN}"

    def fill_tokens(self, content: str, application_id: str, delivery_id: str) -> str:
        """Return the content of a mail with the token of its delivery in its unsubscribe links."""
        return content.replace(MAIL_TOKEN, self._token(application_id, delivery_id))

    def parse_unsubscribe_token(self, token: str) -> tuple[str, str] | None:
        """Return the application id and delivery id of a link's token; None if its signature is invalid."""
        application_id, _, rest = token.partition(".")
        delivery_id = rest.partition(".")[0]
        valid = hmac.compare_digest(self._token(application_id, delivery_id).encode(), token.encode())
        return (application_id, delivery_id) if valid else None

    def shared_preview_url(self, shared: SharedPreview) -> str:
        """Return the link that shows a version of a template until it expires."""
        return f"{self.base_url.rstrip('/')}{SHARED_PREVIEW_PATH}/{self._shared_preview_token(shared)}"

    def parse_shared_preview_token(self, token: str) -> SharedPreview | None:
        """Return what a link shows; None if its signature is invalid. The caller checks `expires_at`."""
        parts = token.split(".") if len(token) <= MAX_TOKEN_LENGTH else []
        if len(parts) != 5 or not all(part.isascii() and part.isdecimal() for part in parts[2:4]):
            return None
        application_id, template_id, version, expires_at, _ = parts
        try:
            instant = datetime.fromtimestamp(int(expires_at), UTC)
        except (OverflowError, ValueError, OSError):
            return None
        shared = SharedPreview(application_id, template_id, int(version), instant)
        valid = hmac.compare_digest(self._shared_preview_token(shared).encode(), token.encode())
        return shared if valid else None

    def _shared_preview_token(self, shared: SharedPreview) -> str:
        expires_at = int(shared.expires_at.timestamp())
        return self._sign("preview", f"{shared.application_id}.{shared.template_id}.{shared.version}.{expires_at}")

    def _token(self, application_id: str, delivery_id: str) -> str:
        return self._sign("unsubscribe", f"{application_id}.{delivery_id}")

    def _sign(self, purpose: str, content: str) -> str:
        """Return the content with its signature, which is valid for one purpose only."""
        signature = hmac.digest(self.key, f"{purpose}.{content}".encode(), hashlib.sha256)[:_SIGNATURE_BYTES]
        return f"{content}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"
