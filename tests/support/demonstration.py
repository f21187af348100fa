"""The demonstration as `wattgate demo` makes it, with as much history as a test needs."""

from datetime import timedelta
from pathlib import Path

from tests.support.schema import bring_up
from wattgate.app.demo import seed
from wattgate.app.server.factory import assemble
from wattgate.app.settings import Settings, demo_settings
from wattgate.clock import utc_now


async def demonstration(folder: Path, history: timedelta) -> tuple[Settings, list[seed.Installed]]:
    """Make one in a folder, which nobody serves yet: its settings and its homes."""
    settings = demo_settings(folder)
    gateway = assemble(settings)
    try:
        await bring_up(gateway.database)
        await seed.install(gateway.runner)
        homes = await seed.installed(gateway.runner)
        await seed.fill(gateway.runner, homes, utc_now(), history=history)
    finally:
        await gateway.database.close()
    return settings, homes
