"""What the engine does beside telling what graphql-core tells: once, in time, with an end, and not for ever in vain."""

import asyncio
import logging
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from tests.graphql.compiled.comparing import Watched
from tests.graphql.compiled.running import NO_LIMITS
from tests.graphql.compiled.schema import schema
from tests.graphql.compiled.types import LimitsRow
from tests.graphql.compiled.values import FAULTS
from tests.graphql.compiled.world import World
from wattgate.errors import NotFound
from wattgate.graphql.core.context import Context
from wattgate.graphql.execution.compiled.engine import FALLBACKS, MAX_FAILURES, MAX_PLANS, OFF_SECONDS, Engine
from wattgate.graphql.execution.compiled.selection_tree import MAX_SLOTS
from wattgate.graphql.execution.documents import Documents
from wattgate.graphql.execution.schema import MAX_TOLD
from wattgate.principal import Principal, Role

SCHEMA = schema()
DOCUMENTS = Documents(SCHEMA, NO_LIMITS)
SEED = 4
ALL = {"nowhere": FAULTS["null"]}
"""No fault, but lists of two and nothing null."""


def world(**broken: Callable[[], Any]) -> World:
    return World(SCHEMA, SEED, broken={**ALL, **{name.replace("__", "."): one for name, one in broken.items()}})


def context(of: Any) -> Context:
    return Context(of, Principal(Role.SYSTEM))


async def run(engine: Engine, text: str, of: Any, **variables: Any) -> Any:
    document = DOCUMENTS.find(text)
    return await engine.execute(context(of), document, engine.variables(document, variables), variables)


async def test_an_operation_runs_once_where_another_one_fails() -> None:
    broken, engine = world(Query__named_one=lambda: 7), Watched(SCHEMA)
    told = await run(engine, '{ namedOne(key: "1") { path } a: meters { path } b: panel { path } }', broken)
    assert engine.left == 1
    assert told.data["namedOne"] is None
    assert told.data["b"]
    assert [call.split("(")[0] for call in broken.calls] == ["named_one", "meters", "panel"]


async def test_what_a_mutation_told_stays_where_a_later_one_fails() -> None:
    broken = world(Mutation__write=lambda: 7)
    text = 'mutation { a: bump { value steps } b: bump(by: 2) { value } write(text: "x") { value } c: bump { value } }'
    engine = Watched(SCHEMA)
    told = await run(engine, text, broken)
    assert [told.data[key] and told.data[key]["value"] for key in ("a", "b", "write", "c")] == [1, 3, None, 14]
    assert len(told.data["a"]["steps"]) == 1
    assert len(broken.calls) == 4
    assert engine.left == 2  # what failed, and what had not been called


async def test_very_many_errors_are_told_in_part_whatever_fields_they_are_of() -> None:
    text = " ".join(f"a{number}: limits {{ some }}" for number in range(MAX_TOLD + 7))
    told = await run(Watched(SCHEMA), f"{{ {text} panel {{ kin {{ path }} }} }}", world(Limits__some=lambda: "x"))
    assert len(told.errors) == MAX_TOLD + 1
    assert told.errors[-1].message == "7 more errors are not told"


async def test_a_mutation_that_ends_all_is_the_last() -> None:
    broken = world(Mutation__clear=lambda: "no boolean")
    told = await run(Watched(SCHEMA), "mutation { a: bump { value } clear b: bump { value } }", broken)
    assert told.data is None
    assert len(broken.calls) == 2


async def test_an_argument_that_cannot_be_bound_leaves_nothing_unawaited() -> None:
    """A coroutine that nobody awaits is a warning, which here is an error."""
    text = "query ($n: Int = 2) { room { keeper { kin { path } } kin(limit: $n) { path } source { path } } }"
    told = await run(Watched(SCHEMA), text, world(), n=None)
    assert told.data is None
    assert "Argument 'limit'" in told.errors[0].message


async def test_an_object_of_no_type_that_can_stand_there_leaves_nothing_unawaited() -> None:
    meter = world().values.row(SCHEMA._schema.type_map["Meter"], Random(SEED), "a meter")  # type: ignore[arg-type]
    broken = world(Query__metered=lambda: [meter, LimitsRow("no meter", *[None] * 14)])
    told = await run(Watched(SCHEMA), "{ metered { path ... on Meter { kin { path } } } }", broken)
    assert told.data == {"metered": None}
    assert "'Limits' is not a possible type" in told.errors[0].message


async def test_rows_that_are_structs_are_told_by_plans_behind_interfaces_too() -> None:
    engine = Watched(SCHEMA)
    told = await run(engine, "{ room { kin(limit: 9) { __typename kin { __typename } } } metered { power } }", world())
    assert not told.errors
    assert engine.left == 0


@pytest.mark.parametrize("change", [lambda found: found[:-1], lambda found: [*found, None], tuple])
async def test_a_loader_that_gives_no_list_of_one_result_for_each_parent_fails_as_in_graphql_core(change: Any) -> None:
    class Careless(World):
        async def load(self, *asked: Any) -> Any:
            return change(await super().load(*asked))

    engine, text = Watched(SCHEMA), "{ metered { ... on Meter { keeper { path } unit } } }"
    told = await run(engine, text, Careless(SCHEMA, SEED, broken=ALL))
    assert engine.left == 1
    assert bool(told.errors) is (change is not tuple)
    assert all((one.get("keeper") is None) is bool(told.errors) for one in told.data["metered"] if one)


