"""Store validated readings of a call: with the intervals that they state, and the energy that registers give."""

from wattgate.db.readings.recording import ReadingColumns
from wattgate.operations.core.operation import Call
from wattgate.operations.readings.reading_targets import ReadingTargets, notify_alert_rules
from wattgate.operations.readings.register_energy import derive_register_energy


async def record_readings_of(call: Call, targets: ReadingTargets, readings: ReadingColumns) -> None:
    """Store readings, and let alert rules judge them.

    Emit events of the energy that they give, and of none of the readings themselves.
    """
    await targets.store_learned(call, readings.number)
    await call.rows.readings.record(readings, targets.now_ms)
    await notify_alert_rules(call, targets, readings)
    derived = await derive_register_energy(call, targets, readings)
    if derived is not None:
        _emit_newest(call, targets, derived)
        await notify_alert_rules(call, targets, derived)


async def store_readings(call: Call, targets: ReadingTargets, readings: ReadingColumns) -> None:
    """Store readings, and emit an event with the newest reading of each series."""
    await record_readings_of(call, targets, readings)
    _emit_newest(call, targets, readings)


def _emit_newest(call: Call, targets: ReadingTargets, readings: ReadingColumns) -> None:
    for newest in readings.newest_by_series():
        call.emit(targets.build_event(newest))
