"""Where the package index of this machine is, and how to reach it, for pip on another system."""

import ast
import subprocess
import sys

PIP_FILES = ("cert", "client-cert")
"""The options of pip that name a file."""

PIP_OPTIONS = ("index-url", "extra-index-url", "trusted-host", "proxy", *PIP_FILES)
"""The options of pip that say where the package index is and how to reach it."""


def pip_options() -> dict[str, str]:
    """Return the options of pip in PIP_OPTIONS on this machine, of files and of the environment."""
    command = [sys.executable, "-m", "pip", "config", "list"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    lines.sort(key=lambda line: line.startswith(":env:"))  # the environment has precedence
    pairs = [line.partition("=") for line in lines]
    options = {name.rpartition(".")[2]: str(ast.literal_eval(value)) for name, _, value in pairs}
    return {name: _of_network(value) for name, value in options.items() if name in PIP_OPTIONS}


def _of_network(value: str) -> str:
    """Return a value without the addresses of folders, which the other system does not have."""
    return " ".join(part for part in value.split() if not part.startswith("file:"))


def pip_configuration() -> str:
    """Return the options as a configuration file of pip."""
    return "\n".join(["[global]", *(f"{name} = {value}" for name, value in pip_options().items() if value)]) + "\n"
