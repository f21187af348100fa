"""TOML files of a form: those of the package under their names, and those of users, with the place of each mistake."""

import tomllib
from importlib.resources import files
from typing import TypeVar

import msgspec

from wattgate.errors import BadInput

T = TypeVar("T", bound=msgspec.Struct)

MAX_TOML_BYTES = 64 * 1024


def toml_names(package: str, folder: str) -> list[str]:
    """Return the names of the files in a folder of a package."""
    entries = (files(package) / folder).iterdir()
    return sorted(entry.name.removesuffix(".toml") for entry in entries if entry.name.endswith(".toml"))


def toml_text(package: str, folder: str, name: str, kind: str) -> str:
    """Return a file of a package. Raise BadInput with the known names if there is none of this name."""
    names = toml_names(package, folder)
    if name not in names:
        known = ", ".join(names)
        raise BadInput(f"There is no {kind} {name!r}. Use one of: {known}. Or give the path of a TOML file.")
    return (files(package) / folder / f"{name}.toml").read_text(encoding="utf-8")


def parse_toml(content: bytes, form: type[T], name: str, kind: str) -> T:
    """Return the content of a file with its name. Raise BadInput with the place that is not of the form.

    `kind` is the word for such a file in the message, such as `file profile`.
    """
    if len(content) > MAX_TOML_BYTES:
        raise BadInput(f"The {kind} {name} has more than {MAX_TOML_BYTES:,} bytes.")
    try:
        return msgspec.convert({"name": name, **tomllib.loads(content.decode())}, form)
    except UnicodeDecodeError as error:
        raise BadInput(f"The {kind} {name} is not UTF-8: byte {error.start}.") from None
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"The {kind} {name} is not TOML: {error}.") from None
    except RecursionError:
        raise BadInput(f"The {kind} {name} is nested too deeply.") from None
    except msgspec.ValidationError as error:
        raise BadInput(f"The {kind} {name} is not valid: {error}.") from None