async def test_what_is_selected_follows_the_variables_of_each_request() -> None:
    engine, text = Watched(SCHEMA), "query ($yes: Boolean!) { panel { path @include(if: $yes) name @skip(if: $yes) } }"
    for yes, key in ((True, "path"), (False, "name"), (True, "path")):
        told = await run(engine, text, world(), yes=yes)
        assert list(told.data["panel"]) == [key]
    assert engine.left == 0


async def test_a_document_has_so_many_plans_and_no_more() -> None:
    names = [f"v{n}" for n in range(MAX_PLANS.bit_length())]
    given = ", ".join(f"${name}: Boolean!" for name in names)
    text = f"query ({given}) {{ panel {{ __typename {' '.join(f'{n}: path @include(if: ${n})' for n in names)} }} }}"
    engine = Watched(SCHEMA)
    for number in range(2 ** len(names)):
        told = await run(engine, text, world(), **{name: bool(number >> n & 1) for n, name in enumerate(names)})
        assert len(told.data["panel"]) == 1 + number.bit_count()
    assert len(DOCUMENTS.find(text).plans) == MAX_PLANS
    assert engine.left == 2 ** len(names) - MAX_PLANS


async def test_a_document_that_selects_very_much_is_left_to_graphql_core() -> None:
    engine = Watched(SCHEMA)
    text = "{ panel { " + " ".join(f"a{n}: path" for n in range(MAX_SLOTS)) + " } }"
    told = await run(engine, text, world())
    assert len(told.data["panel"]) == MAX_SLOTS
    assert engine.left == 1


async def test_a_plan_that_always_fails_is_given_up_for_a_while() -> None:
    now = 0.0
    engine = Watched(SCHEMA)
    engine._clock = lambda: now
    text = "{ panel { path } pace(pace: SLOW) }"
    for _ in range(MAX_FAILURES):
        await run(engine, text, world(Query__panel=lambda: 7))
        assert engine.fault is not None
    engine.fault = None
    await run(engine, text, world(Query__panel=lambda: 7))
    assert engine.fault is None  # it was not tried
    now += OFF_SECONDS
    left = engine.left
    assert not (await run(engine, text, world())).errors
    assert engine.left == left


async def test_a_plan_that_fails_now_and_then_is_not_given_up() -> None:
    engine = Watched(SCHEMA)
    engine._clock = lambda: 0.0
    text = "{ meters { path } pace(pace: SLOW) }"
    for _ in range(MAX_FAILURES):
        await run(engine, text, world(Query__meters=lambda: 7))
        left = engine.left
        await run(engine, text, world())
        assert engine.left == left


async def test_graphql_core_executes_only_so_many_documents_at_once() -> None:
    under_way = most = 0

    class Slow(World):
        async def run(self, *asked: Any) -> Any:
            nonlocal under_way, most
            under_way += 1
            most = max(most, under_way)
            try:
                for _ in range(5):
                    await asyncio.sleep(0)
                return await super().run(*asked)
            finally:
                under_way -= 1

    engine = Engine(SCHEMA, compile_at=1000)
    text = "{ panel { path } }"
    told = await asyncio.gather(*[run(engine, text, Slow(SCHEMA, SEED, broken=ALL)) for _ in range(4 * FALLBACKS)])
    assert all(one.data for one in told)
    assert most == FALLBACKS


async def test_a_document_is_compiled_at_its_second_use() -> None:
    engine, text = Engine(SCHEMA), "{ panel { path unit } }"
    for used in (False, True, True):
        await run(engine, text, world())
        assert bool(DOCUMENTS.find(text).plans) is used


async def test_the_error_of_the_only_operation_needs_no_graphql_core() -> None:
    def gone() -> Any:
        raise NotFound("no such panel")

    engine = Watched(SCHEMA)
    told = await run(engine, "{ a: panel { path } }", world(Query__panel=gone))
    assert told.data == {"a": None}
    assert (told.errors[0].message, told.errors[0].path) == ("no such panel", ["a"])
    assert engine.left == 0


async def test_a_cancelled_request_leaves_nothing_running() -> None:
    running: set[str] = set()
    both = asyncio.Event()

    class Waiting(World):
        async def run(self, operation: Any, *asked: Any) -> Any:
            running.add(operation.name)
            if len(running) == 2:
                both.set()
            try:
                await asyncio.sleep(3600)
            finally:
                running.discard(operation.name)

    task = asyncio.ensure_future(run(Watched(SCHEMA), "{ panel { path } meters { path } }", Waiting(SCHEMA, SEED)))
    await both.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not running


async def test_a_wrong_condition_of_a_caller_is_no_matter_for_the_log(caplog: pytest.LogCaptureFixture) -> None:
    text = "query ($v: Boolean = true) { panel { path @include(if: $v) } }"
    with caplog.at_level(logging.INFO, logger="wattgate.graphql.execution.compiled"):
        told = await run(Watched(SCHEMA), text, world(), v=None)
    assert told.errors
    assert not [one for one in caplog.records if one.name.startswith("wattgate.graphql.execution.compiled")]
