"""Redis, or the way to it, fails while readings come and displays watch."""

from collections.abc import Iterable

from tests.faults.displays import Display
from tests.faults.history import Left, Refused, Told
from tests.faults.street import Street, scene


def losses(display: Display) -> int:
    """How often a display was told that some may be lost."""
    return sum(isinstance(one, Told) and one.recovered is False for one in display.history)


def disturbed(displays: Iterable[Display]) -> list[str]:
    """Whose connection or subscription has ended, and how."""
    return [f"{one.name}: {entry}" for one in displays for entry in one.history if isinstance(entry, Left | Refused)]


async def test_a_redis_that_comes_back_with_its_data_closes_nobody(street: Street) -> None:
    async with scene(street) as play:
        for _ in range(street.scale.cycles):
            await play.meters.more(street.scale.rounds)
            await street.redis.kill()
            await play.meters.more(2)  # readings are acknowledged without it
            await street.redis.start()
            await play.meters.more(street.scale.rounds)
            await play.all_show()
        assert disturbed(play.displays) == []
        await play.end("Redis is killed and restarts with its data")


async def test_a_redis_that_comes_back_empty_is_told_to_everybody(street: Street) -> None:
    async with scene(street) as play:
        for cycle in range(1, street.scale.cycles + 1):
            await play.meters.more(street.scale.rounds)
            await street.redis.kill(keep_data=False)
            await street.redis.start()
            await play.until(
                lambda cycle=cycle: all(losses(one) >= cycle for one in play.displays),  # type: ignore[misc]
                "everybody is told that some may be lost",
            )
            await play.meters.more(street.scale.rounds)
            await play.all_show()
        assert disturbed(play.displays) == []
        await play.end("Redis is killed and restarts empty")


async def test_a_redis_that_comes_back_with_an_old_state_lets_nobody_go_on_from_it(street: Street) -> None:
    async with scene(street) as play:
        gone = play.displays[::3]
        staying = [one for one in play.displays if one not in gone]
        for _ in range(street.scale.cycles):
            await play.meters.more(street.scale.rounds)
            for one in gone:  # what it has seen is in the snapshot, and not what it misses
                one.leave()
            await play.until(lambda: not any(one.live for one in gone), "they have left")
            await play.meters.more(1)  # so that their seats are given up: a snapshot would bring them back for minutes
            await street.redis.command("SAVE")
            await play.meters.more(street.scale.rounds)
            await play.all_show(but=gone)
            seen = {one: losses(one) for one in play.displays}
            await street.redis.kill()
            await street.redis.start("--appendonly", "no")
            await play.meters.more(2)
            for one in gone:
                one.come_back()
            await play.until(
                lambda seen=seen: all(losses(one) > told for one, told in seen.items()),  # type: ignore[misc]
                "everybody is told that some may be lost",
            )
            await play.all_show()
        assert disturbed(staying) == []
        await street.redis.kill(keep_data=False)
        await street.redis.start()
        await play.end("Redis is killed and restarts with an old snapshot")


async def test_a_redis_that_is_silent_for_a_while_stops_no_meter(street: Street) -> None:
    async with scene(street) as play:
        for _ in range(street.scale.cycles):
            await play.meters.more(street.scale.rounds)
            street.redis.pause()
            await play.meters.more(street.scale.rounds)
            street.redis.go_on()
            await play.meters.more(street.scale.rounds)
            await play.all_show()
        assert disturbed(play.displays) == []
        await play.end("Redis hangs and continues")


async def test_connections_of_redis_that_are_killed_again_and_again_are_noticed_by_nobody(street: Street) -> None:
    async with scene(street) as play:
        for _ in range(street.scale.resets):
            await play.meters.more(street.scale.rounds)
            await street.redis.command("CLIENT", "KILL", "TYPE", "pubsub")
        await play.all_show()
        assert disturbed(play.displays) == []
        found = await play.end("the event connections to Redis are killed")
        assert (found.told_of_loss, found.lost_as_told) == (0, 0)
