"""Results for consents and their receipts, made from rows, and the batch loaders that return them."""

from collections.abc import Sequence
from datetime import datetime

import strawberry

from wattgate.db import models
from wattgate.db.queries.consent import CONSENTS_BY_METER_POINT, is_valid
from wattgate.db.rows.rows import Rows
from wattgate.energy.meters.meter_points import canonical_meter_point
from wattgate.enums import ConsentBasis
from wattgate.operations.types.consent import consent as types


def build_consent(row: models.MeterPointConsent, now: datetime) -> types.MeterPointConsent:
    """Return the result for a consent, with its state at a time."""
    return types.MeterPointConsent(
        consent_id=strawberry.ID(row.consent_id),
        user_id=strawberry.ID(row.user_id),
        mpxn=row.mpxn,
        mpxn_key=mpxn_key_for(row.mpxn),
        verified=row.verified,
        valid_until=row.valid_until,
        revoked_at=row.revoked_at,
        ended_at=row.ended_at,
        state=_state_of(row, now),
        created_at=row.created_at,
        updated_at=row.updated_at,
    )


def _state_of(row: models.MeterPointConsent, now: datetime) -> types.ConsentState:
    if row.revoked_at is not None:
        return types.ConsentState.REVOKED
    if row.ended_at is not None:
        return types.ConsentState.ENDED
    return types.ConsentState.VALID if is_valid(row, now) else types.ConsentState.EXPIRED


def build_receipt(row: models.ConsentChange, now: datetime | None = None) -> types.ConsentReceipt:
    """Return the receipt for a change of a consent. It is the same at all times."""
    return types.ConsentReceipt(
        receipt_id=strawberry.ID(row.change_id),
        user_id=strawberry.ID(row.user_id),
        mpxn=row.mpxn,
        kind=types.ConsentChangeKind(row.kind),
        basis=ConsentBasis(row.basis),
        purpose=row.purpose,
        recorded_by=row.recorded_by,
        valid_until=row.valid_until,
        created_at=row.created_at,
    )


def mpxn_key_for(mpxn: str) -> types.MpxnKey:
    """Return the kind of number by its length. An MPAN has 13 digits (12 in some samples), an MPRN 6 to 10."""
    return types.MpxnKey.MPAN if len(mpxn) > 10 else types.MpxnKey.MPRN


async def consents_of_resources(
    rows: Rows, resources: Sequence[models.Resource]
) -> list[types.MeterPointConsent | None]:
    """Return the consent of the owner of each resource for its meter point, or None."""
    keys = [(one.owner_id, canonical_meter_point(one.mpxn) if one.mpxn else "") for one in resources]
    rows_found = await rows.find(CONSENTS_BY_METER_POINT, {mpxn for _, mpxn in keys if mpxn})
    consents = {(row.user_id, row.mpxn): row for row in rows_found}
    return [build_consent(row, rows.now) if (row := consents.get(key)) else None for key in keys]
