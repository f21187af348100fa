"""Carry out the commands for the list of erasures: apply it again after a restore, and print one."""

import asyncio
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import typer

from wattgate.app.cli.consoles import out
from wattgate.app.cli.database_context import require_existing, require_keys, run_async, with_database
from wattgate.app.cli.gateway_context import with_current_gateway
from wattgate.app.cli.reading_context import require_current
from wattgate.app.erasure_list import open_erasure_list
from wattgate.app.secret_keys import load_key_ring
from wattgate.app.server.background_workers import job_policy
from wattgate.app.server.components import Components
from wattgate.app.settings import Settings
from wattgate.app.workers.user_jobs import JobPolicy, list_all_tenancies, process_jobs
from wattgate.db.connections.engine import Database
from wattgate.db.personal_data.erasure_check import (
    find_unapplied,
    find_unerased,
    read_erasures,
    read_tenancies,
    verify_erasures,
)
from wattgate.db.personal_data.erasure_list import (
    ErasureList,
    ListContent,
    ListedEntry,
    ListedErasure,
    ListedTenancy,
    encode_list,
)
from wattgate.enums import JobState
from wattgate.errors import BadInput
from wattgate.operations.core.runner import Runner
from wattgate.operations.personal_data import erasures
from wattgate.operations.tenancies import listed_tenancies
from wattgate.principal import Principal, Role


def db_apply_erasures(*, file: Path | None) -> None:
    """Erase the users and repeat the moves again that a restored backup has taken back."""
    settings = Settings()
    require_existing(settings)
    require_keys(settings)
    erasure_list = _list_to_apply(settings, file)

    async def run(gateway: Components) -> _Applied:
        if file is None and not erasure_list.exists():
            await verify_erasures(gateway.database, erasure_list)
            return _Applied(0, 0, ListContent({}, {}))  # there was nothing to list yet
        content = await asyncio.to_thread(erasure_list.read)
        policy = job_policy(settings)
        repeated = await _repeat_tenancies(gateway, content)
        if file is not None and policy.erasure_list is not None:
            entries: list[ListedEntry] = [*content.erasures.values(), *content.tenancies.values()]
            await asyncio.to_thread(policy.erasure_list.append, entries)
        erased = await _repeat_erasures(gateway, list(content.erasures.values()), policy)
        if repeated and policy.erasure_list is not None:
            await list_all_tenancies(gateway.runner, policy.erasure_list)
        return _Applied(erased, repeated, content)

    applied = run_async(with_current_gateway(settings, run))
    users = "1 user is" if applied.users == 1 else f"{applied.users:,} users are"
    out.print(f"{users} erased again. The list has {len(applied.content.erasures):,} erasures.", highlight=False)
    tenancies = "1 tenancy is" if applied.tenancies == 1 else f"{applied.tenancies:,} tenancies are"
    out.print(f"{tenancies} repeated. The list has {len(applied.content.tenancies):,} tenancies.", highlight=False)


@dataclass(frozen=True, slots=True)
class _Applied:
    """How many users were erased and how many tenancies repeated, from the content of a list."""

    users: int
    tenancies: int
    content: ListContent


async def _repeat_tenancies(gateway: Components, content: ListContent) -> int:
    """Repeat the tenancies that the database lacks, each meter point in a transaction. Return their number."""
    by_place = defaultdict[tuple[str, str], list[ListedTenancy]](list)
    for tenancy in await find_unapplied(gateway.database, content.tenancies):
        by_place[tenancy.application_id, tenancy.mpxn].append(tenancy)
    repeated = 0
    for (application_id, mpxn), tenancies in by_place.items():
        erased = [tenancy.user_id for tenancy in tenancies if tenancy.user_id in content.erasures]
        arguments = {"mpxn": mpxn, "tenancies": tenancies, "erased_users": erased}
        system = Principal(Role.SYSTEM, application_id=application_id)
        repeated += await gateway.runner.run(listed_tenancies.repeat_tenancies, system, arguments)
    return repeated


async def _repeat_erasures(gateway: Components, listed: list[ListedErasure], policy: JobPolicy) -> int:
    """Erase the listed users whom the database has. Return their number."""
    unerased = await find_unerased(gateway.database, listed)
    for erasure in unerased:
        system = Principal(Role.SYSTEM, application_id=erasure.application_id)
        arguments = {"user_id": erasure.user_id, "erased_at": erasure.erased_at}
        await gateway.runner.run(erasures.repeat_erasure, system, arguments)
    for erasure in unerased:
        while not await _is_done(gateway.runner, erasure):
            await process_jobs(gateway.runner, policy)
    return len(unerased)


def db_export_erasures() -> None:
    """Print a signed list of all erasures and tenancies of the database."""
    settings = Settings()
    require_existing(settings)
    require_keys(settings)

    async def read(database: Database) -> list[ListedEntry]:
        await require_current(database)
        return [*await read_erasures(database), *await read_tenancies(database)]

    found = run_async(with_database(settings, read))
    for line in encode_list(found, load_key_ring(settings)):
        typer.echo(line, nl=False)


def _list_to_apply(settings: Settings, file: Path | None) -> ErasureList:
    """Return the list in a file, or that of the settings."""
    if file is not None:
        return ErasureList(file, load_key_ring(settings))
    erasure_list = open_erasure_list(settings)
    if erasure_list is None:
        raise BadInput("There is no list of erasures. Set WATTGATE_ERASURE_LIST, or give the file of a copy.")
    return erasure_list


async def _is_done(runner: Runner, erasure: ListedErasure) -> bool:
    system = Principal(Role.SYSTEM, application_id=erasure.application_id)
    state = await runner.run(erasures.erasure, system, {"user_id": erasure.user_id})
    return bool(state.state is JobState.DONE)
