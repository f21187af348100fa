"""Power that is held until the next reading: how much of it came in, and went out, in each half hour.

Instants and spans are milliseconds; power is a scaled integer, and so held power is that times milliseconds.
"""

from collections.abc import Sequence

from wattgate.db.reader import DatabaseSession, dialect_name, fetch
from wattgate.db.readings.aggregates import SeriesKey
from wattgate.db.rowset import Rowset, cached_text
from wattgate.energy.buckets import HALF_HOUR_MS
from wattgate.energy.display.live_power import MAX_HOLD_MS, PowerIntegral

_SERIES_SINCE = Rowset("since", {"number": "bigint", "field": "int", "at": "bigint"})
_SELECT_INTEGRALS = f"""
    SELECT number, field, slot,
           CAST(sum(CASE WHEN value > 0 THEN value * held ELSE 0 END) AS bigint),
           CAST(sum(CASE WHEN value < 0 THEN -value * held ELSE 0 END) AS bigint),
           CAST(sum(held) AS bigint)
    FROM (
        SELECT number, field, value, at - at % {HALF_HOUR_MS} AS slot,
               CASE WHEN following - at < {MAX_HOLD_MS} THEN following - at ELSE {MAX_HOLD_MS} END AS held
        FROM (
            SELECT s.number, s.field, r.value, r.at, lead(r.at, 1, CAST(:until AS bigint))
                   OVER (PARTITION BY s.number, s.field ORDER BY r.at) AS following
            FROM {{since}} s CROSS JOIN reading r
            WHERE r.resource_number = s.number AND r.field = s.field AND r.at >= s.at
              AND r.at >= :first AND r.at < :until
        ) read
    ) held
    GROUP BY number, field, slot ORDER BY number, field, slot"""


async def fetch_power_integrals(
    session: DatabaseSession, since: Sequence[tuple[int, int, int]], until: int
) -> dict[SeriesKey, list[PowerIntegral]]:
    """What series of power (resource number, field, and since when) held in each half hour up to an instant."""
    integrals: dict[SeriesKey, list[PowerIntegral]] = {(number, field): [] for number, field, _ in since}
    dialect = dialect_name(session)
    statement = cached_text(_SELECT_INTEGRALS.replace("{since}", _SERIES_SINCE.sql(dialect)))
    limits = {"first": min(at for _, _, at in since), "until": until}  # which partitions these are, the planner sees
    for number, field, *columns in await fetch(session, statement, _SERIES_SINCE.parameters(dialect, since) | limits):
        integrals[number, field].append(PowerIntegral(*columns))
    return integrals
