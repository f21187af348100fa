"""Runs every benchmark. Each is an async function that prints its own table."""

import asyncio
from collections.abc import Awaitable, Callable

from bench.readings import bench_readings

BENCHMARKS: tuple[Callable[[], Awaitable[None]], ...] = (bench_readings,)


async def main() -> None:
    for benchmark in BENCHMARKS:
        await benchmark()


asyncio.run(main())
