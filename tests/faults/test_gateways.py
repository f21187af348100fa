"""Gateways end, in order or not, while readings come and displays watch."""

import asyncio

from tests.faults.street import Street, scene

GOING_AWAY = 4503


async def test_gateways_that_are_killed_lose_nothing(street: Street) -> None:
    async with scene(street) as play:
        for _ in range(street.scale.cycles):
            for gateway in street.gateways[: 2 if street.scale.long else 1]:
                await play.meters.more(street.scale.rounds)
                await gateway.kill()
                await play.all_live()
                await play.meters.more(street.scale.rounds)
                await gateway.start()
        found = await play.end("gateways are killed one after another")
        assert found.recovered > 0
        assert found.lost_as_told == 0


async def test_a_gateway_that_drains_tells_each_display_once_and_loses_nothing(street: Street) -> None:
    async with scene(street) as play:
        for cycle in range(street.scale.cycles):
            number = cycle % 2
            await play.meters.more(street.scale.rounds)
            await play.all_live()
            there = {one for one in play.displays if one.gateway == number}
            codes = {one: one.codes for one in play.displays}
            street.gateways[number].terminate()
            assert await asyncio.wait_for(street.gateways[number].ended(), 40) == 0
            await play.all_live()
            for one in play.displays:
                assert one.codes == codes[one] + [GOING_AWAY] * (one in there), one.name
            await play.meters.more(street.scale.rounds)
            await street.gateways[number].start()
        found = await play.end("gateways drain one after another")
        assert found.lost_as_told == 0
