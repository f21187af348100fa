"""The list of erasures outside the database, which a restore of the database does not change.

Each line is a JSON object with the erasure of a user or a tenancy, and a signature. It has identifiers and instants,
and no other data. A tenancy that changes gets another line: the one with the latest change counts. Lines are only
added. Each signature covers its line and all lines before it, by a chain of digests: a line that was removed, moved,
changed or forged makes a signature wrong. So one line under a key of the gateway vouches for all lines before it, also
for those under keys that the gateway no longer has.

Lines that are missing at the end cannot be found with the list alone. The database knows which erasures and tenancies
are in the list (`erasure_check`, `tenancy_check`).
"""

import fcntl
import hashlib
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from io import BufferedReader
from pathlib import Path

import msgspec

from wattgate.db.encryption.key_ring import KeyRing, SecretKeyError
from wattgate.errors import Unavailable
from wattgate.private_files import PRIVATE_FILE_MODE, sync_to_disk

FIRST_DIGEST = hashlib.sha256(b"wattgate erasure list 1").digest()
"""The digest before the first line: the name and version of the form."""

MAX_LINE_BYTES = 4_096
"""Maximum size of a line. The gateway writes about 250 bytes for an erasure, and 400 for a tenancy."""

LOCK_SECONDS = 10.0
"""Maximum seconds to wait for another process that adds lines."""

LOCK_PAUSE_SECONDS = 0.02

RESTORE_COPY = (
    "Restore the newest copy of the list. If there is none, move the list away, and write a new one with "
    "`wattgate db export-erasures`"
)


class ErasureListError(Unavailable):
    """The list cannot be read, verified or written. The operator must correct that."""


class ListedErasure(msgspec.Struct, frozen=True):
    """The erasure of a user."""

    application_id: str
    user_id: str
    erased_at: datetime


class ListedTenancy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The state of a tenancy since `changed_at`, with the names of the columns of its table."""

    application_id: str = msgspec.field(name="application")
    tenancy_id: str = msgspec.field(name="id")
    user_id: str = msgspec.field(name="user")
    mpxn: str = msgspec.field(name="meterPoint")
    began_at: datetime | None = msgspec.field(name="from")
    ended_at: datetime | None = msgspec.field(name="to")
    changed_at: datetime = msgspec.field(name="changedAt")


ListedEntry = ListedErasure | ListedTenancy


@dataclass(frozen=True, slots=True)
class ListContent:
    """The erasures by user, in order, and the last state of each tenancy by its id."""

    erasures: Mapping[str, ListedErasure]
    tenancies: Mapping[str, ListedTenancy]


class _Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A line of the list. One without an erasure or a tenancy only signs the lines before it with another key.

    A line with a tenancy has its application, the text of it in place of the user, and no time of an erasure. So
    version 0.1.0 verifies such a line and finds no erasure in it: it can run beside this version, and after it.
    """

    signature: str
    application: str | None = None
    user: str | None = None
    erased_at: datetime | None = msgspec.field(default=None, name="erasedAt")

    @classmethod
    def of(cls, entry: ListedEntry | None, signature: str = "") -> "_Line":
        if isinstance(entry, ListedTenancy):
            return cls(signature, entry.application_id, msgspec.json.encode(entry).decode())
        return cls(signature) if entry is None else cls(signature, entry.application_id, entry.user_id, entry.erased_at)

    @property
    def signed_content(self) -> bytes:
        return msgspec.json.encode([self.application, self.user, self.erased_at])

    @property
    def entry(self) -> ListedEntry | None:
        """The entry of the line. Raise msgspec.ValidationError if it is neither an erasure nor a tenancy."""
        if self.application is None or self.user is None:
            return None
        if self.erased_at is None:
            return _TENANCY_DECODER.decode(self.user)
        return ListedErasure(self.application, self.user, self.erased_at)


