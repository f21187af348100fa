"""Carry out the commands for the list of erasures: erase users again after a restore, and print a list."""

import asyncio
from pathlib import Path

import typer

from wattgate.app.cli.consoles import out
from wattgate.app.cli.database_context import require_keys, run_async, with_database
from wattgate.app.cli.gateway_context import with_current_gateway
from wattgate.app.cli.reading_context import require_current
from wattgate.app.erasure_list import open_erasure_list
from wattgate.app.secret_keys import load_key_ring
from wattgate.app.server.background_workers import job_policy
from wattgate.app.server.components import Components
from wattgate.app.settings import Settings
from wattgate.app.workers.user_jobs import process_jobs
from wattgate.db.engine import Database
from wattgate.db.personal_data.erasure_check import find_unerased, read_erasures, verify_erasures
from wattgate.db.personal_data.erasure_list import ErasureList, ListedErasure, encode_list
from wattgate.enums import JobState
from wattgate.errors import BadInput
from wattgate.graphql.core.runner import Runner
from wattgate.graphql.resolvers import erasures
from wattgate.principal import Principal, Role


def db_apply_erasures(*, file: Path | None) -> None:
    """Erase the users again whom a restored backup has brought back."""
    settings = Settings()
    require_keys(settings)
    erasure_list = _list_to_apply(settings, file)

    async def run(gateway: Components) -> tuple[int, int]:
        if file is None and not erasure_list.exists():
            await verify_erasures(gateway.database, erasure_list)
            return 0, 0  # there was no erasure yet
        listed = list((await asyncio.to_thread(erasure_list.read)).values())
        unerased = await find_unerased(gateway.database, listed)
        for erasure in unerased:
            system = Principal(Role.SYSTEM, application_id=erasure.application_id)
            arguments = {"user_id": erasure.user_id, "erased_at": erasure.erased_at}
            await gateway.runner.run(erasures.repeat_erasure, system, arguments)
        policy = job_policy(settings)
        if file is not None and policy.erasure_list is not None:
            await asyncio.to_thread(policy.erasure_list.append, listed)
        for erasure in unerased:
            while not await _is_done(gateway.runner, erasure):
                await process_jobs(gateway.runner, policy)
        return len(unerased), len(listed)

    erased, total = run_async(with_current_gateway(settings, run))
    users = "1 user is" if erased == 1 else f"{erased:,} users are"
    out.print(f"{users} erased again. The list has {total:,} erasures.", highlight=False)


def db_export_erasures() -> None:
    """Print a signed list of all erasures of the database."""
    settings = Settings()
    require_keys(settings)

    async def read(database: Database) -> list[ListedErasure]:
        await require_current(database)
        return await read_erasures(database)

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
