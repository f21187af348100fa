"""The decoder of readings compared with graphql-core: equal values, costs, stored readings, events and errors."""

from dataclasses import fields
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, get_args, get_type_hints

import msgspec
import pytest
from graphql import is_required_input_field, print_ast
from graphql.utilities import ast_from_value, coerce_input_value, validate_input_value
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.gateway_schema import GATEWAY_SCHEMA
from tests.support.house import House, Tenant
from tests.support.refusals import refusal_of
from wattgate.clock import format_iso, from_ms, to_ms
from wattgate.energy.plain_columns import parse_instants, parse_numbers
from wattgate.energy.storage_fields import QUALITY_CODES
from wattgate.enums import ReadingQuality, to_camel_case
from wattgate.errors import BadInput
from wattgate.graphql.execution.reading_decoder import PlainReading, PlainReadings, decode_new_readings
from wattgate.operations.core.input_limits import check_arguments
from wattgate.operations.readings.recording import record_readings
from wattgate.operations.types.meters.readings import NewReading, NewReadings
from wattgate.operations.vocabulary.cost_weights import per_reading
from wattgate.operations.vocabulary.decoded_readings import DecodedReadings
from wattgate.operations.vocabulary.directives import STRAWBERRY_DEFINITION
from wattgate.realtime import topics

FIELD: Any = GATEWAY_SCHEMA.core.mutation_type.fields["recordReadings"]  # type: ignore[union-attr]
SERIES_TYPE = FIELD.args["series"].type
VARIABLE = (
    "mutation ($series: [NewReadings!]!) { recordReadings(series: $series) {"
    " ... on Recorded { recorded } ...Refused } }"
)


def coerce(value: Any) -> list[NewReadings] | None:
    """Return the value as graphql-core and Strawberry convert it, or None if graphql-core refuses it."""
    errors: list[Any] = []
    validate_input_value(value, SERIES_TYPE, lambda error, path: errors.append(error))
    if errors:
        return None
    coerced = {"series": coerce_input_value(value, SERIES_TYPE)}
    arguments = FIELD.extensions[STRAWBERRY_DEFINITION].arguments
    series: list[NewReadings] = GATEWAY_SCHEMA.convert_arguments(coerced, arguments)["series"]
    return series


def columns_of(series: list[NewReadings]) -> list[Any]:
    """Return the columns that the objects of a series stand for."""
    return [
        (
            entry.resource_id,
            entry.field,
            [to_ms(reading.at) for reading in entry.readings],
            [float(reading.value) for reading in entry.readings],
            [QUALITY_CODES[reading.quality] for reading in entry.readings],
        )
        for entry in series
    ]


def decoded_columns(series: list[Any]) -> list[Any]:
    return [
        (
            entry.resource_id,
            entry.field,
            *(getattr(entry.readings, name).tolist() for name in ("at", "value", "quality")),
        )
        for entry in series
    ]


