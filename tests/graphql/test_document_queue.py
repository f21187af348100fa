"""The order in which documents are parsed: known callers first, applications in turn, anonymous ones in a share."""

import asyncio
from functools import partial
from pathlib import Path

import pytest

from tests.support.house import tenant_on
from wattgate.errors import RateLimited, Unavailable
from wattgate.graphql.execution.documents.document_limits import DocumentLimits
from wattgate.graphql.execution.documents.document_queue import (
    ANONYMOUS_SHARE,
    MAX_WORK_SECONDS,
    DocumentQueue,
    pause_after,
)
from wattgate.graphql.execution.documents.documents import MAX_ANONYMOUS_DOCUMENTS, DocumentCache
from wattgate.graphql.execution.pipeline import GraphQLPipeline
from wattgate.principal import Principal, Role
from wattgate.realtime.operation_request import OperationRequest

ANONYMOUS = Principal(Role.ANONYMOUS)
ALMOST_NOTHING = 1e-9
"""A share of the time with which only the first anonymous document is served while a test runs."""


def known(application_id: str) -> Principal:
    return Principal(Role.ACCOUNT, application_id=application_id, user_id="u", account_id="a")


async def occupy(queue: DocumentQueue) -> None:
    """Let an anonymous caller use up the time of all anonymous ones."""
    await queue.run(ANONYMOUS, lambda: None)


async def test_known_caller_is_served_while_anonymous_ones_wait() -> None:
    queue, served = DocumentQueue(anonymous_share=ALMOST_NOTHING), list[str]()
    await occupy(queue)
    waiting = [asyncio.create_task(queue.run(ANONYMOUS, lambda: served.append("anonymous"))) for _ in range(50)]
    await asyncio.sleep(0)
    await queue.run(known("a"), lambda: served.append("known"))
    assert served == ["known"]
    assert not any(task.done() for task in waiting)
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)


async def test_waiting_known_callers_go_first_and_applications_in_turn() -> None:
    now, served = 0.0, list[str]()
    queue = DocumentQueue(anonymous_share=0.5, clock=lambda: now)

    def work(name: str) -> None:
        nonlocal now
        now += 1
        served.append(name)

    arrivals = [("n1", ANONYMOUS), ("n2", ANONYMOUS), *((name, known(name[0])) for name in ("a1", "a2", "a3", "b1"))]
    await asyncio.gather(*(queue.run(caller, partial(work, name)) for name, caller in arrivals))
    assert served == ["n1", "a1", "b1", "a2", "a3", "n2"]


async def test_too_many_anonymous_documents_are_refused_with_a_retry_time() -> None:
    queue = DocumentQueue(anonymous_share=ALMOST_NOTHING, max_waiting_anonymous=3)
    await occupy(queue)
    waiting = [asyncio.create_task(queue.run(ANONYMOUS, lambda: None)) for _ in range(3)]
    await asyncio.sleep(0)
    with pytest.raises(RateLimited) as refused:
        await queue.run(ANONYMOUS, lambda: None)
    assert refused.value.retry_after == 5
    assert await queue.run(known("a"), lambda: "served") == "served"
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)


async def test_too_many_new_documents_of_one_application_are_refused() -> None:
    queue = DocumentQueue(max_waiting_application=2)
    results = await asyncio.gather(*(queue.run(known("a"), lambda: 1) for _ in range(5)), return_exceptions=True)
    assert results[:3] == [1, 1, 1]
    assert all(isinstance(refused, Unavailable) and refused.retry_after for refused in results[3:])
    assert await queue.run(known("a"), lambda: 2) == 2


async def test_work_of_a_caller_that_is_gone_is_not_done() -> None:
    now, served = 0.0, list[str]()
    queue = DocumentQueue(anonymous_share=0.001, clock=lambda: now)

    def work(name: str) -> None:
        nonlocal now
        now += 1
        served.append(name)

    await queue.run(ANONYMOUS, lambda: work("first"))
    gone = asyncio.create_task(queue.run(ANONYMOUS, lambda: work("gone")))
    await asyncio.sleep(0)
    gone.cancel()
    await asyncio.gather(gone, return_exceptions=True)
    now += 10_000
    await queue.run(ANONYMOUS, lambda: work("last"))
    assert served == ["first", "last"]


async def test_error_of_the_work_reaches_the_caller_that_waited() -> None:
    queue = DocumentQueue()

    def fail() -> None:
        raise ValueError("invalid")

    results = await asyncio.gather(*(queue.run(known("a"), fail) for _ in range(2)), return_exceptions=True)
    assert [str(error) for error in results] == ["invalid", "invalid"]


async def test_pause_of_the_machine_does_not_delay_the_next_document() -> None:
    now = 0.0
    queue = DocumentQueue(clock=lambda: now)

    def pause_machine() -> None:
        nonlocal now
        now += 60

    await queue.run(ANONYMOUS, pause_machine)
    now += MAX_WORK_SECONDS / ANONYMOUS_SHARE
    await asyncio.sleep(0)
    async with asyncio.timeout(60):
        assert await queue.run(ANONYMOUS, lambda: "served") == "served"


@pytest.mark.parametrize(("share", "pause"), [(0.25, 3.0), (0.5, 1.0), (1.0, 0.0)])
def test_pause_leaves_the_rest_of_the_time_to_known_callers(share: float, pause: float) -> None:
    assert pause_after(1.0, share) == pause


async def test_flood_of_anonymous_documents_neither_delays_nor_evicts_those_of_known_callers(tmp_path: Path) -> None:
    async with tenant_on(f"sqlite:///{tmp_path / 'queue.sqlite3'}") as tenant:
        queue = DocumentQueue(anonymous_share=ALMOST_NOTHING, max_waiting_anonymous=5)
        pipeline = GraphQLPipeline(tenant.gateway.schema, tenant.gateway.runner, document_queue=queue)
        used = OperationRequest(query="{ viewer { resources { edges { node { name } } } } }")
        _, document = await pipeline.resolve_document(tenant.account, used)
        flood = [
            asyncio.create_task(pipeline.resolve_document(ANONYMOUS, OperationRequest(query=f"{{ made{number} }}")))
            for number in range(100)
        ]
        async with asyncio.timeout(60):
            while sum(task.done() for task in flood) < 95:  # noqa: ASYNC110 (it is the subject of the test)
                await asyncio.sleep(0.01)
        refused = [task for task in flood if task.done() and isinstance(task.exception(), RateLimited)]
        assert len(refused) == 94, "one is served, five wait"
        fresh = OperationRequest(query="{ viewer { resources { edges { node { resourceId } } } } }")
        await pipeline.resolve_document(tenant.account, fresh)
        assert sum(not task.done() for task in flood) == 5
        assert (await pipeline.resolve_document(ANONYMOUS, used))[1] is document, "documents in the cache do not wait"
        for task in flood:
            task.cancel()
        await asyncio.gather(*flood, return_exceptions=True)


async def test_documents_of_anonymous_callers_evict_none_of_known_callers(tmp_path: Path) -> None:
    async with tenant_on(f"sqlite:///{tmp_path / 'cache.sqlite3'}") as tenant:
        documents = DocumentCache(tenant.gateway.schema, DocumentLimits())
        kept = documents.get("{ __typename }")
        evicted = documents.get("{ first: __typename }", is_known=False)
        for number in range(2 * MAX_ANONYMOUS_DOCUMENTS):
            documents.get(f"{{ a{number}: __typename }}", is_known=False)
        assert documents.find("{ __typename }") is kept
        assert documents.find("{ first: __typename }") is None
        assert documents.get("{ first: __typename }") is not evicted
