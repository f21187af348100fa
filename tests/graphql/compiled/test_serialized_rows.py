"""Rows that have columns: plans read the columns, and return what graphql-core returns for the rows."""

from types import SimpleNamespace
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings

from tests.db.test_series import new_resource, record, scenarios
from tests.graphql.compiled.comparing import ObservedEngine, Outcome, run_engine, run_graphql_core
from tests.graphql.compiled.documents import Request
from tests.graphql.compiled.running import NO_LIMITS, compare
from tests.support.chance import examples
from tests.support.house import House
from wattgate.clock import format_iso
from wattgate.db.column_types import SerializedColumn, SerializedRows
from wattgate.db.readings.reading_series import ReadingSeries
from wattgate.graphql.execution.compiled.values import serialized_columns
from wattgate.graphql.execution.documents.documents import DocumentCache
from wattgate.operations.core.context import GraphQLContext

ARGUMENTS = (
    "$id: ID!, $field: String, $range: TimeRange!, $period: Period!, $function: Function!, $zone: TimeZone!, "
    "$week: Weekday!, $since: DateTime"
)
SERIES = (
    "resource(resourceId: $id) { series: readings(field: $field, range: $range, period: $period, "
    "function: $function, timeZone: $zone, weekStart: $week, revisedSince: $since) "
)
ONE_DAY = """query ($id: ID!) {
  resource(resourceId: $id) {
    readings(range: {start: "2026-03-29T00:00:00Z", end: "2026-03-30T00:00:00Z"}, period: PT30M) {
      buckets { start value quality count }
    }
  }
}"""
SELECTIONS = (
    "buckets { start value }",
    "buckets { only: value }",
    "buckets { start end value count quality completeness estimated revision noValueReason }",
    "buckets { __typename start start2: start value again: value quality } columns { start value noValueReason }",
)


def documents(resource_id: str, scenario: dict[str, Any], since: str | None) -> list[Request]:
    """Return queries of the series of a scenario that select its buckets in several ways."""
    variables = {
        "id": resource_id,
        "field": scenario["field"],
        "range": {"start": format_iso(scenario["start"]), "end": format_iso(scenario["end"])},
        "period": scenario["period"].name,
        "function": scenario["function"].name,
        "zone": scenario["zone"],
        "week": scenario["week_start"].name,
        "since": since,
    }
    return [
        Request(f"query ({ARGUMENTS}) {{ {SERIES} {{ {text} }} }} }}", None, variables, others=variables)
        for text in SELECTIONS
    ]


@settings(max_examples=examples(12), suppress_health_check=list(HealthCheck))
@given(scenario=scenarios())
async def test_plans_return_buckets_as_graphql_core_does(served: House, scenario: dict[str, Any]) -> None:
    resource_id, gateway = await new_resource(served), served.gateway
    for batch in scenario["batches"]:
        await record(served, resource_id, scenario["field"], batch)
    for since in (None, "2015-01-01T00:00:00.000Z", "9000-01-01T00:00:00.000Z"):
        report = await compare(
            gateway.schema,
            documents(resource_id, scenario, since),
            lambda number: GraphQLContext(gateway.runner, served.one.system),
            label=f"since {since}",
        )
        assert not report.different, report.summary
        assert not report.needless_fallbacks
        assert report.outcomes.keys() <= {Outcome.COMPILED, Outcome.REPORTED}


async def test_plans_create_no_rows_where_columns_are_enough(served: House, monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[ReadingSeries] = []
    build = ReadingSeries._build_buckets

    def build_and_note(series: ReadingSeries) -> list[Any]:
        built.append(series)
        return build(series)

    monkeypatch.setattr(ReadingSeries, "_build_buckets", build_and_note)
    resource_id = await new_resource(served)
    request = Request(ONE_DAY, None, {"id": resource_id})
    schema = served.gateway.schema
    engine, document = ObservedEngine(schema), DocumentCache(schema, NO_LIMITS).get(request.text, None)
    context = GraphQLContext(served.gateway.runner, served.one.system)
    answer, outcome = await run_engine(engine, document, request, context)
    assert (outcome, built) == (Outcome.COMPILED, [])
    expected = await run_graphql_core(schema, document.node, request, context)
    assert answer == expected
    assert len(built) == 1


def rows_of(**columns: list[Any]) -> SerializedRows[Any]:
    serialized = {name: SerializedColumn(values) for name, values in columns.items()}
    names = list(columns)
    return SerializedRows(
        SimpleNamespace(**serialized),
        lambda: [SimpleNamespace(**dict(zip(names, row, strict=True))) for row in zip(*columns.values(), strict=True)],
    )


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf"), 1, True, "1.0"])
def test_column_with_a_value_that_is_no_finite_float_is_not_used(value: Any) -> None:
    rows = rows_of(value=[0.5, None, value])
    assert serialized_columns(rows, ("value",), (0,), ()) is None
    assert [row.value for row in rows][:2] == [0.5, None]


@pytest.mark.parametrize("value", [None, 1.0, True, 2**31, -(2**31) - 1])
def test_column_with_a_value_that_is_no_int_is_not_used(value: Any) -> None:
    assert serialized_columns(rows_of(count=[1, value]), ("count",), (), (0,)) is None


def test_columns_are_returned_in_the_order_of_the_attributes() -> None:
    rows = rows_of(value=[0.5, None, -1e300], count=[1, 0, 2**31 - 1], name=["a", "b", "c"])
    columns = serialized_columns(rows, ("name", "value", "count", "value"), (1, 3), (2,))
    assert columns is not None
    assert orjson.loads(orjson.dumps(columns)) == [
        ["a", "b", "c"],
        [0.5, None, -1e300],
        [1, 0, 2**31 - 1],
        [0.5, None, -1e300],
    ]
    assert serialized_columns(rows_of(value=[], count=[]), ("value", "count"), (0,), (1,)) == [[], []]
