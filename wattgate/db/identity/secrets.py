"""Random secrets, and the digests under which they are stored."""

import hashlib
import secrets


def new_secret() -> str:
    """Return a new secret of 256 random bits, for tokens and application credentials."""
    return secrets.token_urlsafe(32)


def hash_secret(secret: str) -> bytes:
    """Return the digest to store for a secret. The secrets are long and random, so a plain SHA-256 is safe."""
    return hashlib.sha256(secret.encode()).digest()
