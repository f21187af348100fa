"""Run the command line to its end."""

import asyncio
import os
from collections.abc import Collection, Mapping
from pathlib import Path
from subprocess import CompletedProcess

from tests.support import forked


async def wattgate(database_url: str, *arguments: str) -> CompletedProcess[str]:
    """Run a command on a database. Return its output and exit code."""
    environment = {**os.environ, "WATTGATE_DATABASE_URL": database_url}
    return await asyncio.to_thread(forked.run, arguments, folder=Path.cwd(), environment=environment)


def wattgate_in(folder: Path, *arguments: str, without: Collection[str] = (), **settings: str) -> CompletedProcess[str]:
    """Run a command in a folder with these settings (without their prefix), and without those in `without`.

    The process is forked from one that has loaded all modules.
    """
    return forked.run(arguments, folder=folder, environment=_environment(settings, without))


def _environment(settings: Mapping[str, str], without: Collection[str] = ()) -> dict[str, str]:
    environment = {**os.environ, "COLUMNS": "200"}
    environment |= {f"WATTGATE_{name}": value for name, value in settings.items()}
    for name in without:
        del environment[f"WATTGATE_{name}"]
    return environment
