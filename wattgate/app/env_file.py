"""The lines of `.env`: where each setting is, and lines that are no setting."""

import re
from collections.abc import Mapping
from pathlib import Path

MAX_SHOWN_CHARACTERS = 40
"""Maximum characters of the name in a message. The rest of a wrong line may be a secret."""

_STATEMENT = re.compile(
    r"""[^\S\n]*+(?:export[^\S\n]+)?(?P<name>[^\s=\#'"]+)[^\S\n]*+=[^\S\n]*+
    (?:'(?:[^'\\]|\\.)*'[^\S\n]*(?:\#[^\n]*)?|"(?:[^"\\]|\\.)*"[^\S\n]*(?:\#[^\n]*)?|(?!['"])[^\n]*)(?:\n|\Z)""",
    re.VERBOSE | re.DOTALL,
)
"""A setting, with a value in quotation marks that may have several lines, or one up to the end of the line."""

_IGNORED = re.compile(r"[^\S\n]*(?:\#[^\n]*)?(?:\n|\Z)")
"""An empty line, or a comment."""


class InvalidEnvFile(ValueError):
    """A file with a line that is no setting. The message names the file, the line and what to write."""


def find_lines(file: Path) -> Mapping[str, int]:
    """Return the line of each setting of a file, by its name in capitals. The last line of a name counts.

    Raise InvalidEnvFile for a line that is no setting. Without the file, there are none.
    """
    try:
        text = file.read_text(encoding="utf-8-sig").replace("\r\n", "\n")
    except FileNotFoundError:
        return {}
    except UnicodeDecodeError as error:
        raise InvalidEnvFile(f"{file}: is not UTF-8 at byte {error.start}. Save the file as UTF-8.") from None
    lines: dict[str, int] = {}
    position, number = 0, 1
    while position < len(text):
        found = _IGNORED.match(text, position) or _STATEMENT.match(text, position)
        if found is None:
            raise InvalidEnvFile(f"{file}:{number}: {_describe(text[position:].partition(chr(10))[0].strip())}")
        if name := found.groupdict().get("name"):
            lines[name.upper()] = number
        number += text.count("\n", position, found.end())
        position = found.end()
    return lines


def _describe(line: str) -> str:
    name, equals, value = line.partition("=")
    shown = name.strip()[:MAX_SHOWN_CHARACTERS]
    if not equals:
        return f"the line {shown!r} has no `=`. Write NAME=VALUE, or begin a comment with #."
    if value.strip()[:1] in ("'", '"'):
        return f"the value of {shown!r} has no closing quotation mark, or text after it. Correct the line."
    return f"{shown!r} is not the name of a setting. Write NAME=VALUE, or begin a comment with #."
