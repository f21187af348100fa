"""Behaviour of the engine beside equal results: single execution, limits, fallback and cancellation."""

import asyncio
import logging
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from tests.graphql.compiled.comparing import ObservedEngine
from tests.graphql.compiled.running import NO_LIMITS
from tests.graphql.compiled.schema import schema
from tests.graphql.compiled.types import LimitsRow
from tests.graphql.compiled.values import FAULTS
from tests.graphql.compiled.world import World
from wattgate.errors import NotFound
from wattgate.graphql.execution.compiled.engine import (
    MAX_CONCURRENT_FALLBACKS,
    MAX_OWNER_FALLBACKS,
    MAX_PLAN_FAILURES,
    MAX_PLANS_PER_DOCUMENT,
    PLAN_DISABLED_SECONDS,
    ExecutionEngine,
)
from wattgate.graphql.execution.compiled.selection_tree import MAX_FIELDS
from wattgate.graphql.execution.documents.documents import DocumentCache
from wattgate.graphql.execution.schema import MAX_REPORTED_ERRORS
from wattgate.operations.core.context import GraphQLContext
from wattgate.principal import Principal, Role

SCHEMA = schema()
DOCUMENTS = DocumentCache(SCHEMA, NO_LIMITS)
SEED = 4
ALL = {"nowhere": FAULTS["null"]}
"""No fault, but all lists have two items and nothing is null."""


def world(**broken: Callable[[], Any]) -> World:
    return World(SCHEMA, SEED, broken={**ALL, **{name.replace("__", "."): value for name, value in broken.items()}})


def context(runner: Any) -> GraphQLContext:
    return GraphQLContext(runner, Principal(Role.SYSTEM))


async def run(engine: ExecutionEngine, text: str, runner: Any, **variables: Any) -> Any:
    document = DOCUMENTS.get(text)
    return await engine.execute(context(runner), document, engine.coerce_variables(document, variables), variables)


async def test_operation_runs_once_if_another_one_fails() -> None:
    broken, engine = world(Query__named_one=lambda: 7), ObservedEngine(SCHEMA)
    result = await run(engine, '{ namedOne(key: "1") { path } a: meters { path } b: panel { path } }', broken)
    assert engine.fallback_count == 1
    assert result.data["namedOne"] is None
    assert result.data["b"]
    assert [call.split("(")[0] for call in broken.calls] == ["named_one", "meters", "panel"]


async def test_result_of_a_mutation_is_kept_if_a_later_one_fails() -> None:
    broken = world(Mutation__write=lambda: 7)
    text = 'mutation { a: bump { value steps } b: bump(by: 2) { value } write(text: "x") { value } c: bump { value } }'
    engine = ObservedEngine(SCHEMA)
    result = await run(engine, text, broken)
    assert [result.data[key] and result.data[key]["value"] for key in ("a", "b", "write", "c")] == [1, 3, None, 14]
    assert len(result.data["a"]["steps"]) == 1
    assert len(broken.calls) == 4
    assert engine.fallback_count == 2  # the failed field, and the field that was not called


async def test_number_of_reported_errors_is_limited_over_all_fields() -> None:
    text = " ".join(f"a{number}: limits {{ some }}" for number in range(MAX_REPORTED_ERRORS + 7))
    result = await run(
        ObservedEngine(SCHEMA), f"{{ {text} panel {{ kin {{ path }} }} }}", world(Limits__some=lambda: "x")
    )
    assert len(result.errors) == MAX_REPORTED_ERRORS + 1
    assert result.errors[-1].message == "7 more errors are not shown"


async def test_mutations_run_after_one_that_fails() -> None:
    broken = world(Mutation__clear=lambda: "no boolean")
    result = await run(ObservedEngine(SCHEMA), "mutation { a: bump { value } clear b: bump { value } }", broken)
    assert result.data == {"a": {"value": 1}, "clear": None, "b": {"value": 12}}
    assert [error.path for error in result.errors] == [["clear"]]
    assert len(broken.calls) == 3


