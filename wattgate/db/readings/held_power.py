"""Power that is held until the next reading: how much of it came in, and went out, in each half hour.

Instants and spans are milliseconds; power is a scaled integer, and so held power is that times milliseconds.
"""

from collections.abc import Sequence

from wattgate.db.reader import Session, dialect_of, fetch
from wattgate.db.readings.aggregates import SeriesKey
from wattgate.db.rowset import Rowset, text_of
from wattgate.energy.buckets import HALF_HOUR
from wattgate.energy.display.power import HOLDS, Held

_SINCE = Rowset("since", {"number": "bigint", "field": "int", "at": "bigint"})
_STATEMENT = f"""
    SELECT number, field, slot,
           CAST(sum(CASE WHEN value > 0 THEN value * held ELSE 0 END) AS bigint),
           CAST(sum(CASE WHEN value < 0 THEN -value * held ELSE 0 END) AS bigint),
           CAST(sum(held) AS bigint)
    FROM (
        SELECT number, field, value, at - at % {HALF_HOUR} AS slot,
               CASE WHEN following - at < {HOLDS} THEN following - at ELSE {HOLDS} END AS held
        FROM (
            SELECT s.number, s.field, r.value, r.at, lead(r.at, 1, CAST(:until AS bigint))
                   OVER (PARTITION BY s.number, s.field ORDER BY r.at) AS following
            FROM {{since}} s CROSS JOIN reading r
            WHERE r.resource_number = s.number AND r.field = s.field AND r.at >= s.at
              AND r.at >= :first AND r.at < :until
        ) read
    ) held
    GROUP BY number, field, slot ORDER BY number, field, slot"""


async def read(session: Session, since: Sequence[tuple[int, int, int]], until: int) -> dict[SeriesKey, list[Held]]:
    """What series of power (resource number, field, and since when) held in each half hour up to an instant."""
    found: dict[SeriesKey, list[Held]] = {(number, field): [] for number, field, _ in since}
    dialect = dialect_of(session)
    statement = text_of(_STATEMENT.replace("{since}", _SINCE.sql(dialect)))
    limits = {"first": min(at for _, _, at in since), "until": until}  # which partitions these are, the planner sees
    for number, field, *held in await fetch(session, statement, _SINCE.parameters(dialect, since) | limits):
        found[number, field].append(Held(*held))
    return found
