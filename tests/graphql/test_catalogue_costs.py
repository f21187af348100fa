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
from graphql.execution import VariableValues, get_variable_values

from bench.graphql import HOME, MONTH
from tests.support.documents import INTROSPECTION as TOOLS
from tests.support.documents import ROOT, own
from tests.support.gateway_schema import SCHEMA
from wattgate.graphql.cost.estimate import estimate_cost
from wattgate.graphql.cost.operation_cost import MAX_COST, OperationCost
from wattgate.operations.catalogue import OPERATIONS
from wattgate.operations.core.fields import edge_of, list_sizes_of
from wattgate.operations.core.operation import OperationKind
from wattgate.operations.vocabulary.cost_weights import (
    DEFAULT_LIST_SIZE,
    DISPLAY_WEIGHT,
    FRESHNESS_WEIGHT,
    INTROSPECTION_WEIGHTS,
    MUTATION_WEIGHT,
    PASSWORD_HASH_WEIGHT,
    STATEMENT_WEIGHT,
    UNIT_MICROSECONDS,
    VALUES_PER_UNIT,
    Amount,
    ListSize,
)

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
PAGE = (ROOT / "docs" / "reference" / "limits.md").read_text()

DEFAULT_SIZED_LISTS = """
    AccountProfiles.profileNames Alert.channels AlertRule.channels CostExplanation.lines CostExplanation.vat
    Device.parentHardwareId Device.tags DeviceProtocol.sensors Faq.data Inventory.inventory
    MeterPointMove.devices MeterPointMove.disabledAlertRuleIds MeterPointMove.endedEnrolmentIds
    MeterPointMove.resources
    AuditEntry.changes AuditEntry.targets AuditTarget.ids MeterPointResources.resources FlexibilityEnrolments.items
    FlexibilityParticipations.items OAuthUser.applications Query.consentChanges
    Query.faqs Query.pushTokens Query.resourceCounts Query.tokens
    Directory.algorithms Directory.audiences RecoveryCodes.recoveryCodes
    ReadingFileAnswer.settings ReadingFileInspection.lines ReadingFileInspection.otherProfiles
    ReadingFileInspection.questions ReadingFileInspection.refusedLines ReadingFileInspection.rows
    ReadingFileInspection.settings ReadingFileInspection.warnings ReadingFileQuestion.answers
    ReadingFileReport.refusedLines ReadingFileReport.series ReadingFileSeries.gaps ReadingFileSeries.months
    RecordedColumns.refused Resource.catchUps ResourceCount.resourceIdList ResourceOptions.options
    ComponentWindow.weekdays TariffComponent.steps
    Satisfaction.resources Tariff.bands Tariff.blocks Tariff.components TariffBand.weekdays Template.versions
    TemplatePreview.coverage TemplatePreview.culturesTried TemplateReport.findings TemplateReport.variables
    TypeProtocol.sensors User.applications HomeType.resources Webhook.failedAttempts WebhookEndpoint.events
"""
"""Lists that have the default size on purpose: they are about as long, or so short that it makes no difference."""

COMPARED_HISTORY = own()["gateway.js History"]
HISTORY = re.sub(r"readingsBefore: .*\n *costsBefore: .*", "", COMPARED_HISTORY).replace(", $before: TimeRange!", "")
THREE_RESOURCES = {"electricity": "a", "gas": "b", "exported": "c", "zone": "Europe/London"}
YEAR = {"start": "2025-11-01T00:00:00Z", "end": "2026-11-01T00:00:00Z"}
OCTOBER = {"start": "2026-10-01T00:00:00Z", "end": "2026-11-01T00:00:00Z"}
POWER = """{ resource(resourceId: "a") { readings(range: {start: "2026-11-19T00:00:00Z", end: "2026-11-20T00:00:00Z"},
    period: PT30M, field: "POWER") { columns { start value } } } }"""
TREE = """{ viewer { homes(first: 20) { edges { node { homeId name
    resources { resourceId name tariffs { name rate { amount } validFrom } } } } } } }"""
RECORD = "mutation ($series: [NewReadings!]!) { recordReadings(series: $series) { ... on Recorded { recorded } } }"
HALF_HOURS = [f"2026-11-19T{number // 2:02}:{number % 2 * 30:02}:00Z" for number in range(48)]
DAY = [{"resourceId": "a", "readings": [{"at": at, "value": 1} for at in HALF_HOURS]}]
ALERTS = "{ viewer { alerts(first: 100) { edges { node { alertId data notifications { state log { stage } } } } } } }"
BACK_TEST = (
    '{ node(id: "QWxlcnRSdWxlOmE=") { ... on AlertRule { backTest(days: 366) { count firings { at value } } } } }'
)

