"""Check the OpenID providers of all directories: metadata, issuer and keys, as the next log-in needs them."""

from importlib import import_module

from sqlalchemy.exc import SQLAlchemyError
from sqlmodel import col

from wattgate.app.cli.checks.result import CheckResult, failed, passed
from wattgate.app.cli.reading_context import create_reader
from wattgate.app.settings import Settings
from wattgate.db import models
from wattgate.db.connections.engine import Database
from wattgate.db.rows.rows import Rows
from wattgate.errors import Unavailable
from wattgate.operations.core.row_reader import RowReader
from wattgate.principal import Permission, Principal, Role

MAX_DIRECTORIES = 500
"""Maximum directories of an application that are tried."""


async def check_directories(settings: Settings, database: Database) -> list[CheckResult]:
    """Try the provider of each active directory, one after another. Without directories, there is no result."""
    results = list[CheckResult]()
    try:
        directories = await _directories_of_all(create_reader(settings, database))
    except (Unavailable, SQLAlchemyError, OSError):
        return [failed("directories", "they cannot be read from the database. Run wattgate db upgrade")]
    if not directories:
        return []
    client = import_module("wattgate.delivery.openid.client").OpenIdClient(settings.egress_policy)
    for directory in directories:
        subject = f"directory {directory.name}"
        fault = await client.try_provider(directory.issuer, directory.algorithms, directory.application_id)
        if fault is None:
            results.append(passed(subject, f"{directory.issuer} answers, and has a key that the directory accepts"))
        else:
            results.append(failed(subject, describe_fault(directory.issuer, fault)))
    return results


async def _directories_of_all(reader: RowReader) -> list[models.Directory]:
    """Return the active directories of all applications."""
    directories = list[models.Directory]()
    for application in await reader.list_applications():
        system = Principal(Role.SYSTEM, application_id=application.application_id)
        directories += await reader.read(system, Permission.SYSTEM, _active_directories)
    return directories


def describe_fault(issuer: str, fault: str) -> str:
    """Return why a provider cannot be used, and what to check."""
    return (
        f"{issuer} cannot be used: {fault.rstrip('.')}. Compare the issuer with `iss` in a token of the provider, up "
        "to the last slash, and check that this machine reaches the address"
    )


async def _active_directories(rows: Rows) -> list[models.Directory]:
    directory = models.Directory
    return await rows.all(
        directory, col(directory.active).is_(True), order_by=[directory.created_at], limit=MAX_DIRECTORIES
    )
