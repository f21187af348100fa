"""Password hashing with Argon2id in a small pool of threads.

The cost is OWASP's second recommendation: 19 MiB, 2 passes, 1 lane.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

MIN_PASSWORD_LENGTH = 8

_MAX_CONCURRENT_HASHES = 4
"""The number of threads: each hash takes 19 MiB and a core."""

_hasher = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)
_threads = ThreadPoolExecutor(_MAX_CONCURRENT_HASHES, thread_name_prefix="passwords")
DECOY_HASH = (
    f"$argon2id$v=19$m={_hasher.memory_cost},t={_hasher.time_cost},p={_hasher.parallelism}"
    f"${'A' * 22}${'A' * 43}"  # a salt of 16 bytes and a hash of 32, all zero
)
"""An encoded hash that no known password has. To verify it takes as long as to verify any other hash."""


async def hash_password(password: str) -> str:
    """Return the encoded Argon2id hash to store for a password."""
    return await asyncio.get_running_loop().run_in_executor(_threads, _hasher.hash, password)


async def password_matches(stored_hash: str | None, password: str) -> bool:
    """Return whether the password has the stored hash. For an unknown account (None) it takes as long."""
    loop = asyncio.get_running_loop()
    matches = await loop.run_in_executor(_threads, _verify, stored_hash or DECOY_HASH, password)
    return matches and stored_hash is not None


def _verify(stored_hash: str, password: str) -> bool:
    try:
        return _hasher.verify(stored_hash, password)
    except (VerificationError, InvalidHashError):
        return False
