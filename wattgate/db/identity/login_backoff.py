"""Attempts to log in: the wait after wrong passwords, by username and by source.

Attempts from unknown sources share one count for each username, known or made up. A source from which the account has
logged in before (a device, or a network address for clients that keep no cookies) has a count of its own. A guesser
therefore delays other strangers, and never the owner at a known device or address.

Known and unknown usernames cause the same statements and the same hash, so that neither time nor answers reveal
which names exist.
"""

import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import case
from sqlmodel import col

from wattgate.db.identity import passwords
from wattgate.db.identity.secrets import hash_secret, new_secret
from wattgate.db.models import Account, LoginBackoff, LoginSource
from wattgate.db.rows.rows import Rows
from wattgate.errors import GatewayError, RateLimited
from wattgate.requests.client import AddressLimiter, AddressPolicy, Client

FREE_ATTEMPTS = 5
"""The number of wrong passwords in a row without a wait."""

MIN_WAIT = timedelta(seconds=2)
MAX_WAIT = timedelta(minutes=15)

DEVICE, ADDRESS = "device", "address"

MAX_SOURCES = {DEVICE: 20, ADDRESS: 10}
"""Maximum known sources of an account by kind. Above it, the least recently used is forgotten."""

SOURCE_LIFETIME = timedelta(days=180)
"""Time after its last use in which a source is known."""

USE_RESOLUTION = timedelta(days=1)
"""The last use of a source is stored again only after this time, because Basic credentials come with each request."""

BACKOFF_LIFETIME = timedelta(days=1)
"""Time after which a count is forgotten."""

MAX_BACKOFFS = 100_000
"""Maximum usernames with failed attempts in an application. Above it, the oldest are forgotten."""

ATTEMPT_KINDS = ("password", "passwordReset")
"""The kinds of attempts with a username."""

TAKEN_NAME = "taken username"
"""The kind of attempts of a user to get a username that another one has."""

NO_ACCOUNT = ""
"""The account id in statements about an unknown username. No account has it."""


def enforce_login_backoff(
    failures: int, failed_at: datetime | None, now: datetime, noun: str = "wrong passwords"
) -> None:
    """Raise RateLimited if a source or username must still wait after its wrong passwords, or `noun`.

    A failure that is ahead of the present by more than the longest wait comes from a clock that was wrong.
    """
    if failures < FREE_ATTEMPTS or failed_at is None or failed_at > now + MAX_WAIT:
        return
    doublings = min(failures - FREE_ATTEMPTS, 20)  # more than MAX_WAIT needs; the cap avoids huge numbers
    seconds = (failed_at + min(MIN_WAIT * 2**doublings, MAX_WAIT) - now).total_seconds()
    if seconds > 0:
        retry_after = int(seconds) + 1
        raise RateLimited(f"Too many {noun}. Wait {retry_after} s before the next attempt.", retry_after=retry_after)


def backoff_id(rows: Rows, directory_id: str | None, username: str, kind: str = "password") -> str:
    """Return the key under which failed attempts with a username are counted."""
    name = "\0".join((rows.application_id, directory_id or "", username, kind))
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()


async def count_failure(rows: Rows, key: str) -> None:
    """Count a failed attempt. A count that is older than BACKOFF_LIFETIME has been forgotten by then.

    Count nothing for an unknown application, to which no row can belong. The client's address is charged for it.
    """
    if await rows.application() is None:
        return
    is_forgotten = col(LoginBackoff.failed_at) <= rows.now - BACKOFF_LIFETIME
    failures = case((is_forgotten, 1), else_=col(LoginBackoff.failures) + 1)
    await rows.add_or_update(LoginBackoff(backoff_id=key, failed_at=rows.now), failures=failures, failed_at=rows.now)


async def load_failures(rows: Rows, key: str) -> tuple[int, datetime | None]:
    """Return the number of failed attempts that are not forgotten yet, and the time of the newest."""
    backoff = await rows.first(
        LoginBackoff, col(LoginBackoff.backoff_id) == key, col(LoginBackoff.failed_at) > rows.now - BACKOFF_LIFETIME
    )
    return (0, None) if backoff is None else (backoff.failures, backoff.failed_at)


async def forget_failures(rows: Rows, key: str) -> None:
    """Forget the failed attempts, because an attempt has succeeded."""
    await rows.delete(LoginBackoff, col(LoginBackoff.backoff_id) == key)


async def restore_failures(rows: Rows, key: str, failures: int, failed_at: datetime | None) -> None:
    """Take back the count of an attempt that has succeeded. The failures from before stay, as `load_failures` had them.

    A guesser cannot reset the count with a code that is right. Other attempts at the same time stay counted.
    """
    of_key = col(LoginBackoff.backoff_id) == key
    if failures == 0 and await rows.delete(LoginBackoff, of_key, col(LoginBackoff.failures) == 1):
        return
    fewer = col(LoginBackoff.failures) - 1
    await rows.update(LoginBackoff, of_key, failures=fewer, **({"failed_at": failed_at} if failed_at else {}))


async def forget_username(rows: Rows, directory_id: str, username: str) -> None:
    """Forget the attempts with a username of every kind, also of those that named no directory."""
    for kind in ATTEMPT_KINDS:
        for directory in (directory_id, None):
            await forget_failures(rows, backoff_id(rows, directory, username, kind))


async def forget_old_failures(rows: Rows) -> None:
    """Delete counts that are older than BACKOFF_LIFETIME, and the oldest above MAX_BACKOFFS."""
    await rows.delete(LoginBackoff, col(LoginBackoff.failed_at) <= rows.now - BACKOFF_LIFETIME)
    surplus = await rows.count(LoginBackoff) - MAX_BACKOFFS
    if surplus > 0:
        oldest = await rows.all(LoginBackoff, order_by=[col(LoginBackoff.failed_at)], limit=surplus)
        await rows.delete(LoginBackoff, col(LoginBackoff.failed_at) <= oldest[-1].failed_at)


