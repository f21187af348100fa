"""Readings as Apache Arrow IPC streams.

pyarrow takes 25 MB of memory, and many gateways never get such a stream. The first one imports it, in a thread.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any

from wattgate.requests.fair_share import run_in_thread
from wattgate.rest_compat.legacy_request import RerunOperation, RestResult


async def stream_readings(result: RestResult, rerun: RerunOperation) -> AsyncIterator[bytes]:
    """Yield an Arrow stream as `readings.stream_readings` does."""
    readings = await _import_readings()
    async with aclosing(readings.stream_readings(result, rerun)) as pieces:
        async for piece in pieces:
            yield piece


async def read_arrays(
    chunks: AsyncIterator[bytes], charge: Callable[[int, int], Awaitable[None]]
) -> AsyncIterator[tuple[tuple[Any, Any], list[tuple[int, str]], int]]:
    """Yield the rows of a stream as `readings.read_arrays` does."""
    readings = await _import_readings()
    async with aclosing(readings.read_arrays(chunks, charge)) as batches:
        async for batch in batches:
            yield batch


async def _import_readings() -> ModuleType:
    return await run_in_thread(partial(import_module, f"{__name__}.readings"))
