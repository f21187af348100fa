"""Series of which a query selects few fields, so that fewer columns are read: the answers are those of all columns."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from graphql import GraphQLObjectType, get_named_type, is_leaf_type, is_object_type

from tests.support.gateway_schema import SCHEMA
from tests.support.house import STORAGE
from tests.support.timed import Timed, half_hours
from wattgate.operations.core.fields import field_source_of
from wattgate.operations.types.meters.readings import VALUE_FIELDS
from wattgate.operations.vocabulary.node import EdgeField

pytestmark = pytest.mark.both_databases("readings and their sums in SQL")

DAY = datetime(2026, 5, 1, tzinfo=UTC)
HALF_HOUR = timedelta(minutes=30)


def selections() -> list[str]:
    """Return the selections of each single field of a series, of each field of its parts, and of common groups."""
    kind = SCHEMA.type_map["ReadingSeries"]
    assert isinstance(kind, GraphQLObjectType)
    found = ["completeTo", "columns { start value }", "total buckets { start value count }"]
    for name, field in kind.fields.items():
        inner = get_named_type(field.type)
        if is_leaf_type(inner):
            found.append(name)
        elif is_object_type(inner) and name != "resource" and not isinstance(field_source_of(kind, field), EdgeField):
            found += [f"{name} {{ {leaf} }}" for leaf in inner.fields]
    return found


SELECTIONS = selections()


async def ask(timed: Timed, resource_id: str, selection: str, since: str | None) -> Any:
    query = f"""query ($id: ID!, $range: TimeRange!, $since: DateTime) {{
        resource(resourceId: $id) {{ readings(range: $range, period: PT30M, revisedSince: $since) {{ {selection} }} }}
    }}"""
    range_ = {"start": DAY.isoformat(), "end": (DAY + 4 * HALF_HOUR).isoformat()}
    return (await timed.ask(query, id=resource_id, range=range_, since=since))["resource"]["readings"]


def selected(value: Any, like: Any) -> Any:
    """Return the parts of an answer that another answer has too, so that both are equal if their values are."""
    if isinstance(value, list) and isinstance(like, list) and len(value) == len(like):
        return [selected(part, part_like) for part, part_like in zip(value, like, strict=True)]
    if isinstance(value, dict) and isinstance(like, dict):
        return {name: selected(value[name], part_like) for name, part_like in like.items()}
    return value


async def test_answers_do_not_depend_on_the_columns_that_are_read(timed: Timed) -> None:
    """A query of all fields reads all columns by graphql-core, which executes the first use of a document.

    Each selection has the values of it, by graphql-core at first, and by its compiled plan for each series. A half of
    the selections runs on each database.
    """
    selections_of_database = SELECTIONS[timed.house.gateway.database.is_sqlite :: 2]
    type_id, different, uses = await timed.add_type(STORAGE), [], 2
    for values in (["1", "2", "3", "4"], ["1", "2"], []):
        (resource_id,) = await timed.add_resources(type_id, 1)
        await timed.record(resource_id, *half_hours(DAY, values))
        timed.pass_time(timedelta(hours=1))
        if values:
            await timed.record(resource_id, (DAY + HALF_HOUR, "2.5", "ESTIMATED"))
        as_of = (await ask(timed, resource_id, "asOf", None))["asOf"]
        for since in (None, as_of):
            of_all_columns = await ask(timed, resource_id, f"{' '.join(SELECTIONS)} # {resource_id} {since}\n", since)
            for selection in selections_of_database:
                answers = [await ask(timed, resource_id, selection, since) for _ in range(uses)]
                expected = selected(of_all_columns, answers[0])
                different += [(values, since, selection) for answer in answers if answer != expected]
            uses = 1
    assert different == []


def test_each_field_of_a_series_and_of_its_buckets_is_tried() -> None:
    others = {"quality", "revision", "buckets { quality }", "columns { estimated }", "highest { revision }"}
    assert others <= {*SELECTIONS}
    assert {"__typename", *" ".join(SELECTIONS).split()} > VALUE_FIELDS
