"""Password hashing with Argon2id in a small pool of threads, with a bounded queue.

The cost is OWASP's second recommendation: 19 MiB, 2 passes, 1 lane.
"""

import os
import sys
import threading
from collections.abc import Callable
from contextvars import ContextVar
from typing import TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from wattgate.db.identity.password_rules import normalize_password
from wattgate.errors import Unavailable
from wattgate.requests.fair_share import NO_OWNER, FairThreads, NoFreeSlot

T = TypeVar("T")

RETRY_SECONDS = 2
"""Value of Retry-After if no hash can be computed now."""

MAX_THREADS = 4
"""Maximum number of threads for hashes. Each hash takes 19 MiB."""

LOWER_PRIORITY = 5
"""How much less urgent a hash is than other work of the host, in steps of the nice value.

A core that both want gives the hash a quarter of its time. So the event loop and the database do not wait for hashes,
and log-ins end even if everything else is busy.
"""

HASHER = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)
"""Hashes and verifies at the cost of the gateway."""


class HashCount:
    """The number of hashes that an operation has started."""

    started = 0


HASH_COUNT: ContextVar[HashCount | None] = ContextVar("hashes of the operation", default=None)


class HashPool:
    """Threads for hashes. Each hash takes 19 MiB and a core, so further ones wait: a bounded number for a bounded time.

    One core is left to the event loop. One application has all threads but one. `run_count` is the number of hashes
    that have been started.
    """

    def __init__(self, *, threads: int | None = None, max_waiting: int = 100, max_wait_seconds: float = 5.0) -> None:
        self.run_count = 0
        threads = threads or threads_for(usable_cores())
        self._threads = FairThreads(
            threads,
            share=max(1, threads - 1),
            name="passwords",
            max_waiting=max_waiting,
            max_wait_seconds=max_wait_seconds,
            initializer=_lower_priority,
        )

    async def run(self, work: Callable[[], T], owner: str = NO_OWNER) -> T:
        """Return the result of the work. Raise Unavailable if too many wait, or if no thread is free in time.

        `owner` is the application. A hash that has begun holds its thread to the end, even if nobody waits for it.
        """
        try:
            return await self._threads.run(owner, lambda: self._count_and_run(work))
        except NoFreeSlot:
            raise _too_busy() from None

    def _count_and_run(self, work: Callable[[], T]) -> T:
        self.run_count += 1
        if (count := HASH_COUNT.get()) is not None:
            count.started += 1
        return work()


def usable_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def threads_for(cores: int) -> int:
    """Return the number of threads for hashes on a number of cores."""
    return min(MAX_THREADS, max(1, cores - 1))


def _lower_priority() -> None:
    """Lower the priority of the current thread. Only Linux has a priority of threads."""
    if sys.platform == "linux":
        thread_id = threading.get_native_id()
        priority = os.getpriority(os.PRIO_PROCESS, thread_id) + LOWER_PRIORITY
        os.setpriority(os.PRIO_PROCESS, thread_id, priority)  # the system reduces it to the maximum, 19


HASH_POOL = HashPool()
"""The pool of the process."""


async def hash_password(password: str, owner: str = NO_OWNER) -> str:
    """Return the encoded Argon2id hash to store for a password, in the form of `normalize_password`.

    `owner` is the application.
    """
    return await HASH_POOL.run(lambda: HASHER.hash(normalize_password(password)), owner)


async def password_matches(stored_hash: str | None, password: str, owner: str = NO_OWNER) -> bool:
    """Return whether the password has the stored hash. For an unknown account (None) it takes as long."""
    matches = await HASH_POOL.run(lambda: _verify(stored_hash or decoy_hash(), password), owner)
    return matches and stored_hash is not None


def decoy_hash() -> str:
    """Return an encoded hash that no known password has. To verify it takes as long as to verify any other hash."""
    parameters = f"m={HASHER.memory_cost},t={HASHER.time_cost},p={HASHER.parallelism}"
    return f"$argon2id$v=19${parameters}${'A' * 22}${'A' * 43}"  # a salt of 16 bytes and a hash of 32, all zero


def _verify(stored_hash: str, password: str) -> bool:
    try:
        return HASHER.verify(stored_hash, normalize_password(password))
    except (VerificationError, InvalidHashError):
        return False


def _too_busy() -> Unavailable:
    return Unavailable(f"Too many passwords are being checked. Retry in {RETRY_SECONDS} s.", retry_after=RETRY_SECONDS)
