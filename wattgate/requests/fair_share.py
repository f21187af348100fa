"""Fair shares of a bound that all applications use, such as connections, threads, processes and places in a queue.

An owner is an application, or "" for all callers whose application is not known yet. A name that a caller makes up must
never be an owner, because it would get a share of its own.
"""

import asyncio
import threading
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Collection
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager
from contextvars import copy_context
from functools import partial
from typing import Generic, TypeVar

from wattgate.principal import Principal, Role
from wattgate.requests.request_context import CURRENT_PRINCIPAL

T = TypeVar("T")

NO_OWNER = ""
"""The owner of work for callers whose application is not known."""


def owner_of_caller(caller: Principal) -> str:
    """Return the owner of the work of a caller. Anonymous callers share one, because they name any application."""
    return NO_OWNER if caller.role is Role.ANONYMOUS else caller.application_id or NO_OWNER


def user_of_caller(caller: Principal) -> str:
    """Return the user of an application, or its credential, for turns and bounds inside the application."""
    own_user_id = caller.member_user_id or caller.user_id
    user = own_user_id or caller.account_id or caller.credential_name or caller.role.value
    return f"{owner_of_caller(caller)} {user}"


class NoFreeSlot(Exception):
    """No slot was free in time, or too many wait already."""


class FairQueue(Generic[T]):
    """A queue of items of owners. The owners are served in turn, and each owner's items in their order."""

    def __init__(self) -> None:
        self.items: OrderedDict[str, deque[T]] = OrderedDict()
        """The items by owner. The owner that was served least recently is first."""

    def __len__(self) -> int:
        return sum(map(len, self.items.values()))

    def __bool__(self) -> bool:
        return bool(self.items)

    def owners(self) -> set[str]:
        """Return the owners that have items in the queue."""
        return set(self.items)

    def count(self, owner: str) -> int:
        """Return the number of items of an owner."""
        return len(self.items.get(owner, ()))

    def push(self, owner: str, item: T, position: int | None = None) -> None:
        """Add an item as the last one of its owner, or at a position among those of its owner."""
        items = self.items.setdefault(owner, deque())
        items.insert(len(items) if position is None else position, item)

    def pop(self, may_have: Callable[[str], bool] = lambda _: True) -> tuple[str, T] | None:
        """Remove and return the next owner and its first item; None if no owner that may have one waits."""
        owner = next(filter(may_have, self.items), None)
        if owner is None:
            return None
        items = self.items.pop(owner)
        item = items.popleft()
        if items:
            self.items[owner] = items
        return owner, item

    def pop_surplus(self, newcomer: str) -> T | None:
        """Remove and return the last item of the owner with most, if it has more than the newcomer with one more."""
        owner = max(self.items, key=self.count, default=newcomer)
        if self.count(owner) <= self.count(newcomer) + 1:
            return None
        items = self.items[owner]
        return items.pop()

    def remove(self, owner: str, item: T) -> None:
        """Remove an item, if it is in the queue."""
        items = self.items.get(owner)
        if items is not None and item in items:
            items.remove(item)
            if not items:
                del self.items[owner]


class _Waiter:
    """A task that waits for slots. Other threads may grant them."""

    def __init__(self, amount: int, user: str) -> None:
        self.amount, self.user = amount, user
        self._loop = asyncio.get_running_loop()
        self.granted: asyncio.Future[bool] = self._loop.create_future()

    def answer(self, *, is_granted: bool, on_refusal: Callable[[], None]) -> bool:
        """Wake the task. Call `on_refusal` if it waits no more. Return whether its event loop still runs."""

        def wake() -> None:
            if self.granted.done():
                on_refusal()
            else:
                self.granted.set_result(is_granted)

        try:
            self._loop.call_soon_threadsafe(wake)
        except RuntimeError:  # the loop is closed
            return False
        return True


