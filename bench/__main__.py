"""Run every benchmark. Each is an async function that prints its own tables."""

from collections.abc import Callable, Coroutine
from typing import Any

import uvloop

from bench.graphql import bench_graphql
from bench.live import bench_live
from bench.readings import bench_readings

BENCHMARKS: tuple[Callable[[], Coroutine[Any, Any, None]], ...] = (bench_readings, bench_graphql, bench_live)


for benchmark in BENCHMARKS:
    uvloop.run(benchmark())
