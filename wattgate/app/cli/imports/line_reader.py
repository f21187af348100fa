"""Read a file line by line with bounded memory, also if its lines are very long."""

from collections.abc import Iterator
from typing import BinaryIO

MAX_LINE_BYTES = 64 * 1024


def read_numbered_lines(file: BinaryIO) -> Iterator[tuple[int, str]]:
    """Yield the number, from 1, and the text of each line that is not blank.

    A line longer than MAX_LINE_BYTES is cut there. No record is that long, so the caller rejects it. Invalid UTF-8 is
    replaced, and a byte order mark at the start of the file is removed.
    """
    for number, text in enumerate(_read_lines(file), start=1):
        if text.strip():
            yield number, text


def _read_lines(file: BinaryIO) -> Iterator[str]:
    while raw := file.readline(MAX_LINE_BYTES):
        text = raw.decode("utf-8-sig" if file.tell() == len(raw) else "utf-8", errors="replace")
        while raw and not raw.endswith(b"\n"):
            raw = file.readline(MAX_LINE_BYTES)
        yield text
