"""Work on templates without stopping the event loop: small ones in a thread, large ones in processes with limits.

A process that exceeds its limit of time or memory is killed, and the next task starts another one. There are at most
`max_workers` processes. They start when they are first needed, and end when they are idle.
"""

import asyncio
import json
import os
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import msgspec

from wattgate.delivery.templates.language.diagnostics import Finding, Severity, TemplateLimitExceeded, TemplatePart
from wattgate.delivery.templates.language.output_writer import RenderLimits
from wattgate.delivery.templates.rendering import RenderedTemplate, TemplateSource
from wattgate.delivery.templates.report import Preview
from wattgate.delivery.templates.scope import DEFAULT_SCOPE, RenderScope
from wattgate.delivery.templates.tasks import TASKS, TemplateData
from wattgate.delivery.templates.worker import LENGTH_BYTES, TEMPLATE_ERRORS, encode_message
from wattgate.errors import Unavailable
from wattgate.requests.fair_share import NO_OWNER, FairShare, NoFreeSlot
from wattgate.requests.request_context import WorkCharge

T = TypeVar("T")

MAX_INLINE_CHARACTERS = 8_000
"""Maximum characters of the sources and data of a template that is rendered in a thread of this process."""

MAX_INLINE_TASKS = 3
"""Maximum number of templates that are rendered in threads at a time. They share one core with the event loop."""

INLINE_LIMITS = RenderLimits(max_seconds=0.1, max_iterations=300, max_characters=20_000)
"""Limits of a rendering in a thread. A template that exceeds them is rendered again in a process."""

WORKER_MODULE = "wattgate.delivery.templates.worker"

RETRY_AFTER_SECONDS = 10


@dataclass(frozen=True, slots=True)
class WorkerLimits:
    """Limits of the processes that render templates.

    `cpu_seconds` is the processor time of a task, and `max_seconds` the time that it may take on a busy machine.
    `max_waiting` tasks wait for a process, each at most `max_seconds`. One application has all processes but one.
    """

    max_workers: int = 2
    max_waiting: int = 100
    cpu_seconds: int = 3
    max_seconds: float = 20.0
    start_seconds: float = 30.0
    idle_seconds: float = 60.0
    max_memory_bytes: int = 1 << 30


DEFAULT_WORKER_LIMITS = WorkerLimits()


@dataclass(slots=True)
class _Work:
    """The processor time of a task. Until it is measured, it is the most that the task may take."""

    seconds: float

    def measure(self, task: Callable[..., T], *arguments: Any) -> T:
        """Run a task in this thread, and measure it."""
        started = time.thread_time()
        try:
            return task(*arguments)
        finally:
            self.seconds = time.thread_time() - started


class _WorkerDied(Exception):
    """The process ended before it answered."""