@dataclass(slots=True)
class _Chain:
    """The verified lines of a list so far. `size` is their size in bytes, and `is_open` says that the last has no end.

    `last` is the last line. `unverified` is the error about it, if its key is missing.
    """

    key_ring: KeyRing
    erasures: dict[str, ListedErasure] = field(default_factory=dict)
    tenancies: dict[str, ListedTenancy] = field(default_factory=dict)
    digest: bytes = FIRST_DIGEST
    lines: int = 0
    size: int = 0
    last: bytes = b""
    is_open: bool = False
    unverified: SecretKeyError | None = None

    def accept(self, raw: bytes) -> None:
        """Add a line. Raise ValueError if it is no line of a list, or its signature is wrong."""
        line = _DECODER.decode(raw)
        digest = self._next_digest(line)
        try:
            if not self.key_ring.verify(line.signature, digest):
                raise ValueError("has a wrong signature")
            self.unverified = None
        except SecretKeyError as error:
            self.unverified = error
        self._note(line.entry)
        self.digest, self.lines, self.last = digest, self.lines + 1, raw
        self.size, self.is_open = self.size + len(raw), not raw.endswith(b"\n")

    def sign(self, entry: ListedEntry | None) -> bytes:
        """Add an entry, or None to only sign the lines before. Return the new line."""
        digest = self._next_digest(_Line.of(entry))
        raw = msgspec.json.encode(_Line.of(entry, self.key_ring.sign(digest))) + b"\n"
        self._note(entry)
        self.digest, self.lines, self.last = digest, self.lines + 1, raw
        return raw

    def lacks(self, entry: ListedEntry) -> bool:
        """Return whether an entry is not known, or is a later state of a known tenancy."""
        if isinstance(entry, ListedErasure):
            return entry.user_id not in self.erasures
        known = self.tenancies.get(entry.tenancy_id)
        return known is None or known.changed_at < entry.changed_at

    def _note(self, entry: ListedEntry | None) -> None:
        if entry is None or not self.lacks(entry):
            return
        if isinstance(entry, ListedErasure):
            self.erasures[entry.user_id] = entry
        else:
            self.tenancies[entry.tenancy_id] = entry

    def _next_digest(self, line: _Line) -> bytes:
        return hashlib.sha256(self.digest + line.signed_content).digest()


_DECODER = msgspec.json.Decoder(_Line)
_TENANCY_DECODER = msgspec.json.Decoder(ListedTenancy)


