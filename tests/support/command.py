"""Run the command line in a separate process."""

import asyncio
import os
import subprocess
import sys


async def wattgate(database_url: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `python -m wattgate` on a database. Return its output and exit code."""
    return await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-m", "wattgate", *arguments],
        env={**os.environ, "WATTGATE_DATABASE_URL": database_url},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
