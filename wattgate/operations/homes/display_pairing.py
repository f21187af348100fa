"""Pairing of displays by a code: the device authorization grant of OAuth 2.0 (RFC 8628).

A display starts a pairing and shows its user code. A user approves the code for a home. The display takes its
credential with its device code, once.
"""

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

import segno
from sqlmodel import col

from wattgate.db.column_types import new_id
from wattgate.db.identity.display_uses import DISPLAY_LIFETIME
from wattgate.db.identity.login_backoff import (
    backoff_id,
    count_failure,
    enforce_login_backoff,
    load_failures,
    restore_failures,
)
from wattgate.db.identity.secrets import hash_secret, new_secret
from wattgate.db.models import Account, DisplayPairing, PairedDisplay, Token, VirtualEntity
from wattgate.db.models.identity.credentials import MAX_PAIRED_DISPLAYS
from wattgate.db.rows.pages import Condition
from wattgate.db.rows.rows import Rows
from wattgate.enums import PairingState
from wattgate.errors import BadInput, NotFound, NotSupported, QuotaExceeded, RateLimited
from wattgate.operations.core.operation import Call
from wattgate.operations.credentials.credential_endings import end_displays
from wattgate.requests.client import AddressPolicy
from wattgate.requests.fair_share import run_in_thread

PAIR_PAGE = "/pair"

USER_CODE_ALPHABET = "23456789BCDFGHJKMNPQRSTVWXZ"
"""The characters of user codes: no vowels and no Y, so that no words appear, and neither 0, 1 nor L."""

USER_CODE_CHARACTERS = 8
"""Characters of a user code. There are 2.8 * 10**11 codes, of which at most MAX_OPEN_PAIRINGS are valid at a time."""

PAIRING_LIFETIME = timedelta(minutes=10)
KEPT_AFTER_EXPIRY = timedelta(hours=1)
"""Time in which an expired pairing is kept, so that its display learns that the code has expired."""

MAX_OPEN_PAIRINGS = 10_000
"""Maximum pairings of an application that wait for an answer. Above it, displays have to wait."""

POLL_SECONDS = 5
"""Minimum seconds between two calls of a display, and what a call that comes too early adds (RFC 8628, 3.5)."""

MAX_POLL_SECONDS = 60
POLL_TOLERANCE = timedelta(seconds=1)
"""A call that comes this much too early is in time, because networks delay calls differently."""

DISPLAY_FRAMEWORK = "display"

DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
"""The grant type of RFC 8628, section 3.4."""

_BACKOFF_KIND = "displayPairing"
_CODE_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class StartedPairing:
    """A new pairing with its two codes, which are stored as digests only.

    `complete_page` is the address of the page with the user code, `qr_code` the same as rows of 0 and 1.
    """

    pairing: DisplayPairing
    device_code: str
    user_code: str
    complete_page: str
    qr_code: list[str]


@dataclass(frozen=True, slots=True)
class ClaimedPairing:
    """The answer to a display. `token` and `display` are set if the state is APPROVED.

    `is_too_early` says that the display asks more often than it may.
    """

    state: PairingState
    interval: int
    is_too_early: bool = False
    token: str | None = None
    display: PairedDisplay | None = None


async def start_pairing(call: Call, rows: Rows, page: str, name: str) -> StartedPairing:
    """Store a new pairing, whose user code is entered at the address `page`.

    Raise RateLimited if the application has too many open ones. The QR code is outside work: see `OutsideWork.result`.
    """
    is_open = col(DisplayPairing.expires_at) > rows.now
    if await rows.count(DisplayPairing, is_open, limit=MAX_OPEN_PAIRINGS) >= MAX_OPEN_PAIRINGS:
        raise RateLimited("Too many displays are being paired. Retry in a minute.", retry_after=60)
    device_code = new_secret()
    for _ in range(_CODE_ATTEMPTS):
        user_code = call.outside.same_value(_new_user_code)
        complete = f"{page}?application={rows.application_id}#{user_code}"
        qr_code = call.outside.result(("qr code", complete), partial(run_in_thread, partial(_draw_qr_code, complete)))
        pairing = DisplayPairing(
            device_digest=hash_secret(device_code),
            user_digest=_user_code_digest(rows, user_code),
            name=name,
            interval=POLL_SECONDS,
            created_at=rows.now,
            expires_at=rows.now + PAIRING_LIFETIME,
        )
        if await rows.add_if_absent(pairing):
            return StartedPairing(pairing, device_code, user_code, complete, qr_code)
    raise RateLimited("No code is free at present. Retry in a minute.", retry_after=60)


