"""The registry of what lives longer than a request: derived from a credential or waiting to run, and how it ends.

To add a kind of capability, add a row here, and its table to `services.credential_endings` if it is stored. A test
fails while one of these belongs to no row: a column with secrets, a Redis key, a kind of connection, a class that keeps
a caller, a kind of delivery, a table of jobs.
docs/reference/credentials.md has the table, with the test of each row.
"""

from dataclasses import dataclass
from datetime import timedelta
from enum import Enum

from wattgate.db.identity.credentials import MAX_CACHED_APPLICATIONS
from wattgate.db.identity.display_uses import DISPLAY_LIFETIME
from wattgate.db.identity.login_backoff import ADDRESS, DEVICE, MAX_SOURCES, SOURCE_LIFETIME
from wattgate.db.models.identity.credentials import MAX_PAIRED_DISPLAYS
from wattgate.delivery.schedule import SCHEDULES
from wattgate.enums import DeliveryKind
from wattgate.graphql.execution.documents.persisted_documents import MAX_CACHE_AGE_SECONDS
from wattgate.operations.accounts import oauth
from wattgate.operations.accounts.accounts import MAX_PUSH_TOKENS
from wattgate.operations.accounts.one_time_codes import CODE_LIFETIME, MAX_OPEN_CODES
from wattgate.operations.credentials import email_changes, second_factor_codes
from wattgate.operations.credentials.login import TOKEN_LIFETIME
from wattgate.operations.devices import device_changes
from wattgate.operations.homes import display_pairing, home_members
from wattgate.operations.templates import template_sharing
from wattgate.operations.webhooks import endpoint_secrets
from wattgate.realtime.apq_store import MAX_TEXTS, TTL_SECONDS
from wattgate.realtime.bus import MIN_RETAINED_SECONDS
from wattgate.realtime.connections.event_streams.stream_reservations import (
    MAX_APPLICATION_RESERVATIONS,
    MAX_OWNER_RESERVATIONS,
    RESERVATION_SECONDS,
)
from wattgate.realtime.connections.limits import ConnectionLimits

REVOKED_SECONDS = 1
"""Time in which every process notices the end of a credential or a consent, with and without Redis."""


class Anchor(Enum):
    """A thing on which capabilities depend: they end when it ends."""

    ACCOUNT = "account"
    TOKEN = "log-in token"  # noqa: S105 (the name of a kind of credential)
    GRANT = "OAuth grant"
    DISPLAY = "paired display"
    HOME = "home"
    USER = "user for whom an application acts"
    APPLICATION_CREDENTIAL = "application credential"
    APPLICATION = "application"
    CONSENT = "consent"
    RESOURCE = "resource"
    PERSON = "user"
    ADDRESS = "e-mail address"
    ENDPOINT = "webhook endpoint"
    LINK_KEY = "link key of the gateway"


@dataclass(frozen=True, slots=True)
class Capability:
    """One kind of capability.

    `claims` names where it is kept: `table.column`, `class NAME`, the start of a Redis key, `delivery KIND` or
    `job TABLE`.
    """

    name: str
    depends_on: tuple[Anchor, ...]
    bound: str
    ends: str
    within: str
    claims: tuple[str, ...] = ()


_LIMITS = ConnectionLimits()
_LOGIN = (
    Anchor.ACCOUNT,
    Anchor.TOKEN,
    Anchor.GRANT,
    Anchor.DISPLAY,
    Anchor.USER,
    Anchor.APPLICATION_CREDENTIAL,
)
_CONNECTIONS = (
    f"{_LIMITS.max_account_connections} for each account, {_LIMITS.max_display_connections} for each paired display "
    f"and {_LIMITS.max_application_connections:,} for each application, together with the other connections"
)
_AT_ONCE = "immediately"
_AT_SENDING = "decided at each attempt to send it"
_BY_LOOKUP = f"changes: immediately; reads: immediately at the gateway that ends it, {REVOKED_SECONDS} s at the others"
_EXTERNAL_TOKEN_COLUMNS = ("account_id", "token", "access_token", "token_issued_at", "token_expires_at")
_BY_NOTICE = f"{REVOKED_SECONDS} s"


def _hours(kind: DeliveryKind) -> int:
    """Return the time in hours after which a delivery that fails is given up."""
    return round(sum(SCHEDULES[kind].pauses, timedelta()) / timedelta(hours=1))


CAPABILITIES: tuple[Capability, ...] = (
    Capability(
        "WebSocket",
        _LOGIN,
        _CONNECTIONS,
        "Each gateway closes it with 4403. After the expiry of its token, the client can send a new one for "
        f"{_LIMITS.token_grace_seconds:g} s.",
        _BY_NOTICE,
        ("class Session", "{wattgate}:seats"),
    ),
    Capability(
        "Event stream with one operation",
        _LOGIN,
        _CONNECTIONS,
        "Each gateway ends it with an error.",
        _BY_NOTICE,
        ("class EventStream",),
    ),
    Capability(
        "Reserved event stream",
        _LOGIN,
        f"{MAX_OWNER_RESERVATIONS} for each account or display and {MAX_APPLICATION_RESERVATIONS:,} for each "
        f"application; {RESERVATION_SECONDS:g} s",
        "It does not open: the gateway checks the credential that reserved it. It opens once, for the same caller and "
        "origin.",
        _AT_ONCE,
        ("class StreamReservation", "{wattgate}:stream-reservation", "{wattgate}:stream-reservations"),
    ),
    Capability(
        "Open event stream for several operations",
        _LOGIN,
        _CONNECTIONS,
        "Each gateway ends it with an error. Each new operation needs credentials of the same caller, from the same "
        "origin, and the gateway checks those of the stream again.",
        _BY_NOTICE,
        ("class StreamRequest",),
    ),
    Capability(
        "Streamed upload or download over REST",
        _LOGIN,
        "the length of the request",
        "The gateway checks the credential again before the next part.",
        f"changes: immediately; downloads: {REVOKED_SECONDS} s, and the part that is in work",
    ),
    Capability(
        "Resume position",
        _LOGIN,
        f"the events of at least {MIN_RETAINED_SECONDS / 60:g} minutes",
        "It names a place and grants nothing: each subscription checks the caller and its rows.",
        _AT_ONCE,
        ("{wattgate}:events",),
    ),
    Capability(
        "Persisted document (APQ)",
        _LOGIN,
        f"{MAX_TEXTS:,} texts in each gateway, kept {TTL_SECONDS // 86_400} days after the last request",
        "It names a text and grants nothing: each execution checks the caller.",
        _AT_ONCE,
        ("{wattgate}:texts",),
    ),
    Capability(
        "Trusted document",
        (Anchor.APPLICATION,),
        "documents that an operator registers",
        "An operator removes it. It grants nothing: each execution checks the caller.",
        f"{MAX_CACHE_AGE_SECONDS:g} s",
    ),
    Capability(
        "Secret of an application",
        (Anchor.APPLICATION_CREDENTIAL,),
        "one for each credential of an application",
        "A new secret replaces it. Each request checks it. Connections with the old one are closed.",
        f"requests: immediately; connections: {REVOKED_SECONDS} s",
        ("application_credential.secret_digest",),
    ),
    Capability(
        "Remembered application of callers without credentials",
        (Anchor.APPLICATION,),
        f"{MAX_CACHED_APPLICATIONS:,} applications in each gateway, for 60 s",
        "Each gateway forgets it when an application changes, such as by `wattgate documents require`.",
        f"{REVOKED_SECONDS} s",
    ),
    Capability(
        "Log-in token",
        (Anchor.ACCOUNT, Anchor.TOKEN),
        f"{TOKEN_LIFETIME.days} days",
        "The row is deleted. A password change keeps only the token of its own request.",
        _BY_LOOKUP,
        ("token.token_id", "token.account_id", "token.digest", "class RememberedTokens"),
    ),
    Capability(
        "OAuth authorization code",
        (Anchor.ACCOUNT,),
        f"{oauth.CODE_LIFETIME.seconds} s; valid once",
        "The row is deleted.",
        _AT_ONCE,
        tuple(
            f"authorization_code.{column}"
            for column in ("code_id", "account_id", "client_id", "family", "digest", "code_challenge")
        ),
    ),
    Capability(
        "OAuth access token",
        (Anchor.ACCOUNT, Anchor.GRANT),
        f"{TOKEN_LIFETIME.days} days",
        "The row is deleted, with all others of the grant.",
        _BY_LOOKUP,
        ("token.family", "token.grant_type"),
    ),
    Capability(
        "OAuth refresh token",
        (Anchor.ACCOUNT, Anchor.GRANT),
        f"{oauth.REFRESH_LIFETIME.days} days; valid once; at most `WATTGATE_GRANT_DAYS` from the grant",
        "The row is deleted, with all others of the grant.",
        _AT_ONCE,
        tuple(
            f"refresh_token.{column}" for column in ("refresh_token_id", "account_id", "client_id", "family", "digest")
        ),
    ),
    Capability(
        "Pairing of a display",
        (Anchor.ACCOUNT, Anchor.TOKEN, Anchor.HOME),
        f"{display_pairing.MAX_OPEN_PAIRINGS:,} for each application; {display_pairing.PAIRING_LIFETIME.seconds // 60} "
        "min; each of its two codes is valid once",
        "The row is deleted with the account, a token of it, or the home. A second use of the device code ends the "
        "credential of the first use.",
        _AT_ONCE,
        tuple(f"display_pairing.{column}" for column in ("account_id", "device_digest", "user_digest", "token_id")),
    ),
    Capability(
        "Token of a paired display",
        (Anchor.ACCOUNT, Anchor.DISPLAY, Anchor.HOME),
        f"{MAX_PAIRED_DISPLAYS} for each user; {DISPLAY_LIFETIME.days} days after its last use; reads one home",
        "The row is deleted: by the user, by the display itself, or with the home or the account.",
        _BY_LOOKUP,
        ("paired_display.account_id", "paired_display.token_id"),
    ),
    Capability(
        "Invitation to a home, and the access of a member",
        (Anchor.ACCOUNT, Anchor.TOKEN, Anchor.HOME),
        f"{home_members.MAX_MEMBERS} for each home; the code is valid {home_members.INVITATION_LIFETIME.days} days and "
        "once",
        "The owner removes it, the member leaves, or the home is closed. It rests while the owner is suspended, and is "
        "deleted with the owner or the member. Each request and each connection needs a log-in of the member.",
        f"requests: immediately; connections: {REVOKED_SECONDS} s",
        ("home_member.digest",),
    ),
    Capability(
        "Token of an external directory",
        (Anchor.ACCOUNT,),
        "the newest one of each account, and its access token",
        "The gateway deletes its copies, also when the directory is switched off. They serve only to ask whether they "
        "are still valid.",
        _AT_ONCE,
        tuple(f"external_account.{column}" for column in _EXTERNAL_TOKEN_COLUMNS),
    ),
    Capability(
        "Secret of a second factor that is not confirmed",
        (Anchor.ACCOUNT, Anchor.TOKEN),
        "one for each account",
        "The row is deleted: by a new password, or the revocation of a token of the account. A new secret replaces it.",
        _AT_ONCE,
        ("second_factor.account_id", "second_factor.secret"),
    ),
    Capability(
        "Recovery code of a second factor",
        (Anchor.ACCOUNT,),
        f"{second_factor_codes.RECOVERY_CODES} for each account; valid once, together with the password",
        "The rows are deleted with the second factor: by its holder, an administrator or the application.",
        _AT_ONCE,
        ("recovery_code.account_id", "recovery_code.digest"),
    ),
    Capability(
        "Push token",
        (Anchor.ACCOUNT, Anchor.TOKEN),
        f"{MAX_PUSH_TOKENS} for each account",
        "The row is deleted, and waiting pushes to it fail. It survives the expiry of the token that added it, but not "
        "its revocation. OAuth clients cannot add one.",
        _AT_ONCE,
        tuple(
            f"mobile_app_token.{column}"
            for column in ("mobile_app_token_id", "account_id", "token", "added_by_token_id")
        ),
    ),
    Capability(
        "Verification code or password reset token",
        (Anchor.ACCOUNT, Anchor.ADDRESS),
        f"{MAX_OPEN_CODES} of each kind for each account; {CODE_LIFETIME.seconds // 60} min",
        "The row is deleted, also when the e-mail address changes. Its mail is not sent any more.",
        _AT_ONCE,
        (
            *(f"one_time_code.{column}" for column in ("code_id", "account_id", "digest")),
            "account_mail.secret",
            "delivery account-mail",
        ),
    ),
    Capability(
        "Code that confirms an e-mail address",
        (Anchor.ACCOUNT, Anchor.TOKEN),
        f"{email_changes.MAX_EMAIL_CHANGES} for each account in "
        f"{email_changes.CHANGE_LIFETIME // timedelta(hours=1)} h; valid once",
        "The change is cancelled: by the next change, a new password, or the revocation of a token of the account.",
        _AT_ONCE,
        ("email_change.account_id", "email_change.digest"),
    ),
    Capability(
        "Claim code of a device",
        (Anchor.APPLICATION,),
        f"one for each device; {device_changes.MAX_CODE_FAILURES} wrong codes; valid once",
        "The row is deleted when a user claims the device, and replaced when the application registers another code.",
        _AT_ONCE,
        ("device_claim.digest",),
    ),
    Capability(
        "Known device or address of an account",
        (Anchor.ACCOUNT,),
        f"{MAX_SOURCES[DEVICE]} devices and {MAX_SOURCES[ADDRESS]} addresses for each account, kept "
        f"{SOURCE_LIFETIME.days} days after the last use",
        "The row is deleted. It only spares the wait after wrong passwords from elsewhere; the password is needed.",
        _AT_ONCE,
        ("login_source.account_id", "login_source.digest"),
    ),
    Capability(
        "Unsubscribe link in a mail",
        (Anchor.LINK_KEY,),
        "one for each mail; it only stops mail to the address of that mail",
        "A new link key makes all links invalid. A link does not end with an account: the holder of an address must be "
        "able to stop mail.",
        "the restart with the new key",
    ),
    Capability(
        "Link to the preview of a template",
        (Anchor.LINK_KEY,),
        f"lives at most {template_sharing.MAX_HOURS // 24} days; shows one version with sample data, and no records",
        "The link expires, its template is archived, or a new link key makes all links invalid.",
        _AT_ONCE,
    ),
    Capability(
        "Signing secret of a webhook endpoint",
        (Anchor.APPLICATION,),
        f"{1 + endpoint_secrets.MAX_OLD_SECRETS} for each endpoint during rotations",
        "A new secret replaces it after its overlap, or the endpoint is deleted.",
        "the overlap of the rotation, 0 to 168 hours",
        tuple(f"webhook_endpoint.{column}" for column in ("secret", "old_secrets", "secret_expires_at")),
    ),
    Capability(
        "Live readings of a meter point",
        (Anchor.CONSENT,),
        "18 months",
        "Its part of the subscription ends with the error `CONSENT_REVOKED`.",
        _BY_NOTICE,
    ),
    Capability(
        "Retrieval of readings (catch-up)",
        (Anchor.CONSENT, Anchor.RESOURCE),
        "one in half an hour for each resource",
        "It fails, or retrieves nothing. The worker checks the resource and the consent for each page.",
        _AT_ONCE,
        ("job catch_up",),
    ),
    Capability(
        "Export and its archive",
        (Anchor.PERSON,),
        "one for each user; the lifetime in the settings",
        "Its rows are deleted. A worker that builds it stops. Each download of a part checks the credential.",
        _AT_ONCE,
        ("job data_export", "data_export_part.content"),
    ),
    Capability(
        "Waiting mail to a user",
        (Anchor.PERSON, Anchor.ACCOUNT, Anchor.ADDRESS, Anchor.CONSENT, Anchor.RESOURCE),
        f"{_hours(DeliveryKind.EMAIL)} hours",
        "It is not sent to an address that no active account of the user has. One about readings is not sent without "
        "consent, or after its resource was closed or moved. An erasure deletes it.",
        _AT_SENDING,
        ("delivery email",),
    ),
    Capability(
        "Waiting notice about an account",
        (Anchor.PERSON, Anchor.ACCOUNT, Anchor.ADDRESS),
        f"{_hours(DeliveryKind.ACCOUNT_MAIL)} hours",
        "One about a password or an address goes to the address of that time, also if the account is closed by then. "
        "One about the end of a tenancy goes only to the present address of an open account, and not to a user who "
        "lives there again. An erasure deletes both.",
        _AT_SENDING,
    ),
    Capability(
        "Waiting push or web push",
        (Anchor.PERSON, Anchor.ACCOUNT, Anchor.TOKEN, Anchor.CONSENT, Anchor.RESOURCE),
        f"{_hours(DeliveryKind.PUSH)} hours",
        "It fails if the push token was removed or its account was closed. One about readings fails without consent, "
        "or after its resource was closed or moved. An erasure deletes it.",
        _AT_SENDING,
        ("delivery push",),
    ),
    Capability(
        "Waiting event of a webhook",
        (Anchor.PERSON, Anchor.ENDPOINT),
        f"{_hours(DeliveryKind.WEBHOOK)} hours",
        "It fails if the endpoint was deleted. It goes to the address of that moment. An erasure deletes it.",
        _AT_SENDING,
        ("delivery webhook",),
    ),
)
