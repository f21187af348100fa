"""Erasures and exports of tests: request one through the runner, and wait until a worker has finished it."""

import asyncio
import io
import zipfile
from base64 import b64decode
from dataclasses import replace
from typing import Any

from sqlmodel import col

from tests.support.house import Tenant
from wattgate.app.workers.user_jobs import JobPolicy, process_jobs
from wattgate.db.models import DataExport, Erasure
from wattgate.enums import JobState
from wattgate.operations.accounts import users
from wattgate.operations.personal_data import data_exports
from wattgate.principal import Permission, Principal, Role

POLICY = JobPolicy(billing_retention_days=2_192, export_lifetime_hours=72)


async def erased(tenant: Tenant, user_id: str) -> str:
    """Erase a user and return the user ID."""
    await tenant.gateway.runner.run(users.delete_user, replace(tenant.system, user_id=None), {"user_id": user_id})
    await _finish(tenant, Erasure, user_id)
    return user_id


async def exported(tenant: Tenant) -> str:
    """Export the data of the tenant's user and return the ID of the export."""
    await tenant.gateway.runner.run(data_exports.export_my_data, tenant.account, {})
    return str((await _finish(tenant, DataExport, tenant.user_id)).export_id)


async def exported_files(tenant: Tenant) -> dict[str, str]:
    """Export the data of the tenant's user, and return the text of each file."""
    await exported(tenant)
    run = tenant.gateway.runner.run
    parts = [await run(data_exports.data_export_part, tenant.account, {"number": 0})]
    further = range(1, parts[0].parts)
    parts += [await run(data_exports.data_export_part, tenant.account, {"number": number}) for number in further]
    with zipfile.ZipFile(io.BytesIO(b"".join(b64decode(part.content) for part in parts))) as files:
        return {name: files.read(name).decode() for name in files.namelist()}


async def _finish(tenant: Tenant, model: Any, user_id: str) -> Any:
    """Work until the job of a user has finished. A worker of a served gateway may do it too."""
    system = Principal(Role.SYSTEM, application_id=tenant.application_id)

    async def find(rows: Any) -> Any:
        return await rows.first(model, col(model.user_id) == user_id)

    async with asyncio.timeout(60):
        while (job := await tenant.gateway.runner.read(system, Permission.SYSTEM, find)).state is not JobState.DONE:
            await process_jobs(tenant.gateway.runner, POLICY)
            await asyncio.sleep(0.01)
    return job
