"""PostgreSQL fails while readings come and displays watch."""

from tests.faults.street import Street, scene


async def test_a_database_that_fails_and_recovers_has_lost_nothing(street: Street) -> None:
    async with scene(street) as play:
        for _ in range(street.scale.cycles):
            await play.meters.more(street.scale.rounds)
            await street.postgresql.crash()
            await play.meters.no_answer()
            await street.postgresql.start()
            await play.meters.more(street.scale.rounds)
            await play.all_show()
        assert not [code for one in play.displays for code in one.codes]
        found = await play.end("PostgreSQL stops immediately and recovers")
        assert found.told_of_loss == 0
