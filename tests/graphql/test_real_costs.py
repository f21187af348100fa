"""Charges that follow the real sizes of lists: counted before an edge is loaded, then charged or refused."""

import asyncio
import gc
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette

from tests.support.costs import priced_half_hours
from tests.support.house import House, Tenant, house
from tests.support.refusals import refusals, with_refusals
from tests.support.servers import serving
from tests.support.timed import Clock
from wattgate.app.server.factory import create_app
from wattgate.app.settings import Settings
from wattgate.clock import format_iso, utc_now
from wattgate.enums import Period, TariffKind
from wattgate.errors import CostTooHigh, GatewayError, RateLimited
from wattgate.graphql.cost.operation_charge import BudgetExhausted, OperationCharge
from wattgate.graphql.cost.operation_cost import MAX_COST, CostEstimate, CostExpression, ListCost
from wattgate.graphql.execution.compiled.values import gather_or_cancel
from wattgate.graphql.execution.documents.documents import Document
from wattgate.graphql.execution.pipeline import GraphQLPipeline
from wattgate.operations.catalogue import OPERATIONS
from wattgate.operations.types.meters.tariffs import NewTariffPrice
from wattgate.operations.vocabulary.cost_weights import PRICED_READINGS_PER_UNIT
from wattgate.principal import Principal, Role
from wattgate.rate_limit.budgets import Balance, Budgets, LocalBucketStore
from wattgate.rate_limit.scopes import Allowance, BudgetLimits
from wattgate.realtime.operation_request import OperationRequest
from wattgate.rest_compat.call_charge import CallCharge
from wattgate.rest_compat.routes import build_routes

Refuse = Callable[[Budgets, Principal], Awaitable[tuple[GatewayError, Balance | None]]]

RESOURCES = 300
PRICED_FROM = datetime(2026, 1, 5, tzinfo=UTC)
READINGS = """readings(range: {start: "2026-01-01T00:00:00Z", end: "2026-02-01T00:00:00Z"}, period: PT30M)
    { buckets { start end value count completeness } }"""
MONTH = f'{{ home(homeId: "HOME") {{ resources {{ {READINGS} }} }} }}'
READINGS_OF_ONE = f'{{ a: resource(resourceId: "ID") {{ {READINGS} }} b: resource(resourceId: "ID") {{ {READINGS} }} }}'
TYPES = '{ home(homeId: "HOME") { resources { name type { name } } } }'
NAMES = '{ home(homeId: "HOME") { resources { name } } }'
AROUND = 30 + 1 + 30 + 1 + 30
"""Cost of TYPES without its resources: the operation, the home, and the statements of two edges with a weight of 1."""
USES = [pytest.param(0, id="first use, by graphql-core"), pytest.param(1, id="second use, compiled")]


