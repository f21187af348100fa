"""Devices that change: add them with proof, change and remove them, and move them to another user."""

import hmac
from typing import Any

import msgspec
from sqlmodel import col

from wattgate.db import models
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
from wattgate.errors import BadInput, Conflict, Forbidden, Problem, QuotaExceeded
from wattgate.operations.consent.consent_records import record_provisioned_consent
from wattgate.operations.core.context import require_user_id
from wattgate.operations.core.home_events import emit_device_changed
from wattgate.operations.core.input_limits import to_column_values
from wattgate.operations.core.operation import Audit, Call, OperationKind, RestRoute, operation
from wattgate.operations.devices import device_records as services
from wattgate.operations.devices.device_records import require_new_owner
from wattgate.operations.types.homes import resources as resource_types
from wattgate.operations.types.meters import devices as types
from wattgate.operations.vocabulary import ids
from wattgate.operations.vocabulary.arguments import UNSET, Id
from wattgate.operations.vocabulary.tags import Tag
from wattgate.principal import Permission
from wattgate.requests.client import AddressPolicy


@operation(
    OperationKind.MUTATION,
    returns=resource_types.Device,
    needs=Permission.DEVICE_WRITE,
    audit=Audit.CALLS_FOR_OTHERS,
    rest=RestRoute("POST", "/device", Tag.DEVICES, acknowledged_fields=("deviceId",)),
)
async def add_device(call: Call, *, input: types.NewDevice) -> models.Device:
    """Add a device for the acting user. Its sensors supply the user's resources with readings.

    An account needs proof that its user may have the device: a claim code of the application, or an entry in the meter
    network's inventory of a meter point that the application has verified for the user. Applications need no proof.
    """
    owner_id = require_user_id(call)
    _check_hardware_id(input.hardware_id)
    device_type = (await call.rows.get_many(models.DeviceType, [input.device_type_id])).get(input.device_type_id)
    if device_type is None:
        problem = Problem(("input", "deviceTypeId"), "deviceType does not exist")
        raise BadInput(f"Unknown device type {input.device_type_id!r}. See `problems`.", problems=[problem])
    owned = await services.load_owned_resources(call.rows, owner_id)
    mpxns = (input.hardware_ids.mpan, input.hardware_ids.mprn)
    sensors = (
        services.explicit_sensors(input.protocol, owned)
        if input.protocol
        else services.default_sensors(device_type, owned, mpxns)
    )
    proof = await require_proof(call, owner_id, input.hardware_id, input.claim_code)
    if proof is DeviceProof.CODE:
        await services.require_not_left(call, owner_id, input.hardware_id)
    for mpxn in mpxns:
        await record_provisioned_consent(call, owner_id, mpxn)
    await services.close_other_holders(call, owner_id, input.hardware_id)
    device = services.build_device(owner_id, device_type, input.hardware_id, _to_hardware_ids(input), proof)
    device.held_from = await services.held_from(call, owner_id, input.hardware_id)
    device.description, device.parent_hardware_id = input.description, input.parent_hardware_id
    device.protocol_name = (input.protocol and input.protocol.protocol) or device.protocol_name
    return await services.add_with_sensors(call, device, sensors)


@operation(
    OperationKind.MUTATION,
    returns=resource_types.Device,
    needs=Permission.DEVICE_WRITE,
    audit=Audit.CALLS_FOR_OTHERS,
    rest=RestRoute("PUT", "/device/{deviceId}", Tag.DEVICES, edges=("protocol",)),
    raises=(Conflict, QuotaExceeded),
)
async def update_device(call: Call, *, device_id: ids.DeviceId, input: types.DeviceChange) -> models.Device:
    """Change an active device. Omitted fields keep their values. Its hardware ID, type and owner do not change."""
    device = await _edit_open_device(call.rows, device_id)
    for name, value in to_column_values(input, models.Device, exclude={"protocol"}).items():
        setattr(device, name, value)
    if input.hardware_ids:
        for name, value in services.identifier_columns(input.hardware_ids).items():
            setattr(device, name, value)
    if input.protocol is None:
        problem = Problem(("input", "protocol"), "must not be null")
        raise BadInput("A required value is null. See `problems`.", problems=[problem])
    if input.protocol is not UNSET:
        owned = await services.load_owned_resources(call.rows, device.owner_id)
        sensors = services.explicit_sensors(input.protocol, owned)
        await services.remember_meter_points(call, device, sensors)
        await services.require_own_readings(call, device)
        await services.replace_sensors(call, device, sensors)
        device.protocol_name = input.protocol.protocol or device.protocol_name
    emit_device_changed(call, device_id)
    return device


