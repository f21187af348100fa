"""What the legacy interface does to readings: inverted minute offsets, inclusive ends, zero for missing.

Facts of published clients; none of this reaches the operations behind it.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any

from wattgate.clock import format_iso
from wattgate.db.models import Resource
from wattgate.errors import BadInput, Problem, ProblemPath
from wattgate.graphql.execution.argument_binder import RawArguments
from wattgate.rest_compat.legacy_request import LegacyRequest, RestResult

READINGS_REQUEST_PATHS: Mapping[ProblemPath, ProblemPath] = MappingProxyType(
    {
        ("range", "start"): ("from",),
        ("range", "end"): ("to",),
        ("start",): ("from",),
        ("end",): ("to",),
        ("timeZone",): ("offset",),
    }
)
"""How the arguments of `readings` and `rawReadings` are called in the legacy query."""

POSTED_REQUEST_PATHS: Mapping[ProblemPath, ProblemPath] = MappingProxyType(
    {("series",): ("readings",), ("series", 0): (), ("series", 0, "readings"): ("readings",)}
)
"""Where the one series of a posted body stands."""

_SPAN_TOLERANCE = timedelta(
    hours=1
)  # clients in a zone with summer time ask for one hour more across the autumn change
_MAX_SPANS: Mapping[str, timedelta] = MappingProxyType(
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


def parse_readings_query(request: LegacyRequest) -> RawArguments:
    """The query of GET /resource/{resourceId}/readings as arguments.

    `from` and `to` are wall-clock times without a zone at `offset` minutes, whose sign is inverted (British summer
    time is -60); `to` is inclusive: the bucket that begins there is still answered.
    """
    query, problems = request.query, list[Problem]()
    values: dict[str, Any] = {"resourceId": request.path["resourceId"]}
    offset = _parse_offset_minutes(query.get("offset"), problems)
    values["timeZone"] = _format_offset(offset)
    start, end = (_parse_instant(query, name, offset, problems) for name in ("from", "to"))
    if start and end:
        _check_span(start, end, query.get("period"), request.now, problems)
        values["range"] = {"start": format_iso(start), "end": format_iso(end + timedelta(milliseconds=1))}
    else:
        values["range"] = {"start": format_iso(request.now)}  # the problems say what was wrong with them
    if "period" in query:
        values["period"] = query["period"]
    if "function" in query:
        values["function"] = query["function"].upper()
    else:
        problems.append(Problem(("function",), "is missing", is_missing=True))
    return RawArguments(values, problems)


def parse_raw_readings_query(request: LegacyRequest) -> RawArguments:
    """The query of a stream of stored readings as arguments: `from`, `to` and `offset` as above, all optional."""
    query, problems = request.query, list[Problem]()
    values: dict[str, Any] = {"resourceId": request.path["resourceId"]}
    offset = _parse_offset_minutes(query.get("offset"), problems)
    if "from" in query and (start := _parse_instant(query, "from", offset, problems)):
        values["start"] = format_iso(start)
    if "to" in query and (end := _parse_instant(query, "to", offset, problems)):
        values["end"] = format_iso(end + timedelta(milliseconds=1))
    if "field" in query:
        values["field"] = query["field"]
    return RawArguments(values, problems)


def readings_body(result: RestResult) -> dict[str, Any]:
    """The envelope with `data` as pairs of epoch seconds and value.

    Missing values are 0, or null where the query says `nulls=1`; at an offset the seconds are the wall clock's,
    written as if it were UTC.
    """
    query, series = result.request.query, result.result
    shift = -60 * _parse_offset_minutes(query.get("offset"), [])
    missing = None if query.get("nulls", "0").lower() in ("1", "true") else 0
    pairs = zip(series.grid.edges, series.values, strict=False)  # the last edge is where the last bucket ends
    data = [[start // 1000 + shift, missing if value is None else value] for start, value in pairs]
    requested = {name: query[name] for name in ("from", "to", "period", "function") if name in query}
    return envelope(series.resource, data, units=series.unit, query=requested)


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


def parse_posted_readings(request: LegacyRequest) -> RawArguments:
    """The body of POST /resource/{resourceId}/readings: `readings` as objects, or `data` as GET answers it."""
    body = request.body
    if not isinstance(body, dict):
        raise BadInput("the body is not a JSON object")
    readings = body.get("readings")
    if readings is None and isinstance(body.get("data"), list):
        readings = [_reading_from_pair(pair) for pair in body["data"]]
    if readings is None:
        return RawArguments({}, [])
    series = {"resourceId": request.path["resourceId"], "readings": readings}
    if "field" in body:
        series["field"] = body["field"]
    return RawArguments({"series": [series]})


def _reading_from_pair(pair: Any) -> Any:
    """A pair of epoch seconds and value as an object; anything else as it is, for validation to refuse."""
    match pair:
        case [int() | float() as seconds, value] if abs(seconds) < 2**40:
            return {"at": format_iso(datetime.fromtimestamp(seconds, UTC)), "value": value}
        case _:
            return pair


def _parse_offset_minutes(text: str | None, problems: list[Problem]) -> int:
    """The offset in minutes; older clients send it as a decimal number."""
    try:
        minutes = float(text or 0)
    except ValueError:
        minutes = float("nan")
    if not -1440 < minutes < 1440:
        problems.append(Problem(("offset",), "is not a number of minutes"))
        return 0
    return int(minutes)


def _format_offset(offset: int) -> str:
    hours, minutes = divmod(abs(offset), 60)
    return f"{'+' if offset <= 0 else '-'}{hours:02d}:{minutes:02d}"


def _parse_instant(query: Mapping[str, str], name: str, offset: int, problems: list[Problem]) -> datetime | None:
    if name not in query:
        problems.append(Problem((name,), "is missing", is_missing=True))
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
    longest = _MAX_SPANS.get(period or "")
    if longest and end - start > longest + _SPAN_TOLERANCE:
        problems.append(Problem(("to",), f"is more than {longest.days} days after from, too long for {period}"))
    if end < start:
        problems.append(Problem(("to",), "is before from"))
