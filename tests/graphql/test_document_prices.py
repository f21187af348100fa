"""The price of new documents: known callers pay for the tokens before the parser reads them, and errors are short."""

import json
from collections.abc import Mapping
from functools import partial

import pytest
from graphql import GraphQLSyntaxError, Lexer, Source, TokenKind
from hypothesis import example, given
from hypothesis import strategies as st
from starlette.types import Message

from tests.graphql.test_hostile_documents import HOSTILE
from tests.support.documents import INTROSPECTION, shapeless
from tests.support.house import Tenant
from tests.support.scaling import check_linear
from tests.support.timed import NOW, Clock
from wattgate.errors import BadInput
from wattgate.graphql.cost.operation_charge import BudgetExhausted
from wattgate.graphql.execution.documents.document_limits import (
    FREE_TOKENS,
    UNITS_PER_TOKEN,
    DocumentLimits,
    count_tokens,
    parse_cost,
)
from wattgate.graphql.execution.documents.document_queue import DocumentQueue
from wattgate.graphql.execution.documents.documents import (
    MAX_CACHED_NAME_CHARACTERS,
    MAX_VALIDATION_ERRORS,
    InvalidRequest,
)
from wattgate.graphql.execution.pipeline import GraphQLPipeline
from wattgate.graphql.execution.schema import MAX_ERROR_CHARACTERS, normalize_errors
from wattgate.graphql.transport.http import read_request
from wattgate.rate_limit.budgets import Budgets, LocalBucketStore
from wattgate.rate_limit.scopes import Allowance, BudgetLimits
from wattgate.realtime.operation_request import OperationRequest
from wattgate.requests.bodies import DEFAULT_BODIES
from wattgate.requests.request_limits import size_cost

CAPACITY = 1_000_000
LIMITS = DocumentLimits()
MAX_RESPONSE_BYTES = 8_000
"""A few errors of the maximum length."""


def pipeline_of(tenant: Tenant, capacity: int = CAPACITY) -> tuple[GraphQLPipeline, Budgets]:
    """Return a pipeline whose documents are all new, and its budgets, which time does not refill."""
    allowance = Allowance(capacity, 1.0)
    budgets = Budgets(BudgetLimits(allowance, None), LocalBucketStore(Clock(NOW)))
    queue = DocumentQueue()
    gateway = tenant.gateway
    return GraphQLPipeline(gateway.schema, gateway.runner, budgets=budgets, document_queue=queue), budgets


async def charged(tenant: Tenant, budgets: Budgets) -> int:
    balance = await budgets.charge(tenant.account, 0)
    assert balance is not None
    return balance.limit - balance.remaining


def wrong_values(count: int, value: str = "1") -> str:
    """Return a document that sets unknown members of an input object."""
    members = " ".join(f"unknown{number}: {value}" for number in range(count))
    return f"mutation {{ createHome(input: {{{members}}}) {{ ... on Home {{ homeId }} }} }}"


def fragments(count: int, fields: int) -> str:
    names = ("homeId", "name", "postalCode")
    spreads = " ".join(f"...F{number}" for number in range(count))
    selection = " ".join(names[position % 3] for position in range(fields))
    parts = " ".join(f"fragment F{number} on Home {{ {selection} }}" for number in range(count))
    return f"{{ viewer {{ homes {{ edges {{ node {{ {spreads} }} }} }} }} }} {parts}"


INVALID: Mapping[str, str] = {
    **{name: document for name, (document, _) in HOSTILE.items()},
    "600 unknown input fields": wrong_values(600),
    "nested lists in the place of a text": f"{{ resource(resourceId: {'[' * 150}1{']' * 150}) {{ name }} }}",
    "a long name": f"{{ {'x' * 30_000} }}",
    "a long text in the place of a number": wrong_values(20, f'"{"x" * 1_000}"'),
    "a long text before an unexpected end": f'{{ resource(resourceId: "{"x" * 30_000}"',
    "unknown types of variables": f"query ({' '.join(f'$v{n}: T{n}' for n in range(300))}) {{ __typename }}",
    "unused variables": f"query ({' '.join(f'$v{n}: Int' for n in range(300))}) {{ __typename }}",
}


async def test_new_documents_are_charged_by_their_tokens_also_if_they_are_invalid(
    settled: Tenant, subtests: pytest.Subtests
) -> None:
    pipeline, budgets = pipeline_of(settled)
    for name, text in INVALID.items():
        with subtests.test(name):
            before = await charged(settled, budgets)
            request = OperationRequest(query=text, size=len(text))
            await pipeline.charge_request(settled.account, len(text))
            with pytest.raises(InvalidRequest) as invalid:
                await pipeline.resolve_document(settled.account, request)
            assert len(invalid.value.errors) <= MAX_VALIDATION_ERRORS + 1
            response = json.dumps([error.formatted for error in normalize_errors(invalid.value.errors)])
            assert len(response) <= MAX_RESPONSE_BYTES
            assert await charged(settled, budgets) - before == parse_cost(text, LIMITS) + size_cost(len(text))
    assert parse_cost(wrong_values(600), LIMITS) > 5_000


