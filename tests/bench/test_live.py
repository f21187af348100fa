"""The benchmark of live delivery at its smallest size. Tests check that every message arrives, never the times."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path

import pytest

from bench import bare_send, live
from bench.displays import add_homes_with_readings
from bench.live import (
    LiveContender,
    PublishRate,
    SubscriberCounts,
    by_hand_contender,
    gateway_contender,
    measure,
    measure_bare_sends,
    measure_displays,
    node_contenders,
    strawberry_contender,
)
from tests.support.node import Node, node

FEW_SUBSCRIBERS = SubscriberCounts(fan_out=5, homes=4, warm_up=2, idle_seconds=0)
LOW_RATE = PublishRate(3, 0.01)


def with_low_rate(contender: LiveContender) -> LiveContender:
    return LiveContender(contender.name, contender.start, LOW_RATE, LOW_RATE)


@asynccontextmanager
async def started(contender: LiveContender) -> AsyncIterator[LiveContender]:
    """Start the server of a contender, and yield a contender whose measurements all use it."""
    async with contender.start() as server:
        yield LiveContender(contender.name, lambda: nullcontext(server), LOW_RATE, LOW_RATE)


@pytest.mark.long("measures real servers, which is a test of the benchmark and not of the gateway")
async def test_gateway_floor_and_plain_strawberry_deliver_all_measured_messages(tmp_path: Path) -> None:
    async with gateway_contender(tmp_path, FEW_SUBSCRIBERS) as (seeded, gateway):
        homes = await add_homes_with_readings(seeded, seeded.resource_ids[1:])
        for contender in (gateway, by_hand_contender(gateway)):
            async with started(contender) as running:
                figures = await measure(running, seeded.resource_ids, FEW_SUBSCRIBERS)
                assert figures.rate > 0
                await measure_displays(  # waits for a frame on each display
                    running, seeded.resource_ids[1:], homes, settle_seconds=0
                )
        figures = await measure(with_low_rate(strawberry_contender()), seeded.resource_ids, FEW_SUBSCRIBERS)
        assert figures.rate > 0


@pytest.mark.long("measures real servers, which is a test of the benchmark and not of the gateway")
async def test_node_servers_deliver_all_measured_messages(node_scripts: Node) -> None:
    resource_ids = [f"resource {number}" for number in range(1 + FEW_SUBSCRIBERS.homes)]
    with node(Path("bench/node")) as node_runtime:
        for contender in node_contenders(node_runtime):
            assert (await measure(with_low_rate(contender), resource_ids, FEW_SUBSCRIBERS)).rate > 0


async def test_bare_sends_deliver_every_byte() -> None:
    await measure_bare_sends(FEW_SUBSCRIBERS, events=2)  # waits for every byte


@pytest.mark.parametrize(
    ("length", "error"),
    [
        pytest.param(len(bare_send.MESSAGE) + 1, TimeoutError, id="bytes are missing"),
        pytest.param(len(bare_send.MESSAGE) - 1, RuntimeError, id="too many bytes"),
    ],
)
async def test_bare_sends_fail_if_the_byte_count_differs(
    monkeypatch: pytest.MonkeyPatch, length: int, error: type[Exception]
) -> None:
    monkeypatch.setattr(live, "WAIT_TIMEOUT_SECONDS", bare_send.START_DELAY_SECONDS + 1)
    monkeypatch.setattr(bare_send, "MESSAGE", bytes(length))  # in this process, not in the server
    with pytest.raises(error):
        await measure_bare_sends(FEW_SUBSCRIBERS, events=2)