DOCUMENTED_COSTS: dict[str, tuple[str, dict[str, Any]]] = {
    "10 homes of a user with the power and the rates of each resource": (
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
    "a display that subscribes to its home": (own()["subscription.js Display"], {"homeId": "a"}),
    "the history of a display: a day by the hour beside the week before, of three resources": (
        COMPARED_HISTORY,
        {
            **THREE_RESOURCES,
            "range": {"start": "2026-11-19T00:00:00Z", "end": "2026-11-20T00:00:00Z"},
            "before": {"start": "2026-11-12T00:00:00Z", "end": "2026-11-13T00:00:00Z"},
            "period": "PT1H",
        },
    ),
    "the history of a display: a year by the month, of three resources": (
        HISTORY,
        {**THREE_RESOURCES, "range": YEAR, "period": "P1M"},
    ),
    "a page of 100 alerts with their notifications and logs": (ALERTS, {}),
    "a back-test of one rule over a year": (BACK_TEST, {}),
    "a login": (
        own()["gateway.js LogIn"],
        {"applicationId": "a", "username": "b", "password": "c"},
    ),
    "the recording of a day of half hours": (RECORD, {"series": DAY}),
    "the introspection query": (TOOLS, {}),
}
"""The documents whose cost docs/reference/limits.md lists."""


def fields() -> Iterator[tuple[str, GraphQLField, Sequence[ListSize]]]:
    """Yield all fields of the schema by their coordinates, with their declared sizes."""
    for kind in SCHEMA.type_map.values():
        if isinstance(kind, GraphQLObjectType) and not kind.name.startswith("__"):
            for name, field in kind.fields.items():
                yield f"{kind.name}.{name}", field, list_sizes_of(field.extensions["strawberry-definition"])


def lists() -> dict[str, Sequence[ListSize]]:
    return {coordinate: sizes for coordinate, field, sizes in fields() if is_list_type(get_nullable_type(field.type))}


def sized_fields() -> set[str]:
    return {name for _, _, sizes in fields() for size in sizes for name in size.sized_fields}


def test_every_list_declares_a_size_or_is_listed_as_default() -> None:
    sized = sized_fields()
    without = {
        coordinate
        for coordinate, sizes in lists().items()
        if not (coordinate in sized or coordinate.partition(".")[0] in sized)
        and all(size.sized_fields for size in sizes)
    }
    assert without == set(DEFAULT_SIZED_LISTS.split())


def test_sized_fields_name_existing_lists() -> None:
    places = lists()
    for name in sized_fields():
        assert any(coordinate == name or coordinate.partition(".")[0] == name for coordinate in places), name


def costs(text: str, variables: dict[str, Any]) -> tuple[OperationCost, int]:
    """Return the cost of a document's first operation, and its value at a time in 2026."""
    document = parse(text)
    assert validate(SCHEMA, document) == []
    operation = document.definitions[0]
    assert isinstance(operation, OperationDefinitionNode)
    estimate = estimate_cost(SCHEMA, document, operation, lambda: NOW)
    values = get_variable_values(SCHEMA, operation.variable_definitions or (), variables)
    assert isinstance(values, VariableValues)
    return estimate, estimate(values)


def test_limits_page_lists_the_cost_of_documents() -> None:
    documented = re.findall(r"^\| ([^|`]+) \| ([\d,]+) \|$", PAGE, re.MULTILINE)
    computed = {name: f"{costs(*figure)[1]:,}" for name, figure in DOCUMENTED_COSTS.items()}
    assert {name: cost for name, cost in documented if name in DOCUMENTED_COSTS} == computed
    assert f"may cost {MAX_COST:,} at most" in PAGE


def test_limits_page_lists_the_actual_weights() -> None:
    documented = [
        int(number.replace(",", "")) for number in re.findall(r"^\| (?:a|an) [^|]+ \| ([\d,]+) \|$", PAGE, re.MULTILINE)
    ]
    assert documented[:5] == [STATEMENT_WEIGHT, STATEMENT_WEIGHT, MUTATION_WEIGHT, PASSWORD_HASH_WEIGHT, 1]
    assert f"{UNIT_MICROSECONDS} µs" in PAGE
    assert f"{VALUES_PER_UNIT} values" in PAGE
    assert f"`freshness` {FRESHNESS_WEIGHT}, `display` {DISPLAY_WEIGHT}" in PAGE
    assert (
        f"`__schema` costs {INTROSPECTION_WEIGHTS['__schema']:,} and `__type` {INTROSPECTION_WEIGHTS['__type']}" in PAGE
    )


def test_example_on_the_limits_page_adds_up() -> None:
    block = re.search(r"```cost\n(.*?)```", PAGE, re.DOTALL)
    assert block is not None
    *parts, total = [int(number.replace(",", "")) for number in re.findall(r"^ *([\d,]+) ", block[1], re.MULTILINE)]
    assert (
        sum(parts)
        == total
        == costs(*DOCUMENTED_COSTS["10 homes of a user with the power and the rates of each resource"])[1]
    )


def test_own_documents_cost_far_less_than_the_maximum() -> None:
    for name, (text, variables) in DOCUMENTED_COSTS.items():
        assert costs(text, variables)[1] <= MAX_COST * 2 // 3, name
    for name, text in own().items():
        operation = parse(text).definitions[0]
        assert isinstance(operation, OperationDefinitionNode)
        if not operation.variable_definitions:
            assert costs(text, {})[1] <= MAX_COST / 4, name


@pytest.mark.parametrize("name", ["10 homes of a user with the power and the rates of each resource", "a login"])
def test_cost_is_fixed_if_no_list_size_depends_on_variables(name: str) -> None:
    assert costs(*DOCUMENTED_COSTS[name])[0].fixed is not None


def test_cost_of_an_open_range_grows_with_time() -> None:
    text = """{ resource(resourceId: "a") { readings(range: {start: "2026-11-20T00:00:00Z"}, period: PT30M) {
        columns { value } } } }"""
    document = parse(text)
    operation = document.definitions[0]
    assert isinstance(operation, OperationDefinitionNode)
    none = VariableValues({}, {})
    documented = [
        estimate_cost(SCHEMA, document, operation, now)(none) for now in (NOW.replace, partial(NOW.replace, year=2027))
    ]
    assert documented[1] > documented[0]
    closed = text.replace('0Z"}', '0Z", end: "2026-11-21T00:00:00Z"}')
    assert costs(closed, {})[0].fixed is not None


def test_buckets_cost_by_range_and_period_up_to_the_maximum() -> None:
    year = {"start": "2025-11-01T00:00:00Z", "end": "2026-11-01T00:00:00Z"}
    variables = {"id": "a", "range": year}
    nothing = costs(MONTH.replace("%s { start value }", "unit"), variables)[1]
    assert costs(MONTH % "buckets", variables)[1] == nothing + 2_000 // 10
    assert costs(MONTH % "columns", variables)[1] == nothing + 1 + 2 * (17_522 // 500)
    backwards = {"id": "a", "range": {"start": year["end"], "end": year["start"]}}
    assert costs(MONTH % "buckets", backwards)[1] == 2 * (STATEMENT_WEIGHT + 1) + 3


def test_baseline_has_as_many_buckets_as_its_series() -> None:
    text = """query ($id: ID!, $range: TimeRange!) { resource(resourceId: $id) {
        readings(range: $range, period: PT30M) {
        comparison(baseline: PREVIOUS_PERIOD) { series { unit %s } } } } }"""
    variables = {"id": "a", "range": OCTOBER}
    assert costs(text % "buckets { value }", variables)[1] == costs(text % "", variables)[1] + 149


@pytest.mark.parametrize(
    ("first", "items"), [({}, 50), ({"first": 7}, 7), ({"first": 100}, 100), ({"first": 1_000}, 100)]
)
def test_page_costs_the_requested_number_of_items(first: dict[str, int], items: int) -> None:
    text = "query ($first: Int! = 50) { viewer { alerts(first: $first) { edges { cursor node { priority } } } } }"
    assert costs(text, first)[1] == 2 * (STATEMENT_WEIGHT + 1) + 1 + 2 * items


def minimum(amount: Amount) -> int:
    """Return the minimum of an amount: the value of a measure without arguments."""
    return amount if isinstance(amount, int) else amount.compute(NOW, *(None for _ in amount.slicing_arguments))


def test_mutations_cost_more_than_queries_and_all_weights_are_positive() -> None:
    for operation in OPERATIONS:
        assert minimum(operation.base_cost) >= (
            MUTATION_WEIGHT if operation.kind is OperationKind.MUTATION else STATEMENT_WEIGHT
        ), operation.name
    for coordinate, field, sizes in fields():
        edge = edge_of(field.extensions["strawberry-definition"])
        assert edge is None or minimum(edge.weight) > 0, coordinate
        for size in sizes:
            assert minimum(size.assumed_size) >= 0, coordinate
            assert size.items_per_unit > 0, coordinate


def test_limits_page_states_the_default_list_size() -> None:
    assert f"{DEFAULT_LIST_SIZE} items" in PAGE
