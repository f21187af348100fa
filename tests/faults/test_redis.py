"""Redis or the connection to it fails while meters send and displays are subscribed."""

from collections.abc import Iterable

import pytest

from tests.faults.displays import Display, reported_losses
from tests.faults.environment import Environment, open_scene
from tests.faults.history import Disconnected, SubscriptionEnded


def interruptions(displays: Iterable[Display]) -> list[str]:
    """Return the ended connections and subscriptions of displays."""
    return [
        f"{display.name}: {entry}"
        for display in displays
        for entry in display.history
        if isinstance(entry, Disconnected | SubscriptionEnded)
    ]


@pytest.mark.long("breaks a Redis under load; `test_redis_bus_faults.py` tests the same faults of a bus")
async def test_restart_of_redis_with_its_data_closes_no_connection(environment: Environment) -> None:
    async with open_scene(environment) as scene:
        for _ in range(environment.scale.cycles):
            await scene.meters.wait_for_rounds(environment.scale.rounds)
            await environment.redis.kill()
            await scene.meters.wait_for_rounds(2)  # readings are acknowledged without Redis
            await environment.redis.start()
            await scene.meters.wait_for_rounds(environment.scale.rounds)
            await scene.wait_until_shown()
        assert interruptions(scene.displays) == []
        await scene.finish("Redis is killed and restarts with its data")


@pytest.mark.long("breaks a Redis under load; `test_redis_bus_faults.py` tests the same faults of a bus")
async def test_restart_of_redis_without_data_is_reported_to_all(environment: Environment) -> None:
    async with open_scene(environment) as scene:
        for cycle in range(1, environment.scale.cycles + 1):
            await scene.meters.wait_for_rounds(environment.scale.rounds)
            await environment.redis.kill(keep_data=False)
            await environment.redis.start()
            await scene.wait_until(
                lambda cycle=cycle: all(reported_losses(display) >= cycle for display in scene.displays),  # type: ignore[misc]
                "every display receives recovered: false",
            )
            await scene.meters.wait_for_rounds(environment.scale.rounds)
            await scene.wait_until_shown()
        assert interruptions(scene.displays) == []
        await scene.finish("Redis is killed and restarts empty")


@pytest.mark.long("breaks a Redis under load; `test_redis_bus_faults.py` tests the same faults of a bus")
async def test_restart_of_redis_with_an_old_state_is_reported_to_all(environment: Environment) -> None:
    async with open_scene(environment) as scene:
        disconnected = scene.displays[::3]
        staying = [display for display in scene.displays if display not in disconnected]
        for _ in range(environment.scale.cycles):
            await scene.meters.wait_for_rounds(environment.scale.rounds)
            for display in disconnected:  # the snapshot has the readings that it received, but not those that it misses
                display.disconnect()
            await scene.wait_until(lambda: not any(display.live for display in disconnected), "they are disconnected")
            await scene.meters.wait_for_rounds(
                1
            )  # so that their slots are released: the snapshot would restore them for minutes
            await environment.redis.command("SAVE")
            await scene.meters.wait_for_rounds(environment.scale.rounds)
            await scene.wait_until_shown(exclude=disconnected)
            counts = {display: reported_losses(display) for display in scene.displays}
            await environment.redis.kill()
            await environment.redis.start("--appendonly", "no")
            await scene.meters.wait_for_rounds(2)
            for display in disconnected:
                display.reconnect()
            await scene.wait_until(
                lambda counts=counts: all(reported_losses(display) > count for display, count in counts.items()),  # type: ignore[misc]
                "every display receives recovered: false",
            )
            await scene.wait_until_shown()
        assert interruptions(staying) == []
        await environment.redis.kill(keep_data=False)
        await environment.redis.start()
        await scene.finish("Redis is killed and restarts with an old snapshot")


@pytest.mark.long("breaks a Redis under load; `test_redis_bus_faults.py` tests the same faults of a bus")
async def test_hanging_redis_stops_no_meter(environment: Environment) -> None:
    async with open_scene(environment) as scene:
        for _ in range(environment.scale.cycles):
            await scene.meters.wait_for_rounds(environment.scale.rounds)
            environment.redis.pause()
            await scene.meters.wait_for_rounds(environment.scale.rounds)
            environment.redis.go_on()
            await scene.meters.wait_for_rounds(environment.scale.rounds)
            await scene.wait_until_shown()
        assert interruptions(scene.displays) == []
        await scene.finish("Redis hangs and continues")


@pytest.mark.long("breaks a Redis under load; `test_redis_bus_faults.py` tests the same faults of a bus")
async def test_killed_event_connections_to_redis_close_no_display(environment: Environment) -> None:
    async with open_scene(environment) as scene:
        for _ in range(environment.scale.resets):
            await scene.meters.wait_for_rounds(environment.scale.rounds)
            await environment.redis.command("CLIENT", "KILL", "TYPE", "pubsub")
        await scene.wait_until_shown()
        assert interruptions(scene.displays) == []
        findings = await scene.finish("the event connections to Redis are killed")
        assert (findings.reported_losses, findings.reported_missing) == (0, 0)
