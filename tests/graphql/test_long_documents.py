"""Long documents are parsed, validated and compiled in a thread, and the event loop serves others meanwhile."""

import asyncio
import threading
from collections.abc import Awaitable
from functools import partial

import pytest

from tests.graphql.test_document_prices import INVALID, fragments, wrong_values
from tests.graphql.test_document_queue import ALMOST_NOTHING, ANONYMOUS, known
from tests.support.house import Tenant
from wattgate.graphql.cost.operation_charge import BudgetExhausted
from wattgate.graphql.execution.documents.document_limits import LONG_CHARACTERS, LONG_TOKENS, count_tokens, is_long
from wattgate.graphql.execution.documents.document_queue import DocumentQueue, TimeQueue
from wattgate.graphql.execution.documents.documents import InvalidRequest
from wattgate.graphql.execution.pipeline import GraphQLPipeline
from wattgate.realtime.operation_request import OperationRequest

WAIT_SECONDS = 60
"""Time after which a broken test ends."""


async def turns_during(awaited: Awaitable[object]) -> int:
    """Return how many turns the event loop makes until something is done, or has failed because it is invalid."""
    loop, turns, is_done = asyncio.get_running_loop(), 0, False

    def count() -> None:
        nonlocal turns
        if not is_done:
            turns += 1
            loop.call_soon(count)

    loop.call_soon(count)
    try:
        await awaited
    except (InvalidRequest, BudgetExhausted):
        pass
    finally:
        is_done = True
    return turns


async def test_long_work_runs_beside_the_event_loop_and_short_work_does_not_wait_for_it() -> None:
    queue, may_end = DocumentQueue(), threading.Event()
    long = asyncio.create_task(queue.run(known("a"), partial(may_end.wait, WAIT_SECONDS), is_long=True))
    for caller in (known("a"), known("b"), ANONYMOUS):
        assert await queue.run(caller, lambda: "short") == "short"
    assert not long.done()
    may_end.set()
    assert await long is True


async def test_long_work_pauses_for_its_share_of_the_time_and_short_work_does_not() -> None:
    queue, served = DocumentQueue(long_share=ALMOST_NOTHING), list[str]()
    await queue.run(known("a"), lambda: served.append("first"), is_long=True)
    second = asyncio.create_task(queue.run(known("b"), lambda: served.append("second"), is_long=True))
    for _ in range(100):
        await queue.run(known("b"), lambda: served.append("short"))
    assert served == ["first", *["short"] * 100]
    second.cancel()
    await asyncio.gather(second, return_exceptions=True)


async def test_application_whose_long_documents_took_less_time_goes_first() -> None:
    now, served = 0.0, list[str]()
    queue = DocumentQueue(long_share=1.0, clock=lambda: now)

    def work(name: str, seconds: float) -> None:
        nonlocal now
        now += seconds
        served.append(name)

    arrivals = [*((f"a{n}", known("a"), 1.0) for n in range(3)), *((f"b{n}", known("b"), 0.4) for n in range(4))]
    arrivals.append(("nobody", ANONYMOUS, 1.0))
    await asyncio.gather(
        *(queue.run(caller, partial(work, name, seconds), is_long=True) for name, caller, seconds in arrivals)
    )
    assert served == ["a0", "b0", "b1", "b2", "a1", "b3", "a2", "nobody"]


