"""Run every benchmark, then print each goal beside its figure. Each benchmark prints its own tables."""

from collections.abc import Callable, Coroutine
from typing import Any

import uvloop

from bench.commands import bench_commands
from bench.goals import Judgement, print_goals
from bench.graphql import bench_graphql
from bench.live import bench_live
from bench.readings import bench_readings

BENCHMARKS: tuple[Callable[[], Coroutine[Any, Any, list[Judgement]]], ...] = (
    bench_commands,
    bench_readings,
    bench_graphql,
    bench_live,
)

print_goals([judgement for benchmark in BENCHMARKS for judgement in uvloop.run(benchmark())])
