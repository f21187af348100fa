"""Messages of the command line for invalid settings and for errors of the gateway."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails
from pydantic_settings import SettingsError
from rich.markup import escape

from wattgate.app.cli.consoles import err
from wattgate.app.env_file import InvalidEnvFile, find_lines
from wattgate.app.setting_sources import ENV_FILE, PREFIX, build_environment, nearest_setting, read_setting
from wattgate.app.settings import Settings
from wattgate.errors import MAX_LISTED_PROBLEMS, GatewayError, Unavailable

_FIELD = re.compile(r'field "(\w+)"')


def report_error(error: Exception) -> int | None:
    """Print an error of settings, of the gateway or of a file. Return the exit status, or None for any other error."""
    match error:
        case ValidationError():
            _print_setting_problems(error)
        case InvalidEnvFile():
            err.print(str(error), markup=False, highlight=False, soft_wrap=True)
        case SettingsError():
            _print_settings_error(error)
        case GatewayError():
            _print_gateway_error(error)
            return 1
        case OSError(filename=str() | Path() as name, strerror=str() as reason):
            err.print(f"[red]{Unavailable.code}[/]: {escape(_describe_file(name, reason))}", soft_wrap=True)
            return 1
        case _:
            return None
    return 2


def _print_setting_problems(error: ValidationError) -> None:
    """Print each invalid or unknown setting as one line."""
    lines = find_lines(Path(ENV_FILE))
    for setting, message in describe_problems(error.errors()).items():
        is_in_file = setting in lines and setting not in map(str.upper, build_environment())
        place = f"{ENV_FILE}:{lines[setting]}: " if is_in_file else ""
        err.print(f"{place}[red]{setting}[/]: {escape(message)}", soft_wrap=True)


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


def _describe_file(name: str | Path, reason: str) -> str:
    return f"{name} cannot be used: {reason}. Check the name, and the permissions of the file and its folder."


# Sentences about invalid settings: what is wrong with which value, and what to write. None contains a secret.

HIDDEN = "***"
"""Stands for the part of a value that can be a password."""

MAX_SHOWN_LENGTH = 100
"""Characters of a value that a message shows."""

MAX_PORT_DIGITS = 5

_VERBS = ("cannot", "has", "is", "must", "names", "needs", "would")
"""The first words of messages that have the value as their subject. Other messages name what is wrong themselves."""

_SENTENCES: Mapping[str, Callable[[Mapping[str, Any]], str]] = MappingProxyType(
    {
        "literal_error": lambda context: f"is not valid. Write {context['expected']}",
        "int_parsing": lambda _: "is not a whole number. Write digits only",
        "int_from_float": lambda _: "is not a whole number. Write digits only",
        "float_parsing": lambda _: "is not a number. Write one such as 2.5",
        "finite_number": lambda _: "is not a finite number. Write one such as 2.5",
        "bool_parsing": lambda _: "is neither true nor false. Write true or false",
        "greater_than": lambda context: f"is too small. Write a number above {context['gt']:g}",
        "greater_than_equal": lambda context: f"is too small. Write a number of at least {context['ge']}",
        "less_than": lambda context: f"is too large. Write a number below {context['lt']:g}",
        "less_than_equal": lambda context: f"is too large. Write a number of at most {context['le']}",
        "string_too_short": lambda context: f"is too short. Write {_at_least(context, 'character')}",
        "string_too_long": lambda context: f"is too long. Write at most {context['max_length']} characters",
        "ip_v4_network": lambda _: "is not a network. Write one such as 10.0.0.0/8",
        "ip_v6_network": lambda _: "is not a network. Write one such as 10.0.0.0/8",
    }
)
"""The sentence about each type of error of pydantic, with the value as its subject."""


def describe_problems(problems: Iterable[ErrorDetails]) -> Mapping[str, str]:
    """Return the sentence about each invalid or unknown setting by variable. Of several problems, return the first.

    Pydantic names an invalid setting by its field, but an unknown one by its variable.
    """
    found: dict[str, str] = {}
    for problem in problems:
        name = str(problem["loc"][0])
        if problem["type"] == "extra_forbidden":
            found.setdefault(name.upper(), _describe_unknown(name.upper(), str(problem["input"])))
        else:
            found.setdefault(f"{PREFIX}{name.upper()}", _describe_invalid(name, problem))
    return found


def describe_unparsed(field: str) -> str:
    """Return the sentence about a list that is not JSON."""
    value = _shown(field, read_setting(field.upper(), ""))
    return f'the value {value} is not a list in JSON. Write one such as ["first", "second"].'


def _describe_unknown(name: str, source: str) -> str:
    nearest = nearest_setting(name, Settings.model_fields)
    correction = "Correct the name or " + ("remove the line." if source == ENV_FILE else "unset it.")
    return f"unknown setting in {source}. {f'Did you mean {nearest}?' if nearest else correction}"


def _describe_invalid(field: str, problem: ErrorDetails) -> str:
    message = _sentence_of(field, problem)
    if message.split()[0] in _VERBS and problem["input"] is not None:
        message = f"the value {_shown(field, problem['input'])} {message}"
    return message if message.endswith((".", "?")) else f"{message}."


def _sentence_of(field: str, problem: ErrorDetails) -> str:
    """Return the sentence about a value, without the value."""
    context = problem.get("ctx", {})
    if problem["type"] == "value_error":
        return str(context["error"])
    if problem["type"] == "too_short":
        item = "character" if _is_secret(field) else "item"
        return f"is too short. Write {_at_least(context, item)}"
    sentence = _SENTENCES.get(problem["type"])
    return sentence(context) if sentence else f"is not valid: {problem['msg']}. Correct it, or unset the variable"


def _at_least(context: Mapping[str, Any], item: str) -> str:
    number = context["min_length"]
    return f"at least {number} {item}{'' if number == 1 else 's'}"


def _is_secret(field: str) -> bool:
    """Return whether the values of a setting are secrets. Their type is SecretStr."""
    return "SecretStr" in str(Settings.model_fields[field].annotation)


def _shown(field: str, value: object) -> str:
    """Return a value as a message shows it: a secret and the credentials in a URL are hidden."""
    if _is_secret(field):
        return HIDDEN
    if field.endswith("_url"):
        return repr(_hide_credentials(str(value))[:MAX_SHOWN_LENGTH])
    text = json.dumps(value, ensure_ascii=False) if isinstance(value, (list, dict)) else repr(str(value))
    return text[:MAX_SHOWN_LENGTH]


def _hide_credentials(url: str) -> str:
    """Return a URL with HIDDEN instead of credentials and of options. The URL may be invalid."""
    scheme, separator, rest = url.partition("://")
    if not separator:
        return HIDDEN if "@" in url else url
    credentials, at, place = rest.rpartition("@")
    if "?" in credentials:  # the @ is part of an option
        return f"{scheme}://{HIDDEN}"
    place, mark, _ = place.partition("?")
    hosts, slash, path = place.partition("/")
    if not at:  # the text after a host can be a port or a password
        hosts = ",".join(map(_hide_password, hosts.split(",")))
    return f"{scheme}://{HIDDEN + at if at else ''}{hosts}{slash}{path}{mark}{HIDDEN if mark else ''}"


def _hide_password(host: str) -> str:
    """Return a host with its port, or with HIDDEN instead of another text."""
    name, colon, port = host.partition(":")
    is_port = name and port.isdigit() and len(port) <= MAX_PORT_DIGITS
    return host if is_port or not colon else f"{name}:{HIDDEN}"
