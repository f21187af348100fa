"""Figures about the past of a home that changed hands, and readings of other times that the gateway must refuse."""

from datetime import datetime
from decimal import Decimal
from typing import Any

import numpy as np
from graphql import GraphQLField, get_named_type, is_object_type
from strawberry import ID

from tests.support.interfaces import deep_selection, field_of
from tests.support.successive_households import ENERGY, STAY, HomeOfThree, Household
from wattgate.clock import format_iso, to_ms, utc_now
from wattgate.operations.catalogue import OPERATIONS
from wattgate.operations.readings.bulk_recording import BulkReadingBatch, record_reading_arrays
from wattgate.operations.readings.recording import record_reading_columns
from wattgate.operations.types.meters.readings import NewReadingColumns

REASONS = ("before the household moved in", "is closed")
"""Parts of the reasons for which readings of the times of other households are refused."""


def _fields_of(field: GraphQLField) -> dict[str, GraphQLField]:
    named = get_named_type(field.type)
    assert is_object_type(named)
    return dict(named.fields)


def _figures_document() -> str:
    """Return a document with everything that is computed from the readings of a resource in time ranges."""
    (operation,) = (operation for operation in OPERATIONS if operation.name == "resource")
    resource = _fields_of(field_of(operation))
    comparison = _fields_of(resource["readings"])["comparison"]

    def selected(name: str, arguments: str) -> str:
        return f"{name}({arguments}) {deep_selection(resource[name], 0)}"

    return f"""query ($resourceId: ID!, $whole: TimeRange!, $own: TimeRange!) {{
        resource(resourceId: $resourceId) {{
            firstTime
            lastTime
            whole: {selected("readings", "range: $whole, period: P1D")}
            power: {selected("readings", 'range: $whole, period: PT1H, field: "POWER", function: MAX')}
            cost: {selected("cost", "range: $whole")}
            costs: {selected("costs", "range: $whole, period: P1D")}
            own: readings(range: $own, period: P1D) {{
                total
                comparison(baseline: PREVIOUS_PERIOD) {deep_selection(comparison, 1)}
            }}
        }}
    }}"""


FIGURES_DOCUMENT = _figures_document()


async def figures(place: HomeOfThree, household: Household, resource_id: str) -> Any:
    """Return what a household reads about the times in which each household lived in the home."""
    variables = {
        "resourceId": resource_id,
        "whole": {"start": format_iso(place.households[0].since), "end": format_iso(utc_now())},
        "own": {"start": format_iso(household.since), "end": format_iso(min(household.since + STAY, utc_now()))},
    }
    answer = await place.served.http.post(
        "/graphql", json={"query": FIGURES_DOCUMENT, "variables": variables}, headers=household.who.headers["account"]
    )
    body = answer.json()
    assert "errors" not in body, body
    return body["data"]["resource"]


async def check_figures(place: HomeOfThree, household: Household) -> None:
    """Assert that all figures of a household are of its own reading of energy, and none is of another household."""
    energy, at = float(ENERGY[household.number]), format_iso(household.at)
    for resource_id in household.resources:
        found = await figures(place, household, resource_id)
        assert (found["firstTime"], found["lastTime"]) == (at, at)
        assert (found["whole"]["total"], found["own"]["total"]) == (energy, energy)
        assert float(found["cost"]["energy"]["value"]) == energy
        compared = found["own"]["comparison"]
        assert (compared["current"]["value"], compared["previous"]["value"]) == (energy, None)
        assert place.traces(household, found) == [], found


async def check_recording(place: HomeOfThree, household: Household) -> None:
    """Assert that each way of recording refuses readings of the times of others, and all of a closed resource.

    The resources of the present household get other values for its own time.
    """
    run, system = place.served.gateway.runner.run, household.who.system
    ids, instants = household.resources, [other.at for other in place.households]
    refused_at = [
        n for n, other in enumerate(place.households) if household is not place.present or other is not household
    ]
    expected = [(series, n) for series in range(len(ids)) for n in refused_at]
    columns = [NewReadingColumns(resource_id=ID(each), at=instants, value=[Decimal(1)] * len(instants)) for each in ids]
    by_columns = await run(record_reading_columns, system, {"series": columns})
    assert [(refused.series, refused.index) for refused in by_columns.refused] == expected
    by_arrays = await run(record_reading_arrays, system, {"batch": _batch(ids, instants)})
    assert [divmod(position, len(instants)) for position, _ in sorted(by_arrays.refused)] == expected
    reasons = [refused.reason for refused in by_columns.refused] + [reason for _, reason in by_arrays.refused]
    assert [reason for reason in reasons if not any(part in reason for part in REASONS)] == []
    readings = [{"at": format_iso(instants[n]), "value": 1} for n in refused_at]
    for resource_id in ids:
        path, body = f"/resource/{resource_id}/readings", {"resourceId": resource_id, "readings": readings}
        answer = await place.served.call("POST", path, household.who.headers["application"], json=body)
        problems = answer.json()["problems"]
        is_closed = household is not place.present
        assert (answer.status_code, len(problems)) == (400, 1 if is_closed else len(readings)), answer.text


def _batch(resource_ids: list[str], instants: list[datetime]) -> BulkReadingBatch:
    """Return a batch with a reading of each instant for each resource."""
    count = len(resource_ids) * len(instants)
    return BulkReadingBatch(
        series=[(resource_id, None) for resource_id in resource_ids],
        series_index=np.repeat(np.arange(len(resource_ids)), len(instants)),
        at=np.tile(np.array([to_ms(at) for at in instants], np.int64), len(resource_ids)),
        value=np.ones(count),
        quality=np.zeros(count, np.int64),
    )
