"""Integrals of power over time: the imported and exported energy of each half hour.

Each power value applies until the next reading, but for the hold time of its series at most, which is at most half an
hour. So it counts in one or two half hours. Instants and spans are in milliseconds.
Power is a scaled integer, so integrals are scaled integers times milliseconds.
"""

from collections.abc import Sequence

from wattgate.db.column_types import TableParameter, cached_text
from wattgate.db.connections.reader import DatabaseSession, dialect_name, fetch
from wattgate.db.readings.aggregates import SeriesKey, insert_tables
from wattgate.energy.buckets import HALF_HOUR_MS
from wattgate.energy.display.live_power import PowerIntegral

_SERIES_SINCE = TableParameter("since", {"number": "bigint", "field": "int", "at": "bigint", "hold": "bigint"})
_SELECT_INTEGRALS = f"""
    SELECT number, field, slot,
           CAST(sum(CASE WHEN value > 0 THEN value * (held - later) ELSE 0 END) AS bigint),
           CAST(sum(CASE WHEN value < 0 THEN -value * (held - later) ELSE 0 END) AS bigint),
           CAST(sum(held - later) AS bigint),
           CAST(sum(CASE WHEN value > 0 THEN value * later ELSE 0 END) AS bigint),
           CAST(sum(CASE WHEN value < 0 THEN -value * later ELSE 0 END) AS bigint),
           CAST(sum(later) AS bigint)
    FROM (
        SELECT number, field, value, slot, held,
               CASE WHEN at + held > slot + {HALF_HOUR_MS} THEN at + held - slot - {HALF_HOUR_MS} ELSE 0 END AS later
        FROM (
            SELECT number, field, value, at, at - at % {HALF_HOUR_MS} AS slot,
                   CASE WHEN following - at < hold THEN following - at ELSE hold END AS held
            FROM (
                SELECT s.number, s.field, s.hold, r.value, r.at, lead(r.at, 1, CAST(:until AS bigint))
                       OVER (PARTITION BY s.number, s.field ORDER BY r.at) AS following
                FROM {{since}} s CROSS JOIN {{reading}} r
                WHERE r.resource_number = s.number AND r.field = s.field AND r.at >= s.at - s.hold
                  AND r.at >= :first AND r.at < :until
            ) read
        ) held
    ) divided
    GROUP BY number, field, slot ORDER BY number, field, slot"""  # noqa: S608 (names of our own columns only; values are parameters)


async def fetch_power_integrals(
    session: DatabaseSession, since: Sequence[tuple[int, int, int, int]], until: int
) -> dict[SeriesKey, list[PowerIntegral]]:
    """Return the integrals of power series (resource number, field, start, hold) in each half hour up to an instant.

    The newest reading counts in its own half hour alone, also after it, until the next reading arrives.
    """
    integrals: dict[SeriesKey, list[PowerIntegral]] = {(number, field): [] for number, field, _, _ in since}
    starts = {(number, field): at for number, field, at, _ in since}
    dialect = dialect_name(session)
    statement = cached_text(insert_tables(_SELECT_INTEGRALS.replace("{since}", _SERIES_SINCE.sql(dialect)), dialect))
    limits = {
        "first": min(at - hold for _, _, at, hold in since),
        "until": until,
    }  # with these limits the planner skips the partitions of other months
    carried: dict[SeriesKey, PowerIntegral] = {}
    for number, field, slot, *columns in await fetch(
        session, statement, _SERIES_SINCE.parameters(dialect, since) | limits
    ):
        key = (number, field)
        before = carried.pop(key, None)
        if before is not None:
            _append(integrals[key], before, starts[key])
        _append(integrals[key], PowerIntegral(slot, *columns[:3]), starts[key])
        if columns[5]:
            carried[key] = PowerIntegral(slot + HALF_HOUR_MS, *columns[3:])
    for key, rest in carried.items():
        _append(integrals[key], rest._replace(at=rest.at - HALF_HOUR_MS), starts[key])
    return integrals


def _append(integrals: list[PowerIntegral], more: PowerIntegral, start: int) -> None:
    """Add an integral to the list, or to its last one if both are of the same half hour. Leave out those before."""
    if more.at < start:
        return
    if integrals and integrals[-1].at == more.at:
        at, positive, negative, known_ms = integrals[-1]
        integrals[-1] = PowerIntegral(at, positive + more.positive, negative + more.negative, known_ms + more.known_ms)
    else:
        integrals.append(more)
