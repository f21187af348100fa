"""The command line, run as a user runs it."""

import asyncio
import os
import subprocess
import sys


async def wattgate(database_url: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """What `python -m wattgate` prints on a database, and how it ends."""
    return await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-m", "wattgate", *arguments],
        env={**os.environ, "WATTGATE_DATABASE_URL": database_url},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
