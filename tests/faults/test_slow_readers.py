"""Some displays stop reading while others continue."""

import pytest

from tests.faults.environment import Environment, open_scene

MAX_GROWTH_BYTES = 16 * 2**20
"""Maximum growth of a gateway with some slow readers. It sends them several times as much."""

BURST = 50
TOO_SLOW = 4508


@pytest.mark.long("fills the queues of slow displays; the slow readers of `connections` stay in the short form")
async def test_slow_readers_delay_no_other_display_and_need_little_memory(environment: Environment) -> None:
    scale = environment.scale
    async with open_scene(
        environment, resources=scale.meters, displays=scale.displays // 3, slow=scale.slow_displays
    ) as scene:
        scene.meters.burst = BURST
        await scene.meters.wait_for_rounds(2)
        await scene.wait_until_shown()
        for display in scene.slow:
            display.pause()
        before = [gateway.memory for gateway in environment.gateways]
        await scene.meters.wait_for_rounds(scale.slow_rounds)
        await scene.wait_until_shown(exclude=scene.slow)
        for gateway, memory in zip(environment.gateways, before, strict=True):
            assert gateway.memory < memory + MAX_GROWTH_BYTES
        if scale.long:
            for gateway in environment.gateways:
                await gateway.wait_for_metric(
                    f'wattgate_client_num_server_disconnects_total{{code="{TOO_SLOW}"}}', len(scene.slow) // 2
                )
        for display in scene.slow:
            display.resume()
        await scene.wait_until_shown()
        assert not [code for display in scene.displays if display not in scene.slow for code in display.codes]
        findings = await scene.finish("some displays stop reading for a while")
        assert findings.conflated > 0 or findings.reported_losses > 0
