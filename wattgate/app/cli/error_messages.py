"""Messages of the command line for invalid settings and for errors of the gateway."""

import re

from pydantic import ValidationError
from pydantic_core import ErrorDetails
from pydantic_settings import SettingsError
from rich.markup import escape

from wattgate.app.cli.consoles import err
from wattgate.app.setting_names import nearest_setting
from wattgate.app.setting_sources import ENV_FILE, PREFIX
from wattgate.app.settings import Settings
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
    for problem in error.errors():
        setting, message = _describe_setting_problem(problem)
        err.print(f"[red]{setting}[/]: {escape(message)}", soft_wrap=True)


def _print_settings_error(error: SettingsError) -> None:
    """Print the setting whose value cannot be parsed."""
    field = _FIELD.search(str(error))
    setting = f"{PREFIX}{field[1].upper()}" if field else "settings"
    err.print(f"[red]{setting}[/]: the value cannot be parsed. Write a list as JSON.", soft_wrap=True)


def _print_gateway_error(error: GatewayError) -> None:
    """Print the code and message of an error, and one line for each of its problems, up to MAX_LISTED_PROBLEMS."""
    err.print(f"[red]{error.code}[/]: {escape(error.message)}", soft_wrap=True, highlight=False)
    for problem in error.problems[:MAX_LISTED_PROBLEMS]:
        path = ".".join(map(str, problem.path))
        err.print(f"  {path}: {problem.message}" if path else f"  {problem.message}", markup=False, soft_wrap=True)


def _describe_setting_problem(problem: ErrorDetails) -> tuple[str, str]:
    """Return the variable of a problem and its message.

    Pydantic names an invalid setting by its field, but an unknown one by its variable.
    """
    name = "_".join(map(str, problem["loc"])).upper()
    if problem["type"] != "extra_forbidden":
        return f"{PREFIX}{name}", problem["msg"]
    nearest = nearest_setting(name, Settings.model_fields)
    correction = "Correct the name or " + ("remove the line." if problem["input"] == ENV_FILE else "unset it.")
    return name, f"unknown setting in {problem['input']}. {f'Did you mean {nearest}?' if nearest else correction}"
