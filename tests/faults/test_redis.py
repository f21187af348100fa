"""Redis fails while readings come and displays watch."""

from tests.faults.street import Street, scene


async def test_a_redis_that_comes_back_with_its_data_has_lost_nothing(street: Street) -> None:
    async with scene(street, displays=0) as play:
        for _ in range(street.scale.cycles):
            await play.meters.more(street.scale.rounds)
            await street.redis.kill()
            await play.meters.more(street.scale.rounds)
            await street.redis.start()
            await play.meters.more(street.scale.rounds)
        await play.end("Redis is killed, and comes back with its data")
