"""Many who ask, and one who answers them together."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")


class RequestBatcher(Generic[T, R]):
    """Answers what was asked while an answer was under way by one call: a storm of callers becomes a few calls.

    `work` takes items and answers one result for each. Its error is that of all who asked in the call.
    """

    def __init__(self, run_batch: Callable[[list[T]], Awaitable[Sequence[R]]]) -> None:
        self._run_batch = run_batch
        self._pending: list[tuple[Sequence[T], asyncio.Future[Sequence[R]]]] = []
        self._task: asyncio.Task[None] | None = None

    async def submit(self, items: Sequence[T]) -> Sequence[R]:
        """The result of each item."""
        results: asyncio.Future[Sequence[R]] = asyncio.get_running_loop().create_future()
        self._pending.append((items, results))
        if self._task is None:
            self._task = asyncio.create_task(self._process_pending())
        return await results

    async def _process_pending(self) -> None:
        while self._pending:
            batch, self._pending = self._pending, []
            try:
                results = await self._run_batch([item for items, _ in batch for item in items])
            except Exception as error:  # noqa: BLE001 (it is not hidden: each who asked gets it)
                for _, future in batch:
                    if not future.done():
                        future.set_exception(error)
                continue
            start = 0
            for items, future in batch:
                if not future.done():
                    future.set_result(results[start : start + len(items)])
                start += len(items)
        self._task = None
