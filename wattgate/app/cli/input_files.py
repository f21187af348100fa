"""The files that commands read: regular files and pipes, and texts and JSON of bounded size in them."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from stat import S_ISFIFO, S_ISREG
from typing import Any, BinaryIO

from wattgate.errors import BadInput

MAX_TEXT_BYTES = 16 * 1024 * 1024
"""Maximum bytes of a file that is read at once, such as a template or a manifest."""


class UnreadableFile(BadInput):
    """A file that a command cannot read. `problem` says why, without the name of the file."""

    def __init__(self, file: str | Path, problem: str, position: str = "") -> None:
        super().__init__(f"{file}{position} {problem}")
        self.problem, self.position = problem, position


@contextmanager
def open_input(file: Path) -> Iterator[BinaryIO]:
    """Open a file to read. Raise UnreadableFile for a device, whose content may have no end."""
    with file.open("rb") as source:
        mode = os.fstat(source.fileno()).st_mode
        if not (S_ISREG(mode) or S_ISFIFO(mode)):
            raise UnreadableFile(file, "is neither a regular file nor a pipe. Give the name of a file.")
        yield source


def read_text(file: Path) -> str:
    """Return the text of a file. Raise UnreadableFile if it is too large, not UTF-8, or a device."""
    with open_input(file) as source:
        content = source.read(MAX_TEXT_BYTES + 1)
    if len(content) > MAX_TEXT_BYTES:
        raise UnreadableFile(file, f"has more than {MAX_TEXT_BYTES:,} bytes. Give a smaller file.")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise UnreadableFile(file, f"is not UTF-8: {error.reason} at byte {error.start}") from None


def read_json(file: Path) -> Any:
    """Return the value in a file of JSON. Raise UnreadableFile if there is none, and as `read_text` does."""
    return parse_json(file, read_text(file))


def parse_json(file: Path, text: str) -> Any:
    """Return the value of a text of a file. Raise UnreadableFile if it is not JSON that Python can represent."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise UnreadableFile(file, f"is not JSON: {error.msg}", f":{error.lineno}:{error.colno}") from None
    except RecursionError:
        raise UnreadableFile(file, "is nested too deeply. Use fewer levels of lists and objects.") from None
    except ValueError:  # the limit of Python for the digits of an integer
        raise UnreadableFile(file, "has an integer with too many digits. Write it as a text.") from None
