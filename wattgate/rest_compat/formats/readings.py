"""Legacy formats of readings: inverted minute offsets, inclusive ends and 0 for missing values.

Published clients depend on this behaviour. It is converted here, so operations never see it.
"""

from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any

from wattgate.clock import format_iso
from wattgate.db.models import Resource
from wattgate.db.readings.reading_series import ReadingSeries
from wattgate.enums import NoValueReason
from wattgate.errors import BadInput, GatewayError, Problem, ProblemPath
from wattgate.graphql.execution.argument_binder import RawArguments
from wattgate.rest_compat.arguments import restore_plus
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
"""Legacy query parameters by arguments of `readings` and `rawReadings`."""

POSTED_REQUEST_PATHS: Mapping[ProblemPath, ProblemPath] = MappingProxyType(
    {("series",): ("readings",), ("series", 0): (), ("series", 0, "readings"): ("readings",)}
)
"""Paths in a posted body by arguments of `recordReadings`; the body holds one series."""

_SPAN_TOLERANCE = timedelta(hours=1)
"""Added to each maximum: across the autumn clock change, clients request one hour more."""

_MAX_SPANS: Mapping[str, timedelta] = MappingProxyType(
    {
        "PT1M": timedelta(days=3),
        "PT5M": timedelta(days=3),
        "PT15M": timedelta(days=5),
        "PT30M": timedelta(days=10),
        "PT1H": timedelta(days=31),
        "P1D": timedelta(days=31),
        "P1W": timedelta(weeks=6),
        "P1M": timedelta(days=366),
        "P3M": timedelta(days=366),
        "P1Y": timedelta(days=366),
    }
)
"""Maximum span of one request, by period."""


IN_FUTURE = "is in the future"
"""The problem of a `from` later than now, for which clients know an error text of its own."""

_NO_VALUE_MESSAGES: Mapping[NoValueReason, str] = MappingProxyType(
    {
        NoValueReason.NO_READINGS: "No reading is stored. Missing readings can arrive later.",
        NoValueReason.NO_POWER: "No power reading is at most 15 minutes old, so the present value is unknown.",
        NoValueReason.NO_TARIFF: "No tariff applies, so the cost is unknown. Set a tariff with the mutation setTariff.",
        NoValueReason.NO_PRICE: "The tariff has no price for this time, so the cost is unknown.",
        NoValueReason.SEVERAL_CURRENCIES: "Tariffs in several currencies apply, and their costs cannot be added.",
    }
)


def parse_readings_query(request: LegacyRequest) -> RawArguments:
    """Convert the query of GET /resource/{resourceId}/readings.

    `from` and `to` are wall-clock times without a zone. `offset` is their UTC offset in minutes with an inverted sign:
    British summer time is -60. `to` is inclusive: the response includes the bucket that starts at `to`.
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
        values["range"] = {"start": format_iso(request.now)}  # any valid range: the problems already reject the request
    if "period" in query:
        values["period"] = query["period"]
    if "function" in query:
        values["function"] = query["function"].upper()
    else:
        problems.append(Problem(("function",), "is missing", is_missing=True))
    if "revisedSince" in query and (since := _parse_instant(query, "revisedSince", offset, problems)):
        values["revisedSince"] = format_iso(since)
    return RawArguments(values, problems)


def parse_raw_readings_query(request: LegacyRequest) -> RawArguments:
    """Convert the query of an Arrow stream. `from`, `to` and `offset` are optional, see `parse_readings_query`."""
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


def transform_readings_error(error: GatewayError, body: dict[str, Any]) -> dict[str, Any]:
    """Return the body with the error text that legacy clients know for a `from` in the future."""
    if not any(problem.path == ("from",) and problem.message == IN_FUTURE for problem in error.problems):
        return body
    return {**body, "error": body["error"].replace("-from", "-from in the future", 1)}


def readings_body(result: RestResult) -> dict[str, Any]:
    """Return the envelope with `data` as pairs of epoch seconds and value.

    Missing values are 0, or null if the query has `nulls=1`. With `revisedSince`, the data are the changed buckets, a
    bucket that is empty now is null, and `asOf` is the `revisedSince` of the next request. For computed costs, further
    members say what the values include, why values are missing, and in how many rows. With an offset, the seconds
    encode the wall-clock time as if it were UTC.
    """
    query, series = result.request.query, result.result
    shift = -60 * _parse_offset_minutes(query.get("offset"), [])
    is_update = series.received_after is not None
    missing = None if is_update or query.get("nulls", "0").lower() in ("1", "true") else 0
    starts, values = series.grid.edges, series.values
    selected = ((starts[position], values[position]) for position in series.selected_positions)
    data = [[start // 1000 + shift, missing if value is None else value] for start, value in selected]
    requested = {name: query[name] for name in ("from", "to", "period", "function", "revisedSince") if name in query}
    body = envelope(series.resource, data, units=series.unit, query=requested)
    if is_update:
        body["asOf"] = format_iso(series.as_of)
    return {**body, **_cost_members(series)} if series.resource.cost_of else body


def _cost_members(series: ReadingSeries) -> dict[str, Any]:
    """Return what computed costs include, and the reasons of missing costs with the number of rows of each."""
    reasons = Counter(map(series.bucket_reason, series.selected_positions))
    entries = [{**no_value_entry(reason), "rows": reasons[reason]} for reason in NoValueReason if reasons[reason]]
    included = {"includesStandingCharge": series.includes_standing_charge, "includesVat": series.includes_vat}
    return {**included, "noValue": entries} if entries else included


def no_value_entry(reason: NoValueReason) -> dict[str, Any]:
    """Return an entry of `noValue`: the reason why a value is missing, for programs and for people."""
    return {"reason": reason.value, "message": _NO_VALUE_MESSAGES[reason]}


def envelope(
    resource: Resource, data: Any, *, units: str | None = None, query: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return the members around the data of a resource. `units` defaults to the base unit of the resource."""
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
    """Convert the body of POST /resource/{resourceId}/readings: `readings` as objects, or `data` as GET returns it."""
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
    """Return a pair of epoch seconds and value as an object; leave anything else for validation to reject."""
    match pair:
        case [int() | float() as seconds, value] if abs(seconds) < 2**40:
            return {"at": format_iso(datetime.fromtimestamp(seconds, UTC)), "value": value}
        case _:
            return pair


def _parse_offset_minutes(text: str | None, problems: list[Problem]) -> int:
    """Return the offset in minutes, or 0 with a problem. Older clients send a decimal number."""
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
        instant = datetime.fromisoformat(restore_plus(query[name]))
        if not 1900 <= instant.year <= 9000:
            raise ValueError
    except ValueError:
        problems.append(Problem((name,), "is not a time such as 2026-11-20T00:00:00 or 2026-11-20T00:00:00Z"))
        return None
    if instant.tzinfo is None:
        return instant.replace(tzinfo=UTC) + timedelta(minutes=offset)
    return instant.astimezone(UTC)


def _check_span(start: datetime, end: datetime, period: str | None, now: datetime, problems: list[Problem]) -> None:
    if start > now:
        raise BadInput(
            "The range begins in the future. Give a `from` until now.",
            problems=[*problems, Problem(("from",), IN_FUTURE)],
        )
    longest = _MAX_SPANS.get(period or "")
    if longest and end - start > longest + _SPAN_TOLERANCE:
        problems.append(Problem(("to",), f"is more than {longest.days} days after from, too long for {period}"))
    if end < start:
        problems.append(Problem(("to",), "is before from"))
