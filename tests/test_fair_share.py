"""Fair shares of a bound: no owner takes all slots, callers that wait are served in turn, and nothing is lost."""

import asyncio
import threading
from pathlib import Path

import pytest

import wattgate
from wattgate.principal import Principal, Role
from wattgate.requests.fair_share import FairQueue, FairShare, FairThreads, NoFreeSlot, run_in_thread
from wattgate.requests.request_context import CURRENT_PRINCIPAL

ONE_TURN = 3
"""Turns of the event loop in which a task that was granted a slot continues."""


async def turns(count: int = ONE_TURN) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


class Holders:
    """Tasks that each hold a slot until they may end. `served` has their owners in the order in which they got it."""

    def __init__(self, share: FairShare) -> None:
        self.served: list[str] = []
        self._share = share
        self._may_end = asyncio.Semaphore(0)
        self.tasks: list[asyncio.Task[None]] = []

    async def start(self, *owners: str) -> None:
        self.tasks += [asyncio.create_task(self._hold(owner)) for owner in owners]
        await turns()

    async def end_one(self) -> None:
        """Let the task that has held its slot for the longest time end."""
        self._may_end.release()
        await turns()

    async def end_all(self) -> list[BaseException | None]:
        for _ in self.tasks:
            self._may_end.release()
        return await asyncio.gather(*self.tasks, return_exceptions=True)

    async def _hold(self, owner: str) -> None:
        async with self._share.slot(owner):
            self.served.append(owner)
            await self._may_end.acquire()


async def test_one_owner_leaves_slots_to_others_and_gets_no_more_than_its_share() -> None:
    share = FairShare(4, share=3)
    holders = Holders(share)
    await holders.start(*["busy"] * 10)
    assert holders.served == ["busy"] * 3
    await holders.start("other")
    assert holders.served[3:] == ["other"]
    await holders.end_all()
    assert holders.served.count("busy") == 10
    assert share.owner_count == 0


async def test_owners_that_wait_are_served_in_turn() -> None:
    holders = Holders(FairShare(1, share=1))
    await holders.start(*["busy"] * 5, "first", "second", "first")
    for _ in range(7):
        await holders.end_one()
    assert holders.served == ["busy", "busy", "first", "second", "busy", "first", "busy", "busy"]
    await holders.end_all()


async def test_users_of_an_owner_that_wait_are_served_in_turn() -> None:
    share, served = FairShare(1, share=1), list[str]()

    async def hold(user: str) -> None:
        async with share.slot("owner", user=user):
            served.append(user)

    await share.take("owner")
    tasks = [asyncio.create_task(hold(user)) for user in ("busy", "busy", "busy", "other", "third", "other")]
    await turns()
    share.give_back("owner")
    await asyncio.gather(*tasks)
    assert served == ["busy", "other", "third", "busy", "other", "busy"]


async def test_full_queue_refuses_the_owner_with_most_that_waits() -> None:
    holders = Holders(FairShare(1, share=1, max_waiting=4))
    await holders.start("busy", *["busy"] * 4, "busy")  # the last one is refused: the others of its owner wait already
    await holders.start("other", "other")  # two of the busy owner lose their places
    await holders.start("other")  # both have two: nobody has more than the newcomer would have
    outcomes = await holders.end_all()
    refused = [number for number, outcome in enumerate(outcomes) if isinstance(outcome, NoFreeSlot)]
    assert refused == [3, 4, 5, 8]
    assert holders.served == ["busy", "busy", "other", "busy", "other"]


async def test_slot_is_neither_lost_nor_lent_twice_by_callers_that_stop_to_wait() -> None:
    """Cancel each waiting task at each of its steps, also in the turn in which it gets the slot."""
    for steps in range(6):
        share = FairShare(1, share=1)
        await share.take("a")
        waiting = asyncio.create_task(share.take("b"))
        await turns()
        share.give_back("a")
        await turns(steps)
        waiting.cancel()
        (outcome,) = await asyncio.gather(waiting, return_exceptions=True)
        if outcome is None:
            share.give_back("b")
        await turns()
        assert [share.try_take("c"), share.try_take("d")] == [True, False], steps


async def test_waiting_ends_after_its_maximum_time() -> None:
    share = FairShare(1, share=1, max_wait_seconds=0.001)
    await share.take("a")
    with pytest.raises(NoFreeSlot):
        await share.take("b")
    assert share.owner_count == 1
    share.give_back("a")
    assert share.try_take("b")


async def test_slot_that_a_thread_gives_back_wakes_the_one_that_waits() -> None:
    share = FairShare(1, share=1)
    await share.take("a")
    waiting = asyncio.create_task(share.take("b"))
    await turns()
    thread = threading.Thread(target=share.give_back, args=("a",))
    thread.start()
    async with asyncio.timeout(30):
        await waiting
    thread.join()


