"""Integrals of power over time: the imported and exported energy of each half hour.

Each power value applies until the next reading, but for MAX_HOLD_MS at most. Instants and spans are in milliseconds.
Power is a scaled integer, so integrals are scaled integers times milliseconds.
"""

from collections.abc import Sequence

from wattgate.db.column_types import TableParameter, cached_text
from wattgate.db.connections.reader import DatabaseSession, dialect_name, fetch
from wattgate.db.readings.aggregates import SeriesKey, insert_tables
from wattgate.energy.buckets import HALF_HOUR_MS
from wattgate.energy.display.live_power import MAX_HOLD_MS, PowerIntegral

_SERIES_SINCE = TableParameter("since", {"number": "bigint", "field": "int", "at": "bigint"})
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
            FROM {{since}} s CROSS JOIN {{reading}} r
            WHERE r.resource_number = s.number AND r.field = s.field AND r.at >= s.at
              AND r.at >= :first AND r.at < :until
        ) read
    ) held
    GROUP BY number, field, slot ORDER BY number, field, slot"""  # noqa: S608 (names of our own columns only; values are parameters)


async def fetch_power_integrals(
    session: DatabaseSession, since: Sequence[tuple[int, int, int]], until: int
) -> dict[SeriesKey, list[PowerIntegral]]:
    """Return the integrals of power series (resource number, field, start) in each half hour up to an instant."""
    integrals: dict[SeriesKey, list[PowerIntegral]] = {(number, field): [] for number, field, _ in since}
    dialect = dialect_name(session)
    statement = cached_text(insert_tables(_SELECT_INTEGRALS.replace("{since}", _SERIES_SINCE.sql(dialect)), dialect))
    limits = {
        "first": min(at for _, _, at in since),
        "until": until,
    }  # with these limits the planner skips the partitions of other months
    for number, field, *columns in await fetch(session, statement, _SERIES_SINCE.parameters(dialect, since) | limits):
        integrals[number, field].append(PowerIntegral(*columns))
    return integrals