class FairShare:
    """A bound of `slots`, of which one owner has at most `share` at a time.

    The other slots stay free for other owners, so that one whose work takes long leaves them served. Callers that wait
    are served in turn by owner. If `max_waiting` wait already, the owner with most of them loses its last one.

    The users of an owner are served in turn, too, if the callers name them.

    A caller may take an amount of slots at once, of at most the share. While one waits for more slots than are free,
    nobody overtakes it.

    Slots can be taken in event loops, and given back in any thread.
    """

    def __init__(
        self, slots: int, *, share: int, max_waiting: int | None = None, max_wait_seconds: float | None = None
    ) -> None:
        if not 1 <= share <= slots:
            raise ValueError(f"a share of {share} is not between 1 and the number of slots, {slots}")
        self._free = slots
        self._share = share
        self._max_waiting = max_waiting
        self.max_wait_seconds = max_wait_seconds
        self._used: dict[str, int] = {}
        self._waiting: FairQueue[_Waiter] = FairQueue()
        self._is_blocked = False
        """Whether the next one that waits has a share left, and needs more slots than are free."""
        self._lock = threading.Lock()

    @property
    def owner_count(self) -> int:
        """The number of owners that have or wait for slots."""
        with self._lock:
            return len(self._used.keys() | self._waiting.owners())

    @property
    def waiting_count(self) -> int:
        """The number of callers that wait for a slot."""
        return len(self._waiting)

    @asynccontextmanager
    async def slot(self, owner: str, *, user: str = "") -> AsyncIterator[None]:
        """Hold a slot for an owner until the context exits. Raise NoFreeSlot as `take` does."""
        await self.take(owner, user=user)
        try:
            yield
        finally:
            self.give_back(owner)

    def try_take(self, owner: str, amount: int = 1) -> bool:
        """Take slots for an owner if it need not wait. Return whether it has them."""
        with self._lock:  # as `_take`: each edge of a request takes a slot, and a call costs as much as this
            used = self._used.get(owner, 0) + amount
            if amount > self._free or used > self._share or self._is_blocked:
                return False
            self._free -= amount
            self._used[owner] = used
            return True

    async def take(self, owner: str, amount: int = 1, *, max_wait_seconds: float | None = None, user: str = "") -> None:
        """Take slots for an owner, and wait for them. Raise NoFreeSlot if too many wait, or after the maximum time.

        `max_wait_seconds` replaces the maximum time of this object.
        """
        if not 1 <= amount <= self._share:
            raise ValueError(f"an amount of {amount} is not between 1 and the share, {self._share}")
        with self._lock:
            if not self._is_blocked and self._take(owner, amount):
                return
            waiter = _Waiter(amount, user)
            if not self._enqueue(owner, waiter):
                raise NoFreeSlot
        try:
            async with asyncio.timeout(self.max_wait_seconds if max_wait_seconds is None else max_wait_seconds):
                is_granted = await waiter.granted
        except BaseException as error:
            self._leave(owner, waiter)
            if isinstance(error, TimeoutError):
                raise NoFreeSlot from None
            raise
        if not is_granted:
            raise NoFreeSlot

    def give_back(self, owner: str, amount: int = 1) -> None:
        """Give slots of an owner back. The next one that waits gets them."""
        with self._lock:  # as `_release`
            self._free += amount
            if (used := self._used.pop(owner) - amount) > 0:
                self._used[owner] = used
            if self._waiting.items:  # mostly nobody waits
                self._grant()

    def _fits_share(self, owner: str) -> bool:
        """Return whether the share of an owner that waits covers what its first waiter needs."""
        return self._used.get(owner, 0) + self._waiting.items[owner][0].amount <= self._share

    def _take(self, owner: str, amount: int) -> bool:
        used = self._used.get(owner, 0) + amount
        if amount > self._free or used > self._share:
            return False
        self._free -= amount
        self._used[owner] = used
        return True

    def _release(self, owner: str, amount: int) -> None:
        self._free += amount
        used = self._used.pop(owner) - amount
        if used:
            self._used[owner] = used

    def _grant(self) -> None:
        """Give free slots to callers that wait, if their owners have a share left."""
        self._is_blocked = False
        while (owner := next(filter(self._fits_share, self._waiting.items), None)) is not None:
            amount = self._waiting.items[owner][0].amount
            if amount > self._free:
                self._is_blocked = True
                return
            popped = self._waiting.pop(owner.__eq__)
            assert popped is not None  # the owner waits
            self._take(owner, amount)
            if not popped[1].answer(is_granted=True, on_refusal=partial(self.give_back, owner, amount)):
                self._release(owner, amount)

    def _enqueue(self, owner: str, waiter: _Waiter) -> bool:
        """Let a waiter wait. Return False if too many wait already."""
        if self._max_waiting is not None and len(self._waiting) >= self._max_waiting:
            surplus = self._waiting.pop_surplus(owner)
            if surplus is None:
                return False
            surplus.answer(is_granted=False, on_refusal=lambda: None)
        self._waiting.push(
            owner, waiter, _turn(self._waiting.items.get(owner, ()), waiter.user) if waiter.user else None
        )
        self._grant()  # it may be the one that blocks
        return True

    def _leave(self, owner: str, waiter: _Waiter) -> None:
        """Give up waiting. Slots that were granted meanwhile go to the next one."""
        with self._lock:
            self._waiting.remove(owner, waiter)
            self._grant()  # it may have blocked others
        if waiter.granted.done() and not waiter.granted.cancelled() and waiter.granted.result():
            self.give_back(owner, waiter.amount)


