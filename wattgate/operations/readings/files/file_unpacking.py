"""Unpack a compressed upload: gzip, or a ZIP archive with one file. The unpacked size has a bound."""

import gzip
import tempfile
import zipfile
import zlib
from typing import IO, BinaryIO

from wattgate.errors import BadInput, TooLarge
from wattgate.reading_files.line_reader import Check, no_check

MAX_UNPACKED_BYTES = 128 * 2**20
"""Maximum bytes of a file after it is unpacked. A million lines have about 40 MB."""

MAX_DIRECTORY_BYTES = 64 * 1024
"""Maximum bytes of the directory of a ZIP archive. A library reads all of it before it says how many files it has."""

_CHUNK_BYTES = 256 * 1024
_END_RECORD_BYTES = 22
_MAX_COMMENT_BYTES = 64 * 1024
_GZIP, _ZIP, _END_RECORD, _ZIP64_LOCATOR = b"\x1f\x8b", b"PK\x03\x04", b"PK\x05\x06", b"PK\x06\x07"
_WORKBOOK_MEMBER = "[Content_Types].xml"


def unpack(file: BinaryIO, max_bytes: int = MAX_UNPACKED_BYTES, *, check: Check = no_check) -> BinaryIO:
    """Return the content of a compressed file as a temporary file, or the file itself if it is not compressed.

    Raise BadInput for an archive that has not exactly one file, and TooLarge if the content has more than `max_bytes`.
    `check` is called for each part, and ends the work with an error.
    """
    file.seek(0)
    head = file.read(4)
    file.seek(0)
    try:
        if head.startswith(_GZIP):
            with gzip.GzipFile(fileobj=file) as packed:
                return _copy(packed, max_bytes, check)
        if head == _ZIP:
            _check_directory(file)
            with zipfile.ZipFile(file) as archive, archive.open(_only_member(archive)) as member:
                return _copy(member, max_bytes, check)
    except (OSError, EOFError, zlib.error, zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise BadInput(f"The compressed file cannot be unpacked: {error}.") from None
    return file


def _copy(packed: gzip.GzipFile | IO[bytes], max_bytes: int, check: Check) -> BinaryIO:
    target: BinaryIO = tempfile.TemporaryFile()  # noqa: SIM115 (the caller closes it)
    size = 0
    try:
        while chunk := packed.read(_CHUNK_BYTES):
            check()
            size += len(chunk)
            if size > max_bytes:
                raise TooLarge(f"The file has more than {max_bytes:,} bytes when it is unpacked. Divide it.")
            target.write(chunk)
    except BaseException:
        target.close()
        raise
    target.seek(0)
    return target


def _check_directory(file: BinaryIO) -> None:
    """Raise BadInput if the directory of a ZIP archive is large, before the library reads it."""
    size = file.seek(0, 2)
    file.seek(max(0, size - _END_RECORD_BYTES - _MAX_COMMENT_BYTES))
    tail = file.read()
    file.seek(0)
    at = len(tail) - _END_RECORD_BYTES
    if not (tail[at : at + 4] == _END_RECORD and tail.endswith(b"\0\0")):
        at = tail.rfind(_END_RECORD)
    if at < 0:
        raise BadInput("The ZIP archive is not complete.")
    directory_bytes = int.from_bytes(tail[at + 12 : at + 16], "little")
    if _ZIP64_LOCATOR in tail[max(0, at - 20) : at] or directory_bytes > MAX_DIRECTORY_BYTES:
        raise BadInput("The ZIP archive has too many files. Use an archive with one file of readings.")


def _only_member(archive: zipfile.ZipFile) -> zipfile.ZipInfo:
    members = [member for member in archive.infolist() if not member.is_dir()]
    names = [member.filename for member in members]
    if _WORKBOOK_MEMBER in names:
        raise BadInput("The file is an Excel workbook. Save the sheet as CSV UTF-8.")
    if len(members) != 1:
        shown = ", ".join(name[:60] for name in names[:3])
        raise BadInput(
            f"The ZIP archive has {len(members):,} files: {shown or 'none'}. Use an archive with one file of readings."
        )
    return members[0]
