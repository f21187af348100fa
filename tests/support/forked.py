"""Start `python -m wattgate` by forking a process that has loaded all modules and built the schema.

Imports take more than two seconds of processor time, and the schema with the OpenAPI document half a second.
"""

import asyncio
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from subprocess import CompletedProcess, TimeoutExpired
from tempfile import TemporaryDirectory

from tests.support import passwords
from wattgate.__main__ import main
from wattgate.app.cli.commands.dispatch import ACTION_MODULES

_FORK_SERVER = multiprocessing.get_context("forkserver")
_FORK_SERVER.set_forkserver_preload(
    [__name__, "wattgate.app.cli.main", *ACTION_MODULES, "tests.support.forked_caches"]  # in this order
)

COMMAND_TIMEOUT_SECONDS = 100.0
"""Maximum time of a command that ends by itself."""

_PROCESS_LOCK = threading.Lock()
"""Guards exit codes. Starting a process polls its siblings, and an exit code can be read only once."""


class Forked:
    """A forked process with the interface of `asyncio.subprocess.Process`."""

    def __init__(self, process: BaseProcess) -> None:
        assert process.pid is not None  # it has been started
        self.pid = process.pid
        self._process = process

    @property
    def returncode(self) -> int | None:
        """The exit code, or None while the process runs. It is negative if a signal ended the process."""
        with _PROCESS_LOCK:
            return self._process.exitcode

    def send_signal(self, sent: signal.Signals) -> None:
        with suppress(ProcessLookupError):  # the process may have ended meanwhile
            if self.returncode is None:
                os.kill(self.pid, sent)

    async def wait(self) -> int:
        """Wait for the end of the process and return its exit code."""
        while (code := self.returncode) is None:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        return code


Running = Forked | asyncio.subprocess.Process


async def start(
    arguments: Sequence[str], *, folder: Path, environment: Mapping[str, str], log: Path, anew: bool = False
) -> Running:
    """Start a command in a folder and append its output to a log file.

    The process is forked, or with `anew` started with a new Python interpreter.
    """
    if not anew:
        return await asyncio.to_thread(_fork, arguments, folder, dict(environment), log)
    command = (sys.executable, "-m", "wattgate", *arguments)
    with log.open("ab") as file:
        return await asyncio.create_subprocess_exec(*command, cwd=folder, env=environment, stdout=file, stderr=file)


def run(arguments: Sequence[str], *, folder: Path, environment: Mapping[str, str]) -> CompletedProcess[str]:
    """Run a command in a folder to its end, in a forked process. Return its output and exit code."""
    with TemporaryDirectory(prefix="wattgate-") as own:
        out, err = Path(own, "stdout"), Path(own, "stderr")
        process = _FORK_SERVER.Process(target=_run, args=(arguments, folder, dict(environment), out, err))
        with _PROCESS_LOCK:
            process.start()
        deadline = time.monotonic() + COMMAND_TIMEOUT_SECONDS
        while (code := Forked(process).returncode) is None:
            if time.monotonic() > deadline:
                process.kill()
                raise TimeoutExpired(arguments, COMMAND_TIMEOUT_SECONDS, out.read_bytes(), err.read_bytes())
            wait([process.sentinel], timeout=1.0)
        return CompletedProcess(arguments, code, out.read_text(), err.read_text())


def _fork(arguments: Sequence[str], folder: Path, environment: Mapping[str, str], log: Path) -> Forked:
    log.touch()
    process = _FORK_SERVER.Process(target=_run, args=(arguments, folder, environment, log, log))
    with _PROCESS_LOCK:
        process.start()
    return Forked(process)


def _run(arguments: Sequence[str], folder: Path, environment: Mapping[str, str], out: Path, err: Path) -> None:
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for stream, path in ((sys.stdout, out), (sys.stderr, err)):
        with path.open("ab") as file:
            os.dup2(file.fileno(), stream.fileno())
    sys.argv = ["wattgate", *arguments]
    passwords.hash_at_lowest_cost()
    main()
