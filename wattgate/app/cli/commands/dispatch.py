"""The modules that carry out the commands. A command imports its module only when it runs.

The modules of the commands declare names, arguments and help. They import nothing else, so that help, the version,
completion and errors of the command line need neither the database nor the schema.
"""

import gc
import sys
from collections.abc import Callable, Mapping, MutableMapping
from functools import wraps
from importlib import import_module
from types import MappingProxyType, ModuleType
from typing import Any, ParamSpec

from typer.core import TyperGroup

P = ParamSpec("P")

ACTIONS: Mapping[str, str] = MappingProxyType(
    {
        "serve_gateway": "actions.gateway.serving",
        "serve_one": "actions.gateway.serving",
        "worker": "actions.gateway.worker",
        "demo": "actions.gateway.demonstration",
        "doctor": "doctor",
        "check_health": "actions.gateway.health_check",
        "watch": "watch",
        "print_routes": "actions.gateway.operations",
        "print_schema": "actions.gateway.operations",
        "db_upgrade": "actions.gateway.database",
        "db_backup": "actions.gateway.database",
        "db_apply_erasures": "actions.gateway.erasures",
        "db_export_erasures": "actions.gateway.erasures",
        "oauth_client_create": "actions.applications",
        "app_create": "actions.applications",
        "app_list": "actions.listing",
        "app_rotate_secret": "actions.applications",
        "app_add_directory": "actions.applications",
        "user_create": "actions.applications",
        "user_list": "actions.listing",
        "user_set_password": "actions.user_accounts",
        "user_suspend": "actions.user_accounts",
        "user_reopen": "actions.user_accounts",
        "user_erase": "actions.personal_data",
        "user_export": "actions.personal_data",
        "home_create": "actions.home_setup",
        "home_import": "actions.home_table",
        "home_list": "actions.listing",
        "home_show": "actions.homes",
        "move": "actions.moves",
        "alert_add": "actions.alert_rules",
        "alert_list": "actions.alert_rules",
        "readings_import": "actions.readings",
        "readings_inspect": "actions.file_inspection",
        "readings_profiles": "actions.file_inspection",
        "tariff_import": "actions.file_imports",
        "tariff_prices": "actions.price_import",
        "tariff_fetch": "actions.price_import",
        "tariff_sources": "actions.price_import",
        "network_import": "actions.file_imports",
        "template_check": "actions.gateway.templates",
        "documents_register": "actions.documents",
        "documents_list": "actions.documents",
        "documents_remove": "actions.documents",
        "documents_require": "actions.documents",
        "keys_new": "actions.gateway.keys",
        "keys_rotate": "actions.gateway.keys",
        "keys_status": "actions.gateway.keys",
        "audit_export": "actions.audit",
        "audit_verify": "actions.audit",
    }
)
"""The module of each command, under `wattgate.app.cli`. Its function has the name of the declaration."""

ACTION_MODULES = sorted({f"wattgate.app.cli.{module}" for module in ACTIONS.values()})
"""The full names of the modules of all commands."""


def import_at_start(name: str) -> ModuleType:
    """Import a module.

    Objects that are created during import live until exit. So garbage collection is off during import, and excludes
    these objects afterwards.
    """
    if name in sys.modules:
        return sys.modules[name]
    gc.disable()
    try:
        return import_module(name)
    finally:
        gc.freeze()
        gc.enable()


def find_action(name: str) -> Callable[..., None]:
    """Import the module of a command and return its function."""
    action: Callable[..., None] = getattr(import_at_start(f"wattgate.app.cli.{ACTIONS[name]}"), name)
    return action


def dispatched(declaration: Callable[P, None]) -> Callable[P, None]:
    """Turn the declaration of a command, which has no body, into a function that carries the command out."""

    @wraps(declaration)
    def run(*arguments: P.args, **options: P.kwargs) -> Any:
        find_action(declaration.__name__)(*arguments, **options)

    return run


class CommandGroup(TyperGroup):
    """A group that runs its hidden commands, but never lists, completes or suggests them.

    Help, shell completion and suggestions use `commands`, so this class keeps hidden commands elsewhere.
    """

    def __init__(self, *, commands: MutableMapping[str, Any] | None = None, **attributes: Any) -> None:
        every = dict(commands or {})
        self._hidden_commands = {name: command for name, command in every.items() if command.hidden}
        visible = {name: command for name, command in every.items() if not command.hidden}
        super().__init__(commands=visible, **attributes)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command with this name, also a hidden one, or None."""
        return super().get_command(ctx, cmd_name) or self._hidden_commands.get(cmd_name)
