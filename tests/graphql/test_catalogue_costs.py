"""Costs that the catalogue declares: every list has a size, and docs/reference/limits.md has the costs of documents."""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest
from graphql import (
    GraphQLField,
    GraphQLObjectType,
    OperationDefinitionNode,
    get_nullable_type,
    is_list_type,
    parse,
    validate,
)
from graphql.execution.values import VariableValues, get_variable_values

from bench.graphql import HOME, MONTH
from tests.support.documents import INTROSPECTION as TOOLS
from tests.support.documents import ROOT, own
from wattgate.graphql.catalogue import OPERATIONS
from wattgate.graphql.core.cost_weights import (
    ASSUMED_SIZE,
    DISPLAY,
    FRESHNESS,
    HASHING,
    INTROSPECTION,
    MUTATION,
    STATEMENTS,
    UNIT,
    VALUES,
    Amount,
    Size,
)
from wattgate.graphql.core.fields import edge_of, sizes_of
from wattgate.graphql.core.operation import Kind
from wattgate.graphql.cost.estimate import MAX_COST, Cost, estimate
from wattgate.graphql.execution.schema import build

SCHEMA = build(OPERATIONS)._schema
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
PAGE = (ROOT / "docs" / "reference" / "limits.md").read_text()

BY_DEFAULT = """
    AccountProfiles.profileNames Alert.channels AlertRule.channels CostExplanation.lines CostExplanation.vat
    Device.parentHardwareId Device.tags DeviceProtocol.sensors Faq.data Inventory.inventory
    Login.functionalGroupAccounts Login.userGroups MeterPointResources.resources Mutation.optOutOfDfs
    Mutation.participateInDfsEvent Mutation.revokeToken OAuthUser.applications Query.catchUps Query.consentChanges
    Query.consents Query.currentTermsConditions Query.devices Query.dfsEvents Query.dfsTermsConditions Query.dfsUsers
    Query.faqs Query.languageContents Query.mobileAppTokens Query.resourceCounts Query.tokens Query.userDfsEvents
    RecordedColumns.refused Resource.catchUps ResourceCount.resourceIdList ResourceOptions.options
    Satisfaction.resources Tariff.bands Tariff.blocks TariffBand.weekdays Template.versions TemplatePreview.coverage
    TemplatePreview.culturesTried TemplateReport.findings TemplateReport.variables TypeProtocol.sensors
    User.applications VirtualEntityType.resources Webhook.failedAttempts WebhookEndpoint.events
"""
"""Lists of the assumed size on purpose: they are about as long, or so short that it makes no difference."""

HISTORY = own()["gateway.js History"]
OF_THREE = {"electricity": "a", "gas": "b", "exported": "c", "zone": "Europe/London"}
OCTOBER = {"start": "2026-10-01T00:00:00Z", "end": "2026-11-01T00:00:00Z"}
POWER = """{ readings(resourceId: "a", range: {start: "2026-11-19T00:00:00Z", end: "2026-11-20T00:00:00Z"},
    period: PT30M, field: "POWER") { columns { start value } } }"""
TREE = """{ virtualEntityConnection(first: 20) { edges { node { veId name
    resources { resourceId name tariffs { name rate validFrom } } } } } }"""
RECORD = "mutation ($series: [NewReadings!]!) { recordReadings(series: $series) { recorded } }"
DAY = [{"resourceId": "a", "readings": [{"at": "2026-11-20T00:00:00Z", "value": 1}] * 48}]
ALERTS = "{ alertConnection(first: 100) { edges { node { alertId data notifications { state log { stage } } } } } }"
BACK_TEST = '{ alertRule(ruleId: "a") { backTest(days: 366) { count firings { at value } } } }'

