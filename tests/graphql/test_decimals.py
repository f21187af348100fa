"""Decimal arguments: one rule on both interfaces, in files and in messages of meters. Others are BAD_INPUT."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from itertools import product
from typing import Any

import pytest
from graphql import GraphQLInputObjectType, GraphQLScalarType, get_named_type

from tests.support.gateway_schema import SCHEMA
from tests.support.house import House
from tests.support.refusals import refusal_of
from wattgate.app.cli.actions.file_imports import parse_record
from wattgate.energy.meters.meter_messages import parse_message
from wattgate.reading_files.cells import InvalidLine, parse_number
from wattgate.values.decimals import InvalidDecimal, parse_decimal

BAD_NUMBERS = [
    "NaN",
    "sNaN",
    "Infinity",
    "-inf",
    "1E+999999999",
    "-1E+999999999",
    "0E-999999999",
    "0E+999999999",
    "1E-999999999",
    "1" * 65,
    "1_000",
    "\u0661",
    "",
]

COLUMNS = (
    "mutation ($series: [NewReadingColumns!]!) { recordReadingColumns(series: $series) {"
    " ... on RecordedColumns { recorded } ...Refused } }"
)
READINGS = (
    "mutation ($series: [NewReadings!]!) { recordReadings(series: $series) {"
    " ... on Recorded { recorded } ...Refused } }"
)
RULE = "mutation ($input: NewAlertRule!) { createAlertRule(input: $input) { ... on AlertRule { ruleId } ...Refused } }"
AT = "2026-04-01T00:00:00Z"


async def rejected_code(house: House, document: str, **variables: Any) -> str:
    answer = await house.graphql(document, house.one.headers["account"], **variables)
    return str(refusal_of(answer)["code"])


async def test_readings_with_a_bad_number_are_bad_input_and_not_stored(
    served: House, subtests: pytest.Subtests
) -> None:
    for number in BAD_NUMBERS:
        with subtests.test(number):
            await reject_readings(served, number)


async def reject_readings(served: House, number: str) -> None:
    """Assert that no interface records a reading with this value."""
    resource_id = await served.one.add_resource()
    columns = {"resourceId": resource_id, "at": [AT], "value": [number]}
    readings = {"resourceId": resource_id, "readings": [{"at": AT, "value": number}]}
    assert await rejected_code(served, COLUMNS, series=[columns]) == "BAD_INPUT"
    assert await rejected_code(served, READINGS, series=[readings]) == "BAD_INPUT"
    headers = served.one.headers["account"]
    for path, body in (
        ("/readings", {"series": [columns]}),
        (f"/resource/{resource_id}/readings", {"readings": [{"at": AT, "value": number}]}),
    ):
        response = await served.call("POST", path, headers, json=body)
        assert (response.status_code, response.json()["code"]) == (400, "BAD_INPUT")
    assert list((await served.one.run("raw_readings", resource_id=resource_id)).at) == []


async def test_a_rule_with_a_bad_number_is_bad_input(served: House, subtests: pytest.Subtests) -> None:
    rule = {
        "name": "Power",
        "alertTypeId": served.one.ids["alert_type"],
        "kind": "THRESHOLD",
        "windowMinutes": 60,
        "channels": ["INBOX"],
        "threshold": "1",
        "resourceId": served.one.ids["resource"],
    }
    for member, number in product(("threshold", "hysteresis"), BAD_NUMBERS):
        with subtests.test(f"{member} {number}"):
            bad, headers = rule | {member: number}, served.one.headers["account"]
            assert await rejected_code(served, RULE, input=bad) == "BAD_INPUT"
            response = await served.call("POST", "/alertrule", headers, json=bad)
            assert (response.status_code, response.json()["code"]) == (400, "BAD_INPUT")


def decimal_positions() -> Iterator[tuple[str, GraphQLScalarType]]:
    """Yield the arguments and input fields of type Decimal."""
    for type_ in SCHEMA.type_map.values():
        fields = type_.fields if hasattr(type_, "fields") and not type_.name.startswith("__") else {}
        for name, field in fields.items():
            inputs = {name: field} if isinstance(type_, GraphQLInputObjectType) else field.args
            for input_name, declared in inputs.items():
                if get_named_type(declared.type).name == "Decimal":
                    yield f"{type_.name}.{name}.{input_name}", get_named_type(declared.type)


def test_every_decimal_argument_has_the_rule() -> None:
    positions = dict(decimal_positions())
    assert len(positions) > 10
    assert [
        (position, number)
        for position, scalar in positions.items()
        for number in BAD_NUMBERS
        if is_accepted(scalar, number)
    ] == []


def is_accepted(scalar: GraphQLScalarType, number: str) -> bool:
    try:
        scalar.coerce_input_value(number)
    except InvalidDecimal:
        return False
    return True


def test_no_argument_is_a_float() -> None:
    inputs = [type_ for type_ in SCHEMA.type_map.values() if isinstance(type_, GraphQLInputObjectType)]
    assert not [
        field for type_ in inputs for field in type_.fields.values() if get_named_type(field.type).name == "Float"
    ]


def test_files_and_messages_have_the_rule(subtests: pytest.Subtests) -> None:
    for number in BAD_NUMBERS:
        with subtests.test(number):
            reject_in_files_and_messages(number)


def reject_in_files_and_messages(number: str) -> None:
    """Assert that files and messages of meters do not contain this value."""
    with pytest.raises(InvalidLine):
        parse_number(number)
    line = {"kind": "reading", "mpxn": "1234567890123", "classifier": "electricity.consumption", "at": AT}
    if number not in ("1_000", "\u0661"):  # which are numbers in a registry file
        with pytest.raises(InvalidLine):
            parse_record(json.dumps(line | {"value": number}))
    payload = json.dumps({"electricitymeter": {"timestamp": AT, "power": {"value": 0, "units": "kW"}}})
    try:
        message = parse_message(
            "glow/AABBCCDDEEFF/SENSOR/electricitymeter", payload.replace(": 0", f": {number}").encode()
        )
    except ValueError:
        return
    assert message.problems
    assert not [one for one in message.values if one.field == "POWER"]


@pytest.mark.parametrize(
    ("value", "number"),
    [(1, "1"), (1.5, "1.5"), ("-0.001", "-0.001"), ("1e3", "1E+3"), (Decimal("0.10"), "0.10"), (10**29, str(10**29))],
)
def test_numbers_in_range_are_exact(value: Any, number: str) -> None:
    assert parse_decimal(value) == Decimal(number)


@pytest.mark.parametrize(
    "value",
    [
        True,
        None,
        [],
        10**30,
        pytest.param(10**5_000, id="a very large integer"),
        1e-31,
        float("nan"),
        float("inf"),
        datetime(2026, 1, 1, tzinfo=UTC),
    ],
)
def test_other_values_are_rejected(value: Any) -> None:
    with pytest.raises(InvalidDecimal):
        parse_decimal(value)