@dataclass(frozen=True, slots=True)
class LoginAttempt:
    """An attempt with a username and a password. `account` is None if no account that may log in has the name."""

    account: Account | None
    key: str
    client: Client
    source: LoginSource | None
    """The known source from which the attempt comes: a device before an address."""

    @classmethod
    async def begin(
        cls, rows: Rows, account: Account | None, key: str, client: Client, *, is_verified: bool = False
    ) -> "LoginAttempt":
        """Begin an attempt. Raise RateLimited if its source, or its username from unknown sources, must wait.

        With `is_verified`, continue an attempt whose password was verified meanwhile. Its outcome must be counted.
        """
        digests = [digest for _, digest in _digests(client)]
        sources = await rows.all(
            LoginSource,
            col(LoginSource.account_id) == (account.account_id if account else NO_ACCOUNT),
            col(LoginSource.digest).in_(digests),
            col(LoginSource.used_at) > rows.now - SOURCE_LIFETIME,
        )
        known = min(sources, key=lambda source: source.kind != DEVICE, default=None)
        attempt = cls(account, key, client, known)
        if not is_verified:
            await attempt._enforce_backoff(rows)
        return attempt

    async def verify(
        self,
        password: str,
        limits: AddressLimiter,
        owner: str,
        *,
        is_refunded: bool = True,
        charge_first: Callable[[], Awaitable[None]] | None = None,
    ) -> bool:
        """Return whether the password is right. Charge a wrong one to the client's address, unless the source is known.

        Without `is_refunded`, a right one is charged too, so that nobody learns from the limit which one it was.

        A known source has a count of its own, so that the holder can log in while others use up the limit of an address
        that they share. `owner` is the application whose share of the threads for hashes is used, or "" without one.
        `charge_first` pays for the hash, after everything that refuses a wrong password as well. It may raise. An
        attempt that ends before the hash is not charged: its answer does not depend on a comparison of the password.
        """
        is_charged = self.source is None
        if is_charged:
            await limits.charge(AddressPolicy.LOGIN, self.client)
        stored_hash = self.account.password_hash if self.account else None
        try:
            if charge_first is not None:
                await charge_first()
            is_right = await passwords.password_matches(stored_hash, password, owner)
        except GatewayError:
            if is_charged:
                await limits.refund(AddressPolicy.LOGIN, self.client)
            raise
        if is_charged and is_right and is_refunded:
            await limits.refund(AddressPolicy.LOGIN, self.client)
        return is_right

    async def recheck(self, rows: Rows) -> None:
        """Raise RateLimited if other attempts have failed in the meantime, so that guesses at once do not help."""
        if self.source is None:
            await self._enforce_backoff(rows)

    async def record_failure(self, rows: Rows) -> None:
        """Count a wrong password."""
        if self.source is None:
            await count_failure(rows, self.key)
            return
        failures = col(LoginSource.failures) + 1
        is_source = col(LoginSource.source_id) == self.source.source_id
        await rows.update(LoginSource, is_source, failures=failures, failed_at=rows.now)

    def must_record_success(self, now: datetime) -> bool:
        """Return whether a right password changes anything that is stored."""
        source = self.source
        if source is None or source.failures or source.used_at <= now - USE_RESOLUTION:
            return source is not None or self.client.address is not None or self.client.keeps_devices
        return source.kind != DEVICE and self.client.keeps_devices

    async def record_success(self, rows: Rows) -> None:
        """Remember where the right password came from, and reset the count of that source."""
        assert self.account is not None
        if self.source is None:
            await forget_failures(rows, self.key)
        if self.client.keeps_devices and (self.source is None or self.source.kind != DEVICE):
            self.client.new_device = self.client.device = new_secret()
        await remember_client(rows, self.account, self.client)

    async def _enforce_backoff(self, rows: Rows) -> None:
        failures, failed_at = await load_failures(rows, self.key)
        if self.source is not None:
            failures, failed_at = self.source.failures, self.source.failed_at
        enforce_login_backoff(failures, failed_at, rows.now)


async def remember_client(rows: Rows, account: Account, client: Client) -> None:
    """Store the device and the address of a client as known sources of the account, without failures."""
    for kind, digest in _digests(client):
        of_source = col(LoginSource.account_id) == account.account_id, col(LoginSource.digest) == digest
        if not await rows.update(LoginSource, *of_source, failures=0, failed_at=None, used_at=rows.now):
            source = LoginSource(
                user_id=account.user_id, account_id=account.account_id, kind=kind, digest=digest, used_at=rows.now
            )
            if await rows.add_if_absent(source):  # another log-in at the same time may have added it
                await _forget_surplus(rows, account, kind)


async def _forget_surplus(rows: Rows, account: Account, kind: str) -> None:
    """Delete the least recently used sources of a kind above its maximum."""
    of_kind = col(LoginSource.account_id) == account.account_id, col(LoginSource.kind) == kind
    sources = await rows.all(LoginSource, *of_kind, order_by=[col(LoginSource.used_at).desc()])
    surplus = [source.source_id for source in sources[MAX_SOURCES[kind] :]]
    if surplus:
        await rows.delete(LoginSource, col(LoginSource.source_id).in_(surplus))


def _digests(client: Client) -> list[tuple[str, bytes]]:
    """Return the kind and the digest of each source of a client."""
    values = ((DEVICE, client.device), (ADDRESS, client.address))
    return [(kind, hash_secret(f"{kind}:{value}")) for kind, value in values if value]