FIGURES: dict[str, tuple[str, dict[str, Any]]] = {
    "the homes of a user with the power and the rates of each resource": (
        own()["first-query-and-subscription.md 1"],
        {},
    ),
    "a home of 58 fields": (HOME, {"id": "a"}),
    "20 homes, their resources, the tariffs of each": (TREE, {}),
    "a month of half hours, as columns": (MONTH % "columns", {"id": "a", "range": OCTOBER}),
    "a month of half hours, as objects": (MONTH % "buckets", {"id": "a", "range": OCTOBER}),
    "a day of live power by the half hour, as columns": (POWER, {}),
    "a week by the day, beside the week before": (
        own()["first-query-and-subscription.md Week"],
        {"resourceId": "a", "start": "2026-11-02T00:00:00Z", "end": "2026-11-09T00:00:00Z"},
    ),
    "the bill of a month": (own()["first-query-and-subscription.md Bill"], {"resourceId": "a", **OCTOBER}),
    "a display that subscribes to its home": (own()["subscription.js Display"], {"veId": "a"}),
    "the history of a display: a day by the hour, of three resources": (
        HISTORY,
        {**OF_THREE, "range": {"start": "2026-11-19T00:00:00Z", "end": "2026-11-20T00:00:00Z"}, "period": "PT1H"},
    ),
    "the history of a display: a year by the month, of three resources": (
        HISTORY,
        {**OF_THREE, "range": {"start": "2025-11-01T00:00:00Z", "end": "2026-11-01T00:00:00Z"}, "period": "P1M"},
    ),
    "a page of 100 alerts with their notifications and logs": (ALERTS, {}),
    "a back-test of one rule over a year": (BACK_TEST, {}),
    "a log-in": (
        own()["gateway.js LogIn"],
        {"applicationId": "a", "username": "b", "password": "c"},
    ),
    "the recording of a day of half hours": (RECORD, {"series": DAY}),
    "the introspection query": (TOOLS, {}),
}
"""Documents whose cost the page tells."""


def fields() -> Iterator[tuple[str, GraphQLField, Sequence[Size]]]:
    """All fields of the schema by their coordinates, with the sizes that are declared of them."""
    for kind in SCHEMA.type_map.values():
        if isinstance(kind, GraphQLObjectType) and not kind.name.startswith("__"):
            for name, field in kind.fields.items():
                yield f"{kind.name}.{name}", field, sizes_of(field.extensions["strawberry-definition"])


def lists() -> dict[str, Sequence[Size]]:
    return {place: sizes for place, field, sizes in fields() if is_list_type(get_nullable_type(field.type))}


def sized_fields() -> set[str]:
    return {name for _, _, sizes in fields() for size in sizes for name in size.sized_fields}


def test_every_list_has_a_size_or_the_assumed_one_on_purpose() -> None:
    sized = sized_fields()
    without = {
        place
        for place, sizes in lists().items()
        if not (place in sized or place.partition(".")[0] in sized) and all(size.sized_fields for size in sizes)
    }
    assert without == set(BY_DEFAULT.split())


def test_what_is_sized_from_above_are_lists_that_there_are() -> None:
    places = lists()
    for name in sized_fields():
        assert any(place == name or place.partition(".")[0] == name for place in places), name


def costs(text: str, variables: dict[str, Any]) -> tuple[Cost, int]:
    """What a document's first operation costs, at a moment of 2026."""
    document = parse(text)
    assert validate(SCHEMA, document) == []
    operation = document.definitions[0]
    assert isinstance(operation, OperationDefinitionNode)
    made = estimate(SCHEMA, document, operation, lambda: NOW)
    values = get_variable_values(SCHEMA, operation.variable_definitions or (), variables)
    assert isinstance(values, VariableValues)
    return made, made(values)


def test_the_page_tells_what_documents_cost() -> None:
    told = re.findall(r"^\| ([^|`]+) \| ([\d,]+) \|$", PAGE, re.MULTILINE)
    computed = {name: f"{costs(*figure)[1]:,}" for name, figure in FIGURES.items()}
    assert {name: cost for name, cost in told if name in FIGURES} == computed
    assert f"may cost {MAX_COST:,} at most" in PAGE


def test_the_page_tells_the_weights_as_they_are() -> None:
    told = [int(one.replace(",", "")) for one in re.findall(r"^\| (?:a|an) [^|]+ \| ([\d,]+) \|$", PAGE, re.MULTILINE)]
    assert told[:5] == [STATEMENTS, STATEMENTS, MUTATION, HASHING, 1]
    assert f"{UNIT} µs" in PAGE
    assert f"{VALUES} values" in PAGE
    assert f"`freshness` {FRESHNESS}, `display` {DISPLAY}" in PAGE
    assert f"`__schema` costs {INTROSPECTION['__schema']:,} and `__type` {INTROSPECTION['__type']}" in PAGE


