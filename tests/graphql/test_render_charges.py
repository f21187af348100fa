"""Charges for the work of templates that a caller renders: their processor time, also above the remaining budget."""

import pytest

from tests.support.house import House
from tests.support.refusals import refusals
from wattgate.clock import utc_now
from wattgate.errors import CostTooHigh, RateLimited
from wattgate.graphql.cost.operation_charge import BudgetExhausted, OperationCharge
from wattgate.graphql.execution.pipeline import GraphQLPipeline, PipelineResult
from wattgate.principal import Principal, Role
from wattgate.rate_limit.budgets import Budgets, LocalBucketStore
from wattgate.rate_limit.scopes import Allowance, BudgetLimits
from wattgate.realtime.operation_request import OperationRequest
from wattgate.rest_compat.call_charge import CallCharge

NUMBERS = list(range(99))
LOOPS = '{% for a in x %}{% for b in x %}{{ a | money: "EUR" }}{{ a | kwh }}{% endfor %}{% endfor %}'
"""A template of 100 bytes whose 9,801 iterations take some hundred milliseconds of a processor."""

FAILING = LOOPS + LOOPS
"""A template that ends at the limit of iterations, so that it has no result."""

INPUT = {"channelType": "EMAIL", "subject": "s", "preheader": "p", "text": "t", "data": {"x": NUMBERS}}
ESTIMATE = 30 + 20 + 1
MUCH_WORK = 1_000
"""Units of 30 ms, which the template takes on every machine."""


def aliases(count: int) -> str:
    fields = " ".join(f"p{number}: previewTemplate(input: $input) {{ subject }}" for number in range(count))
    return f"query ($input: TemplateToPreview!) {{ {fields} }}"


def editor(house: House) -> Principal:
    tenant = house.one
    return Principal(
        Role.TEMPLATE_EDITOR,
        application_id=tenant.application_id,
        user_id=tenant.user_id,
        account_id=tenant.account_id,
    )


class Editor:
    """A template editor whose budget hardly refills."""

    def __init__(self, house: House, capacity: int) -> None:
        self.principal = editor(house)
        limits = BudgetLimits(Allowance(capacity, 0.001), None)
        self.budgets = Budgets(limits, LocalBucketStore(utc_now))
        self.pipeline = GraphQLPipeline(house.gateway.schema, house.gateway.runner, budgets=self.budgets)

    async def send(self, query: str, html: str) -> PipelineResult:
        request = OperationRequest(query=query, variables={"input": {**INPUT, "html": html}})
        return await self.pipeline.execute(self.principal, request, self.pipeline.document_for(request))

    async def deficit(self) -> int:
        """Return the units that the caller has used, also above the capacity."""
        charge = await self.budgets.charge(self.principal, 0)
        assert charge is not None
        return charge.limit - charge.remaining if charge.granted else charge.limit + charge.retry_after // 1_000


async def test_preview_is_charged_for_the_work_of_the_renderer(served: House) -> None:
    caller = Editor(served, 100_000)
    small = await caller.send(aliases(1), "<p>text</p>")
    assert ESTIMATE <= small.charge.charged < MUCH_WORK
    large = await caller.send(aliases(1), LOOPS)
    assert not large.errors
    assert large.charge.estimated == ESTIMATE
    assert large.charge.charged > MUCH_WORK
    assert await caller.deficit() == small.charge.charged + large.charge.charged


async def test_template_without_a_result_is_charged_too(served: House) -> None:
    caller = Editor(served, 100_000)
    result = await caller.send(aliases(1), FAILING)
    assert result.charge.charged > MUCH_WORK


async def test_budget_that_the_work_exhausts_refuses_the_next_alias_and_the_next_request(served: House) -> None:
    caller = Editor(served, 20 * ESTIMATE)
    with pytest.raises(BudgetExhausted) as refused:
        await caller.send(aliases(15), LOOPS)
    assert refused.value.error.retry_after
    used = await caller.deficit()
    assert used > MUCH_WORK
    with pytest.raises(BudgetExhausted):
        await caller.send(aliases(1), "<p>text</p>")
    assert await caller.deficit() == used


async def test_mutation_pays_for_its_check_of_a_template(served: House) -> None:
    html = "".join(f"{{% assign v{number} = {number} %}}" for number in range(4_000))
    text = """mutation ($id: ID!, $html: String!) {
        createTemplateVersion(templateId: $id, input: {htmlTemplate: $html}) {
            ... on TemplateVersion { version } ...Refused } }"""
    headers = served.one.headers["administrator"]
    answer = await served.graphql(text, headers, id=served.one.ids["template"], html=html)
    assert not refusals(answer), answer
    cost = answer["extensions"]["cost"]
    assert cost["charged"] > cost["estimated"] + 100


@pytest.mark.parametrize("kind", [OperationCharge, CallCharge])
async def test_work_above_the_budget_is_a_debt(served: House, kind: type[OperationCharge] | type[CallCharge]) -> None:
    caller = Editor(served, 100)
    charge = (
        OperationCharge.flat(caller.budgets, caller.principal, 0)
        if kind is OperationCharge
        else CallCharge(caller.budgets, caller.principal)
    )
    await charge.check_work()
    await charge.add_work(0.3)
    for _ in range(2):
        with pytest.raises(RateLimited) as refused:
            await charge.check_work()
    assert refused.value.retry_after is not None
    assert refused.value.retry_after > 9_000_000  # 10,000 units are missing, and a unit takes 1,000 s
    with pytest.raises(RateLimited):
        await CallCharge(caller.budgets, caller.principal).add(1)


async def test_refusal_states_the_wait_also_after_work_that_ends_later(served: House) -> None:
    caller = Editor(served, 100)
    charge = OperationCharge.flat(caller.budgets, caller.principal, 0)
    await charge.add_work(0.3)
    with pytest.raises(RateLimited):
        await charge.check_work()
    await charge.add_work(0.1)  # a rendering that had begun before
    assert charge.exhausted_balance is not None
    assert charge.exhausted_balance.retry_after > 9_000_000


async def test_operation_without_a_budget_ends_at_the_maximum_cost(served: House) -> None:
    caller = Editor(served, 10**9)
    charge = OperationCharge.flat(caller.budgets, caller.principal, 50)
    await charge.settle()
    await charge.add_work(0.7)
    assert charge.is_settled  # the work is charged, and the result of it is returned
    with pytest.raises(CostTooHigh, match="Request less at once"):
        await charge.check_work()