def _turn(waiting: Collection[_Waiter], user: str) -> int:
    """Return the position of the next waiter of a user among those of its owner.

    It comes after the waiters of a round in which each user has one, and before the second one of any other user in the
    next round.
    """
    rounds, own = Counter[str](), sum(waiter.user == user for waiter in waiting)
    for position, waiter in enumerate(waiting):
        rounds[waiter.user] += 1
        if rounds[waiter.user] > own + 1:
            return position
    return len(waiting)


class FairThreads:
    """Threads of which one owner has at most `share` at a time. The bounds are those of `FairShare`.

    Work that has begun holds its thread to the end, also if nobody waits for it any more: a thread cannot be stopped.
    """

    def __init__(
        self,
        threads: int,
        *,
        share: int,
        name: str,
        max_waiting: int | None = None,
        max_wait_seconds: float | None = None,
        initializer: Callable[[], None] | None = None,
    ) -> None:
        self.slots = FairShare(threads, share=share, max_waiting=max_waiting, max_wait_seconds=max_wait_seconds)
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix=name, initializer=initializer)

    async def submit(self, owner: str, work: Callable[[], T], *, user: str = "") -> Future[T]:
        """Wait for a thread of the owner, and start work with the context of the caller. Raise as `FairShare.take`."""
        await self.slots.take(owner, user=user)
        try:
            job = self._threads.submit(copy_context().run, work)
        except BaseException:
            self.slots.give_back(owner)
            raise
        job.add_done_callback(lambda _: self.slots.give_back(owner))
        return job

    async def run(self, owner: str, work: Callable[[], T]) -> T:
        """Return the result of work in a thread of the owner. Raise NoFreeSlot as `FairShare.take` does."""
        return await asyncio.wrap_future(await self.submit(owner, work))


# Threads for the work of a request that would hold the event loop: encoding, compression, digests, decoding.

REQUEST_THREADS = FairThreads(4, share=3, name="requests")
"""The threads of the process. One application has all but one. The interpreter runs one at a time in any case."""


async def run_in_thread(work: Callable[[], T]) -> T:
    """Return the result of work in a thread that the application of the current caller has. Wait for it in turn."""
    caller = CURRENT_PRINCIPAL.get()
    return await REQUEST_THREADS.run(NO_OWNER if caller is None else owner_of_caller(caller), work)
