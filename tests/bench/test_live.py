"""The benchmark of live delivery in its smallest form: everything that is measured is delivered. No time is judged."""

from pathlib import Path

import pytest

from bench import bare_send, live
from bench.live import (
    Contender,
    Load,
    Size,
    bare_sends,
    displays,
    gateway_on,
    measured,
    servers_of_node,
    strawberry_alone,
)
from tests.support.node import Node, node

FEW = Size(crowd=5, homes=4, warm=2, idle=0)
LITTLE = Load(3, 0.01)


def little(contender: Contender) -> Contender:
    return Contender(contender.name, contender.stage, LITTLE, LITTLE)


async def test_the_gateway_delivers_what_is_measured_and_so_does_plain_strawberry(tmp_path: Path) -> None:
    async with gateway_on(tmp_path, FEW) as (made, gateway):
        for contender in (gateway, strawberry_alone()):
            figures = await measured(little(contender), made.resource_ids, FEW)
            assert figures.rate > 0
        homes = await made.add_homes(made.resource_ids[1:])
        await displays(little(gateway), made.resource_ids[1:], homes)  # waits for a frame on each display


async def test_the_servers_of_node_deliver_what_is_measured(node_scripts: Node) -> None:
    resource_ids = [f"resource {number}" for number in range(1 + FEW.homes)]
    with node(Path("bench/node")) as found:
        for contender in servers_of_node(found):
            assert (await measured(little(contender), resource_ids, FEW)).rate > 0


async def test_bare_sends_arrive() -> None:
    await bare_sends(FEW, events=2)  # waits for every byte of them


@pytest.mark.parametrize(
    ("length", "error"),
    [
        pytest.param(len(bare_send.MESSAGE) + 1, TimeoutError, id="bytes are missing"),
        pytest.param(len(bare_send.MESSAGE) - 1, RuntimeError, id="too many bytes"),
    ],
)
async def test_bare_sends_of_another_length_than_expected_fail(
    monkeypatch: pytest.MonkeyPatch, length: int, error: type[Exception]
) -> None:
    monkeypatch.setattr(live, "SETTLED_WITHIN", bare_send.PAUSE + 1)
    monkeypatch.setattr(bare_send, "MESSAGE", bytes(length))  # in this process, not in that of the server
    with pytest.raises(error):
        await bare_sends(FEW, events=2)