def test_waiter_of_an_ended_event_loop_is_passed_over() -> None:
    share = FairShare(1, share=1)

    async def wait_in_vain() -> None:
        await share.take("a")
        asyncio.get_running_loop().create_task(share.take("b"))
        await turns()

    loop = asyncio.new_event_loop()
    loop.run_until_complete(wait_in_vain())
    pending = asyncio.all_tasks(loop)
    loop.close()
    share.give_back("a")
    assert share.try_take("c")
    for task in pending:
        task._log_destroy_pending = False  # type: ignore[attr-defined]


@pytest.mark.parametrize(("slots", "share"), [(0, 0), (1, 2), (2, 0)])
def test_share_outside_the_slots_is_refused(slots: int, share: int) -> None:
    with pytest.raises(ValueError, match="is not between 1 and the number of slots"):
        FairShare(slots, share=share)


async def test_amounts_count_against_the_share_and_the_slots() -> None:
    share = FairShare(10, share=6)
    assert share.try_take("a", 4)
    assert not share.try_take("a", 3)
    await share.take("a", 2)
    assert not share.try_take("b", 5)
    assert share.try_take("b", 4)
    share.give_back("a", 6)
    share.give_back("b", 4)
    assert share.owner_count == 0
    with pytest.raises(ValueError, match="share"):
        await share.take("a", 7)


async def test_nobody_overtakes_one_that_waits_for_a_large_amount() -> None:
    share = FairShare(10, share=10)
    await share.take("a", 4)
    await share.take("b", 4)
    large = asyncio.create_task(share.take("c", 6))
    await turns()
    small = asyncio.create_task(share.take("d", 1))
    await turns()
    assert not share.try_take("d", 1)
    assert not small.done()
    share.give_back("a", 4)
    await turns()
    assert large.done()
    assert not small.done()
    share.give_back("b", 4)
    await small
    share.give_back("c", 6)
    share.give_back("d", 1)
    assert share.try_take("e", 10)


async def test_others_go_on_when_the_one_with_a_large_amount_stops_to_wait() -> None:
    share = FairShare(10, share=10, max_waiting=5)
    await share.take("a", 8)
    large = asyncio.create_task(share.take("b", 6))
    await turns()
    small = asyncio.create_task(share.take("c", 2))
    await turns()
    large.cancel()
    await turns()
    assert small.done()
    share.give_back("a", 8)
    share.give_back("c", 2)
    assert share.owner_count == 0


async def test_amount_beyond_the_share_of_its_owner_does_not_block_others() -> None:
    share = FairShare(10, share=5)
    await share.take("a", 4)
    waiting = asyncio.create_task(share.take("a", 3))
    await turns()
    assert share.try_take("b", 5)
    share.give_back("a", 4)
    await waiting
    share.give_back("a", 3)
    share.give_back("b", 5)


def test_queue_passes_over_owners_that_may_have_nothing() -> None:
    queue = FairQueue[int]()
    for owner, item in (("a", 1), ("a", 2), ("b", 3)):
        queue.push(owner, item)
    assert queue.pop(lambda owner: owner != "a") == ("b", 3)
    assert queue.pop(lambda owner: owner != "a") is None
    queue.remove("a", 1)
    queue.remove("a", 9)
    assert (len(queue), queue.pop(), queue.pop(), bool(queue)) == (1, ("a", 2), None, False)


async def test_threads_of_one_owner_leave_one_to_others_also_when_nobody_waits_for_them() -> None:
    threads = FairThreads(2, share=1, name="test")
    may_end = threading.Event()
    held = asyncio.create_task(threads.run("busy", may_end.wait))
    await turns()
    held.cancel()
    waiting = asyncio.create_task(threads.run("busy", lambda: "late"))
    try:
        assert await threads.run("other", lambda: "done") == "done"
        assert not waiting.done()
    finally:
        may_end.set()
    assert await waiting == "late"


async def test_work_in_a_thread_has_the_context_of_its_caller() -> None:
    token = CURRENT_PRINCIPAL.set(Principal(Role.SYSTEM, application_id="one"))
    try:
        assert await run_in_thread(CURRENT_PRINCIPAL.get) == Principal(Role.SYSTEM, application_id="one")
    finally:
        CURRENT_PRINCIPAL.reset(token)


def test_work_of_requests_uses_the_threads_that_applications_share() -> None:
    """asyncio's own threads have no shares. The workers and the renderer use them, within bounds of their own."""
    folders = (Path(wattgate.__file__).parent / name for name in ("graphql", "operations", "realtime", "rest_compat"))
    modules = [module for folder in folders for module in folder.rglob("*.py")]
    assert modules
    assert [str(module) for module in modules if "to_thread" in module.read_text(encoding="utf-8")] == []
