"""Messages of the command line for invalid settings and for errors of the gateway."""

import re

from pydantic import ValidationError
from pydantic_settings import SettingsError
from rich.markup import escape

from wattgate.app.cli.consoles import err
from wattgate.app.cli.setting_errors import describe_problems, describe_unparsed
from wattgate.app.setting_sources import PREFIX
from wattgate.errors import MAX_LISTED_PROBLEMS, GatewayError

_FIELD = re.compile(r'field "(\w+)"')


def report_error(error: Exception) -> int | None:
    """Print an invalid setting or an error of the gateway. Return the exit status, or None for any other error."""
    match error:
        case ValidationError():
            _print_setting_problems(error)
        case SettingsError():
            _print_settings_error(error)
        case GatewayError():
            _print_gateway_error(error)
            return 1
        case _:
            return None
    return 2


def _print_setting_problems(error: ValidationError) -> None:
    """Print each invalid or unknown setting as one line."""
    for setting, message in describe_problems(error.errors()).items():
        err.print(f"[red]{setting}[/]: {escape(message)}", soft_wrap=True)


def _print_settings_error(error: SettingsError) -> None:
    """Print the setting whose value cannot be parsed."""
    field = _FIELD.search(str(error))
    if field is None:
        err.print(f"[red]settings[/]: {escape(str(error))}", soft_wrap=True)
        return
    err.print(f"[red]{PREFIX}{field[1].upper()}[/]: {escape(describe_unparsed(field[1]))}", soft_wrap=True)


def _print_gateway_error(error: GatewayError) -> None:
    """Print the code and message of an error, and one line for each of its problems, up to MAX_LISTED_PROBLEMS."""
    err.print(f"[red]{error.code}[/]: {escape(error.message)}", soft_wrap=True, highlight=False)
    for problem in error.problems[:MAX_LISTED_PROBLEMS]:
        path = ".".join(map(str, problem.path))
        err.print(f"  {path}: {problem.message}" if path else f"  {problem.message}", markup=False, soft_wrap=True)
