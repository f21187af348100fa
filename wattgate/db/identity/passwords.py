"""Password hashing by Argon2id, off the event loop and a few at a time.

The cost is OWASP's second recommendation: 19 MiB, 2 passes, 1 lane.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

MIN_LENGTH = 8

_AT_ONCE = 4
"""How many are hashed together: each takes 19 MiB and a core."""

_hasher = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)
_threads = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="passwords")
DECOY = (
    f"$argon2id$v=19$m={_hasher.memory_cost},t={_hasher.time_cost},p={_hasher.parallelism}"
    f"${'A' * 22}${'A' * 43}"  # a salt of 16 bytes and a hash of 32, all zero
)
"""An encoded hash that no password is known to have; to find that out takes as long as with any other."""


async def hashed(password: str) -> str:
    """The encoded Argon2id hash to store for a password."""
    return await asyncio.get_running_loop().run_in_executor(_threads, _hasher.hash, password)


async def matches(stored: str | None, password: str) -> bool:
    """Whether the password is the one stored. Takes as long for an account that does not exist (None)."""
    loop = asyncio.get_running_loop()
    same = await loop.run_in_executor(_threads, _verify, stored or DECOY, password)
    return same and stored is not None


def _verify(stored: str, password: str) -> bool:
    try:
        return _hasher.verify(stored, password)
    except (VerificationError, InvalidHashError):
        return False