async def test_valid_documents_are_charged_once_and_beside_their_operation(settled: Tenant) -> None:
    pipeline, budgets = pipeline_of(settled)
    text = fragments(59, 16)
    request = OperationRequest(query=text)
    _, document = await pipeline.resolve_document(settled.account, request)
    price = await charged(settled, budgets)
    assert price == (count_tokens(text) - FREE_TOKENS) * UNITS_PER_TOKEN > 3_000
    assert (await pipeline.resolve_document(settled.account, request))[1] is document
    assert await charged(settled, budgets) == price, "a document in the cache costs nothing"
    small = OperationRequest(query="{ viewer { homes { edges { node { name resources { name } } } } } }")
    await pipeline.resolve_document(settled.account, small)
    assert await charged(settled, budgets) == price, "a small document costs no more than its operation"


async def test_exhausted_budget_refuses_a_document_before_it_is_parsed(settled: Tenant) -> None:
    pipeline, _ = pipeline_of(settled, capacity=6_000)
    await pipeline.resolve_document(settled.account, OperationRequest(query=fragments(59, 10)))
    refused = OperationRequest(query=wrong_values(600) + "#")
    for _ in range(2):  # nothing about it is stored
        with pytest.raises(BudgetExhausted):
            await pipeline.resolve_document(settled.account, refused)


async def test_each_operation_name_of_a_document_is_charged_and_a_long_one_is_not_kept(settled: Tenant) -> None:
    pipeline, budgets = pipeline_of(settled)
    text = fragments(20, 5)
    for name in ("a", "x" * MAX_CACHED_NAME_CHARACTERS * 100):
        for repetition in range(2):
            before = await charged(settled, budgets)
            with pytest.raises(InvalidRequest) as invalid:
                await pipeline.resolve_document(settled.account, OperationRequest(query=text, operation_name=name))
            assert len(invalid.value.errors[0].message) <= MAX_ERROR_CHARACTERS
            is_kept = repetition == 1 and len(name) <= MAX_CACHED_NAME_CHARACTERS
            assert await charged(settled, budgets) - before == (0 if is_kept else parse_cost(text, LIMITS))


async def test_body_without_a_request_is_charged_by_its_size(settled: Tenant) -> None:
    pipeline, budgets = pipeline_of(settled)
    for body in (b"[" + b"1," * 100_000 + b"1]", b'{"query": ' + b" " * 200_000, b"{}" + b" " * 200_000):

        async def receive(body: bytes = body) -> Message:
            return {"type": "http.request", "body": body}

        before = await charged(settled, budgets)
        with pytest.raises(BadInput):
            await read_request({"content-length": str(len(body))}, receive, settled.account, pipeline, DEFAULT_BODIES)
        assert await charged(settled, budgets) - before == size_cost(len(body)) > 700


def lexed(text: str) -> int:
    """Return the number of tokens and comments that graphql-core reads, up to the first error."""
    lexer, count = Lexer(Source(text)), 0
    try:
        while lexer.token.kind is not TokenKind.EOF:
            token = lexer.token = lexer.token.next or lexer.read_next_token(lexer.token.end)
            count += token.kind is not TokenKind.EOF
    except GraphQLSyntaxError:
        pass
    return count


@given(st.one_of(shapeless(), st.text('ab1.-+e"\\#{}()$:!|&@= ,\n\r\ufeffé')))
@example(INTROSPECTION)
@example('{ a(b: """x\\""" "y" """, c: "", d: """""", e: "\\"") } # "')
@example('"""\\"""\\"""')
@example("{ a(b: [1-2 1.5e-3-4.0 -0]) ...b ... on C @d }")
def test_count_is_at_least_that_of_the_parser(text: str) -> None:
    assert count_tokens(text) >= lexed(text)


def _repeated(part: str, size: int) -> str:
    return '"' + part * size


def test_count_takes_linear_time(subtests: pytest.Subtests) -> None:
    for part in ('"""\\"""', '"', '""', '"""', "#", '"\\', "1e", "-", ".", "a#\n", '"\n'):
        with subtests.test(repr(part)):
            check_linear(count_tokens, partial(_repeated, part), 3_000)


def test_count_of_a_valid_document_is_exact() -> None:
    for text in (INTROSPECTION, fragments(3, 4), wrong_values(5), 'query ($a: Int = -1.5e3) { a(b: """c""") } # d'):
        assert count_tokens(text) == lexed(text)
