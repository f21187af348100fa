"""Tables of the reference pages that are generated from the code: settings, commands, quotas, capabilities and
error codes.

`python -m tests.support.reference_pages` writes them into settings.md, cli.md, limits.md, credentials.md and errors.md
of docs/reference. Tests compare the pages with the generated text.
"""

import inspect
import json
import re
import textwrap
from collections.abc import Iterator, Mapping
from enum import Enum
from pathlib import Path
from types import MappingProxyType, NoneType, UnionType
from typing import Any, Literal, get_args, get_origin

import annotated_types
from pydantic import AfterValidator, SecretStr
from pydantic.fields import FieldInfo
from typer.main import get_command

from tests.support.capability_tests import TESTS
from wattgate.app.cli.main import app
from wattgate.app.settings import Settings
from wattgate.db.models.tenancy import Quota
from wattgate.db.scope.tenancy_guard import tenanted_models
from wattgate.error_guide import ERROR_GUIDE, ErrorGuide, status_and_retryable
from wattgate.graphql.capabilities import CAPABILITIES

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
SETTINGS_PAGE = REFERENCE / "settings.md"
CLI_PAGE = REFERENCE / "cli.md"
LIMITS_PAGE = REFERENCE / "limits.md"
CREDENTIALS_PAGE = REFERENCE / "credentials.md"
ERRORS_PAGE = REFERENCE / "errors.md"

_SETTINGS_TABLE = re.compile(r"(<!-- settings: ([a-z_\s]+) -->\n).*?(<!-- end of settings -->)", re.DOTALL)
_COMMAND = re.compile(r"(<!-- command: ([a-z -]+) -->\n).*?(<!-- end of command -->)", re.DOTALL)

_QUOTAS = re.compile(r"(<!-- quotas -->\n).*?(<!-- end of quotas -->)", re.DOTALL)
_CODES = re.compile(r"(<!-- codes -->\n).*?(<!-- end of codes -->)", re.DOTALL)
_CODE_SECTIONS = re.compile(r"(<!-- sections of codes -->\n).*?(<!-- end of sections -->)", re.DOTALL)
_CAPABILITIES = re.compile(r"(<!-- capabilities -->\n).*?(<!-- end of capabilities -->)", re.DOTALL)

EXAMPLE = "Example: "
"""Prefix of the last paragraph in the help of each command."""

_TYPES: Mapping[Any, str] = MappingProxyType(
    {str: "text", SecretStr: "text, secret", int: "integer", float: "number", bool: "`true` or `false`", Path: "path"}
)


def settings_named(page: str) -> list[str]:
    """Return the names of all settings that the tables of a page list, in their order."""
    return [name for _, names, _ in _SETTINGS_TABLE.findall(page) for name in names.split()]


def commands_named(page: str) -> list[str]:
    """Return the names of all commands that a page describes, in their order."""
    return [name for _, name, _ in _COMMAND.findall(page)]


def with_settings(page: str) -> str:
    """Return the page with a generated table between each pair of marks, for the settings that the mark names."""
    return _SETTINGS_TABLE.sub(lambda marked: marked[1] + settings_table(marked[2].split()) + marked[3], page)


def with_commands(page: str) -> str:
    """Return the page with a generated description of the named command between each pair of marks."""
    known = commands()
    return _COMMAND.sub(lambda marked: marked[1] + command_section(marked[2], known[marked[2]]) + marked[3], page)


def with_quotas(page: str) -> str:
    """Return the page with the generated table of quotas between its marks."""
    return _QUOTAS.sub(lambda marked: marked[1] + quota_table() + marked[2], page)


def quota_table() -> str:
    """Return a Markdown table of quotas: the maximum records for each user, other record, and application."""
    rows = ["| records | for each user | for each other record | for each application |", "|---|---|---|---|"]
    quotas = [model.quota for model in tenanted_models() if isinstance(model.quota, Quota)]
    for quota in sorted(quotas, key=lambda quota: quota.noun.lower()):
        column, per_parent = quota.per_parent or ("", None)
        parent = "" if per_parent is None else f"{per_parent:,} for each {column.removesuffix('_id').replace('_', ' ')}"
        application = "`WATTGATE_APPLICATION_RECORDS`" if quota.grows_with_users else _limit(quota.per_application)
        rows.append(f"| {quota.noun} | {_limit(quota.per_user)} | {parent} | {application} |")
    return "\n".join(rows) + "\n"