def pair_page(call: Call) -> str:
    """Return the address of the page on which users enter codes. Raise NotSupported if the gateway does not know it."""
    base = call.outbound_policy.public_url or call.client.origin
    if base is None:
        raise NotSupported("The gateway does not know its address. Its operator sets WATTGATE_PUBLIC_URL.")
    return base.rstrip("/") + PAIR_PAGE


def _draw_qr_code(text: str) -> list[str]:
    """Return the rows of a QR code as texts of 0 and 1, without a margin. It takes about 5 ms."""
    return ["".join(map(str, row)) for row in segno.make_qr(text).matrix]


async def find_open_pairing(call: Call, user_id: str, user_code: str) -> DisplayPairing:
    """Return the pairing with a user code that waits for an answer. Count a wrong code against the user.

    Raise NotFound with the same message for each code that is unknown, expired or answered, and RateLimited after
    several wrong codes.
    """
    rows, key = call.rows, backoff_id(call.rows, None, user_id, _BACKOFF_KIND)
    failures, failed_at = await load_failures(rows, key)
    enforce_login_backoff(failures, failed_at, rows.now, "wrong codes")
    call.charge_address(AddressPolicy.CODE)
    await count_failure(rows, key)  # before the look-up, so that guesses at once are counted
    pairing = await rows.first(
        DisplayPairing,
        col(DisplayPairing.user_digest) == _user_code_digest(rows, user_code),
        *_is_open(rows.now),
    )
    if pairing is None:
        raise _unknown_user_code()
    await restore_failures(rows, key, failures, failed_at)
    call.refund_address(AddressPolicy.CODE)
    return pairing


async def answer_pairing(
    rows: Rows,
    pairing: DisplayPairing,
    state: PairingState,
    *,
    name: str | None = None,
    account: Account | None = None,
    ve_id: str | None = None,
) -> None:
    """Store the answer of a user. Raise NotFound if another answer was faster."""
    values = {"state": state, "name": pairing.name if name is None else name, "ve_id": ve_id}
    if account is not None:
        values |= {"user_id": account.user_id, "account_id": account.account_id}
    is_pairing = col(DisplayPairing.pairing_id) == pairing.pairing_id
    if not await rows.update(DisplayPairing, is_pairing, *_is_open(rows.now), **values):
        raise _unknown_user_code()


async def check_display_quota(rows: Rows, user_id: str) -> None:
    """Raise QuotaExceeded if a user has as many displays as it may have, with those whose code it has approved."""
    valid = col(PairedDisplay.user_id) == user_id, col(PairedDisplay.expires_at) > rows.now
    approved = (
        col(DisplayPairing.user_id) == user_id,
        col(DisplayPairing.state) == PairingState.APPROVED,
        col(DisplayPairing.token_id).is_(None),
        col(DisplayPairing.expires_at) > rows.now,
    )
    if await rows.count(PairedDisplay, *valid) + await rows.count(DisplayPairing, *approved) >= MAX_PAIRED_DISPLAYS:
        raise QuotaExceeded(f"You have {MAX_PAIRED_DISPLAYS} paired displays, which is the maximum. Remove one first.")


async def claim_pairing(call: Call, rows: Rows, device_code: str) -> ClaimedPairing:
    """Return the state of a pairing to its display, and its credential once after the approval.

    The operation has charged the call to the client's address. Only unknown codes stay charged.

    Raise BadInput with a reason of RFC 8628 if the code is unknown, expired or used. A second use ends the credential
    of the first one, because the code was stolen or the first answer was lost.
    """
    known = await rows.first(DisplayPairing, col(DisplayPairing.device_digest) == hash_secret(device_code))
    if known is None:
        raise _unknown_device_code()
    call.refund_address(AddressPolicy.CODE)
    try:
        pairing = await rows.edit(DisplayPairing, known.pairing_id)
    except NotFound:  # it was deleted in the meantime
        raise _unknown_device_code() from None
    if pairing.token_id is not None:
        taken = await rows.all(PairedDisplay, col(PairedDisplay.token_id) == pairing.token_id)
        await end_displays(call, rows, taken)
        raise _unknown_device_code()
    if pairing.expires_at <= rows.now:
        raise BadInput("The code of the display has expired. Start a new pairing.", reason="expired_token")
    if pairing.state is PairingState.PENDING:
        return _wait(pairing, rows.now)
    home = await _approved_home(rows, pairing)
    if home is None:
        return ClaimedPairing(PairingState.DENIED, pairing.interval)
    return await _issue_credential(rows, pairing, home)


