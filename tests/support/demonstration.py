"""The data of `wattgate demo`, with as much history as a test needs."""

from datetime import timedelta
from functools import partial
from pathlib import Path

from tests.support.filled_databases import can_copy, copy_filled
from tests.support.schema import bring_up
from wattgate.app.demo import seed
from wattgate.app.demo.demo_settings import demo_settings
from wattgate.app.server.factory import build_gateway
from wattgate.app.settings import Settings
from wattgate.clock import Clock, utc_now
from wattgate.operations.core.runner import Runner
from wattgate.operations.homes.virtual_entities import update_virtual_entity, virtual_entities
from wattgate.operations.types.homes.virtual_entities import VirtualEntityChange


async def demonstration(
    folder: Path,
    history: timedelta,
    database_url: str | None = None,
    *,
    clock: Clock = utc_now,
    at_midday: bool = False,
) -> tuple[Settings, list[seed.InstalledHome]]:
    """Create the demonstration in a database, by default one in the folder, as it is now by the clock.

    A SQLite file starts as a copy, which gets the readings since the first one of this history was created. With
    `at_midday`, its homes are where it is midday, so that today and this month have readings at each instant. Return
    the settings for serving it, and its homes.
    """
    settings = demo_settings(folder)
    if database_url is not None:
        settings = settings.model_copy(update={"database_url": database_url})
    gateway = build_gateway(settings, clock=clock)
    try:
        database = gateway.database
        if clock is utc_now and database.is_sqlite and can_copy(database.url):
            await copy_filled(database.url, ["demonstration", str(history)], partial(_fill, settings, history))
        await bring_up(database)
        await seed.prepare_demo(gateway.runner, clock(), history)
        homes = await seed.list_installed_homes(gateway.runner)
        if at_midday:
            await _move_to_midday(gateway.runner, clock)
    finally:
        await gateway.database.close()
    return settings, homes


async def _move_to_midday(runner: Runner, clock: Clock) -> None:
    """Give each home a time zone where it is midday."""
    hours = clock().hour - 12  # the names count westwards: in Etc/GMT+2 it is two hours earlier
    change = VirtualEntityChange(time_zone=f"Etc/GMT{hours:+d}")
    for home in await runner.run(virtual_entities, seed.SYSTEM_PRINCIPAL, {}):
        await runner.run(update_virtual_entity, seed.SYSTEM_PRINCIPAL, {"ve_id": home.ve_id, "input": change})


async def _fill(settings: Settings, history: timedelta, database_url: str) -> None:
    gateway = build_gateway(settings.model_copy(update={"database_url": database_url}))
    try:
        await bring_up(gateway.database)
        await seed.prepare_demo(gateway.runner, utc_now(), history)
    finally:
        await gateway.database.close()