async def test_invalid_argument_leaves_no_coroutine_unawaited() -> None:
    """A coroutine that is never awaited raises a warning, which is an error in this suite."""
    text = "query ($n: Int = 2) { room { keeper { kin { path } } kin(limit: $n) { path } source { path } } }"
    result = await run(ObservedEngine(SCHEMA), text, world(), n=None)
    assert result.data == {"room": None}
    assert "Argument 'limit'" in result.errors[0].message


async def test_object_of_an_impossible_type_leaves_no_coroutine_unawaited() -> None:
    meter = world().values.row(SCHEMA.core.type_map["Meter"], Random(SEED), "a meter")  # type: ignore[arg-type]
    broken = world(Query__metered=lambda: [meter, LimitsRow("no meter", *[None] * 14)])
    result = await run(ObservedEngine(SCHEMA), "{ metered { path ... on Meter { kin { path } } } }", broken)
    assert result.data == {"metered": None}
    assert "'Limits' is not a possible type" in result.errors[0].message


async def test_plans_execute_struct_rows_behind_interfaces() -> None:
    engine = ObservedEngine(SCHEMA)
    result = await run(
        engine, "{ room { kin(limit: 9) { __typename kin { __typename } } } metered { power } }", world()
    )
    assert not result.errors
    assert engine.fallback_count == 0


@pytest.mark.parametrize("change", [lambda results: results[:-1], lambda results: [*results, None], tuple])
async def test_loader_with_wrong_number_of_results_fails_as_in_graphql_core(change: Any) -> None:
    class Careless(World):
        async def load(self, *arguments: Any) -> Any:
            return change(await super().load(*arguments))

    engine, text = ObservedEngine(SCHEMA), "{ metered { ... on Meter { keeper { path } unit } } }"
    result = await run(engine, text, Careless(SCHEMA, SEED, broken=ALL))
    assert engine.fallback_count == 1
    assert bool(result.errors) is (change is not tuple)
    assert all((record.get("keeper") is None) is bool(result.errors) for record in result.data["metered"] if record)


async def test_selected_fields_depend_on_the_variables_of_each_request() -> None:
    engine, text = (
        ObservedEngine(SCHEMA),
        "query ($yes: Boolean!) { panel { path @include(if: $yes) name @skip(if: $yes) } }",
    )
    for yes, key in ((True, "path"), (False, "name"), (True, "path")):
        result = await run(engine, text, world(), yes=yes)
        assert list(result.data["panel"]) == [key]
    assert engine.fallback_count == 0


async def test_number_of_plans_per_document_is_limited() -> None:
    names = [f"v{n}" for n in range(MAX_PLANS_PER_DOCUMENT.bit_length())]
    declarations = ", ".join(f"${name}: Boolean!" for name in names)
    fields = " ".join(f"{name}: path @include(if: ${name})" for name in names)
    text = f"query ({declarations}) {{ panel {{ __typename {fields} }} }}"
    engine = ObservedEngine(SCHEMA)
    for number in range(2 ** len(names)):
        result = await run(engine, text, world(), **{name: bool(number >> n & 1) for n, name in enumerate(names)})
        assert len(result.data["panel"]) == 1 + number.bit_count()
    assert len(DOCUMENTS.get(text).plans) == MAX_PLANS_PER_DOCUMENT
    assert engine.fallback_count == 2 ** len(names) - MAX_PLANS_PER_DOCUMENT


async def test_graphql_core_executes_documents_with_too_many_fields() -> None:
    engine = ObservedEngine(SCHEMA)
    text = "{ panel { " + " ".join(f"a{n}: path" for n in range(MAX_FIELDS)) + " } }"
    result = await run(engine, text, world())
    assert len(result.data["panel"]) == MAX_FIELDS
    assert engine.fallback_count == 1


async def test_plan_that_always_fails_is_disabled_for_a_while() -> None:
    now = 0.0
    engine = ObservedEngine(SCHEMA)
    engine._clock = lambda: now
    text = "{ panel { path } pace(pace: SLOW) }"
    for _ in range(MAX_PLAN_FAILURES):
        await run(engine, text, world(Query__panel=lambda: 7))
        assert engine.last_error is not None
    engine.last_error = None
    await run(engine, text, world(Query__panel=lambda: 7))
    assert engine.last_error is None  # the plan was not tried
    now += PLAN_DISABLED_SECONDS
    left = engine.fallback_count
    assert not (await run(engine, text, world())).errors
    assert engine.fallback_count == left


