"""Envelope encryption of texts with a ring of keys, and signatures with the same keys.

Each text has a data key of its own, and a key of the ring encrypts the data key. Rotation therefore changes only the
encrypted data key. Both steps are AES-256-GCM with the location of the text as associated data, so that a copy in
another table, column or row cannot be decrypted. The stored form is `wge1.KEY_ID.BASE64URL`.

Signatures are HMAC-SHA256, with a key that is derived from one of the ring. Their form is `KEY_ID.BASE64URL`.
"""

import base64
import binascii
import hmac
import os
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from wattgate.errors import Unavailable

PREFIX = "wge1."
"""The beginning of each encrypted text: the name and version of the form."""

KEY_BYTES = 32
NONCE_BYTES = 12
TAG_BYTES = 16
WRAPPED_KEY_BYTES = NONCE_BYTES + KEY_BYTES + TAG_BYTES

SIGNING_PURPOSE = b"wattgate signature 1"
"""The text from which the keys of signatures are derived, so that no key has two uses."""

MAX_KEY_ID_LENGTH = 32

KEY_ID_PATTERN = re.compile(rf"[a-z0-9-]{{1,{MAX_KEY_ID_LENGTH}}}")
"""The form of a key id. It has no characters with a meaning in `LIKE`."""


class SecretKeyError(Unavailable):
    """A stored secret cannot be encrypted or decrypted with the keys of the gateway. The operator must add a key."""


@dataclass(frozen=True, slots=True)
class SecretLocation:
    """The place of an encrypted text: the table, the column and the identifier of the row."""

    table: str
    column: str
    row_id: str

    @property
    def associated_data(self) -> bytes:
        return "\0".join((PREFIX, self.table, self.column, self.row_id)).encode()


def is_encrypted(stored: str) -> bool:
    """Return whether a stored text has the form of an encrypted text."""
    return stored.startswith(PREFIX)


def key_id_of(stored: str) -> str:
    """Return the id of the key of an encrypted text."""
    return stored.split(".", 2)[1]


def new_key() -> str:
    """Return a new key with a random id, in the form `ID:KEY` that the settings accept."""
    return f"k-{secrets.token_hex(4)}:{base64.urlsafe_b64encode(secrets.token_bytes(KEY_BYTES)).decode()}"


def parse_keys(text: str) -> dict[str, bytes]:
    """Return the keys of a text by id, in order. They are separated by commas or white space; # begins a comment.

    Raise ValueError if an entry is invalid. The message never contains a key.
    """
    keys: dict[str, bytes] = {}
    for line in text.splitlines():
        for entry in line.partition("#")[0].replace(",", " ").split():
            key_id, colon, encoded = entry.partition(":")
            if not colon or not KEY_ID_PATTERN.fullmatch(key_id):
                raise ValueError("has a key without a valid id; write ID:KEY, as `wattgate keys new` prints")
            try:
                key = base64.b64decode(encoded, altchars=b"-_", validate=True)
            except binascii.Error:
                key = b""
            if len(key) != KEY_BYTES:
                raise ValueError(f"key {key_id} is not {KEY_BYTES} bytes in base64url; `wattgate keys new` prints one")
            if key_id in keys:
                raise ValueError(f"has two keys with the id {key_id}. Remove one of them")
            keys[key_id] = key
    if not keys:
        raise ValueError("has no key; `wattgate keys new` prints one")
    return keys


def read_keys(file: Path) -> dict[str, bytes]:
    """Return the keys of a file by id, in order. Raise ValueError if it cannot be read or an entry is invalid."""
    try:
        return parse_keys(file.read_text())
    except OSError as error:
        raise ValueError(f"cannot be read: {error}. Check the path and its permissions") from None