plain_texts = st.datetimes(datetime(1969, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)).flatmap(
    lambda at: st.sampled_from(
        [
            f"{at:%Y-%m-%dT%H:%M:%S}Z",
            f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03d}Z",
            at.replace(microsecond=0).isoformat(),
            f"{at:%Y-%m-%dT%H:%M:%S}-05:30",
            f"{at:%Y-%m-%dT%H:%M:%S}.123+23:59",
        ]
    )
)
ODD_INSTANTS = [
    "2026-02-30T00:00:00Z", "2026-13-01T00:00:00Z", "2026-01-01T24:00:00Z", "2026-01-01T00:60:00Z", "now", "",
    "2026-01-01T00:00:60Z", "2026-01-01T00:00:00z", "2026-01-01 00:00:00Z", "2026-01-01T00:00:00", "20260101T000000Z",
    "2026-01-01T00:00:00+24:00", "2026-01-01T00:00:00+00:60", "2026-01-01T00:00:00.1234567Z", "1600-01-01T00:00:00Z",
    "9999-12-31T23:59:59Z", "\uff12\uff10\uff12\uff16-01-01T00:00:00Z", "2026-01-01T00:00:00Z ", "2026-00-01T00:00:00Z",
    "2026-01-00T00:00:00Z", "2026-01-01T00:00:00.000000Z", None, 5, True, ["2026-01-01T00:00:00Z"],
    "2026-01-01T00:00:0:Z", "2026-01-01T00:00:0/Z", "2026-01-01T00:00:00,123Z", "1969-12-31T23:59:59Z",
]  # fmt: skip
ODD_NUMBERS: list[Any] = [
    True, None, "", "1.", ".5", "1e3", "1_0", "+1", " 1", "1\n2", "NaN", "Infinity", "-", "\uff11", 10**15 + 1, 10**400,
    -(10**16), 1e15, 1e16, 1e-13, 1e300, 5e-324, "12345678901234567", "0.1234567890123456", [1], {}, -0.0, "-0", "007",
]  # fmt: skip
thousandths = st.decimals(-(10**6), 10**6, places=3)
numbers = st.one_of(
    st.integers(-(10**6), 10**6),
    st.floats(allow_nan=False, allow_infinity=False),
    thousandths.map(float),
    thousandths.map(str),
)
plain_readings = st.fixed_dictionaries(
    {"at": plain_texts, "value": numbers},
    optional={"quality": st.sampled_from([quality.name for quality in ReadingQuality])},
)
odd_readings = st.one_of(
    st.fixed_dictionaries({"at": st.sampled_from(ODD_INSTANTS), "value": numbers}),
    st.fixed_dictionaries({"at": plain_texts, "value": st.sampled_from(ODD_NUMBERS)}),
    st.fixed_dictionaries({"at": plain_texts, "value": numbers, "quality": st.sampled_from([None, "actual", "X", 0])}),
    st.fixed_dictionaries({"at": plain_texts, "value": numbers, "unknown": st.just(1)}),
    st.sampled_from([{}, {"at": "2026-01-01T00:00:00Z"}, {"value": 1}, None, 1, "text", []]),
)


def series_of(readings: Any) -> Any:
    entry = st.fixed_dictionaries(
        {"resourceId": st.sampled_from(["a", "b", "", "\ud800"]), "readings": readings},
        optional={"field": st.sampled_from([None, "ENERGY", "x"])},
    )
    return st.lists(entry, max_size=3)


instants_of_one_form = plain_texts.map(lambda text: f"{text[:19]}Z")
uniform_readings = st.sampled_from(
    [st.integers(-(10**6), 10**6), thousandths.map(float), thousandths.map(str), st.floats(-1e9, 1e9)]
).flatmap(lambda values: st.lists(st.fixed_dictionaries({"at": instants_of_one_form, "value": values}), max_size=5))
"""Readings whose instants have one form and whose values have one type, as those of a program."""

inputs = st.one_of(
    series_of(uniform_readings),
    series_of(st.lists(plain_readings, max_size=4)),
    series_of(st.lists(st.one_of(plain_readings, odd_readings), max_size=4)),
    st.sampled_from([None, {}, [None], "text", [{"resourceId": 5, "readings": []}], [{"resourceId": "a"}], {"a": 1}]),
    st.sampled_from([[{"resourceId": "a", "readings": {}}], [{"resourceId": "a", "readings": [], "other": 1}]]),
)
AT = "2026-03-01T00:00:00Z"
READING = {"at": "2026-03-01T00:00:00.000Z", "value": 0.5}


@given(inputs)
@example([{"resourceId": "a", "readings": [READING, {**READING, "value": 1}], "field": None}])
@example([{"resourceId": "a", "readings": [{**READING, "at": "2026-03-01T00:00:00Z"}, {**READING, "at": f"{AT}2"}]}])
@example(
    [
        {
            "resourceId": "a",
            "readings": [{**READING, "at": AT}, {**READING, "at": f"{AT}2026"}, {**READING, "at": AT[4:]}],
        }
    ]
)
def test_decoded_input_equals_coerced_input(value: Any) -> None:
    decoded = decode_new_readings(value)
    if decoded is None:
        return
    expected = coerce(value)
    assert expected is not None, "graphql-core refuses what the decoder takes"
    assert decoded_columns(decoded) == columns_of(expected)
    for entry, coerced in zip(decoded, expected, strict=True):
        assert list(entry.readings) == coerced.readings
        assert [str(reading.value) for reading in entry.readings] == [str(item.value) for item in coerced.readings]
        assert entry.readings[:1] == coerced.readings[:1]
    measure, now = per_reading(max_items=6), datetime(2026, 1, 1, tzinfo=UTC)
    assert measure.compute(now, decoded) == measure.compute(now, expected)