def _limit(number: int | None) -> str:
    return "" if number is None else f"{number:,}"


def with_capabilities(page: str) -> str:
    """Return the page with a generated table of the registry of capabilities between its marks."""
    return _CAPABILITIES.sub(lambda marked: marked[1] + capability_table() + marked[2], page)


def capability_table() -> str:
    """Return a Markdown table of the capabilities, each with the test that ends it."""
    rows = ["| capability | ends with | bound | end | within | test |", "|---|---|---|---|---|---|"]
    for row in CAPABILITIES:
        anchors = ", ".join(anchor.value for anchor in row.depends_on)
        path, _, test = TESTS[row.name].partition("::")
        link = f"[{test}](../../{path})"
        rows.append(f"| {row.name} | {anchors} | {row.bound} | {row.ends} | {row.within} | {link} |")
    return "\n".join(rows) + "\n"


def with_codes(page: str) -> str:
    """Return the page with the generated table of error codes and their sections between its marks."""
    page = _CODES.sub(lambda marked: marked[1] + code_table() + marked[2], page)
    return _CODE_SECTIONS.sub(lambda marked: marked[1] + code_sections() + marked[2], page)


def code_table() -> str:
    """Return a Markdown table of the error codes, each with a link to its section."""
    rows = ["| code | status | retryable | typical cause | what to do |", "|---|---|---|---|---|"]
    for code, guide in ERROR_GUIDE.items():
        status, retryable = status_and_retryable(code)
        link = f"[`{code}`](#{code.lower()})"
        rows.append(f"| {link} | {status} | {'yes' if retryable else 'no'} | {guide.cause} | {guide.action} |")
    return "\n".join(rows) + "\n"


def code_sections() -> str:
    """Return a Markdown section for each error code: cause, what to do, and an example."""
    return "\n".join(_code_section(code, guide) for code, guide in ERROR_GUIDE.items())


def _code_section(code: str, guide: ErrorGuide) -> str:
    status, retryable = status_and_retryable(code)
    steps = "".join(f"{_wrapped(step, '- ')}\n" for step in guide.steps)
    retry = "retryable" if retryable else "not retryable"
    return (
        f"### {code}\n\nStatus {status}, {retry}.\n\n"
        f"{_wrapped('**Cause.** ' + guide.cause)}\n\n{_wrapped('**What to do.** ' + guide.action)}\n\n{steps}\n"
        f"Example: `{guide.example}`\n"
    )


def _wrapped(text: str, first: str = "") -> str:
    """Return a paragraph or a list item in lines of at most 120 characters."""
    indent = " " * len(first)
    return textwrap.fill(text, 120, initial_indent=first, subsequent_indent=indent, break_on_hyphens=False)


def settings_table(names: list[str]) -> str:
    """Return a Markdown table of settings: variable, type with bounds, default, description."""
    rows = ["| setting | type | default | description |", "|---|---|---|---|"]
    for name in names:
        field = Settings.model_fields[name]
        rows.append(f"| `WATTGATE_{name.upper()}` | {_type(field)} | {_default(field)} | {field.description} |")
    return "\n".join(rows) + "\n"


def _type(field: FieldInfo) -> str:
    annotation: Any = field.annotation
    if get_origin(annotation) is UnionType:
        (annotation,) = (value for value in get_args(annotation) if value is not NoneType)
    if get_origin(annotation) is Literal:
        return " or ".join(f"`{value}`" for value in get_args(annotation))
    if get_origin(annotation) is list:
        return "JSON list"
    bounds = _bounds(field)
    return f"{_TYPES[annotation]}, {bounds}" if bounds else _TYPES[annotation]


