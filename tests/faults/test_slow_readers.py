"""Some displays do not read while others do."""

from tests.faults.street import Street, scene

MOST_GROWTH = 16 * 2**20
"""Bytes by which a gateway may grow while it has some slow readers; what it sends them is several times as much."""

BURST = 50
TOO_SLOW = 4508


async def test_slow_readers_hold_up_nobody_and_cost_little(street: Street) -> None:
    scale = street.scale
    async with scene(street, resources=scale.meters, displays=scale.displays // 3, slow=scale.slow) as play:
        play.meters.burst = BURST
        await play.meters.more(2)
        await play.all_show()
        for one in play.slow:
            one.pause()
        before = [gateway.memory for gateway in street.gateways]
        await play.meters.more(scale.slow_rounds)
        await play.all_show(but=play.slow)
        for gateway, memory in zip(street.gateways, before, strict=True):
            assert gateway.memory < memory + MOST_GROWTH
        if scale.long:
            for gateway in street.gateways:
                await gateway.counts(
                    f'wattgate_client_num_server_disconnects_total{{code="{TOO_SLOW}"}}', len(play.slow) // 2
                )
        for one in play.slow:
            one.go_on()
        await play.all_show()
        assert not [code for one in play.displays if one not in play.slow for code in one.codes]
        found = await play.end("some displays stop reading for a while")
        assert found.conflated > 0 or found.told_of_loss > 0
