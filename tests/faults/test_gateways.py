"""Gateways fail while readings come and displays watch."""

from tests.faults.street import Street, scene


async def test_gateways_that_are_killed_lose_nothing(street: Street) -> None:
    async with scene(street, displays=0) as play:
        for _ in range(street.scale.cycles):
            for gateway in street.gateways:
                await play.meters.more(street.scale.rounds)
                await gateway.kill()
                await play.meters.more(street.scale.rounds)
                await gateway.start()
        await play.end("gateways are killed one after the other")
