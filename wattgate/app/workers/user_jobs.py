"""The worker that erases users and builds the archives of exports."""

import asyncio
import logging
from collections.abc import Coroutine
from dataclasses import dataclass
from functools import partial
from typing import Any

from wattgate.app.workers.background import WakeSignal, run_forever
from wattgate.clock import Clock, utc_now
from wattgate.db.models import DataExport
from wattgate.db.personal_data.erasure_list import ErasureList
from wattgate.enums import JobState
from wattgate.errors import GatewayError, TooLarge, Unavailable
from wattgate.operations.core.runner import Runner
from wattgate.operations.personal_data import data_exports, erasures
from wattgate.operations.personal_data.data_archive import write_archive
from wattgate.operations.tenancies import listed_tenancies
from wattgate.pauses import raise_if_cancelled
from wattgate.principal import Permission, Principal, Role
from wattgate.realtime import topics
from wattgate.realtime.hub import Hub

log = logging.getLogger(__name__)

MAX_IDLE_SECONDS = 5.0
"""Maximum seconds between two searches for jobs. Jobs of a worker that died have no event."""

ERROR_PAUSE_SECONDS = 5.0

PART_BYTES = 256 * 1024
"""Size of a stored part of an archive. A worker has one in memory, and the piece that it adds."""

FILES_PER_REPORT = 8
"""Files of an archive after which its progress is stored, which takes a transaction. A full part stores it as well."""

MAX_ARCHIVE_BYTES = 4 * 2**30
"""Maximum size of an archive. About 400 million readings."""


@dataclass(frozen=True, slots=True)
class JobPolicy:
    """For how long records are kept: those for billing after an erasure, and the archive of an export.

    Each erasure is in `erasure_list`, if there is one, before a worker begins it.
    """

    billing_retention_days: int
    export_lifetime_hours: int
    erasure_list: ErasureList | None = None


async def run_user_jobs(runner: Runner, hub: Hub, policy: JobPolicy, clock: Clock = utc_now) -> None:
    """Process erasures and exports until cancelled."""
    wake_signal = WakeSignal(hub, topics.user_jobs())
    with wake_signal.subscribed():
        await run_forever(
            "erasures and exports",
            lambda: _run_iteration(runner, wake_signal, policy, clock),
            pause=0.0,
            pause_after_error=ERROR_PAUSE_SECONDS,
        )


async def _run_iteration(runner: Runner, wake_signal: WakeSignal, policy: JobPolicy, clock: Clock) -> None:
    """Process all waiting jobs, then wait for the next event.

    Raise the error of the first job that failed when no other job waits.
    """
    await wake_signal.wait_subscribed()
    wake_signal.clear()
    jobs = _Jobs(runner, policy, clock)
    while await jobs.process():
        pass
    jobs.raise_failure()
    await wake_signal.wait(MAX_IDLE_SECONDS)


async def process_jobs(runner: Runner, policy: JobPolicy, clock: Clock = utc_now) -> bool:
    """Process one erasure and one export of each application. Return whether there were any.

    Add new erasures and changes of tenancies to the list outside the database last. A job that fails, or a list that
    cannot be written, stops no other work. Raise the error of the first one at the end.
    """
    jobs = _Jobs(runner, policy, clock)
    processed = await jobs.process()
    jobs.raise_failure()
    return processed


class _Jobs:
    """Jobs that are processed one after another. It keeps the first error, and logs the others."""

    def __init__(self, runner: Runner, policy: JobPolicy, clock: Clock) -> None:
        self._runner = runner
        self._policy = policy
        self._clock = clock
        self._failure: Exception | None = None

    async def process(self) -> bool:
        """Process one job of each kind of each application, in turn. Return whether any made progress."""
        runner, policy, processed = self._runner, self._policy, False
        for application_id in await runner.run(erasures.applications_with_erasures, Principal(Role.SYSTEM), {}):
            system = Principal(Role.SYSTEM, application_id=application_id)
            processed = await self._attempt(_erase_next(runner, system, policy)) or processed
        for application_id in await runner.run(data_exports.applications_with_exports, Principal(Role.SYSTEM), {}):
            system = Principal(Role.SYSTEM, application_id=application_id)
            processed = await self._attempt(_export_next(runner, system, policy, self._clock)) or processed
        if policy.erasure_list is not None:
            processed = await self._attempt(list_tenancies(runner, policy.erasure_list)) or processed
            processed = await self._attempt(list_erasures(runner, policy.erasure_list)) or processed
        return processed

    def raise_failure(self) -> None:
        """Raise the first error of the jobs, if there was one."""
        if self._failure is not None:
            raise self._failure

    async def _attempt(self, job: Coroutine[Any, Any, bool]) -> bool:
        """Return the result of a job. A job that fails has made no progress. Its lease ends later."""
        try:
            return await job
        except Exception as error:  # the supervisor: the failure of one job must not delay the others
            raise_if_cancelled()
            if self._failure is None:
                self._failure = error
            elif isinstance(error, GatewayError):
                log.warning("A job failed too: %s", error.message)
            else:
                log.exception("A job failed too")
            return False


