"""Random secrets, and the digests under which they are stored."""

import hashlib
import secrets


def new_secret() -> str:
    """Return a new secret of 256 random bits, for tokens and application credentials."""
    return secrets.token_urlsafe(32)


def new_readable_secret(alphabet: str, groups: int = 4) -> str:
    """Return a new secret that a person can type: groups of four random characters."""
    return "-".join("".join(secrets.choice(alphabet) for _ in range(4)) for _ in range(groups))


def hash_secret(secret: str) -> bytes:
    """Return the digest to store for a secret. The secrets are long and random, so a plain SHA-256 is safe."""
    return hashlib.sha256(secret.encode()).digest()
