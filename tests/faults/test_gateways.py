"""Gateways are killed or drain while meters send and displays are subscribed."""

import asyncio

import pytest

from tests.faults.environment import Environment, open_scene

GOING_AWAY = 4503


@pytest.mark.long("kills and starts gateway processes; faults of Redis and of the network stay in the short form")
async def test_killing_gateways_loses_nothing(environment: Environment) -> None:
    async with open_scene(environment) as scene:
        for _ in range(environment.scale.cycles):
            for gateway in environment.gateways[: 2 if environment.scale.long else 1]:
                await scene.meters.wait_for_rounds(environment.scale.rounds)
                await gateway.kill()
                await scene.wait_until_live()
                await scene.meters.wait_for_rounds(environment.scale.rounds)
                await gateway.start()
        findings = await scene.finish("gateways are killed one after another")
        assert findings.recovered > 0
        assert findings.reported_missing == 0


@pytest.mark.long("drains gateways under load; killed gateways stay in the short form")
async def test_draining_gateway_closes_each_display_once_and_loses_nothing(environment: Environment) -> None:
    async with open_scene(environment) as scene:
        for cycle in range(environment.scale.cycles):
            number = cycle % 2
            await scene.meters.wait_for_rounds(environment.scale.rounds)
            await scene.wait_until_live()
            connected = {display for display in scene.displays if display.gateway == number}
            codes = {display: display.codes for display in scene.displays}
            environment.gateways[number].terminate()
            assert await asyncio.wait_for(environment.gateways[number].wait_until_ended(), 60) == 0
            await scene.wait_until_live()
            for display in scene.displays:
                assert display.codes == codes[display] + [GOING_AWAY] * (display in connected), display.name
            await scene.meters.wait_for_rounds(environment.scale.rounds)
            await environment.gateways[number].start()
        findings = await scene.finish("gateways drain one after another")
        assert findings.reported_missing == 0
