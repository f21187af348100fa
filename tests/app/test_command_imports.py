"""Imports of the commands: help and errors of the command line need neither the database nor the schema."""

import inspect
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.models import CommandInfo, TyperInfo

from tests.support.command import wattgate_in
from wattgate.app.cli.commands import data_protection_commands
from wattgate.app.cli.commands.dispatch import ACTIONS, find_action
from wattgate.app.cli.main import app

REPORT = "imported: "
"""The start of a line of the output that reports the modules after a command."""

COMMANDS = f"""
import json, sys
from wattgate.__main__ import main
for command in {{commands!r}}:
    sys.argv = ["wattgate", *command.split()]
    try:
        main()
        status = 0
    except SystemExit as end:
        status = end.code or 0
    print({REPORT!r} + json.dumps({{{{"status": status, "modules": sorted(sys.modules)}}}}), flush=True)
"""
"""Runs commands, and prints a line of JSON with the exit status and the modules after each."""

IMPORTS_IN_ORDER = """
import json, sys
import sqlmodel, wattgate.db.models
found = {"validators": [one.class_.__pydantic_complete__ for one in sqlmodel.SQLModel._sa_registry.mappers]}
import wattgate.app.cli.actions.gateway.worker
found["worker"] = sorted(sys.modules)
import wattgate.app.server.factory
found["gateway"] = sorted(sys.modules)
import asyncio, wattgate.rest_compat.arrow
asyncio.run(wattgate.rest_compat.arrow._import_readings())
found["arrow"] = sorted(sys.modules)
print(json.dumps(found))
"""

SCHEMA = ("strawberry", "graphql", "wattgate.operations.catalogue")
SERVER = ("starlette", "uvicorn", "wattgate.rest_compat", "wattgate.app.server.factory")
DATABASE = ("sqlalchemy", "sqlmodel", "asyncpg", "alembic", "wattgate.db.models")
REDIS = ("redis", "hiredis")
OPERATIONS = ("httpx", "wattgate.operations.core.operation", "wattgate.delivery.openid.client")
LIBRARIES = ("numpy", "pyarrow", "pydantic_settings", "liquid", "babel", "cryptography", "websockets")


def output_of(script: str, **options: Any) -> str:
    """Run a script in a new interpreter, and return what it prints. Fail if it fails."""
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=100, check=False, **options
    )
    assert result.returncode == 0, result.stderr
    return str(result.stdout)


def imported_by(folder: Path, *commands: str, **settings: str) -> dict[str, tuple[int, set[str]]]:
    """Run commands one after another in one interpreter. Return the exit status and all modules after each.

    A module that one of them imports stays until the end.
    """
    printed = output_of(COMMANDS.format(commands=commands), cwd=folder, env={**os.environ, **settings})
    reports = [json.loads(line.removeprefix(REPORT)) for line in printed.splitlines() if line.startswith(REPORT)]
    return {
        command: (report["status"], set(report["modules"])) for command, report in zip(commands, reports, strict=True)
    }


def test_help_imports_no_action_and_no_large_library(tmp_path: Path) -> None:
    """After them, the check of a template imports neither the schema nor the database."""
    (tmp_path / "mail.html").write_text("<p>Hello</p>")
    helped = {"--version": 0, "--help": 0, "home create --help": 0, "readings import --help": 0, "readings imprt": 2}
    after = imported_by(tmp_path, *helped, "template check mail.html")
    status, checked = after.pop("template check mail.html")
    for command, (ended, modules) in after.items():
        assert ended == helped[command], command
        unwanted = {*SCHEMA, *SERVER, *DATABASE, *REDIS, *LIBRARIES, "wattgate.app.settings"}
        assert modules.isdisjoint(unwanted), f"{command}: {modules & unwanted}"
        assert not [name for name in modules if name.startswith("wattgate.app.cli.actions")], command
    assert status == 0
    assert "liquid" in checked  # so the report is complete
    assert checked.isdisjoint({*SCHEMA, *SERVER, *DATABASE, *REDIS}), checked


@pytest.mark.long("starts an interpreter")
def test_commands_import_what_they_use(tmp_path: Path) -> None:
    after = imported_by(tmp_path, "db upgrade", "routes")
    assert [status for status, _ in after.values()] == [0, 0]
    upgraded, routes = (modules for _, modules in after.values())
    assert upgraded.isdisjoint({*SCHEMA, *SERVER, *REDIS, "liquid"}), upgraded
    assert "wattgate.operations.catalogue" in routes  # so the report is complete
    assert routes.isdisjoint({*SERVER, *REDIS}), routes


@pytest.mark.long("starts an interpreter")
def test_commands_that_read_need_no_operations(tmp_path: Path) -> None:
    settings = {"WATTGATE_DATABASE_URL": f"sqlite:///{tmp_path}/gateway.sqlite3"}
    for arguments in ("db upgrade", "app create only --username only"):
        assert wattgate_in(tmp_path, *arguments.split(), DATABASE_URL=settings["WATTGATE_DATABASE_URL"]).returncode == 0
    unwanted = {*SCHEMA, *SERVER, *REDIS, *OPERATIONS, "alembic", "pyarrow", "liquid", "babel", "websockets"}
    for command, (status, modules) in imported_by(
        tmp_path, "app list", "user list", "home list", "doctor", **settings
    ).items():
        assert status == 0, command
        assert modules.isdisjoint(unwanted), f"{command}: {modules & unwanted}"
        assert "wattgate.db.rows.rows" in modules  # so the report is complete


@pytest.fixture(scope="module")
def imports_in_order() -> dict[str, Any]:
    """Return the state of an interpreter after each of its imports: tables, worker, gateway and pyarrow."""
    return dict(json.loads(output_of(IMPORTS_IN_ORDER)))


def test_tables_build_no_validators(imports_in_order: dict[str, Any]) -> None:
    assert len(imports_in_order["validators"]) > 50
    assert not any(imports_in_order["validators"])


def test_worker_needs_neither_catalogue_nor_server(imports_in_order: dict[str, Any]) -> None:
    modules = set(imports_in_order["worker"])
    assert "wattgate.app.cli.actions.gateway.worker" in modules
    assert modules.isdisjoint({"wattgate.operations.catalogue", "wattgate.app.server.factory", "wattgate.rest_compat"})


def test_gateway_at_rest_has_not_imported_pyarrow(imports_in_order: dict[str, Any]) -> None:
    assert "pyarrow" not in imports_in_order["gateway"]
    assert "wattgate.rest_compat.arrow" in imports_in_order["gateway"]


def test_thread_imports_all_of_pyarrow_that_a_stream_needs(imports_in_order: dict[str, Any]) -> None:
    """Else the first conversion of a column imports the functions, and holds the event loop for 100 ms and more."""
    assert "pyarrow.compute" in imports_in_order["arrow"]


def _declarations(group: TyperInfo | None = None) -> dict[str, CommandInfo]:
    """Return all declared commands by the name of their function."""
    typer_app = app if group is None else group.typer_instance
    assert typer_app is not None
    found = {command.callback.__name__: command for command in typer_app.registered_commands if command.callback}
    for subgroup in typer_app.registered_groups:
        found |= _declarations(subgroup)
    return found


def test_each_declared_command_has_an_action_with_its_arguments() -> None:
    declarations = _declarations()
    assert declarations.keys() == ACTIONS.keys()
    assert data_protection_commands.user_erase is declarations["user_erase"].callback
    for name, command in declarations.items():
        assert command.callback is not None
        declared = list(inspect.signature(command.callback).parameters)
        carried_out = list(inspect.signature(find_action(name)).parameters)
        assert declared == carried_out, name
