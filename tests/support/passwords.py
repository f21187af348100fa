"""Hash the passwords of the tests at the lowest cost of Argon2id.

A run of the suite hashes and verifies thousands of passwords. At the cost of the gateway, each takes 30 ms of processor
time and 19 MiB. `gateway_cost` is for the tests of that cost.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from argon2 import PasswordHasher

from wattgate.db.identity import passwords

GATEWAY_HASHER = passwords.HASHER
LOWEST_COST = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)


def hash_at_lowest_cost() -> None:
    """Let this process, and those that it forks, hash and compare passwords at the lowest cost."""
    passwords.HASHER = LOWEST_COST


@contextmanager
def gateway_cost() -> Iterator[None]:
    """Hash at the cost of the gateway until the context exits."""
    passwords.HASHER = GATEWAY_HASHER
    try:
        yield
    finally:
        passwords.HASHER = LOWEST_COST
