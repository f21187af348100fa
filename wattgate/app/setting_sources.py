"""Where settings come from, and their names: unknown ones are reported. Light imports, for commands that need a few."""

import os
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any

PREFIX = "WATTGATE_"

ENV_FILE = ".env"
"""The file that is read besides the environment."""

COMMAND_VARIABLES = frozenset({f"{PREFIX}{name}" for name in ("URL", "TOKEN", "USER", "PASSWORD", "APPLICATION")})
"""Variables of the environment that are options of commands, not settings."""

TEST_PREFIX = f"{PREFIX}TEST_"
"""Prefix of the variables of the test suite. They are ignored, unless one is nearly the name of a setting."""

MIN_SIMILARITY = 0.6
"""Similarity, from 0 to 1, from which a setting is suggested for an unknown name."""

MIN_TEST_SIMILARITY = 0.8
"""Similarity from which a name with TEST_PREFIX counts as a misspelt setting."""


def read_setting(name: str, default: str) -> str:
    """Return a setting as text from the environment, or else from ENV_FILE. Names are not case-sensitive."""
    values: dict[str, str | None] = {}
    if Path(ENV_FILE).is_file():
        values |= import_module("dotenv").dotenv_values(ENV_FILE)  # few deployments have the file
    values |= os.environ
    known = {key.upper(): value for key, value in values.items()}
    return known.get(f"{PREFIX}{name}") or default


def read_variable(name: str, default: str) -> str:
    """Return a variable of the environment that a library reads itself, such as PGSSLMODE."""
    return os.environ.get(name) or default


def is_tracing_configured() -> bool:
    """Return whether the OpenTelemetry variables of the environment name a collector for traces."""
    variables = os.environ
    if variables.get("OTEL_SDK_DISABLED", "").lower() == "true" or variables.get("OTEL_TRACES_EXPORTER") == "none":
        return False
    return bool(variables.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") or variables.get("OTEL_EXPORTER_OTLP_ENDPOINT"))


def build_environment(**changed: str) -> dict[str, str]:
    """Return this process's environment with some variables changed, for a child process."""
    return {**os.environ, **changed}


def nearest_setting(name: str, fields: Iterable[str], similarity: float = MIN_SIMILARITY) -> str | None:
    """Return the setting whose name is most similar to an unknown one, or None if none is similar."""
    requested = name.upper()
    while requested.startswith(PREFIX):
        requested = requested.removeprefix(PREFIX)
    nearest = get_close_matches(requested, [field.upper() for field in fields], n=1, cutoff=similarity)
    return f"{PREFIX}{nearest[0]}" if nearest else None


def is_test_variable(name: str, fields: Iterable[str]) -> bool:
    """Return whether a variable belongs to the test suite."""
    return name.startswith(TEST_PREFIX) and nearest_setting(name, fields, MIN_TEST_SIMILARITY) is None


def unknown_names(variables: Iterable[str], fields: Mapping[str, Any]) -> list[str]:
    """Return the variables, in capitals, that are neither a setting nor one of the test suite."""
    known = {f"{PREFIX}{field.upper()}" for field in fields}
    names = map(str.upper, variables)
    return [name for name in names if name not in known and not is_test_variable(name, fields)]
