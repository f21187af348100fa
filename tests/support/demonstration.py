"""The data of `wattgate demo`, with as much history as a test needs."""

from datetime import timedelta
from pathlib import Path

from tests.support.schema import bring_up
from wattgate.app.demo import seed
from wattgate.app.demo.demo_settings import demo_settings
from wattgate.app.server.factory import build_gateway
from wattgate.app.settings import Settings
from wattgate.clock import utc_now


async def demonstration(folder: Path, history: timedelta) -> tuple[Settings, list[seed.InstalledHome]]:
    """Create the demo database in a folder. Return the settings for serving it, and its homes."""
    settings = demo_settings(folder)
    gateway = build_gateway(settings)
    try:
        await bring_up(gateway.database)
        await seed.install_demo(gateway.runner)
        homes = await seed.list_installed_homes(gateway.runner)
        await seed.fill_readings(gateway.runner, homes, utc_now(), history=history)
    finally:
        await gateway.database.close()
    return settings, homes
