"""Processes of `python -m wattgate` that are forked from one which has loaded all: its imports take over a second."""

import asyncio
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from multiprocessing.process import BaseProcess
from pathlib import Path

from wattgate.__main__ import main

_FORK_SERVER = multiprocessing.get_context("forkserver")
_FORK_SERVER.set_forkserver_preload([__name__, "wattgate.app.cli.main"])

_PROCESS_LOCK = threading.Lock()
"""Whoever starts a process looks whether others have ended, and that can be read only once."""


class Forked:
    """A process that runs, in the words of `asyncio.subprocess.Process`."""

    def __init__(self, process: BaseProcess) -> None:
        assert process.pid is not None  # it has been started
        self.pid = process.pid
        self._process = process

    @property
    def returncode(self) -> int | None:
        """Its exit code, negative where a signal has ended it; None while it runs."""
        with _PROCESS_LOCK:
            return self._process.exitcode

    def send_signal(self, sent: signal.Signals) -> None:
        with suppress(ProcessLookupError):  # it may have ended since
            if self.returncode is None:
                os.kill(self.pid, sent)

    async def wait(self) -> int:
        """Its exit code, once it has ended."""
        while (code := self.returncode) is None:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        return code


Running = Forked | asyncio.subprocess.Process


async def start(
    arguments: Sequence[str], *, folder: Path, environment: Mapping[str, str], log: Path, anew: bool = False
) -> Running:
    """Start a command in a folder, forked or `anew` as its users do; what it writes is added to its log."""
    if not anew:
        return await asyncio.to_thread(_fork, arguments, folder, dict(environment), log)
    command = (sys.executable, "-m", "wattgate", *arguments)
    with log.open("ab") as file:
        return await asyncio.create_subprocess_exec(*command, cwd=folder, env=environment, stdout=file, stderr=file)


def _fork(arguments: Sequence[str], folder: Path, environment: Mapping[str, str], log: Path) -> Forked:
    log.touch()
    process = _FORK_SERVER.Process(target=_run, args=(arguments, folder, environment, log))
    with _PROCESS_LOCK:
        process.start()
    return Forked(process)


def _run(arguments: Sequence[str], folder: Path, environment: Mapping[str, str], log: Path) -> None:
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    with log.open("ab") as file:
        for stream in (sys.stdout, sys.stderr):
            os.dup2(file.fileno(), stream.fileno())
    sys.argv = ["wattgate", *arguments]
    main()
