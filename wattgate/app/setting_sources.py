"""Where settings come from. Commands that need one or two settings use this module, which has light imports."""

import os
from importlib import import_module
from pathlib import Path

PREFIX = "WATTGATE_"

ENV_FILE = ".env"
"""The file that is read besides the environment."""


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
