"""The key ring of a gateway: from the settings, or from a file beside a SQLite database."""

import logging
import os
from pathlib import Path

from sqlalchemy.engine import make_url

from wattgate.app.settings import Settings
from wattgate.db.encryption.key_ring import NO_KEYS, KeyRing, new_key, parse_keys, read_keys
from wattgate.errors import Unavailable
from wattgate.private_files import PRIVATE_FILE_MODE

log = logging.getLogger(__name__)

KEY_FILE_SUFFIX = ".keys"

KEYS_REQUIRED = (
    "PostgreSQL needs a key that encrypts the stored secrets. Print one with `wattgate keys new`, and set "
    "WATTGATE_SECRET_KEYS or WATTGATE_SECRET_KEYS_FILE to the same value in every gateway and worker."
)


def load_key_ring(settings: Settings, *, creates_file: bool = True) -> KeyRing:
    """Return the key ring of the settings.

    A SQLite database belongs to one machine, so without keys a file with a new key is created beside it. On PostgreSQL,
    or without `creates_file`, the ring has no keys then: every process of PostgreSQL needs the same key, so none can be
    generated.
    """
    if settings.secret_keys is not None:
        return KeyRing(parse_keys(settings.secret_keys.get_secret_value()))
    file = settings.secret_keys_file or _generated_key_file(settings, creates_file)
    return NO_KEYS if file is None else KeyRing(read_keys(file))


def _generated_key_file(settings: Settings, creates_file: bool) -> Path | None:
    """Return the key file beside a SQLite database, and create it on first use if allowed.

    Return None for PostgreSQL, and for a missing file that must not be created.
    """
    url = make_url(settings.database_url)
    if url.get_backend_name() != "sqlite" or url.database in (None, "", ":memory:"):
        return None
    file = Path(f"{url.database}{KEY_FILE_SUFFIX}")
    if not file.exists():
        if not creates_file:
            return None
        _create_key_file(file)
    return file


def _create_key_file(file: Path) -> None:
    """Create a key file that only its owner can read. If another process creates it at the same time, keep that one.

    The file gets its name only with its content, so that no process reads a partial file. Raise Unavailable if the
    folder of the database does not exist or cannot be written.
    """
    draft = file.with_name(f"{file.name}.{os.getpid()}")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE_FILE_MODE)
    except OSError as error:
        raise Unavailable(_describe_failure(file.resolve().parent, error)) from None
    with os.fdopen(descriptor, "w") as writing:
        writing.write(f"# Keys of the secrets in {file.name.removesuffix(KEY_FILE_SUFFIX)}.\n{new_key()}\n")
    try:
        os.link(draft, file)
        log.info("Created %s with a new key. Keep a copy apart from the copies of the database", file)
    except FileExistsError:
        log.info("Another process created %s", file)
    finally:
        draft.unlink()


def missing_folder(folder: Path) -> str:
    """Return what to do about a folder of the database that does not exist."""
    return f"The folder {folder} of the database does not exist. Create it, or correct WATTGATE_DATABASE_URL."


def _describe_failure(folder: Path, error: OSError) -> str:
    if not folder.is_dir():
        return missing_folder(folder)
    return (
        f"The folder {folder} of the database cannot be written: {error.strerror}. Give this user the permission to "
        "write it, or correct WATTGATE_DATABASE_URL."
    )
