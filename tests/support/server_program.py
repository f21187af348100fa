"""Start a program that is a server on a port of 127.0.0.1."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

START_SECONDS = 60


async def start_server_program(
    command: Sequence[str],
    port: int,
    log: Path,
    *,
    environment: Mapping[str, str] | None = None,
    user: int | None = None,
) -> asyncio.subprocess.Process:
    """Start a program, and return it when it accepts connections. Its output is appended to `log`."""
    with log.open("ab") as output:
        process = await asyncio.create_subprocess_exec(
            *command, env=environment, stdout=output, stderr=output, user=user
        )
    async with asyncio.timeout(START_SECONDS):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                assert process.returncode is None, await asyncio.to_thread(log.read_text)
                await asyncio.sleep(0.01)
            else:
                writer.close()
                return process
