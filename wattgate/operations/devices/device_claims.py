"""Proof that a user may have a device: the inventory of the meter network, or a code that the application registered.

Without proof, the error is the same for every hardware id, so that it does not reveal which devices exist. A wrong code
counts against the device and against the account that sent it, known device or not.
"""

import hmac

from sqlmodel import col

from wattgate.db.identity.login_backoff import (
    backoff_id,
    count_failure,
    enforce_login_backoff,
    forget_failures,
    load_failures,
)
from wattgate.db.identity.secrets import hash_secret, new_readable_secret
from wattgate.db.models import DeviceClaim, MeterPointConsent
from wattgate.db.queries.consent import is_in_force
from wattgate.db.queries.tenancies import lives_at
from wattgate.db.rows.rows import Rows
from wattgate.energy.meters.meter_points import (
    canonical_meter_point,
    hardware_id_spellings,
    normalize_hardware_id,
    parse_eui,
)
from wattgate.enums import DeviceProof
from wattgate.errors import Forbidden
from wattgate.operations.core.operation import Call
from wattgate.requests.client import AddressPolicy

CODE_ALPHABET = "23456789ABCDEFGHJKMNPQRSTVWXYZ"
"""The characters of generated codes: none that looks like another one."""

MIN_CODE_CHARACTERS = 8
"""Minimum characters of a code that the application chooses, without separators."""

MAX_CODE_FAILURES = 20
"""Maximum wrong codes for a device. Above it, its code is invalid until the application registers a new one."""

COMMISSIONED = "commissioned"

_BACKOFF_KIND = "deviceClaim"
_NO_CLAIM = ""
"""The claim id in statements about a device without a code. No claim has it."""


def new_code() -> str:
    """Return a new random code of 78 bits that people can type."""
    return new_readable_secret(CODE_ALPHABET)


def code_digest(claim_id: str, code: str) -> bytes:
    """Return the digest to store for a code, in any spelling."""
    return hash_secret(f"{claim_id}:{normalize_hardware_id(code)}")


async def find_claim(rows: Rows, hardware_id: str) -> DeviceClaim | None:
    """Return the registered code of a device, which may have expired, or None."""
    spellings = hardware_id_spellings(hardware_id)
    return await rows.first(
        DeviceClaim, col(DeviceClaim.hardware_key).in_(spellings), order_by=[col(DeviceClaim.created_at).desc()]
    )


async def require_proof(call: Call, user_id: str, hardware_id: str, code: str | None) -> DeviceProof:
    """Return the proof that a user may have a device. Raise Forbidden without proof, RateLimited after wrong codes.

    The application and its administrators need none. A code that is given must be right.
    """
    if not call.principal.sees_own_records_only:
        return DeviceProof.APPLICATION
    if code is not None:
        if await _redeem_code(call, user_id, hardware_id, code):
            return DeviceProof.CODE
    elif await _is_in_inventory(call, user_id, hardware_id):
        return DeviceProof.NETWORK
    raise Forbidden(
        "There is no proof that you may have this device. Send its claim code as claimCode. Otherwise, ask the "
        "provider of the application to verify your meter point, or to add the device.",
        commits_changes=True,
    )


async def _redeem_code(call: Call, user_id: str, hardware_id: str, code: str) -> bool:
    """Return whether the code is that of the device, and delete it then. Otherwise count the attempt."""
    rows, key = call.rows, backoff_id(call.rows, None, user_id, _BACKOFF_KIND)
    enforce_login_backoff(*await load_failures(rows, key), rows.now, "wrong claim codes")
    call.charge_address(AddressPolicy.CODE)
    claim = await find_claim(rows, hardware_id)
    claim_id, digest = (claim.claim_id, claim.digest) if claim else (_NO_CLAIM, b"")
    of_claim = col(DeviceClaim.claim_id) == claim_id
    has_attempts = await rows.update(
        DeviceClaim, of_claim, col(DeviceClaim.failures) < MAX_CODE_FAILURES, failures=col(DeviceClaim.failures) + 1
    )
    await count_failure(rows, key)  # before the comparison, so that guesses at once are counted
    is_right = hmac.compare_digest(digest, code_digest(claim_id, code))
    has_expired = claim is None or (claim.expires_at is not None and claim.expires_at <= rows.now)
    if not (is_right and has_attempts and not has_expired and await rows.delete(DeviceClaim, of_claim)):
        return False
    await forget_failures(rows, key)
    call.refund_address(AddressPolicy.CODE)
    return True


async def _is_in_inventory(call: Call, user_id: str, hardware_id: str) -> bool:
    """Return whether the network lists the device, in use, where the user lives and the meter point is verified."""
    eui = parse_eui(hardware_id)
    device = await call.network.device(eui) if eui else None
    number = canonical_meter_point(device.mpxn if device else "")
    consents = await call.rows.all(
        MeterPointConsent,
        col(MeterPointConsent.user_id) == user_id,
        col(MeterPointConsent.mpxn) == number,
        col(MeterPointConsent.verified).is_(True),
    )
    is_in_use = device is not None and device.status.lower() == COMMISSIONED
    has_consent = any(is_in_force(consent, call.rows.now) for consent in consents)
    return await lives_at(call.rows, user_id, number) and is_in_use and has_consent