@pytest.mark.parametrize(
    "reading",
    [
        {},
        {"at": "2026-03-01T00:00:00.125Z"},
        {"at": "2026-03-01T01:30:00+01:30"},
        {"at": "2026-03-01T01:30:00.125-11:00"},
        {"value": 3},
        {"value": "0.250"},
        {"value": "-12"},
        {"quality": "ESTIMATED"},
    ],
)
def test_usual_forms_are_decoded(reading: dict[str, Any]) -> None:
    assert decode_new_readings([{"resourceId": "a", "readings": [{**READING, **reading}]}]) is not None


@pytest.mark.parametrize("at", ODD_INSTANTS)
def test_unusual_instant_is_not_decoded(at: Any) -> None:
    assert decode_new_readings([{"resourceId": "a", "readings": [{**READING, "at": at}]}]) is None


def test_number_beyond_exact_doubles_is_not_decoded() -> None:
    for value in (True, "1e3", "1\n2", "1_0", "", 10**15 + 1, 10**400, 1e-13, "0.1234567890123456", float("nan")):
        assert parse_numbers([value]) is None
    assert parse_numbers([1, "1"]) is None
    assert parse_instants(["2026-03-01T00:00:00Z", "2026-03-01T00:00:00.000Z"]) is None
    for fraction in ("", ".000"):  # an offset of the column that begins with the mark of UTC
        times = [f"2026-03-01T00:00:00{fraction}{offset}" for offset in ("Z01:00", "+05:00")]
        assert parse_instants(times) is None
        assert parse_instants(times[::-1]) is None
    assert parse_numbers([]) is not None
    assert parse_instants([]) is not None


def test_decoder_has_members_of_input_types() -> None:
    for plain, type_ in ((PlainReading, NewReading), (PlainReadings, NewReadings)):
        members = {member.encode_name: member for member in msgspec.structs.fields(plain)}
        assert list(members) == [to_camel_case(field.name) for field in fields(type_)]
        required = {name for name, member in members.items() if member.required}
        type_in_schema: Any = GATEWAY_SCHEMA.core.type_map[type_.__name__]
        assert required == {name for name, field in type_in_schema.fields.items() if is_required_input_field(field)}
    assert set(get_args(get_type_hints(PlainReading)["quality"])) == {quality.name for quality in ReadingQuality}


def test_cost_of_decoded_readings_has_share_for_hours() -> None:
    value = [{"resourceId": "a", "readings": [{"at": at, "value": 1} for at in instants(1_000)]}]
    decoded, coerced, now = decode_new_readings(value), coerce(value), datetime(2026, 1, 1, tzinfo=UTC)
    measure = per_reading(max_items=10_000)
    assert measure.compute(now, decoded) == measure.compute(now, coerced) > measure.compute(now, []) + 1_000


def test_limits_of_lists_apply_to_decoded_readings() -> None:
    series = decode_new_readings([{"resourceId": "a", "readings": [READING] * 100_001}])
    assert series is not None
    with pytest.raises(BadInput) as refused:
        check_arguments(record_readings, {"series": series})
    assert [problem.message for problem in refused.value.problems] == ["has 100,001 items; the maximum is 100,000"]
    series = decode_new_readings([{"resourceId": "a" * 201, "readings": []}])
    with pytest.raises(BadInput):
        check_arguments(record_readings, {"series": series})


def literal_of(series: Any) -> str:
    """Return the mutation with the readings in the document, which graphql-core coerces."""
    return (
        f"mutation {{ recordReadings(series: {print_ast(ast_from_value_of(series))}) {{"
        f" ... on Recorded {{ recorded }} ...Refused }} }}"
    )


def ast_from_value_of(series: Any) -> Any:
    coerced = coerce(series)
    assert coerced is not None
    objects = [
        {
            "resourceId": entry.resource_id,
            "field": entry.field,
            "readings": [
                {"at": reading.at, "value": reading.value, "quality": reading.quality} for reading in entry.readings
            ],
        }
        for entry in coerced
    ]
    return ast_from_value(objects, SERIES_TYPE)


def instants(count: int) -> list[str]:
    return [format_iso(from_ms(1_772_323_200_000 + n * 1_800_000)) for n in range(count)]