def test_the_pages_example_adds_up() -> None:
    block = re.search(r"```cost\n(.*?)```", PAGE, re.DOTALL)
    assert block is not None
    *parts, total = [int(number.replace(",", "")) for number in re.findall(r"^ *([\d,]+) ", block[1], re.MULTILINE)]
    assert (
        sum(parts) == total == costs(*FIGURES["the homes of a user with the power and the rates of each resource"])[1]
    )


def test_what_our_own_pages_and_guides_ask_is_far_from_what_an_operation_may_cost() -> None:
    for name, (text, variables) in FIGURES.items():
        assert costs(text, variables)[1] <= MAX_COST * 2 // 3, name
    for name, text in own().items():
        operation = parse(text).definitions[0]
        assert isinstance(operation, OperationDefinitionNode)
        if not operation.variable_definitions:
            assert costs(text, {})[1] <= MAX_COST / 4, name


@pytest.mark.parametrize("name", ["the homes of a user with the power and the rates of each resource", "a log-in"])
def test_what_asks_no_lists_of_its_variables_costs_the_same_always(name: str) -> None:
    assert costs(*FIGURES[name])[0].fixed is not None


def test_open_ranges_cost_more_as_time_goes_on() -> None:
    text = """{ readings(resourceId: "a", range: {start: "2026-11-20T00:00:00Z"}, period: PT30M) {
        columns { value } } }"""
    document = parse(text)
    operation = document.definitions[0]
    assert isinstance(operation, OperationDefinitionNode)
    none = VariableValues({}, {})
    told = [estimate(SCHEMA, document, operation, now)(none) for now in (NOW.replace, partial(NOW.replace, year=2027))]
    assert told[1] > told[0]
    closed = text.replace('0Z"}', '0Z", end: "2026-11-21T00:00:00Z"}')
    assert costs(closed, {})[0].fixed is not None


def test_buckets_cost_by_the_range_and_period_up_to_what_is_told() -> None:
    year = {"start": "2025-11-01T00:00:00Z", "end": "2026-11-01T00:00:00Z"}
    asked = {"id": "a", "range": year}
    nothing = costs(MONTH.replace("%s { start value }", "unit"), asked)[1]
    assert costs(MONTH % "buckets", asked)[1] == nothing + 2_000 // 10
    assert costs(MONTH % "columns", asked)[1] == nothing + 1 + 2 * (17_522 // 500)
    backwards = {"id": "a", "range": {"start": year["end"], "end": year["start"]}}
    assert costs(MONTH % "buckets", backwards)[1] == STATEMENTS + 1 + 1


def test_the_buckets_of_a_baseline_are_as_many_as_those_of_its_series() -> None:
    text = """query ($id: ID!, $range: TimeRange!) { readings(resourceId: $id, range: $range, period: PT30M) {
        comparison(baseline: PREVIOUS_PERIOD) { series { unit %s } } } }"""
    asked = {"id": "a", "range": OCTOBER}
    assert costs(text % "buckets { value }", asked)[1] == costs(text % "", asked)[1] + 149


@pytest.mark.parametrize(
    ("first", "items"), [({}, 50), ({"first": 7}, 7), ({"first": 100}, 100), ({"first": 1_000}, 100)]
)
def test_a_page_costs_as_many_items_as_it_is_asked(first: dict[str, int], items: int) -> None:
    text = "query ($first: Int! = 50) { accountConnection(first: $first) { edges { cursor node { name } } } }"
    assert costs(text, first)[1] == STATEMENTS + 1 + 2 * items


def least(amount: Amount) -> int:
    """Return what an amount is at least: what a measure says of arguments that are not given."""
    return amount if isinstance(amount, int) else amount.of(NOW, *(None for _ in amount.slicing_arguments))


def test_mutations_cost_more_than_queries_and_all_weights_are_positive() -> None:
    for one in OPERATIONS:
        assert least(one.costs) >= (MUTATION if one.kind is Kind.MUTATION else STATEMENTS), one.name
    for place, field, sizes in fields():
        edge = edge_of(field.extensions["strawberry-definition"])
        assert edge is None or least(edge.weight) > 0, place
        for size in sizes:
            assert least(size.assumed) >= 0, place
            assert size.per_unit > 0, place


def test_the_assumed_size_of_a_list_is_told_on_the_page() -> None:
    assert f"{ASSUMED_SIZE} items" in PAGE
