"""Carry out the import of tariffs."""

from functools import partial
from pathlib import Path

from wattgate.app.cli.actions.file_imports import describe_report, run_import
from wattgate.app.cli.imports.tariffs import import_tariffs
from wattgate.principal import Principal, Role


def tariff_import(*, file: Path, application: str, resource: str | None, refused: Path | None) -> None:
    """Set tariffs, and prices of dynamic tariffs, from a JSON Lines file of any size."""
    principal = Principal(Role.SYSTEM, application_id=application)
    importer = partial(import_tariffs, principal=principal, resource_id=resource)
    run_import(file, refused, importer, partial(describe_report, outcome="tariffs and prices set"))