async def list_erasures(runner: Runner, erasure_list: ErasureList) -> bool:
    """Add the erasures that are not in the list yet. Return whether there were any.

    The list has them first, then the database knows it. If the process dies between, the next one does not add them
    again.
    """
    processed = False
    for application_id in await runner.run(erasures.applications_with_unlisted_erasures, Principal(Role.SYSTEM), {}):
        system = Principal(Role.SYSTEM, application_id=application_id)
        found = await runner.run(erasures.unlisted_erasures, system, {})
        await asyncio.to_thread(erasure_list.append, found)
        user_ids = [erasure.user_id for erasure in found]
        processed = bool(await runner.run(erasures.mark_erasures_listed, system, {"user_ids": user_ids})) or processed
    return processed


async def list_all_tenancies(runner: Runner, erasure_list: ErasureList) -> None:
    """Add all changes of tenancies that are not in the list yet, for a command that ends afterwards."""
    while await list_tenancies(runner, erasure_list):
        pass


async def list_tenancies(runner: Runner, erasure_list: ErasureList) -> bool:
    """Add the changes of tenancies that are not in the list yet, in one write for many. Return whether there were any.

    The list has them first, then the database knows it, as with erasures. A state that is added twice is harmless. One
    that changes between both is added again.
    """
    processed = False
    for application_id in await runner.run(
        listed_tenancies.applications_with_unlisted_tenancies, Principal(Role.SYSTEM), {}
    ):
        system = Principal(Role.SYSTEM, application_id=application_id)
        found = await runner.run(listed_tenancies.unlisted_tenancies, system, {})
        await asyncio.to_thread(erasure_list.append, found)
        listed = await runner.run(listed_tenancies.mark_tenancies_listed, system, {"tenancies": found})
        processed = bool(listed) or processed
    return processed


async def _erase_next(runner: Runner, system: Principal, policy: JobPolicy) -> bool:
    """Run a stage of the erasure that waits longest. Return whether one waits."""
    arguments = {"retention_days": policy.billing_retention_days, "listed_only": policy.erasure_list is not None}
    work = await runner.run(erasures.claim_erasure, system, arguments)
    if work is None:
        return False
    await _forget_events(runner, work)
    while await runner.run(erasures.erase_batch, system, {"erasure_id": work.erasure_id}):
        pass
    await _forget_events(runner, work)
    await runner.clear_log()
    return True


async def _forget_events(runner: Runner, work: erasures.ErasureWork) -> None:
    """Delete the retained events about a user. Without the bus, they expire by themselves."""
    try:
        await runner.forget_topics(work.topics)
    except Unavailable as error:
        log.warning("Erasure %s: retained events are not deleted, and expire: %s", work.erasure_id, error.message)


async def _export_next(runner: Runner, system: Principal, policy: JobPolicy, clock: Clock) -> bool:
    """Build the archive of the export that waits longest, or delete the export at its end. Return whether one waits."""
    export = await runner.run(data_exports.claim_export, system, {})
    if export is None:
        return False
    if export.state is JobState.RUNNING:
        await _build_archive(runner, system, export, policy, clock)
    return True


async def _build_archive(
    runner: Runner, system: Principal, export: DataExport, policy: JobPolicy, clock: Clock
) -> None:
    """Store the archive of an export part by part, and its end. Stop if the export is another worker's by now."""
    claim = {"export_id": export.export_id, "attempt": export.attempt}
    finish = partial(runner.run, data_exports.finish_export, system)
    ending = {**claim, "lifetime_hours": policy.export_lifetime_hours}
    try:
        if await _store_parts(runner, system, export, clock):
            await finish(ending)
    except GatewayError as error:
        if error.retryable:
            raise  # another attempt follows when the lease ends
        await finish({**ending, "reason": error.message})
    except Exception:
        await finish({**ending, "reason": "an unexpected error has occurred"})
        raise


async def _store_parts(runner: Runner, system: Principal, export: DataExport, clock: Clock) -> bool:
    """Store the archive in parts of PART_BYTES. Return False if another worker has the export."""
    read = partial(runner.read, system, Permission.SYSTEM)
    waiting, size = bytearray(), 0

    async def store(progress: tuple[int, int], *, is_last: bool) -> bool:
        contents = []
        while len(waiting) >= PART_BYTES or (is_last and waiting):
            contents.append(bytes(waiting[:PART_BYTES]))
            del waiting[:PART_BYTES]
        arguments = {"export_id": export.export_id, "attempt": export.attempt, "contents": contents}
        state = {**arguments, "files": progress[0], "files_done": progress[1]}
        return bool(await runner.run(data_exports.add_export_parts, system, state))

    last, reported = (1, 0), 0
    async for piece in write_archive(read, export.user_id, clock()):
        waiting += piece.content
        size += len(piece.content)
        if size > MAX_ARCHIVE_BYTES:
            raise TooLarge(f"the archive is larger than {MAX_ARCHIVE_BYTES:,} bytes")
        last = piece.files, piece.files_done
        if len(waiting) >= PART_BYTES or piece.files_done >= reported + FILES_PER_REPORT:
            reported = piece.files_done
            if not await store(last, is_last=False):
                return False
    return await store(last, is_last=True)