CASES: list[tuple[str, list[dict[str, Any]], dict[str, Any]]] = [
    ("valid", [{"at": at, "value": n / 8} for n, at in enumerate(instants(5))], {}),
    ("unsorted", [{"at": at, "value": n} for n, at in enumerate(reversed(instants(5)))], {}),
    ("repeated", [{**READING, "value": 1}] * 3 + [{"at": instants(3)[2], "value": 2}], {}),
    ("conflicting", [READING, {**READING, "value": 1}], {}),
    ("conflicting quality", [READING, {**READING, "quality": "ESTIMATED"}], {}),
    ("qualities", [{"at": at, "value": 1, "quality": "SUBSTITUTED"} for at in instants(3)], {}),
    ("future", [READING, {"at": "2999-01-01T00:00:00.000Z", "value": 1}], {}),
    ("before the start", [READING, {"at": "2001-01-01T00:00:00.000Z", "value": 1}], {}),
    ("off the grid", [READING, {"at": "2026-03-01T00:10:00.000Z", "value": 1}], {}),
    ("negative", [READING, {**READING, "at": instants(2)[1], "value": -1}], {}),
    ("too large", [READING, {**READING, "at": instants(2)[1], "value": 1e14}], {}),
    (
        "decimals",
        [READING, {**READING, "at": instants(2)[1], "value": 0.1234}, {**READING, "value": 0.30000000004}],
        {},
    ),
    ("unknown field", [READING], {"field": "NONE"}),
    ("power", [{"at": "2026-03-01T00:00:01.000Z", "value": -5}], {"field": "POWER"}),
    ("none", [], {}),
]


async def outcome(house: House, tenant: Tenant, series: Any, *, as_literal: bool) -> Any:
    """Record a series and return the answer, the events and the stored readings of its resource."""
    bus, resource_id = tenant.gateway.bus, series[0]["resourceId"]
    topic = topics.readings(resource_id)
    position = (await bus.open_topics([topic]))[topic]
    document, variables = (literal_of(series), {}) if as_literal else (VARIABLE, {"series": series})
    answer = await house.graphql(document, tenant.headers["account"], **variables)
    for error in answer.get("errors", ()):
        del error["locations"], error["extensions"]["traceId"]
    (events,) = await bus.read_since([(topic, position)])
    bus.close_topics([topic])
    stored = await tenant.run("raw_readings", resource_id=resource_id)
    columns = [list(getattr(stored, name)) for name in ("start", "value") if hasattr(stored, name)]
    answer.pop("extensions", None)
    described = repr((answer, [(event.key, event.payload) for event in events or ()], columns))
    return described.replace(resource_id, "ID")


@pytest.mark.parametrize(("name", "readings", "more"), CASES)
async def test_variables_are_recorded_as_literals(
    served: House, name: str, readings: list[dict[str, Any]], more: dict[str, Any]
) -> None:
    tenant, outcomes = served.one, []
    for as_literal in (False, True):
        series = [{"resourceId": await tenant.add_resource(), "readings": readings, **more}]
        decoded = decode_new_readings(series)
        assert decoded is not None
        assert isinstance(decoded[0].readings, DecodedReadings)
        outcomes.append(await outcome(served, tenant, series, as_literal=as_literal))
    assert outcomes[0] == outcomes[1]


async def test_two_series_of_one_field_conflict(served: House) -> None:
    resource_id = await served.one.add_resource()
    series = [
        {"resourceId": resource_id, "readings": [READING]},
        {"resourceId": resource_id, "readings": [{**READING, "value": 2}], "field": "ENERGY"},
    ]
    answer = await served.graphql(VARIABLE, served.one.headers["account"], series=series)
    (problem,) = refusal_of(answer)["problems"]
    assert problem["path"] == ["series", 1, "readings", 0]
    assert problem["message"] == "the same instant is given twice with different values"


async def test_items_of_decoded_readings_are_input_objects(served: House) -> None:
    tenant = served.one
    resource_id = await tenant.add_resource()
    decoded = decode_new_readings([{"resourceId": resource_id, "readings": [READING]}])
    assert decoded is not None
    result = await tenant.gateway.runner.run(record_readings, tenant.system, {"series": decoded})
    assert result.recorded == 1
    assert decoded[0].readings[0] == NewReading(at=datetime(2026, 3, 1, tzinfo=UTC), value=Decimal("0.5"))
    assert decoded[0].readings[-1] == decoded[0].readings[0]
