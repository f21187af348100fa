"""Many who ask, and one who answers them together."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")


class Batches(Generic[T, R]):
    """Answers what was asked while an answer was under way by one call: a storm of callers becomes a few calls.

    `work` takes items and answers one result for each. Its error is that of all who asked in the call.
    """

    def __init__(self, work: Callable[[list[T]], Awaitable[Sequence[R]]]) -> None:
        self._work = work
        self._waiting: list[tuple[Sequence[T], asyncio.Future[Sequence[R]]]] = []
        self._working: asyncio.Task[None] | None = None

    async def ask(self, items: Sequence[T]) -> Sequence[R]:
        """The result of each item."""
        answer: asyncio.Future[Sequence[R]] = asyncio.get_running_loop().create_future()
        self._waiting.append((items, answer))
        if self._working is None:
            self._working = asyncio.create_task(self._answer())
        return await answer

    async def _answer(self) -> None:
        while self._waiting:
            asked, self._waiting = self._waiting, []
            try:
                results = await self._work([item for items, _ in asked for item in items])
            except Exception as error:  # noqa: BLE001 (it is not hidden: each who asked gets it)
                for _, answer in asked:
                    if not answer.done():
                        answer.set_exception(error)
                continue
            start = 0
            for items, answer in asked:
                if not answer.done():
                    answer.set_result(results[start : start + len(items)])
                start += len(items)
        self._working = None