class TemplateRenderer:
    """Checks, renders and previews templates. Close it before the event loop closes.

    `charge` pays for the processor time of a task. Without it, the gateway renders for itself.
    """

    def __init__(self, limits: WorkerLimits = DEFAULT_WORKER_LIMITS) -> None:
        self._limits = limits
        self._slots = self._share_of(limits.max_workers)
        self._threads = self._share_of(MAX_INLINE_TASKS)
        self._idle: dict[Process, asyncio.TimerHandle] = {}
        self._processes: set[Process] = set()
        self._ending: set[asyncio.Task[None]] = set()
        """The tasks that end idle processes."""

    def _share_of(self, slots: int) -> FairShare:
        limits = self._limits
        return FairShare(
            slots, share=max(1, slots - 1), max_waiting=limits.max_waiting, max_wait_seconds=limits.max_seconds
        )

    @property
    def process_ids(self) -> list[int]:
        """The ids of the running processes."""
        return [process.pid for process in self._processes if process.returncode is None]

    async def check(
        self,
        source: TemplateSource,
        scope: RenderScope = DEFAULT_SCOPE,
        *,
        owner: str = NO_OWNER,
        charge: WorkCharge | None = None,
    ) -> list[Finding]:
        """Return the errors that prevent the parts of a template from being parsed, and names outside its contract."""
        findings: list[Finding] = await self._run("check", source, None, scope, owner, charge)
        return findings

    async def render(
        self,
        source: TemplateSource,
        data: TemplateData,
        scope: RenderScope = DEFAULT_SCOPE,
        *,
        owner: str = NO_OWNER,
        charge: WorkCharge | None = None,
    ) -> RenderedTemplate:
        """Return the message of a template. Raise a TemplateError if it has errors or exceeds a limit."""
        rendered: RenderedTemplate = await self._run("render", source, data, scope, owner, charge)
        return rendered

    async def preview(
        self,
        source: TemplateSource,
        data: TemplateData | None = None,
        scope: RenderScope = DEFAULT_SCOPE,
        *,
        owner: str = NO_OWNER,
        charge: WorkCharge | None = None,
    ) -> Preview:
        """Return a preview with the data, or with sample data. Raise TemplateLimitExceeded if it exceeds a limit."""
        preview: Preview = await self._run("preview", source, data, scope, owner, charge)
        return preview if data is None else replace(preview, data=data)

    async def close(self) -> None:
        """End all idle processes."""
        for process in list(self._idle):
            self._idle.pop(process).cancel()
            await self._kill(process)
        await asyncio.gather(*self._ending)

    async def _run(
        self,
        name: str,
        source: TemplateSource,
        data: TemplateData | None,
        scope: RenderScope,
        owner: str,
        charge: WorkCharge | None,
    ) -> Any:
        if is_small(source, data):
            with suppress(TemplateLimitExceeded):
                task, _ = TASKS[name]
                async with (
                    _free_slot(self._threads, owner),
                    _charged_work(charge, INLINE_LIMITS.max_seconds) as work,
                ):
                    result = await asyncio.to_thread(work.measure, task, source, data, INLINE_LIMITS, scope)
                if not isinstance(result, Preview) or not _exceeds_limits(result):
                    return result
        try:
            request = encode_message(
                {
                    "task": name,
                    "source": msgspec.to_builtins(source),
                    "data": data,
                    "scope": msgspec.to_builtins(scope),
                }
            )
        except RecursionError:
            raise _limit_exceeded("the data is nested too deeply") from None
        return _read_response(name, await self._run_in_process(request, owner, charge))

    async def _run_in_process(self, request: bytes, owner: str, charge: WorkCharge | None) -> dict[str, Any]:
        async with (
            _free_slot(self._slots, owner),
            _charged_work(charge, self._limits.cpu_seconds) as work,
        ):
            response = await self._use_process(request)
            work.seconds = response["seconds"]
            return response

    async def _use_process(self, request: bytes) -> dict[str, Any]:
        """Send a request to an idle or a new process. Kill the process unless it answers."""
        process = await self._take_process()
        is_reusable = False
        try:
            async with asyncio.timeout(self._limits.max_seconds):
                response = await _exchange(process, request)
            is_reusable = True
            return response
        except TimeoutError:
            raise _busy() from None
        except _WorkerDied:
            raise _limit_exceeded(
                f"the template takes more than {self._limits.cpu_seconds} s of processor time, or too much memory"
            ) from None
        finally:
            if is_reusable:
                self._keep(process)
            else:
                await self._kill(process)

    async def _take_process(self) -> Process:
        while self._idle:
            process, timer = self._idle.popitem()
            timer.cancel()
            if process.returncode is None:
                return process
            self._processes.discard(process)
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", WORKER_MODULE),
            *(str(self._limits.max_memory_bytes), str(self._limits.cpu_seconds)),
            stdin=PIPE,
            stdout=PIPE,
            start_new_session=True,  # a signal of the terminal is for the gateway
            env={"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},  # none of the gateway's settings and secrets
        )
        self._processes.add(process)
        is_ready = False
        try:
            async with asyncio.timeout(self._limits.start_seconds):
                await _read_message(process)
            is_ready = True
        except (TimeoutError, _WorkerDied):
            raise _busy() from None
        finally:
            if not is_ready:
                await self._kill(process)
        return process

    async def _kill(self, process: Process) -> None:
        self._processes.discard(process)
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()

    def _keep(self, process: Process) -> None:
        """Keep an idle process for the next task, for a limited time."""
        loop = asyncio.get_running_loop()
        self._idle[process] = loop.call_later(self._limits.idle_seconds, self._end_idle, process)

    def _end_idle(self, process: Process) -> None:
        self._idle.pop(process, None)
        task = asyncio.create_task(self._end(process))
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    async def _end(self, process: Process) -> None:
        """Let a process end with its input, and wait for it."""
        if process.stdin is not None:
            process.stdin.close()
        await process.wait()
        self._processes.discard(process)


