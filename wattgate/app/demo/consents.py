"""Consents of the demonstration: one for each meter point of the homes, and one that its user has withdrawn.

The withdrawn consent is that of a meter point without resources, so that no home loses its readings.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

from wattgate.app.demo.network import mpan
from wattgate.operations.consent import consent
from wattgate.operations.core.runner import Runner
from wattgate.operations.types.consent.consent import MeterPointConsent
from wattgate.principal import Principal

FORMER_METER_POINT = mpan(2)
"""The meter point of a home that the user has left."""

MIN_REMAINING = timedelta(days=180)
"""A start of the demonstration renews consents that end earlier than this."""


async def grant_consents(runner: Runner, owner: Principal, meter_points: Iterable[str], now: datetime) -> None:
    """Verify the owner's consents, and renew those that end soon. A consent that was withdrawn stays so."""
    stored = await _consents_by_meter_point(runner, owner)
    for mpxn in meter_points:
        known = stored.get(mpxn)
        if known is None or not (known.verified or known.revoked_at):
            await runner.run(consent.verify_meter_point, owner, {"mpxn": mpxn})
        elif known.revoked_at is None and known.valid_until < now + MIN_REMAINING:
            await runner.run(consent.renew_consents, owner, {"mpxns": [mpxn]})


async def add_withdrawn_consent(runner: Runner, owner: Principal) -> None:
    """Add the consent for the former meter point, and revoke it."""
    known = (await _consents_by_meter_point(runner, owner)).get(FORMER_METER_POINT)
    if known is None:
        await runner.run(consent.verify_meter_point, owner, {"mpxn": FORMER_METER_POINT})
    if known is None or known.revoked_at is None:
        await runner.run(consent.revoke_consents, owner, {"mpxns": [FORMER_METER_POINT]})


async def _consents_by_meter_point(runner: Runner, owner: Principal) -> dict[str, MeterPointConsent]:
    records = await runner.run(consent.consents, owner, {})
    return {record.mpxn: record for record in records if record.user_id == owner.user_id}