async def test_plan_that_fails_occasionally_is_not_disabled() -> None:
    engine = ObservedEngine(SCHEMA)
    engine._clock = lambda: 0.0
    text = "{ meters { path } pace(pace: SLOW) }"
    for _ in range(MAX_PLAN_FAILURES):
        await run(engine, text, world(Query__meters=lambda: 7))
        left = engine.fallback_count
        await run(engine, text, world())
        assert engine.fallback_count == left


@pytest.mark.parametrize(
    ("owners", "maximum"), [(["one"], MAX_OWNER_FALLBACKS), (["one", "another"], MAX_CONCURRENT_FALLBACKS)]
)
async def test_concurrent_executions_by_graphql_core_are_limited(owners: list[str], maximum: int) -> None:
    """One application leaves some to others, and all together have no more."""
    running = max_running = 0

    class Slow(World):
        async def run(self, *arguments: Any) -> Any:
            nonlocal running, max_running
            running += 1
            max_running = max(max_running, running)
            try:
                for _ in range(5):
                    await asyncio.sleep(0)
                return await super().run(*arguments)
            finally:
                running -= 1

    engine = ExecutionEngine(SCHEMA, compile_at=1000)
    document = DOCUMENTS.get("{ panel { path } }")
    variables = engine.coerce_variables(document, {})
    result = await asyncio.gather(
        *[
            engine.execute(
                GraphQLContext(Slow(SCHEMA, SEED, broken=ALL), Principal(Role.SYSTEM, application_id=owner)),  # type: ignore[arg-type]
                document,
                variables,
                {},
            )
            for _ in range(4 * MAX_CONCURRENT_FALLBACKS)
            for owner in owners
        ]
    )
    assert all(record.data for record in result)
    assert max_running == maximum


async def test_document_is_compiled_at_its_second_use() -> None:
    engine, text = ExecutionEngine(SCHEMA), "{ panel { path unit } }"
    for used in (False, True, True):
        await run(engine, text, world())
        assert bool(DOCUMENTS.get(text).plans) is used


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("{ a: panel { path } }", {"a": None}),
        ("{ __typename a: panel { path } pace(pace: SLOW) }", {"__typename": "Query", "a": None, "pace": "FAST"}),
        ("mutation { bump { value } a: clear b: bump { value } }", {"bump": 1, "a": None, "b": 12}),
    ],
)
async def test_errors_of_operations_are_reported_without_graphql_core(text: str, values: dict[str, Any]) -> None:
    def gone() -> Any:
        raise NotFound("no such panel")

    engine = ObservedEngine(SCHEMA)
    result = await run(engine, text, world(Query__panel=gone, Mutation__clear=gone))
    assert {key: value["value"] if isinstance(value, dict) else value for key, value in result.data.items()} == values
    assert [(error.message, error.path) for error in result.errors] == [("no such panel", ["a"])]
    assert result.errors[0].extensions["code"] == "NOT_FOUND"
    assert engine.fallback_count == 0


async def test_cancelled_request_leaves_no_task_running() -> None:
    running: set[str] = set()
    both_running = asyncio.Event()

    class Waiting(World):
        async def run(self, operation: Any, *arguments: Any) -> Any:
            running.add(operation.name)
            if len(running) == 2:
                both_running.set()
            try:
                await asyncio.sleep(3600)
            finally:
                running.discard(operation.name)

    task = asyncio.ensure_future(
        run(ObservedEngine(SCHEMA), "{ panel { path } meters { path } }", Waiting(SCHEMA, SEED))
    )
    await both_running.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not running


async def test_invalid_directive_variable_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    text = "query ($v: Boolean = true) { panel { path @include(if: $v) } }"
    with caplog.at_level(logging.INFO, logger="wattgate.graphql.execution.compiled"):
        result = await run(ObservedEngine(SCHEMA), text, world(), v=None)
    assert result.errors
    assert not [record for record in caplog.records if record.name.startswith("wattgate.graphql.execution.compiled")]
