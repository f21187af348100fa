"""What the legacy interface does to readings: inverted minute offsets, inclusive ends, zero for missing.

Facts of published clients; none of this reaches the operations behind it.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any

from wattgate.clock import iso
from wattgate.db.models import Resource
from wattgate.errors import BadInput, Path, Problem
from wattgate.graphql.execution.argument_binder import RawArguments
from wattgate.rest_compat.legacy_request import Answer, Exchange

READINGS_PLACES: Mapping[Path, Path] = MappingProxyType(
    {
        ("range", "start"): ("from",),
        ("range", "end"): ("to",),
        ("start",): ("from",),
        ("end",): ("to",),
        ("timeZone",): ("offset",),
    }
)
"""How the arguments of `readings` and `rawReadings` are called in the legacy query."""

POSTED_PLACES: Mapping[Path, Path] = MappingProxyType(
    {("series",): ("readings",), ("series", 0): (), ("series", 0, "readings"): ("readings",)}
)
"""Where the one series of a posted body stands."""

_GRACE = timedelta(hours=1)  # clients in a zone with summer time ask for one hour more across the autumn change
_LONGEST: Mapping[str, timedelta] = MappingProxyType(
    {
        "PT1M": timedelta(days=3),
        "PT30M": timedelta(days=10),
        "PT1H": timedelta(days=31),
        "P1D": timedelta(days=31),
        "P1W": timedelta(weeks=6),
        "P1M": timedelta(days=366),
        "P1Y": timedelta(days=366),
    }
)
"""The longest span that one request may ask for, by period."""


def readings_given(exchange: Exchange) -> RawArguments:
    """The query of GET /resource/{resourceId}/readings as arguments.

    `from` and `to` are wall-clock times without a zone at `offset` minutes, whose sign is inverted (British summer
    time is -60); `to` is inclusive: the bucket that begins there is still answered.
    """
    query, problems = exchange.query, list[Problem]()
    values: dict[str, Any] = {"resourceId": exchange.path["resourceId"]}
    offset = _minutes(query.get("offset"), problems)
    values["timeZone"] = _zone(offset)
    start, end = (_instant(query, name, offset, problems) for name in ("from", "to"))
    if start and end:
        _check_span(start, end, query.get("period"), exchange.now, problems)
        values["range"] = {"start": iso(start), "end": iso(end + timedelta(milliseconds=1))}
    else:
        values["range"] = {"start": iso(exchange.now)}  # the problems say what was wrong with them
    if "period" in query:
        values["period"] = query["period"]
    if "function" in query:
        values["function"] = query["function"].upper()
    else:
        problems.append(Problem(("function",), "is missing", missing=True))
    return RawArguments(values, problems)


def raw_given(exchange: Exchange) -> RawArguments:
    """The query of a stream of stored readings as arguments: `from`, `to` and `offset` as above, all optional."""
    query, problems = exchange.query, list[Problem]()
    values: dict[str, Any] = {"resourceId": exchange.path["resourceId"]}
    offset = _minutes(query.get("offset"), problems)
    if "from" in query and (start := _instant(query, "from", offset, problems)):
        values["start"] = iso(start)
    if "to" in query and (end := _instant(query, "to", offset, problems)):
        values["end"] = iso(end + timedelta(milliseconds=1))
    if "field" in query:
        values["field"] = query["field"]
    return RawArguments(values, problems)


def readings_body(answer: Answer) -> dict[str, Any]:
    """The envelope with `data` as pairs of epoch seconds and value.

    Missing values are 0, or null where the query says `nulls=1`; at an offset the seconds are the wall clock's,
    written as if it were UTC.
    """
    query, series = answer.exchange.query, answer.result
    shift = -60 * _minutes(query.get("offset"), [])
    missing = None if query.get("nulls", "0").lower() in ("1", "true") else 0
    pairs = zip(series.grid.edges, series.values, strict=False)  # the last edge is where the last bucket ends
    data = [[start // 1000 + shift, missing if value is None else value] for start, value in pairs]
    asked = {name: query[name] for name in ("from", "to", "period", "function") if name in query}
    return envelope(series.resource, data, units=series.unit, query=asked)


def envelope(
    resource: Resource, data: Any, *, units: str | None = None, query: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """The frame around what is answered of a resource; `units` are its base unit unless others are given."""
    return {
        "status": "OK",
        "name": resource.name,
        "resourceTypeId": resource.resource_type_id,
        "resourceId": resource.resource_id,
        "query": query or {},
        "data": data,
        "units": units or resource.base_unit,
        "classifier": resource.classifier,
    }


def readings_posted(exchange: Exchange) -> RawArguments:
    """The body of POST /resource/{resourceId}/readings: `readings` as objects, or `data` as GET answers it."""
    body = exchange.body
    if not isinstance(body, dict):
        raise BadInput("the body is not a JSON object")
    readings = body.get("readings")
    if readings is None and isinstance(body.get("data"), list):
        readings = [_reading(pair) for pair in body["data"]]
    if readings is None:
        return RawArguments({}, [])
    one = {"resourceId": exchange.path["resourceId"], "readings": readings}
    if "field" in body:
        one["field"] = body["field"]
    return RawArguments({"series": [one]})


def _reading(pair: Any) -> Any:
    """A pair of epoch seconds and value as an object; anything else as it is, for validation to refuse."""
    match pair:
        case [int() | float() as seconds, value] if abs(seconds) < 2**40:
            return {"at": iso(datetime.fromtimestamp(seconds, UTC)), "value": value}
        case _:
            return pair


def _minutes(text: str | None, problems: list[Problem]) -> int:
    """The offset in minutes; older clients send it as a decimal number."""
    try:
        minutes = float(text or 0)
    except ValueError:
        minutes = float("nan")
    if not -1440 < minutes < 1440:
        problems.append(Problem(("offset",), "is not a number of minutes"))
        return 0
    return int(minutes)


def _zone(offset: int) -> str:
    hours, minutes = divmod(abs(offset), 60)
    return f"{'+' if offset <= 0 else '-'}{hours:02d}:{minutes:02d}"


def _instant(query: Mapping[str, str], name: str, offset: int, problems: list[Problem]) -> datetime | None:
    if name not in query:
        problems.append(Problem((name,), "is missing", missing=True))
        return None
    try:
        instant = datetime.fromisoformat(query[name])
        if not 1900 <= instant.year <= 9000:
            raise ValueError
    except ValueError:
        problems.append(Problem((name,), "is not a time such as 2026-11-20T00:00:00"))
        return None
    if instant.tzinfo is None:
        return instant.replace(tzinfo=UTC) + timedelta(minutes=offset)
    return instant.astimezone(UTC)


def _check_span(start: datetime, end: datetime, period: str | None, now: datetime, problems: list[Problem]) -> None:
    if start > now:
        raise BadInput(
            "from in the future",
            problems=[*problems, Problem(("from in the future",), "lies after the present")],
        )
    longest = _LONGEST.get(period or "")
    if longest and end - start > longest + _GRACE:
        problems.append(Problem(("to",), f"is more than {longest.days} days after from, too long for {period}"))
    if end < start:
        problems.append(Problem(("to",), "is before from"))
