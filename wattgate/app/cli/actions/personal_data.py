"""Carry out the erasure of a user, and the export of the data of a user."""

import asyncio
import os
from base64 import b64decode
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import typer

from wattgate.app.cli.consoles import err, out
from wattgate.app.cli.database_context import run_async
from wattgate.app.cli.gateway_context import system_of, with_current_gateway
from wattgate.app.cli.record_lists import print_records, to_text
from wattgate.app.homes.home_selection import require_user
from wattgate.app.server.background_workers import job_policy
from wattgate.app.server.components import Components
from wattgate.app.settings import Settings
from wattgate.app.workers.user_jobs import JobPolicy, process_jobs
from wattgate.db.personal_data.erasure_check import verify_erasures
from wattgate.enums import JobState
from wattgate.errors import BadInput
from wattgate.operations.accounts import users
from wattgate.operations.personal_data import data_exports, erasures
from wattgate.operations.types.identity import personal_data as types
from wattgate.principal import Permission, Principal, Role
from wattgate.private_files import PRIVATE_FILE_MODE

POLL_SECONDS = 0.2
"""Seconds between two looks at a job that a running gateway has taken."""


MAX_LISTED_TABLES = 200


def user_erase(*, user: str, application: str | None, yes: bool, as_json: bool) -> None:
    """Erase a user: all personal data, at once. Readings and tariffs by meter point are kept for billing."""
    if not yes:
        typer.confirm(f"Erase all personal data of {user}? This cannot be undone.", abort=True)
    receipt: types.Erasure = _run(application, user, _erase)
    err.print(f"User {receipt.user_id} is erased. Kept for billing until: {to_text(receipt.kept_until) or '-'}")
    records = [
        {"table": entry.table, "action": entry.action.value, "records": entry.records, "reason": entry.reason}
        for entry in receipt.tables
    ]
    print_records(records, MAX_LISTED_TABLES, as_json=as_json)


def user_export(*, user: str, file: Path, application: str | None) -> None:
    """Export all data of a user into a ZIP file. Only you can read the file."""
    if file.exists():
        raise BadInput(f"The file {file} exists. Give the name of a new file.")
    archive = _run(application, user, _Export(file))
    out.print(f"Wrote {archive.size:,} bytes to {file}")


async def _erase(job: "_Job") -> types.Erasure:
    system = Principal(Role.SYSTEM, application_id=job.application_id)
    await job.gateway.runner.run(users.delete_user, system, {"user_id": job.user_id})
    while True:
        state: types.Erasure = await job.gateway.runner.run(erasures.erasure, system, {"user_id": job.user_id})
        if state.state is JobState.DONE:
            return state
        await job.work()


@dataclass(frozen=True, slots=True)
class _Export:
    """Exports the data of a user into a file."""

    file: Path

    async def __call__(self, job: "_Job") -> types.DataExport:
        runner = job.gateway.runner
        system = Principal(Role.SYSTEM, application_id=job.application_id, user_id=job.user_id)
        state: types.DataExport = await runner.run(data_exports.export_my_data, system, {})
        while state.state in (JobState.QUEUED, JobState.RUNNING):
            await job.work()
            state = await runner.run(data_exports.data_export, system, {})
        if state.state is JobState.FAILED:
            raise BadInput(f"The export has failed: {state.reason}.")
        descriptor = os.open(self.file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE_MODE)
        with os.fdopen(descriptor, "wb") as target:
            for number in range(state.parts or 0):
                arguments = {"number": number, "export_id": state.export_id}
                part = await runner.run(data_exports.data_export_part, system, arguments)
                target.write(b64decode(part.content))
        return state


@dataclass(frozen=True, slots=True)
class _Job:
    """A job on the data of one user."""

    gateway: Components
    application_id: str
    user_id: str
    policy: JobPolicy

    async def work(self) -> None:
        """Do the waiting work here. A running gateway may have taken it: then wait for it."""
        if not await process_jobs(self.gateway.runner, self.policy):
            await asyncio.sleep(POLL_SECONDS)


def _run(application: str | None, user: str, work: Any) -> Any:
    settings = Settings()

    async def run(gateway: Components) -> Any:
        policy = job_policy(settings)
        await verify_erasures(gateway.database, policy.erasure_list)
        system = await system_of(gateway.runner, application)
        user_id = await gateway.runner.read(system, Permission.SYSTEM, partial(require_user, text=user))
        return await work(_Job(gateway, system.application_id or "", user_id, policy))

    return run_async(with_current_gateway(settings, run))