def is_small(source: TemplateSource, data: object) -> bool:
    """Return whether a template and its data are small enough for a thread of this process."""
    remaining = MAX_INLINE_CHARACTERS - sum(len(text) for _, text in source.parts())
    values = [data]
    while values and remaining >= 0:
        value = values.pop()
        remaining -= len(value) if isinstance(value, str | Mapping | list) else 1
        if remaining >= 0 and isinstance(value, Mapping):
            values += [*value, *value.values()]
        elif remaining >= 0 and isinstance(value, list):
            values += value
    return remaining >= 0


def _exceeds_limits(preview: Preview) -> bool:
    return any(finding.code == "too-much" for finding in preview.rendering.findings)


async def _exchange(process: Process, request: bytes) -> dict[str, Any]:
    assert process.stdin is not None
    try:
        process.stdin.write(request)
        await process.stdin.drain()
    except OSError:
        raise _WorkerDied from None
    return await _read_message(process)


async def _read_message(process: Process) -> dict[str, Any]:
    assert process.stdout is not None
    try:
        length = await process.stdout.readexactly(LENGTH_BYTES)
        message: dict[str, Any] = json.loads(await process.stdout.readexactly(int.from_bytes(length)))
    except (asyncio.IncompleteReadError, OSError):
        raise _WorkerDied from None
    return message


def _read_response(name: str, response: Mapping[str, Any]) -> Any:
    """Return the result of a response, or raise its error."""
    if "failure" in response:
        raise RuntimeError(f"the process that renders templates failed:\n{response['failure']}")
    if "error" in response:
        findings = msgspec.convert(response["findings"], list[Finding])
        if not findings:
            raise _limit_exceeded("the template needs too much memory")
        raise TEMPLATE_ERRORS[response["error"]](findings)
    _, result_type = TASKS[name]
    return msgspec.convert(response["result"], result_type)


def _limit_exceeded(message: str) -> TemplateLimitExceeded:
    hint = "use fewer elements, styles and repetitions, or less data"
    return TemplateLimitExceeded([Finding(Severity.ERROR, "too-much", TemplatePart.HTML, message, hint=hint)])


@asynccontextmanager
async def _free_slot(slots: FairShare, owner: str) -> AsyncIterator[None]:
    """Hold a slot until the context exits. Raise Unavailable if too many wait, or if none is free in time."""
    try:
        await slots.take(owner)
    except NoFreeSlot:
        raise _busy() from None
    try:
        yield
    finally:
        slots.give_back(owner)


@asynccontextmanager
async def _charged_work(charge: WorkCharge | None, max_seconds: float) -> AsyncIterator[_Work]:
    """Charge the work of this context at its end, also if it fails or is cancelled. Raise as `check_work` does.

    Enter it with a slot. Tasks that wait for a slot at the same time are then charged one after another, and
    the first one that exhausts the budget ends the others.
    """
    work = _Work(max_seconds)
    if charge is None:
        yield work
        return
    await charge.check_work()
    try:
        yield work
    finally:
        await charge.add_work(work.seconds)


def _busy() -> Unavailable:
    return Unavailable(
        "No process to render the template was free in time. Try again later.", retry_after=RETRY_AFTER_SECONDS
    )
