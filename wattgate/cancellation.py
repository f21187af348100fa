"""The end of tasks that repeat their work."""

import asyncio


def raise_if_cancelled() -> None:
    """Raise CancelledError if the current task was asked to end, although the request was lost below.

    A library can lose it in two ways: `asyncio.wait_for` of Python 3.11 drops it if the awaited future is done at the
    same moment, and an exception of a context manager that exits replaces it. A loop that catches the exceptions of
    its work calls this function before it goes on. Otherwise the loop, and what waits for its end, would never end.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError
