"""Read a file line by line with bounded memory, also if its lines are very long, and in any encoding of text."""

import codecs
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from encodings.aliases import aliases
from functools import partial
from itertools import islice
from types import MappingProxyType
from typing import BinaryIO

from wattgate.errors import BadInput

MAX_LINE_BYTES = 64 * 1024
MAX_NAME_CHARACTERS = 40
"""Maximum characters of the name of an encoding."""

MAX_SKIPPED_BYTES = 16 * 1024 * 1024
"""Maximum bytes that are read to find the end of a line which is too long."""

BLOCK_LINES, BLOCK_BYTES = 1_000, 1024 * 1024
"""Maximum number of lines in a block, and the size from which it has no further line."""


Check = Callable[[], None]
"""Raises an error if the work of a file should end. It is called after each reading, row or part."""


def no_check() -> None:
    """Let work go on: that of a command has no bound of time."""


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


def bytes_read(file: BinaryIO) -> int:
    """Return the position in a file, or 0 in a pipe, which has none."""
    return file.tell() if file.seekable() else 0


def decode_lines(first: int, lines: list[bytes]) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of each line that is not blank. `first` is the number of the first line."""
    for number, raw in enumerate(lines, start=first):
        text = raw.decode("utf-8-sig" if number == 1 else "utf-8", errors="replace")
        if text.strip():
            yield number, text


def text_lines(content: bytes) -> list[str]:
    r"""Return the lines of UTF-8 text without their ends, which are \n, \r\n and \r.

    `str.splitlines` also divides at form feeds and other marks, which the lines of a file may contain.
    """
    return [line.decode(errors="replace") for line in content.splitlines()]


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


# Encodings, and files that are no text.

_CHUNK_BYTES = 64 * 1024

MAX_PENDING_BYTES = 64 * 1024
"""Maximum bytes that a decoder keeps or drops without a character. A text has no sequence of so many bytes."""

_CODECS = (
    *("utf_8", "utf_8_sig", "utf_16", "utf_16_le", "utf_16_be", "utf_32", "utf_32_le", "utf_32_be", "ascii"),
    *(f"cp125{number}" for number in range(9)),
    "latin_1",
    *(f"iso8859_{number}" for number in (*range(2, 12), 13, 14, 15, 16)),
    *("cp437", "cp737", "cp775", "cp850", "cp852", "cp855", "cp857", "cp858", "cp860", "cp861", "cp862", "cp863"),
    *("cp864", "cp865", "cp866", "cp869", "cp874", "cp932", "cp949", "cp950"),
    *("mac_roman", "mac_latin2", "mac_cyrillic", "mac_greek", "mac_iceland", "mac_turkish"),
    *("koi8_r", "koi8_u", "gb18030", "gbk", "gb2312", "big5", "shift_jis", "euc_jp", "euc_kr", "tis_620"),
)
"""The codecs of Python that decode files: those in which spreadsheets and portals write.