@operation(
    OperationKind.MUTATION,
    returns=resource_types.Device,
    needs=Permission.DEVICE_WRITE,
    audit=Audit.CALLS_FOR_OTHERS,
    rest=RestRoute("DELETE", "/device/{deviceId}", Tag.DEVICES, edges=("protocol",)),
)
async def deactivate_device(call: Call, *, device_id: ids.DeviceId) -> models.Device:
    """Remove a device from its user, so that its next owner can add it. Its record and the readings are kept.

    A removed device stays removed: the same user adds it again with new proof.
    """
    device = await call.rows.edit(models.Device, device_id)
    return await services.close_device(call, call.rows, device_id) if device.active else device


@operation(
    OperationKind.MUTATION,
    returns=resource_types.Device,
    needs=Permission.DEVICE_MANAGE,
    audit=Audit.EVERY_CALL,
    rest=RestRoute("PUT", "/device/{deviceId}/owner", Tag.DEVICES, edges=("protocol",)),
    raises=(Conflict, QuotaExceeded),
)
async def move_device(call: Call, *, device_id: ids.DeviceId, user_id: ids.NewOwnerId) -> models.Device:
    """Move a device to another user of the application.

    The user gets a new device with the same hardware ID, without description, state and meter points. The old record is
    closed and keeps its owner and its history.
    """
    old = await _edit_open_device(call.rows, device_id)
    await require_new_owner(call.rows, user_id, old.owner_id)
    return await services.move_device_to(call, old, user_id)


@operation(
    OperationKind.MUTATION,
    returns=types.DeviceClaim,
    needs=Permission.DEVICE_MANAGE,
    audit=Audit.EVERY_CALL,
    rest=RestRoute("POST", "/device/claim", Tag.DEVICES),
)
async def register_device_claim(call: Call, *, input: types.NewDeviceClaim) -> types.DeviceClaim:
    """Register a code with which a user can claim a device, once. It replaces an earlier code of the device."""
    _check_hardware_id(input.hardware_id)
    code = new_code() if input.code is None else input.code
    if problems := _claim_problems(code, input, call):
        raise BadInput("Invalid claim code. See `problems`.", problems=problems)
    values: dict[str, Any] = {"hardware_id": input.hardware_id, "expires_at": input.expires_at, "failures": 0}
    known = await find_claim(call.rows, input.hardware_id)
    if known is None:
        key = normalize_hardware_id(input.hardware_id)
        claim = models.DeviceClaim(hardware_key=key, digest=b"", created_at=call.rows.now, **values)
        claim.digest = code_digest(claim.claim_id, code)
        await call.rows.add(claim)
    else:
        claim = await call.rows.edit(models.DeviceClaim, known.claim_id)
        claim.digest, claim.created_at = code_digest(claim.claim_id, code), call.rows.now
        for name, value in values.items():
            setattr(claim, name, value)
    return types.DeviceClaim(
        claim_id=Id(claim.claim_id),
        hardware_id=claim.hardware_id,
        code=code,
        expires_at=claim.expires_at,
        created_at=claim.created_at,
    )


async def _edit_open_device(rows: Rows, device_id: str) -> models.Device:
    device = await rows.edit(models.Device, device_id)
    if not device.active:
        raise Conflict(f"Device {device_id} was removed. Add it again with createDevice.")
    return device


def _to_hardware_ids(input: types.NewDevice) -> models.HardwareIds:
    return msgspec.convert(input.hardware_ids, models.HardwareIds, from_attributes=True)


def _check_hardware_id(hardware_id: str) -> None:
    if not hardware_id_spellings(hardware_id):
        problem = Problem(("input", "hardwareId"), "has no letter or digit")
        raise BadInput("Invalid hardware ID. See `problems`.", problems=[problem])


def _claim_problems(code: str, input: types.NewDeviceClaim, call: Call) -> list[Problem]:
    problems = []
    if len(normalize_hardware_id(code)) < MIN_CODE_CHARACTERS:
        message = f"has fewer than {MIN_CODE_CHARACTERS} characters besides separators"
        problems.append(Problem(("input", "code"), message))
    if input.expires_at is not None and input.expires_at <= call.rows.now:
        problems.append(Problem(("input", "expiresAt"), "is not in the future"))
    return problems


# Proof that a user may have a device: the inventory of the meter network, or a code that the application registered.
#
# Without proof, the error is the same for every hardware id, so that it does not reveal which devices exist. A wrong
# code counts against the device and against the account that sent it, known device or not.

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
