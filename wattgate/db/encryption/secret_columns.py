"""The columns with secrets, and how each is protected. A test fails for a column that looks secret and is missing."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType

from wattgate.db.models import (
    AccountMail,
    Directory,
    ExternalAccount,
    MobileAppToken,
    SecondFactor,
    Tenanted,
    WebhookEndpoint,
)


class Protection(Enum):
    """How a column with a secret-looking name is protected."""

    ENCRYPTED = "encrypted"
    HASHED = "hashed"
    NOT_SECRET = "not a secret"  # noqa: S105 (the name of a treatment)


@dataclass(frozen=True, slots=True)
class SecretColumn:
    """The protection of a column, with the reason."""

    protection: Protection
    reason: str


def _encrypted(reason: str) -> SecretColumn:
    return SecretColumn(Protection.ENCRYPTED, reason)


def _hashed(reason: str) -> SecretColumn:
    return SecretColumn(Protection.HASHED, reason)


def _not_secret(reason: str) -> SecretColumn:
    return SecretColumn(Protection.NOT_SECRET, reason)


SECRET_NAME = re.compile(
    r"(^|_)(secret|token|password|passphrase|digest|hash|code|key|credential|challenge|verifier|auth|private|pin|salt)"
    r"(s|_|\Z)"
)
"""Names of columns that may hold a secret."""

SECRET_COLUMNS: Mapping[str, SecretColumn] = MappingProxyType(
    {
        "webhook_endpoint.secret": _encrypted("It signs each message."),
        "webhook_endpoint.old_secrets": _encrypted("Each signs each message until its overlap ends."),
        "webhook_endpoint.secret_expires_at": _not_secret("A time."),
        "mobile_app_token.token": _encrypted("Anyone who has it can send pushes to the phone or browser."),
        "mobile_app_token.digest": _hashed("SHA-256 of a token that a push service has made, which is random."),
        "mobile_app_token.mobile_app_token_id": _not_secret("An identifier."),
        "mobile_app_token.added_by_token_id": _not_secret("An identifier."),
        "account_mail.secret": _encrypted("It is the code of a mail that waits. The end of the delivery deletes it."),
        "directory.client_secret": _encrypted("The gateway sends it to the directory."),
        "directory.token_check": _not_secret("The name of a check."),
        "external_account.token": _encrypted("The directory has issued it to the user's app."),
        "external_account.access_token": _encrypted("Anyone who has it can call the directory for the user."),
        "external_account.used_tokens": _hashed("Only digests of the tokens that have logged in are stored."),
        "external_account.token_issued_at": _not_secret("A time."),
        "external_account.token_expires_at": _not_secret("A time."),
        "second_factor.secret": _encrypted("Anyone who has it can make codes."),
        "recovery_code.digest": _hashed("SHA-256 of 79 random bits, with the account as salt. A code is valid once."),
        "recovery_code.recovery_code_id": _not_secret("An identifier."),
        "email_change.digest": _hashed("SHA-256 of 256 random bits."),
        "login_source.digest": _hashed("SHA-256 of the random identifier of a device, or of a network address."),
        "audit_entry.digest": _not_secret("A checksum of the entry."),
        "audit_entry.previous_digest": _not_secret("A checksum of an entry."),
        "audit_head.digest": _not_secret("A checksum of an entry."),
        "account.password_hash": _hashed("Argon2id, because people choose passwords."),
        "application_credential.secret_digest": _hashed("SHA-256 of 256 random bits."),
        "oauth_client.secret_digest": _hashed("SHA-256 of 256 random bits. The client sends it, nobody reads it back."),
        "token.digest": _hashed("SHA-256 of 256 random bits."),
        "token.token_id": _not_secret("An identifier."),
        "display_pairing.device_digest": _hashed("SHA-256 of 256 random bits."),
        "display_pairing.user_digest": _hashed(
            "SHA-256 of 38 random bits, with the application as salt. A code lasts 10 minutes, and guesses are limited."
        ),
        "display_pairing.token_id": _not_secret("An identifier."),
        "home_member.digest": _hashed(
            "SHA-256 of 57 random bits, with the application as salt. A code lasts 7 days, and guesses are limited."
        ),
        "paired_display.token_id": _not_secret("An identifier."),
        "refresh_token.digest": _hashed("SHA-256 of 256 random bits."),
        "refresh_token.refresh_token_id": _not_secret("An identifier."),
        "authorization_code.digest": _hashed("SHA-256 of 256 random bits."),
        "authorization_code.code_id": _not_secret("An identifier."),
        "authorization_code.code_challenge": _not_secret("A digest of the verifier, which the client keeps."),
        "one_time_code.digest": _hashed("SHA-256 with the identifier as salt. A code lasts an hour and five attempts."),
        "one_time_code.code_id": _not_secret("An identifier."),
        "secret_key.key_id": _not_secret("The name of a key. The key itself is in the settings."),
        "delivery.order_key": _not_secret("The identifier that deliveries in order share."),
        "device.hardware_key": _not_secret("A hardware ID without separators."),
        "device_claim.hardware_key": _not_secret("A hardware ID without separators."),
        "device_claim.digest": _hashed(
            "SHA-256 with the identifier as salt. A code is valid once and for 20 attempts."
        ),
        "webhook_event.event_code": _not_secret("The kind of an event."),
        "alert.culture_code": _not_secret("A language and region."),
        "app_user.culture_code": _not_secret("A language and region."),
        "application.culture_code": _not_secret("A language and region."),
        "language_content.culture_code": _not_secret("A language and region."),
        "template.culture_code": _not_secret("A language and region."),
        "virtual_entity.postal_code": _not_secret("A postal code is personal data, not a credential."),
    }
)
"""Each column that `SECRET_NAME` matches, as `table.column`."""

ENCRYPTED_MODELS: Mapping[type[Tenanted], tuple[str, ...]] = MappingProxyType(
    {
        WebhookEndpoint: ("secret", "old_secrets"),
        MobileAppToken: ("token",),
        Directory: ("client_secret",),
        ExternalAccount: ("token", "access_token"),
        AccountMail: ("secret",),
        SecondFactor: ("secret",),
    }
)
"""The encrypted columns of each model. `SECRET_COLUMNS` has the same columns."""