class KeyRing:
    """The keys of a gateway by id. The first one encrypts and signs; all of them decrypt and verify."""

    def __init__(self, keys: Mapping[str, bytes]) -> None:
        self._ciphers = {key_id: AESGCM(key) for key_id, key in keys.items()}
        self._signing_keys = {key_id: hmac.digest(key, SIGNING_PURPOSE, "sha256") for key_id, key in keys.items()}
        self.key_ids = tuple(keys)

    @property
    def current_id(self) -> str:
        """The id of the key that encrypts. Raise SecretKeyError without keys."""
        if not self.key_ids:
            raise SecretKeyError(
                "The gateway has no key to encrypt secrets. Run `wattgate keys new` and set WATTGATE_SECRET_KEYS."
            )
        return self.key_ids[0]

    def encrypt(self, text: str, location: SecretLocation) -> str:
        """Return the stored form of a text at a location. Raise SecretKeyError without keys."""
        data_key = AESGCM.generate_key(KEY_BYTES * 8)
        sealed = _encrypt(AESGCM(data_key), text.encode(), location.associated_data)
        return self._join(data_key, sealed, location)

    def decrypt(self, stored: str, location: SecretLocation) -> str:
        """Return the text of a stored form.

        Raise SecretKeyError if it is not encrypted, if its key is missing, or if it was stored under another key or at
        another location.
        """
        data_key, sealed = self._split(stored, location)
        try:
            return _decrypt(AESGCM(data_key), sealed, location.associated_data).decode()
        except InvalidTag:
            raise _unreadable(stored, location) from None

    def rotate(self, stored: str, location: SecretLocation) -> str:
        """Return the stored form under the first key. Only the data key is encrypted again."""
        data_key, sealed = self._split(stored, location)
        return self._join(data_key, sealed, location)

    def sign(self, content: bytes) -> str:
        """Return the signature of a content with the first key. Raise SecretKeyError without keys."""
        return self._signature(self.current_id, content)

    def verify(self, signature: str, content: bytes) -> bool:
        """Return whether a signature belongs to a content. Raise SecretKeyError if its key is missing."""
        key_id = signature.partition(".")[0]
        if key_id not in self._signing_keys:
            raise SecretKeyError(
                f"A signature needs the key {key_id[:MAX_KEY_ID_LENGTH]}, which the gateway does not have (its keys: "
                f"{', '.join(self.key_ids) or 'none'}). Add it to WATTGATE_SECRET_KEYS."
            )
        return hmac.compare_digest(signature.encode(), self._signature(key_id, content).encode())

    def _signature(self, key_id: str, content: bytes) -> str:
        digest = hmac.digest(self._signing_keys[key_id], content, "sha256")
        return f"{key_id}.{base64.urlsafe_b64encode(digest).decode()}"

    def _join(self, data_key: bytes, sealed: bytes, location: SecretLocation) -> str:
        key_id = self.current_id
        wrapped = _encrypt(self._ciphers[key_id], data_key, location.associated_data)
        return f"{PREFIX}{key_id}.{base64.urlsafe_b64encode(wrapped + sealed).decode()}"

    def _split(self, stored: str, location: SecretLocation) -> tuple[bytes, bytes]:
        """Return the data key and the encrypted text of a stored form."""
        if stored.count(".") < 2 or not is_encrypted(stored):
            raise SecretKeyError(
                f"The secret in {location.table}.{location.column} of {location.row_id} is not encrypted, so no "
                "gateway stored it. Store it again with the operation that sets it."
            )
        _, key_id, encoded = stored.split(".", 2)
        cipher = self._ciphers.get(key_id)
        if cipher is None:
            known = ", ".join(self.key_ids) or "none"
            raise SecretKeyError(
                f"A stored secret needs the key {key_id}, which the gateway does not have (its keys: {known}). "
                "Add it to WATTGATE_SECRET_KEYS."
            )
        try:
            content = base64.b64decode(encoded, altchars=b"-_", validate=True)
            data_key = _decrypt(cipher, content[:WRAPPED_KEY_BYTES], location.associated_data)
        except (InvalidTag, ValueError):
            raise _unreadable(stored, location) from None
        return data_key, content[WRAPPED_KEY_BYTES:]


NO_KEYS = KeyRing({})
"""A ring without keys. It can neither encrypt nor decrypt."""


def _encrypt(cipher: AESGCM, content: bytes, associated_data: bytes) -> bytes:
    nonce = os.urandom(NONCE_BYTES)
    return nonce + cipher.encrypt(nonce, content, associated_data)


def _decrypt(cipher: AESGCM, content: bytes, associated_data: bytes) -> bytes:
    return cipher.decrypt(content[:NONCE_BYTES], content[NONCE_BYTES:], associated_data)


def _unreadable(stored: str, location: SecretLocation) -> SecretKeyError:
    return SecretKeyError(
        f"The secret in {location.table}.{location.column} cannot be decrypted with the key {key_id_of(stored)}: the "
        "key has another value than the one that encrypted it, or the stored text was changed or copied."
    )