def _wait(pairing: DisplayPairing, now: datetime) -> ClaimedPairing:
    """Record a call of a display whose code has no answer yet. A call that comes too early lengthens the interval."""
    interval = timedelta(seconds=pairing.interval)
    is_too_early = pairing.polled_at is not None and now < pairing.polled_at + interval - POLL_TOLERANCE
    if is_too_early:
        pairing.interval = min(pairing.interval + POLL_SECONDS, MAX_POLL_SECONDS)
    pairing.polled_at = now
    return ClaimedPairing(PairingState.PENDING, pairing.interval, is_too_early)


async def _approved_home(rows: Rows, pairing: DisplayPairing) -> VirtualEntity | None:
    """Return the home of an approved pairing; None if it is denied, or its account or home was closed since."""
    if pairing.state is not PairingState.APPROVED or pairing.account_id is None or pairing.ve_id is None:
        return None
    account = (await rows.get_many(Account, [pairing.account_id])).get(pairing.account_id)
    home = (await rows.get_many(VirtualEntity, [pairing.ve_id])).get(pairing.ve_id)
    if account is None or not account.active or home is None:
        return None
    return home if home.active and home.owner_id == pairing.user_id else None


async def _issue_credential(rows: Rows, pairing: DisplayPairing, home: VirtualEntity) -> ClaimedPairing:
    """Issue the credential of an approved display, and delete the expired ones of the user."""
    assert pairing.user_id is not None
    assert pairing.account_id is not None
    is_expired = col(PairedDisplay.user_id) == pairing.user_id, col(PairedDisplay.expires_at) <= rows.now
    await rows.delete(PairedDisplay, *is_expired)
    secret, expires_at = new_secret(), rows.now + DISPLAY_LIFETIME
    owner = {"user_id": pairing.user_id, "account_id": pairing.account_id, "ve_id": home.ve_id}
    token = Token(
        token_id=new_id(),
        digest=hash_secret(secret),
        authentication_framework=DISPLAY_FRAMEWORK,
        grant_type=DEVICE_GRANT,
        created_at=rows.now,
        authenticated_at=rows.now,
        expires_at=expires_at,
        **owner,
    )
    await rows.add(token)
    display = PairedDisplay(
        token_id=token.token_id,
        name=pairing.name,
        created_at=rows.now,
        last_seen_at=rows.now,
        expires_at=expires_at,
        **owner,
    )
    await rows.add(display)
    pairing.token_id = token.token_id
    return ClaimedPairing(PairingState.APPROVED, pairing.interval, token=secret, display=display)


def _new_user_code() -> str:
    code = "".join(secrets.choice(USER_CODE_ALPHABET) for _ in range(USER_CODE_CHARACTERS))
    return f"{code[:4]}-{code[4:]}"


def _user_code_digest(rows: Rows, user_code: str) -> bytes:
    """Return the digest of a user code in any case and with any separators, for the application."""
    characters = "".join(character for character in user_code.upper() if character.isalnum())
    return hash_secret(f"{rows.application_id}:{characters}")


def _is_open(now: datetime) -> tuple[Condition, Condition]:
    return col(DisplayPairing.state) == PairingState.PENDING, col(DisplayPairing.expires_at) > now


def _unknown_user_code() -> NotFound:
    """Return the error for every code that cannot be answered. It does not reveal why."""
    return NotFound(
        "The code is unknown, has expired or was used already. Check it, or let the display show a new one.",
        commits_changes=True,
    )


def _unknown_device_code() -> BadInput:
    return BadInput(
        "The device code is unknown or already used. Start a new pairing.", reason="invalid_grant", commits_changes=True
    )