async def test_error_of_long_work_reaches_its_caller_and_the_next_one_is_served() -> None:
    queue = DocumentQueue(long_share=1.0)
    with pytest.raises(ZeroDivisionError):
        await queue.run(known("a"), lambda: 1 // 0, is_long=True)
    assert await queue.run(ANONYMOUS, lambda: "served", is_long=True) == "served"


async def test_long_work_of_a_caller_that_leaves_while_it_runs_ends_quietly() -> None:
    queue, has_begun, may_end = DocumentQueue(long_share=1.0), asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def work() -> None:
        loop.call_soon_threadsafe(has_begun.set)
        may_end.wait(WAIT_SECONDS)

    gone = asyncio.create_task(queue.run(known("a"), work, is_long=True))
    await has_begun.wait()
    gone.cancel()
    await asyncio.gather(gone, return_exceptions=True)
    may_end.set()
    assert await queue.run(known("a"), lambda: "served", is_long=True) == "served"


def test_owner_that_pauses_gets_no_credit_for_it_and_is_forgotten() -> None:
    queue = TimeQueue[int]()
    for number in range(1_000):
        queue.push(f"app{number}", number)
        queue.push("busy", number)
        for owner, _ in (queue.pop() or ("", 0), queue.pop() or ("", 0)):
            queue.add_time(owner, 1.0)
    assert len(queue._used) <= 3
    for item in range(3):
        queue.push("late", item)
        queue.push("busy", item)
    order = []
    while popped := queue.pop():
        order.append(popped[0])
        queue.add_time(popped[0], 1.0)
    assert sorted(order[:2]) == sorted(order[2:4]) == ["busy", "late"]


async def test_event_loop_turns_while_a_long_document_is_parsed(settled: Tenant, subtests: pytest.Subtests) -> None:
    """A document of any kind is long if it has more than the tokens or characters of a short one."""
    documents = {
        **INVALID,
        "fragments": fragments(59, 16),
        "wrong values in one call": wrong_values(300),
        "many operations": " ".join(f"query Q{n} {{ viewer {{ userId accountId }} }}" for n in range(100)),
        "inline fragments": "{ viewer { resources { edges { node { "
        + "... on Resource { name resourceId } " * 20
        + "} } } } }",
        "one text": '{ viewer(filter: "' + "x" * 20_000 + '") { userId } }',
    }
    is_long_of = {True: 0, False: 0}
    for caller in (settled.account, ANONYMOUS):
        queue = DocumentQueue(long_share=1.0, anonymous_share=1.0)
        pipeline = pipeline_with(queue, settled)
        for name, text in documents.items():
            with subtests.test(name, role=caller.role.value):
                turns = await turns_during(pipeline.resolve_document(caller, OperationRequest(query=text)))
                is_long_of[is_long(text)] += 1
                assert (turns > 0) >= (len(text) > LONG_CHARACTERS or count_tokens(text) > LONG_TOKENS)
    assert min(is_long_of.values()) > 10


async def test_long_document_is_compiled_in_the_thread_at_its_second_use(settled: Tenant) -> None:
    queue, may_end = DocumentQueue(long_share=1.0), threading.Event()
    pipeline = pipeline_with(queue, settled)
    request = OperationRequest(query=fragments(40, 10))
    _, document = await pipeline.resolve_document(settled.account, request)
    occupied = asyncio.create_task(queue.run(known("other"), partial(may_end.wait, WAIT_SECONDS), is_long=True))
    await pipeline.execute(settled.account, request, document)
    second = asyncio.create_task(pipeline.execute(settled.account, request, document))
    small = OperationRequest(query="{ viewer { homes { edges { node { name } } } } }")
    for _ in range(3):
        await pipeline.execute(settled.account, *await pipeline.resolve_document(settled.account, small))
    assert not second.done()
    assert document.plans == {}
    may_end.set()
    await asyncio.gather(occupied, second)
    assert len(document.plans) == 1
    assert await turns_during(pipeline.resolve_document(settled.account, request)) == 0


async def test_long_subscription_is_compiled_in_the_thread(settled: Tenant) -> None:
    service, may_end = settled.gateway.subscription_service, threading.Event()
    resource_id = await settled.add_resource()
    selections = " ".join("... on LiveReading { __typename }" for _ in range(20))
    arguments = f'resourceIds: ["{resource_id}"]'
    request = OperationRequest(
        query=f"subscription {{ readings({arguments}) {{ {selections} }} }} #{'x' * LONG_CHARACTERS}"
    )
    document = (await service.prepare(settled.account, request)).document
    queue = service.pipeline.engine.document_queue
    occupied = asyncio.create_task(queue.run(known("other"), partial(may_end.wait, WAIT_SECONDS), is_long=True))
    started = asyncio.create_task(service.start_operation(settled.account, request))
    small = OperationRequest(query="{ viewer { homes { edges { node { name } } } } }")
    for _ in range(3):
        await service.start_operation(settled.account, small)
    assert document.plans == {}
    may_end.set()
    await asyncio.gather(occupied, started)
    assert len(document.plans) == 1


def pipeline_with(queue: DocumentQueue, tenant: Tenant) -> GraphQLPipeline:
    return GraphQLPipeline(tenant.gateway.schema, tenant.gateway.runner, document_queue=queue)
