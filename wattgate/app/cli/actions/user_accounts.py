"""Carry out the commands that change the account of a user: set a password, suspend and reopen."""

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import typer

from wattgate.app.cli.consoles import out
from wattgate.app.cli.database_context import run_async
from wattgate.app.cli.gateway_context import system_of, with_current_gateway
from wattgate.app.homes.home_selection import require_user
from wattgate.app.server.components import Components
from wattgate.app.settings import Settings
from wattgate.errors import BadInput
from wattgate.operations.accounts import provisioning, user_suspensions
from wattgate.operations.core.operation import Operation
from wattgate.operations.vocabulary.arguments import Id
from wattgate.principal import Permission

MAX_PASSWORD_BYTES = 4_096
"""Maximum length of the line of standard input with a password."""


def user_set_password(*, user: str, application: str | None) -> None:
    """Set a new password of a user."""
    account = _run(provisioning.set_user_password, user, application, lambda: {"password": _read_password(user)})
    out.print(
        f"The password of {account.username} is changed. All tokens, displays and connections of the account ended.",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )


def user_suspend(*, user: str, application: str | None) -> None:
    """Suspend a user."""
    _run(user_suspensions.suspend_user, user, application)
    out.print(
        f"The user {user} is suspended. All tokens, displays and connections ended. Readings are still recorded.",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )


def user_reopen(*, user: str, application: str | None) -> None:
    """Reopen a suspended user."""
    reopened = _run(user_suspensions.reopen_user, user, application)
    out.print(f"The user {user} is {reopened.status}.", markup=False, highlight=False, soft_wrap=True)


def _read_password(user: str) -> str:
    """Return a password from the terminal, or from the first line of standard input.

    An argument would be in the list of processes and in the history of the shell.
    """
    if sys.stdin.isatty():
        return str(typer.prompt(f"New password of {user}", hide_input=True, confirmation_prompt=True, err=True))
    password = sys.stdin.readline(MAX_PASSWORD_BYTES).rstrip("\r\n")
    if not password:
        raise BadInput("Standard input has no password. Write it into the first line.")
    return password


def _run(
    operation: Operation, user: str, application: str | None, read_arguments: Callable[[], dict[str, Any]] = dict
) -> Any:
    """Run an operation for the user with this username or ID. Read its other arguments when the user is found."""

    async def run(gateway: Components) -> Any:
        system = await system_of(gateway.runner, application)
        user_id = await gateway.runner.read(system, Permission.SYSTEM, partial(require_user, text=user))
        return await gateway.runner.run(operation, system, {"user_id": Id(user_id), **read_arguments()})

    return run_async(with_current_gateway(Settings(), run))