def _bounds(field: FieldInfo) -> str:
    """Return the bounds of a number, or of the length of a text, as text."""
    minimum = maximum = above = shortest = longest = None
    for value in field.metadata:
        match value:
            case annotated_types.Ge():
                minimum = value.ge
            case annotated_types.Gt():
                above = value.gt
            case annotated_types.Le():
                maximum = value.le
            case annotated_types.MinLen():
                shortest = value.min_length
            case annotated_types.MaxLen():
                longest = value.max_length
            case AfterValidator():
                pass  # the description says what it checks
            case _:
                raise AssertionError(f"unsupported bound {value}: add it to _bounds")
    if above is not None:
        return f"above {above:,}, at most {maximum:,}"
    if minimum is not None:
        return f"at least {minimum:,}" if maximum is None else f"{minimum:,} to {maximum:,}"
    if shortest is not None:
        return f"at least {shortest} characters" if longest is None else f"{shortest} to {longest} characters"
    return ""


def _default(field: FieldInfo) -> str:
    if field.default is None:
        return "not set"
    return f"`{field.default if isinstance(field.default, str) else json.dumps(field.default)}`"


def commands() -> Mapping[str, Any]:
    """Return the commands that users see, by their full names such as `db upgrade`, in the order of `--help`."""
    return dict(_walk(get_command(app), ""))


def _walk(group: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _walk(command, f"{prefix}{name} ")
        elif not command.hidden:
            yield f"{prefix}{name}", command


def command_section(name: str, command: Any) -> str:
    """Return the description of a command, its usage, a table of its arguments and options, and its example."""
    parameters = [value for value in command.params if value.name != "help"]
    arguments = [_argument(value) for value in parameters if value.param_type_name == "argument"]
    usage = " ".join(["wattgate", name, *(["[OPTIONS]"] if len(arguments) < len(parameters) else []), *arguments])
    *description, example = inspect.cleandoc(command.help).split("\n\n")
    assert example.startswith(EXAMPLE), f"the last paragraph of the help of {name} must start with {EXAMPLE!r}"
    parts = ["\n\n".join(description), f"```text\n{usage}\n```"]
    if parameters:
        parts.append(
            "\n".join(["| argument or option | default | description |", "|---|---|---|", *map(_row, parameters)])
        )
    parts.append(f"Example:\n\n```sh\n{example.removeprefix(EXAMPLE)}\n```")
    return "\n\n".join(parts) + "\n"


def _argument(parameter: Any) -> str:
    """Return the name of an argument in the usage line: in capitals, with dots if it may be repeated."""
    name: str = parameter.name.upper()
    return f"{name.removesuffix('S')}..." if parameter.nargs == -1 else name


def _row(parameter: Any) -> str:
    is_argument = parameter.param_type_name == "argument"
    names = [_argument(parameter)] if is_argument else [*parameter.opts, *parameter.secondary_opts]
    variable = f" Environment variable: `{parameter.envvar}`." if parameter.envvar else ""
    formatted = ", ".join(f"`{value}`" for value in names)
    return f"| {formatted} | {_parameter_default(parameter)} | {parameter.help}{variable} |"


def _parameter_default(parameter: Any) -> str:
    if getattr(parameter, "prompt", None):
        return "prompt"
    if parameter.required:
        return "required"
    if isinstance(parameter.default, bool):
        return f"`{_switch(parameter)}`" if parameter.secondary_opts else "off"
    default = parameter.default.value if isinstance(parameter.default, Enum) else parameter.default
    return "not set" if default in (None, "") else f"`{default}`"


def _switch(parameter: Any) -> str:
    """Return the option name that selects the default of a switch with two names."""
    names: list[str] = parameter.opts if parameter.default else parameter.secondary_opts
    return names[0]


if __name__ == "__main__":
    SETTINGS_PAGE.write_text(with_settings(SETTINGS_PAGE.read_text()))
    CLI_PAGE.write_text(with_commands(CLI_PAGE.read_text()))
    LIMITS_PAGE.write_text(with_quotas(LIMITS_PAGE.read_text()))
    CREDENTIALS_PAGE.write_text(with_capabilities(CREDENTIALS_PAGE.read_text()))
    ERRORS_PAGE.write_text(with_codes(ERRORS_PAGE.read_text()))
