"""Checks of the consent to the data of meter points, for many resources at once."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple, TypeVar

from wattgate.db.models import MeterPointConsent, Resource
from wattgate.db.queries.ownership import load_with_sources
from wattgate.db.rows.lookups import Lookup
from wattgate.db.rows.rows import Rows
from wattgate.energy.meters.meter_points import canonical_meter_point
from wattgate.enums import WithheldReason
from wattgate.errors import ConsentRevoked, GatewayError, NotFound

T = TypeVar("T")

CONSENTS_BY_METER_POINT = Lookup(MeterPointConsent, "mpxn")


class ConsentCheck(NamedTuple):
    """The errors of the resources whose data is withheld, by resource id, and when the first valid consent expires.

    `valid_until` is None if no consent of the other resources can expire.
    """

    errors: dict[str, ConsentRevoked]
    valid_until: datetime | None


class WithheldData(NamedTuple):
    """Why the data of a resource is withheld, and the same in words with what to do."""

    reason: WithheldReason
    message: str


def is_valid(consent: MeterPointConsent, now: datetime) -> bool:
    """Return whether a consent is neither revoked nor expired."""
    return consent.revoked_at is None and consent.valid_until > now


def is_in_force(consent: MeterPointConsent, now: datetime) -> bool:
    """Return whether a consent is valid for a household that still lives at the meter point."""
    return consent.ended_at is None and is_valid(consent, now)


async def find_consent_errors(rows: Rows, resources: Sequence[Resource]) -> dict[str, ConsentRevoked]:
    """Return the error of each resource whose data the caller must not read, by resource id."""
    return (await check_consent(rows, resources)).errors


async def check_consent(rows: Rows, resources: Sequence[Resource]) -> ConsentCheck:
    """Check the consents to the data of resources that the caller is about to read, and record the read.

    The access log gets the resources whose data is not withheld.
    """
    check = await peek_consent(rows, resources)
    if rows.accesses is not None:
        errors = check.errors
        read = [(resource.owner_id, resource.resource_id) for resource in resources]
        rows.accesses.record((pair for pair in read if pair[1] not in errors), rows.now)
    return check


async def peek_consent(rows: Rows, resources: Sequence[Resource]) -> ConsentCheck:
    """Check the consents of the owners of resources to the use of their meter points' data, without the access log.

    A resource without a meter point needs no consent. One whose meter point has no stored consent is withheld, unless
    the gateway is configured to serve it. A resource with `cost_of` also needs the consent for the resource that it
    prices. Callers that have these give them as well, so that no statement loads them.
    """
    needed = await _needed_consents(rows, resources)
    if not needed:
        return ConsentCheck({}, None)
    stored = await rows.find(CONSENTS_BY_METER_POINT, {mpxn for _, (_, mpxn) in needed})
    consents = {(consent.user_id, consent.mpxn): consent for consent in stored}
    errors: dict[str, ConsentRevoked] = {}
    ends: list[datetime] = []
    for resource_id, key in needed:
        consent = consents.get(key)
        if consent is None and not rows.consent_policy.is_required:
            continue
        if consent is not None and is_valid(consent, rows.now):
            ends.append(consent.valid_until)
        elif consent is None or not _is_own_past(rows, consent):
            errors.setdefault(resource_id, _consent_error(resource_id, key[1], consent))
    return ConsentCheck(errors, min(ends, default=None))


async def _needed_consents(rows: Rows, resources: Sequence[Resource]) -> list[tuple[str, tuple[str, str]]]:
    """Return the id of each resource with the user and the meter point of each consent that its data needs."""
    loaded = await load_with_sources(rows, resources)
    pairs = [(resource, resource) for resource in resources]
    pairs += [(resource, loaded[resource.cost_of]) for resource in resources if resource.cost_of in loaded]
    return [
        (resource.resource_id, (measured.owner_id, canonical_meter_point(measured.mpxn)))
        for resource, measured in pairs
        if measured.mpxn
    ]


def _is_own_past(rows: Rows, consent: MeterPointConsent) -> bool:
    """Return whether a household reads what it had before it moved out, also after the consent has expired.

    It does not while it has revoked the consent: a renewal takes that back. An application that acts for the household
    needs a consent that is valid, before the move and after it.
    """
    return consent.ended_at is not None and consent.revoked_at is None and rows.for_household


async def withheld_data(rows: Rows, resources: Sequence[Resource]) -> list[WithheldData | None]:
    """Return why the data of each resource is withheld; None if it may be read."""
    errors = (await peek_consent(rows, resources)).errors
    return [
        None if (error := errors.get(resource.resource_id)) is None else WithheldData(error.withheld, error.message)
        for resource in resources
    ]


async def find_own_meter_point_error(rows: Rows, number: str, resources: Sequence[Resource]) -> GatewayError | None:
    """Return why a user must not read the network's records of a meter point; None if the user may read them.

    `resources` are the user's resources at the meter point. NotFound if the user has neither a resource nor a consent
    there, ConsentRevoked if the consent does not allow it.
    """
    mpxn = canonical_meter_point(number)
    (consent,) = await rows.find(CONSENTS_BY_METER_POINT, {mpxn}) or (None,)
    if consent is None:
        if not resources:
            return NotFound(f"No meter point with number {number}.")
        return _consent_error(resources[0].resource_id, mpxn, None) if rows.consent_policy.is_required else None
    if is_in_force(consent, rows.now):
        return None
    if consent.ended_at is not None:
        return NotFound(f"No meter point with number {number}.")
    return _consent_error(resources[0].resource_id if resources else None, mpxn, consent)


def replace_withheld(
    errors: dict[str, ConsentRevoked], resources: Sequence[Resource], results: Sequence[T]
) -> list[Any]:
    """Return the result of each resource, or its consent error instead."""
    return [errors.get(resource.resource_id, result) for resource, result in zip(resources, results, strict=True)]


def _remedy_of(consent: MeterPointConsent) -> str:
    """Return in words what makes the data of a consent readable again, for one that was revoked or has expired."""
    if consent.ended_at is None:
        return "Renew it to access this data."
    if consent.revoked_at is None:
        return "The household has moved out. The user reads the own time there with an account."
    return "The household has moved out. Renew it to read the readings of the household's own time."


def _consent_error(resource_id: str | None, mpxn: str, consent: MeterPointConsent | None) -> ConsentRevoked:
    if consent is None:
        message = (
            f"No consent is recorded for meter point {mpxn}. The application that serves its user records it with "
            "verifyMeterPoint."
        )
        return ConsentRevoked(message, WithheldReason.MISSING, resource_id=resource_id, mpxn=mpxn)
    reason = WithheldReason.REVOKED if consent.revoked_at else WithheldReason.EXPIRED
    happened = "was revoked" if consent.revoked_at else "has expired"
    message = f"The consent for meter point {mpxn} {happened}. {_remedy_of(consent)}"
    return ConsentRevoked(message, reason, resource_id=resource_id, mpxn=mpxn)