Others are no text, or take much time. UTF-7 and punycode decode some bytes in a time that grows with their square.
"""

_SEPARATORS = re.compile(r"[-_ .]+")

_SPELLINGS: Mapping[str, str] = MappingProxyType(
    {alias: codec for alias, codec in aliases.items() if codec in _CODECS} | {codec: codec for codec in _CODECS}
)
"""The codecs by their names, in lower case and with underscores. A lookup in `codecs` would keep unknown names."""

ENCODINGS: Sequence[str] = tuple(codec.replace("_", "-") for codec in _CODECS)
"""The encodings of files of readings. Each has the aliases that Python knows."""

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
"""The marks at the start of a file, the longer ones first where one begins like another."""

_SIGNATURES = (
    (b"\x1f\x8b", "is compressed with gzip. Run `gunzip` on it, and import the result"),
    (b"PK\x03\x04", "is a ZIP archive or an Excel workbook. Extract the text file, or save the sheet as CSV UTF-8"),
    (b"PK\x05\x06", "is an empty ZIP archive"),
    (b"\xd0\xcf\x11\xe0", "is an Excel workbook of the old form. Save the sheet as CSV UTF-8"),
    (b"BZh", "is compressed with bzip2. Run `bunzip2` on it, and import the result"),
    (b"\xfd7zXZ\x00", "is compressed with xz. Run `unxz` on it, and import the result"),
    (b"\x28\xb5\x2f\xfd", "is compressed with Zstandard. Run `unzstd` on it, and import the result"),
    (b"7z\xbc\xaf", "is a 7-Zip archive. Extract the text file, and import that"),
    (b"%PDF", "is a PDF document. Ask for the readings as a text file, such as CSV"),
    (b"PAR1", "is a Parquet file. Convert it to CSV"),
    (b"SQLite format 3", "is a database. Export the readings as CSV"),
)
"""The first bytes of files that are no text, and what to do with them."""


def peek(file: BinaryIO, size: int) -> bytes:
    """Return the first bytes of a file or pipe whose position is its start. The position stays.

    Of a pipe, there may be fewer bytes than exist.
    """
    if file.seekable():
        head = file.read(size)
        file.seek(0)
        return head
    assert isinstance(file, io.BufferedReader)  # an opened pipe is one
    return file.peek(size)[:size]


def check_is_text(head: bytes) -> None:
    """Raise BadInput with what to do if the first bytes of a file are those of an archive or another form."""
    for signature, advice in _SIGNATURES:
        if head.startswith(signature):
            raise BadInput(f"The file {advice}.")


def marked_encoding(head: bytes) -> str | None:
    """Return the encoding that the byte order mark at the start of a file says, or None if there is none."""
    return next((encoding for mark, encoding in _BYTE_ORDER_MARKS if head.startswith(mark)), None)


class WrongEncoding(BadInput):
    """The encoding is none of those of files, or the file is not written in it."""


def find_codec(encoding: str) -> str:
    """Return the name of the codec of an encoding, such as cp1252. Raise WrongEncoding for another one."""
    codec = _SPELLINGS.get(_SEPARATORS.sub("_", encoding[:MAX_NAME_CHARACTERS].strip().lower()))
    if codec is None or len(encoding) > MAX_NAME_CHARACTERS:
        raise WrongEncoding(
            f"{encoding[:MAX_NAME_CHARACTERS]!r} is no encoding that is read. Use one of: {', '.join(ENCODINGS)}."
        )
    return codecs.lookup(codec).name


def open_utf8(file: BinaryIO, encoding: str) -> BinaryIO:
    """Return a file whose content is that of `file` in UTF-8. A byte order mark wins against `encoding`.

    Bytes that are not of the encoding become U+FFFD. Raise BadInput for a file that is no text, and WrongEncoding for
    an encoding that is not read. A read raises WrongEncoding if the file cannot be in the encoding.
    """
    head = peek(file, 16)
    check_is_text(head)
    actual = find_codec(marked_encoding(head) or encoding)
    return file if actual in ("utf-8", "ascii") else io.BufferedReader(_Transcoder(file, actual), _CHUNK_BYTES)


class _Transcoder(io.RawIOBase):
    """The content of a file in UTF-8."""

    def __init__(self, file: BinaryIO, encoding: str) -> None:
        self._file, self._encoding = file, encoding
        self._silent_bytes = 0
        self._decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
        self._pending = b""
        self._is_at_end = False

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: "memoryview") -> int:  # type: ignore[override]
        """Fill a buffer, and return the number of bytes in it; 0 at the end."""
        while not self._pending and not self._is_at_end:
            self._pending = self._decode(self._file.read(_CHUNK_BYTES))
        size = min(len(buffer), len(self._pending))
        buffer[:size] = self._pending[:size]
        self._pending = self._pending[size:]
        return size

    def _decode(self, chunk: bytes) -> bytes:
        """Return the next bytes in UTF-8. Raise WrongEncoding if the decoder fails, or waits without end."""
        self._is_at_end = not chunk
        try:
            text = self._decoder.decode(chunk, final=not chunk)
        except UnicodeError as error:  # such as UTF-16 without a byte order mark
            raise WrongEncoding(f"The file is not in {self._encoding}: {error}. Use another encoding.") from None
        self._silent_bytes = 0 if text else self._silent_bytes + len(chunk)
        if max(self._silent_bytes, len(self._decoder.getstate()[0])) >= MAX_PENDING_BYTES:
            raise WrongEncoding(
                f"The file is not in {self._encoding}: {MAX_PENDING_BYTES:,} bytes have no character. Use another "
                "encoding."
            )
        return text.encode("utf-8", errors="replace")
