"""Read a file line by line with bounded memory, also if its lines are very long."""

from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import BinaryIO

from wattgate.errors import BadInput

MAX_LINE_BYTES = 64 * 1024

MAX_SKIPPED_BYTES = 16 * 1024 * 1024
"""Maximum bytes that are read to find the end of a line which is too long."""

BLOCK_LINES, BLOCK_BYTES = 1_000, 1024 * 1024
"""Maximum number of lines in a block, and the size from which it has no further line."""


def read_numbered_lines(file: BinaryIO) -> Iterator[tuple[int, str]]:
    """Yield the number, from 1, and the text of each line that is not blank.

    A line longer than MAX_LINE_BYTES is cut there. No record is that long, so the caller rejects it. Invalid UTF-8 is
    replaced, and a byte order mark at the start of the file is removed.
    """
    for first, lines in read_blocks(file):
        yield from decode_lines(first, lines)


def read_header(file: BinaryIO) -> tuple[int, str]:
    """Return the number and the text of the first line that is not blank, or (1, "") if there is none."""
    for number, lines in read_blocks(file, block_lines=1):
        for header in decode_lines(number, lines):
            return header
    return 1, ""


def read_blocks(file: BinaryIO, *, first: int = 1, block_lines: int = BLOCK_LINES) -> Iterator[tuple[int, list[bytes]]]:
    """Yield the next lines in blocks, with the number of the first line of each block.

    `first` is the number of the next line. A line longer than MAX_LINE_BYTES is cut there.
    """
    pieces, number = iter(partial(file.readline, MAX_LINE_BYTES), b""), first
    while block := _next_block(pieces, block_lines):
        yield number, block
        number += len(block)


def decode_lines(first: int, lines: list[bytes]) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of each line that is not blank. `first` is the number of the first line."""
    for number, raw in enumerate(lines, start=first):
        text = raw.decode("utf-8-sig" if number == 1 else "utf-8", errors="replace")
        if text.strip():
            yield number, text


def _next_block(pieces: Iterator[bytes], block_lines: int) -> list[bytes]:
    """Return the next lines, each cut at the end of its first piece; none at the end of the file."""
    block, size = list[bytes](), 0
    for piece in islice(pieces, block_lines):
        block.append(piece)
        size += len(piece)
        if not piece.endswith(b"\n"):
            _skip_line(pieces)
        if size >= BLOCK_BYTES:
            break
    return block


def _skip_line(pieces: Iterator[bytes]) -> None:
    """Read on to the end of a line. Raise BadInput if it is far away: the file may have no lines, or no end."""
    skipped = 0
    for piece in pieces:
        if piece.endswith(b"\n"):
            return
        skipped += len(piece)
        if skipped > MAX_SKIPPED_BYTES:
            raise BadInput(
                f"A line of the file has more than {MAX_SKIPPED_BYTES:,} bytes. Give a text file with one record in "
                "each line."
            )