@pytest.fixture(scope="module")
async def crowded(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    """Yield a gateway whose first tenant has many resources in one home."""
    database_url = f"sqlite:///{tmp_path_factory.mktemp('crowded') / 'crowded.sqlite3'}"
    async with house(database_url) as served:
        served.one.ids["database"] = database_url
        added = [await served.one.add_resource(f"resource {number}") for number in range(RESOURCES)]
        served.one.ids["crowded home"] = await served.one.add_home(*added)
        yield served


class CountedLoads:
    """A runner that counts the edges that are loaded."""

    def __init__(self, runner: Any) -> None:
        self._runner = runner
        self.loads = 0
        self.tracer = runner.tracer

    async def run(self, *arguments: Any) -> Any:
        return await self._runner.run(*arguments)

    async def load(self, *arguments: Any) -> Any:
        self.loads += 1
        return await self._runner.load(*arguments)


def build_budgets(capacity: int | None) -> Budgets:
    """Return budgets that hardly refill, with this capacity for each caller."""
    caller = None if capacity is None else Allowance(capacity, 0.001)
    return Budgets(BudgetLimits(caller, None), LocalBucketStore(utc_now))


def build_pipeline(
    served: House, text: str, *, uses: int = 0, capacity: int | None = None
) -> tuple[GraphQLPipeline, CountedLoads, OperationRequest, Document]:
    """Return a pipeline that counts loads, and a request with its document, which was used before."""
    text = with_refusals(text.replace("HOME", served.one.ids["crowded home"]))
    runner = CountedLoads(served.gateway.runner)
    pipeline = GraphQLPipeline(served.gateway.schema, runner, budgets=build_budgets(capacity))  # type: ignore[arg-type]
    request = OperationRequest(query=text)
    document = pipeline.document_for(request)
    document.use_count = uses
    return pipeline, runner, request, document


def types_of(tenant: Tenant) -> str:
    """Return the document TYPES with a home of a tenant: of the first one, that with many resources."""
    return TYPES.replace("HOME", tenant.ids.get("crowded home", tenant.ids["virtual_entity"]))


def cost_of(answer: dict[str, Any]) -> dict[str, int]:
    cost: dict[str, int] = answer["extensions"]["cost"]
    return cost


@pytest.mark.long("fills a database with many resources; other costs stay in the short form")
@pytest.mark.parametrize("uses", USES)
async def test_a_month_of_many_resources_is_refused_before_an_edge_is_loaded(crowded: House, uses: int) -> None:
    pipeline, runner, request, document = build_pipeline(crowded, MONTH, uses=uses)
    assert document.cost.fixed is not None
    assert document.cost.fixed < MAX_COST  # the assumed sizes hide what the operation costs
    with pytest.raises(CostTooHigh, match=f"the maximum is {MAX_COST:,}"):
        await pipeline.execute(crowded.one.account, request, document)
    assert runner.loads == 1  # the resources


@pytest.mark.parametrize("uses", USES)
async def test_budget_that_covers_only_the_estimate_refuses_the_edge(crowded: House, uses: int) -> None:
    pipeline, runner, request, document = build_pipeline(crowded, TYPES, uses=uses, capacity=1_000)
    result = await pipeline.execute(crowded.one.account, request, document)
    assert not result.errors
    assert runner.loads == 2
    with pytest.raises(BudgetExhausted) as refused:
        await pipeline.execute(crowded.one.account, request, document)
    assert refused.value.error.retry_after
    assert runner.loads == 2


async def test_charge_is_the_cost_of_the_real_sizes(crowded: House) -> None:
    estimate = AROUND + 3 * 5
    for _ in range(2):
        answer = await crowded.graphql(types_of(crowded.one), crowded.one.headers["account"])
        count = len(answer["data"]["home"]["resources"])
        assert count == RESOURCES
        cost = cost_of(answer)
        assert (cost["estimated"], cost["charged"]) == (estimate, AROUND + 3 * count)
    fewer = cost_of(await crowded.graphql(types_of(crowded.other), crowded.other.headers["account"]))
    assert (fewer["estimated"], fewer["charged"]) == (estimate, estimate)


async def test_lists_of_edges_are_counted_too(crowded: House) -> None:
    home = f'{{ home(homeId: "{crowded.one.ids["crowded home"]}") {{ resources {{ name }} }} }}'
    for _ in range(2):
        cost = cost_of(await crowded.graphql(home, crowded.one.headers["account"]))
        assert (cost["estimated"], cost["charged"]) == (30 + 1 + 30 + 1 + 5, 30 + 1 + 30 + 1 + RESOURCES)


async def test_two_selections_of_a_fragment_are_counted_by_the_one_that_costs_more(crowded: House) -> None:
    listed = 'listed: home(homeId: "HOME")'
    fragment = f"fragment Of on Query {{ {listed} {{ resources {{ name {READINGS} }} }} }}"
    text = f"query {{ ...Of {listed} {{ resources {{ type {{ name }} }} }} }} {fragment}"
    pipeline, runner, request, document = build_pipeline(crowded, text)
    with pytest.raises(CostTooHigh):
        await pipeline.execute(crowded.one.account, request, document)
    assert runner.loads == 1  # the resources


async def test_dry_run_returns_the_estimate_and_charges_nothing(crowded: House) -> None:
    body = {"query": with_refusals(types_of(crowded.one)), "extensions": {"dryRun": True}}
    answer = await crowded.http.post("/graphql", json=body, headers=crowded.one.headers["account"])
    cost = cost_of(answer.json())
    assert (cost["estimated"], cost["charged"]) == (AROUND + 3 * 5, 0)


@pytest.mark.parametrize("uses", USES)
async def test_refused_selection_of_a_mutation_does_not_ask_to_send_it_again(crowded: House, uses: int) -> None:
    home = crowded.one.ids["crowded home"]
    text = f"""mutation {{ updateHome(homeId: "{home}", input: {{name: "Renamed {uses}"}}) {{
      ... on Home {{
          name resources {{ {READINGS} }}
      }}
      ...Refused
    }} }}"""
    pipeline, _, request, document = build_pipeline(crowded, text, uses=uses)
    result = await pipeline.execute(crowded.one.account, request, document)
    (error,) = result.errors
    assert error.extensions is not None
    assert (error.extensions["code"], error.extensions["retryable"]) == ("COST_TOO_HIGH", False)
    assert error.message.startswith("The mutation was executed")
    renamed = await crowded.graphql(f'{{ home(homeId: "{home}") {{ name }} }}', crowded.one.headers["account"])
    assert renamed["data"]["home"]["name"] == f"Renamed {uses}"


@pytest.mark.parametrize("uses", USES)
async def test_refused_edge_of_a_mutation_leaves_the_other_fields_of_its_result(crowded: House, uses: int) -> None:
    home = crowded.one.ids["crowded home"]
    text = f"""mutation {{ updateHome(homeId: "{home}", input: {{name: "Named {uses}"}}) {{
      ... on Home {{
          name resources {{ name type {{ name }} }}
      }}
      ...Refused
    }} }}"""
    pipeline, _, request, document = build_pipeline(crowded, text, uses=uses, capacity=250)
    result = await pipeline.execute(crowded.one.account, request, document)
    assert result.data == {"updateHome": {"name": f"Named {uses}", "resources": None}}
    (error,) = result.errors
    assert error.path == ["updateHome", "resources"]
    assert error.message.startswith("The mutation was executed")


async def test_each_event_of_a_subscription_is_charged_above_its_estimate(crowded: House) -> None:
    pipeline, _, request, document = build_pipeline(crowded, TYPES)
    variables = pipeline.engine.coerce_variables(document, request.variables)
    node_id = next(iter(document.cost.estimate(variables).list_costs))
    budgets = build_budgets(1_000)
    estimate = document.cost.estimate(variables)
    event = OperationCharge.for_event(budgets, crowded.one.account, estimate)
    await event.settle()
    assert event.balance is None  # the subscription has paid for the estimate
    event.count(node_id, 1, 320)
    await event.settle()
    assert event.balance is not None
    assert event.balance.remaining == 1_000 - (320 - 5) * 3
    later = OperationCharge.for_event(budgets, crowded.one.account, estimate)
    later.count(node_id, 1, 320)
    for _ in range(2):
        with pytest.raises(RateLimited):
            await later.settle()


@pytest.mark.parametrize(("text", "is_compiled"), [(NAMES, False), (READINGS_OF_ONE, True)])
async def test_expensive_document_is_compiled_at_its_first_use(crowded: House, text: str, is_compiled: bool) -> None:
    text = text.replace("ID", crowded.one.ids["resource"])
    pipeline, _, request, document = build_pipeline(crowded, text)
    assert not (await pipeline.execute(crowded.one.account, request, document)).errors
    assert bool(document.plans) is is_compiled


async def test_rows_of_a_rest_list_are_charged_by_their_number(crowded: House) -> None:
    database_url = crowded.one.ids["database"]
    limited = Settings(_env_file=None, database_url=database_url, caller_budget=400, caller_budget_seconds=86_400)
    async with serving(create_app(limited)) as url, httpx.AsyncClient(base_url=url) as http:
        headers = crowded.one.headers["account"]
        first = await http.get("/api/v0-1/resource", headers=headers)
        count = len(first.json())
        assert count > RESOURCES
        remaining = int(first.headers["ratelimit"].split("r=")[1].split(";")[0])
        assert 400 - 30 - count <= remaining <= 400 - 30 - count + 1
        second = await http.get("/api/v0-1/resource", headers=headers)
        assert (second.status_code, second.json()["code"]) == (429, "RATE_LIMITED")
        used = 30 + count + count  # also the rows of the refused request, so that this much must refill:
        needed = (used + 30 + count - 400) * 86_400 // 400
        assert needed * 0.99 < int(second.headers["retry-after"]) <= needed


async def test_rest_call_that_is_refused_after_its_load_pays_for_it(crowded: House, subtests: pytest.Subtests) -> None:
    paths = {"rows": "/resource", "items of an edge": f"/virtualentity/{crowded.one.ids['crowded home']}"}
    for name, path in paths.items():
        with subtests.test(name):
            budgets = build_budgets(250)
            routes = build_routes(
                OPERATIONS,
                runner=crowded.gateway.runner,
                schema=crowded.gateway.schema,
                authenticate=crowded.gateway.authenticator.authenticate,
                budgets=budgets,
            )
            async with serving(Starlette(routes=routes)) as url, httpx.AsyncClient(base_url=url) as http:
                refused = await http.get(path, headers=crowded.one.headers["account"])
            assert (refused.status_code, refused.json()["code"]) == (400, "COST_TOO_HIGH")
            caller = await crowded.gateway.authenticator.authenticate(crowded.one.headers["account"])
            assert await used_of(budgets, caller) >= RESOURCES


async def test_rest_mutation_is_not_refused_after_it_is_committed(crowded: House) -> None:
    """Its caller would send it again. The result is charged above the budget."""
    budgets = build_budgets(250)
    charge = CallCharge(budgets, crowded.one.account)
    await charge.add(100)
    charge.mark_mutation_executed()
    await charge.raise_to(400, loaded_units=300)
    await charge.add_loaded(50, 50)
    assert charge.charged == await used_of(budgets, crowded.one.account) == 450


async def test_computed_costs_of_a_rest_call_are_charged_by_their_readings(crowded: House) -> None:
    energy, cost = await priced_half_hours(crowded.one, 10 * PRICED_READINGS_PER_UNIT)
    database_url = crowded.one.ids["database"]
    limited = Settings(_env_file=None, database_url=database_url, caller_budget=400, caller_budget_seconds=86_400)
    query = "period=P1D&function=sum&from=2026-01-05T00:00:00&to=2026-01-07T23:59:59"
    async with serving(create_app(limited)) as url, httpx.AsyncClient(base_url=url) as http:
        remaining = [400]
        for resource_id in (energy, cost):
            path = f"/api/v0-1/resource/{resource_id}/readings?{query}"
            answer = await http.get(path, headers=crowded.one.headers["account"])
            remaining.append(int(answer.headers["ratelimit"].split("r=")[1].split(";")[0]))
    of_energy, of_cost = (before - after for before, after in pairwise(remaining))
    assert of_cost == of_energy + 10


async def test_short_prices_of_a_rest_call_are_charged_before_they_are_loaded(crowded: House) -> None:
    database_url = crowded.one.ids["database"]
    limited = Settings(_env_file=None, database_url=database_url, caller_budget=1_500, caller_budget_seconds=86_400)
    start, day, month = (format_iso(PRICED_FROM + timedelta(days=days)) for days in (0, 1, 30))
    calls: dict[str, dict[str, Any]] = {
        "price-curve": {"start": start, "end": day},
        "cheapest-window": {"minutes": 60, "notBefore": start, "before": day},
    }
    charged: dict[str, list[int]] = {name: [] for name in calls}
    async with serving(create_app(limited)) as url, httpx.AsyncClient(base_url=url) as http:
        headers, left = crowded.one.headers["account"], 1_500
        for period in (Period.PT30M, Period.PT5M):
            resource_id = await crowded.one.add_resource()
            tariff = await crowded.one.set_tariff(resource_id, kind=TariffKind.DYNAMIC, price_period=period)
            await crowded.one.set_prices(tariff.tariff_id, [NewTariffPrice(at=PRICED_FROM, rate=Decimal(1))])
            for name, params in calls.items():
                answer = await http.get(f"/api/v0-1/resource/{resource_id}/{name}", headers=headers, params=params)
                before, left = left, int(answer.headers["ratelimit"].split("r=")[1].split(";")[0])
                charged[name].append(before - left)
        path = f"/api/v0-1/resource/{resource_id}/price-curve"
        refused = await http.get(path, headers=headers, params={"start": start, "end": month})
        assert (refused.status_code, refused.json()["code"]) == (429, "RATE_LIMITED")
    assert {name: short - usual for name, (usual, short) in charged.items()} == dict.fromkeys(calls, 240 // 8)


async def test_display_of_a_home_with_very_many_resources_is_refused(crowded: House) -> None:
    home = f'{{ home(homeId: "{crowded.one.ids["crowded home"]}") {{ homeId display {{ at }} }} }}'
    answer = await crowded.graphql(home, crowded.one.headers["account"])
    (error,) = refusals(answer)
    assert error["code"] == "NOT_SUPPORTED"
    assert "Divide them between several virtual entities" in error["message"]


async def test_a_refused_charge_stays_refused_when_its_lists_turn_out_short() -> None:
    field = 7
    sizes = {field: [ListCost(CostExpression(5), 1, CostExpression(1))]}
    charge = OperationCharge(build_budgets(12), Principal(Role.ACCOUNT), CostEstimate(10, (), sizes))
    await charge.settle()
    assert charge.is_settled
    charge.count(field, 1, 50)
    assert not charge.is_settled
    with pytest.raises(CostTooHigh):
        await charge.settle()
    charge.count(field, 10, 0)
    assert not charge.is_settled
    with pytest.raises(CostTooHigh):
        await charge.settle()


async def used_of(budgets: Budgets, principal: Principal) -> int:
    """Return the units that a caller has used."""
    balance = await budgets.charge(principal, 0)
    assert balance is not None
    return balance.limit - balance.remaining if balance.granted else balance.limit + balance.retry_after // 1_000


@pytest.mark.parametrize("capacity", [100_000, 900])
async def test_rows_that_are_loaded_before_a_refusal_are_charged(capacity: int) -> None:
    """The maximum cost refuses the first case, and the capacity of the budget the second one."""
    field, caller, budgets = 7, Principal(Role.ACCOUNT), build_budgets(capacity)
    per_item = 100 if capacity > MAX_COST else 2
    estimate = 30 + 1 + per_item
    sizes = {field: [ListCost(CostExpression(1), 1, CostExpression(per_item))]}
    charge = OperationCharge(budgets, caller, CostEstimate(estimate, (), sizes))
    await charge.settle()
    charge.count(field, 1, 800)
    with pytest.raises(CostTooHigh):
        await charge.settle()
    assert charge.charged == await used_of(budgets, caller) == 800
    charge.count(field, 1, 50)  # an edge that was being loaded meanwhile
    for _ in range(2):
        with pytest.raises(CostTooHigh):
            await charge.settle()
    assert charge.charged == await used_of(budgets, caller) == 850


async def test_rows_of_an_operation_that_ends_early_are_charged() -> None:
    """Its client has gone, or its time has passed, before the next charge."""
    field, caller, budgets = 7, Principal(Role.ACCOUNT), build_budgets(900)
    sizes = {field: [ListCost(CostExpression(1), 1, CostExpression(2))]}
    charge = OperationCharge(budgets, caller, CostEstimate(33, (), sizes))
    await charge.settle()
    charge.count(field, 1, 500)
    for _ in range(2):
        await charge.add_loaded()
        assert charge.charged == await used_of(budgets, caller) == 500


async def test_work_that_is_charged_apart_does_not_pay_for_rows() -> None:
    field, caller, budgets = 7, Principal(Role.ACCOUNT), build_budgets(100_000)
    sizes = {field: [ListCost(CostExpression(1), 1, CostExpression(100))]}
    charge = OperationCharge(budgets, caller, CostEstimate(131, (), sizes), size_units=10)
    await charge.settle()
    await charge.add_units(200)
    await charge.add_done(300)
    charge.count(field, 1, 1_000)
    with pytest.raises(CostTooHigh):
        await charge.settle()
    assert charge.charged == 10 + 200 + 300 + 1_000


async def refuse_operation(budgets: Budgets, caller: Principal) -> tuple[GatewayError, Balance | None]:
    """Charge an operation of GraphQL whose estimate is 32, and whose 800 rows cost 1,630 with their selection."""
    sizes = {7: [ListCost(CostExpression(1), 1, CostExpression(1))]}
    charge = OperationCharge(budgets, caller, CostEstimate(32, (), sizes))
    await charge.settle()
    charge.count(7, 1, 800)
    for _ in range(2):  # another edge gets the same refusal, and charges nothing
        with pytest.raises((RateLimited, CostTooHigh)) as refused:
            await charge.settle()
    return refused.value, charge.balance


async def refuse_call(budgets: Budgets, caller: Principal) -> tuple[GatewayError, Balance | None]:
    """Charge a REST call of the same cost."""
    charge = CallCharge(budgets, caller)
    await charge.add(32)
    with pytest.raises((RateLimited, CostTooHigh)) as refused:
        await charge.raise_to(1_630, loaded_units=800)
    return refused.value, charge.balance


@pytest.mark.parametrize("refuse", [refuse_operation, refuse_call])
async def test_refusal_after_a_load_states_when_the_budget_covers_the_whole_operation(refuse: Refuse) -> None:
    """A caller that waits for the refused part only would be refused again, and pay for the rows again."""
    clock, caller = Clock(), Principal(Role.ACCOUNT)
    budgets = Budgets(BudgetLimits(Allowance(2_000, 1.0), None), LocalBucketStore(clock))
    await budgets.charge(caller, 500)
    error, balance = await refuse(budgets, caller)
    assert error.retry_after == 500 + 800 + 1_630 - 2_000
    assert balance is not None
    assert (balance.cost, balance.remaining, balance.retry_after) == (1_630, 700, error.retry_after)
    clock.now += timedelta(seconds=error.retry_after - 1)
    assert not is_granted(await budgets.charge(caller, 1_630))
    clock.now += timedelta(seconds=1)
    assert is_granted(await budgets.charge(caller, 1_630))


@pytest.mark.parametrize("refuse", [refuse_operation, refuse_call])
async def test_refusal_after_a_load_says_that_no_full_budget_covers_the_operation(refuse: Refuse) -> None:
    caller, budgets = Principal(Role.ACCOUNT), build_budgets(1_620)
    error, balance = await refuse(budgets, caller)
    assert (type(error), "the budget holds at most 1,620" in error.message) == (CostTooHigh, True)
    assert balance is not None
    assert (balance.remaining, await used_of(budgets, caller)) == (820, 800)


def is_granted(balance: Balance | None) -> bool:
    return balance is not None and balance.granted


@pytest.mark.parametrize("uses", USES)
async def test_refused_request_pays_for_the_rows_that_it_loaded(crowded: House, uses: int) -> None:
    budgets = build_budgets(250)
    pipeline = GraphQLPipeline(crowded.gateway.schema, crowded.gateway.runner, budgets=budgets)
    request = OperationRequest(query=types_of(crowded.one))
    document = pipeline.document_for(request)
    document.use_count = uses
    with pytest.raises(CostTooHigh):
        await pipeline.execute(crowded.one.account, request, document)
    assert (
        await used_of(budgets, crowded.one.account)
        >= RESOURCES
        > document.cost.estimate(pipeline.engine.coerce_variables(document, request.variables)).total
    )


class Rows(list[int]):
    """Rows that an edge has loaded. A list itself takes no weak reference."""


async def test_a_refusal_keeps_no_rows_that_its_operation_has_loaded() -> None:
    """Else they stay until the garbage of cycles is collected: 200 MB for each of many refused requests."""
    charge = OperationCharge(build_budgets(MAX_COST), Principal(Role.ACCOUNT), CostEstimate(MAX_COST, (), {}))
    loaded: list[weakref.ref[Rows]] = []

    async def load() -> Rows:
        rows = Rows(range(1_000))
        loaded.append(weakref.ref(rows))
        await charge.add_units(1)
        return rows

    gc.disable()
    try:
        with pytest.raises(CostTooHigh):
            await gather_or_cancel(load(), load(), load())
        await asyncio.sleep(0)  # the loop forgets the tasks
        assert [reference() for reference in loaded] == [None] * len(loaded)
        assert loaded
    finally:
        gc.enable()
    assert str(charge.copy_refusal()) == str(charge.copy_refusal())
