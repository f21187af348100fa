"""Runs every benchmark. Each is an async function that prints its own table."""

import asyncio
from collections.abc import Awaitable, Callable

BENCHMARKS: tuple[Callable[[], Awaitable[None]], ...] = ()


async def main() -> None:
    if not BENCHMARKS:
        print("There are no benchmarks yet.")
    for benchmark in BENCHMARKS:
        await benchmark()


asyncio.run(main())