class ErasureList:
    """The list in a file. Several processes may add to it, also on several machines if the folder supports `flock`."""

    def __init__(self, file: Path, key_ring: KeyRing, *, lock_seconds: float = LOCK_SECONDS) -> None:
        self.file = file.absolute()
        self._key_ring = key_ring
        self._lock_seconds = lock_seconds
        self._written: _Chain | None = None

    def exists(self) -> bool:
        """Return whether the file exists."""
        return self.file.exists()

    def read(self) -> ListContent:
        """Return the entries of the list. Raise ErasureListError if it cannot be read or was changed."""
        try:
            with self.file.open("rb") as stream:
                chain = self._verify(stream, _Chain(self._key_ring))
                return ListContent(chain.erasures, chain.tenancies)
        except OSError as error:
            raise ErasureListError(
                f"The erasure list {self.file} cannot be read: {error.strerror}. Check WATTGATE_ERASURE_LIST, and that "
                "this user may read the file."
            ) from None

    def append(self, entries: Iterable[ListedEntry]) -> None:
        """Add those entries that are not in the list yet, in one write. They are on the disk when this returns.

        The first call verifies the whole list, and a later one only the lines that were added since. A tenancy that was
        in the list before that may get the same line again, which changes nothing. Create the file if it does not
        exist. Raise ErasureListError if that fails, or if the list was changed.
        """
        with self._locked() as stream:
            chain = self._verify(stream, self._continue(stream))
            missing = [entry for entry in entries if chain.lacks(entry)]
            if missing:
                self._write(stream.fileno(), chain, missing)
            chain.tenancies.clear()
            self._written = None if chain.is_open else chain

    def sign_again(self) -> None:
        """Sign all lines with the first key, so that the list needs no other one. Do nothing without a list."""
        if not self.exists():
            return
        with self._locked() as stream:
            self._write(stream.fileno(), self._verify(stream, _Chain(self._key_ring)), [None])

    def find_write_problem(self) -> str | None:
        """Return why nothing can be added to the list, and what to do; None if it can."""
        folder = self.file.parent
        if not folder.is_dir():
            return f"the folder {folder} does not exist: create it, or correct WATTGATE_ERASURE_LIST"
        if not os.access(self.file if self.exists() else folder, os.W_OK):
            return f"{self.file} cannot be written: give this user the permission to write the file and its folder"
        return None

    def _continue(self, stream: BufferedReader) -> _Chain:
        """Return the lines that this object has verified before, if the last of them is where it was.

        Its signature vouches for those before it. So a list that another one has replaced is verified from its start.
        """
        written, self._written = self._written, None
        if written is not None:
            stream.seek(written.size - len(written.last))
            if stream.read(len(written.last)) == written.last:
                return written
            stream.seek(0)
        return _Chain(self._key_ring)

    def _verify(self, stream: BufferedReader, chain: _Chain) -> _Chain:
        """Verify the lines after those of `chain`. Leave out an incomplete last one, whose writer died."""
        while raw := stream.readline(MAX_LINE_BYTES):
            try:
                chain.accept(raw)
            except ValueError as error:  # also those of msgspec
                if not raw.endswith(b"\n") and not stream.readline(1):
                    break
                raise ErasureListError(
                    f"The erasure list {self.file} was changed: line {chain.lines + 1} {_reason(error)}, so a line up "
                    f"to this one was removed, moved, changed or forged. {RESTORE_COPY}."
                ) from None
        if chain.unverified is not None:
            raise ErasureListError(
                f"The last line of the erasure list {self.file} cannot be verified. {chain.unverified.message} If it "
                "is the list of another gateway, correct WATTGATE_ERASURE_LIST."
            )
        return chain

    @contextmanager
    def _locked(self) -> Iterator[BufferedReader]:
        """Open the file, or create it, and lock it against other processes that add lines."""
        try:
            descriptor = os.open(self.file, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, PRIVATE_FILE_MODE)
        except OSError as error:
            raise self._not_written(error) from None
        with os.fdopen(descriptor, "rb") as stream:
            self._lock(descriptor)
            yield stream

    def _lock(self, descriptor: int) -> None:
        deadline = time.monotonic() + self._lock_seconds
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                if time.monotonic() > deadline:
                    raise self._not_written(error) from None
            except OSError as error:
                raise self._not_written(error) from None
            else:
                return
            time.sleep(LOCK_PAUSE_SECONDS)

    def _write(self, descriptor: int, chain: _Chain, entries: Sequence[ListedEntry | None]) -> None:
        """Write lines after the verified ones, and wait for the disk. After an error, remove them."""
        size = chain.size
        waiting = (b"\n" if chain.is_open else b"") + b"".join(map(chain.sign, entries))
        chain.size, chain.is_open = size + len(waiting), False
        try:
            os.ftruncate(descriptor, size)
            while waiting:
                waiting = waiting[os.write(descriptor, waiting) :]
            os.fsync(descriptor)
            sync_to_disk(self.file.parent)
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(descriptor, size)
            raise self._not_written(error) from None

    def _not_written(self, error: OSError) -> ErasureListError:
        return ErasureListError(
            f"Nothing can be added to the erasure list {self.file}: {error.strerror}. Erasures wait until it can, and "
            "the database keeps the changes of tenancies for it. Check the folder, its permissions, its free space, "
            "and that it supports locks (flock)."
        )


def encode_list(entries: Iterable[ListedEntry], key_ring: KeyRing) -> Iterator[bytes]:
    """Yield the lines of a new list with some entries."""
    return map(_Chain(key_ring).sign, entries)


def _reason(error: ValueError) -> str:
    return "has no valid content" if isinstance(error, msgspec.MsgspecError) else str(error)
