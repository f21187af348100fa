"""Files read line by line, however long their lines are."""

from collections.abc import Iterator
from typing import BinaryIO

MAX_LINE = 64 * 1024


def numbered_lines(file: BinaryIO) -> Iterator[tuple[int, str]]:
    """The lines of a file in which there is something, by their numbers, which begin at 1.

    One that is too long to be a record comes cut, so that it is refused.
    """
    for number, text in enumerate(_lines(file), start=1):
        if text.strip():
            yield number, text


def _lines(file: BinaryIO) -> Iterator[str]:
    while raw := file.readline(MAX_LINE):
        text = raw.decode("utf-8-sig" if file.tell() == len(raw) else "utf-8", errors="replace")
        while raw and not raw.endswith(b"\n"):
            raw = file.readline(MAX_LINE)
        yield text
