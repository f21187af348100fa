"""Batching of concurrent requests into one call."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")


class RequestBatcher(Generic[T, R]):
    """Collect the items submitted while a batch runs, and run them together as the next batch.

    `run_batch` receives the items and returns one result for each. If it raises, `submit` raises the same error for all
    callers of that batch. Many concurrent callers thus cause few calls.
    """

    def __init__(self, run_batch: Callable[[list[T]], Awaitable[Sequence[R]]]) -> None:
        self._run_batch = run_batch
        self._pending: list[tuple[Sequence[T], asyncio.Future[Sequence[R]]]] = []
        self._task: asyncio.Task[None] | None = None

    async def submit(self, items: Sequence[T]) -> Sequence[R]:
        """Return the result of each item."""
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
            except Exception as error:  # noqa: BLE001 (each caller of the batch receives it)
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
