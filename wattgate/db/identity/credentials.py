"""Lookups of the principal that owns a credential.

This is the only module that searches all applications, because the credential determines the application.
"""

import hmac
import logging
import secrets
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from time import monotonic
from typing import Any, NamedTuple

from sqlalchemy import Row, bindparam, select
from sqlmodel import col

from wattgate.db.connections.engine import Database
from wattgate.db.connections.reader import fetch
from wattgate.db.identity.credential_states import (
    CredentialStates,
    accepts_applications,
    batches,
    is_open_membership,
    secret_version,
)
from wattgate.db.identity.display_uses import is_use_due, store_uses
from wattgate.db.identity.login_backoff import LoginAttempt, backoff_id
from wattgate.db.identity.secrets import hash_secret
from wattgate.db.models import (
    Account,
    Application,
    ApplicationCredential,
    HomeMember,
    OAuthClient,
    Token,
    User,
    VirtualEntity,
)
from wattgate.db.rows.rows import Rows
from wattgate.db.scope.row_scope import RowScope, SystemAccess
from wattgate.db.scope.tenancy_guard import SCOPED_OPTION
from wattgate.db.ttl_cache import TtlCache
from wattgate.errors import GatewayError, RateLimited, SecondFactorRequired
from wattgate.principal import AuthScheme, Principal, Role
from wattgate.requests.client import UNLIMITED_ADDRESSES, AddressLimiter, AddressPolicy, current_client
from wattgate.requests.fair_share import NO_OWNER
from wattgate.requests.request_context import REPEATED_HASH, RepeatedHash

log = logging.getLogger(__name__)

MAX_CACHED_APPLICATIONS = 1_000
"""The maximum number of applications in the cache of anonymous principals."""

MAX_PROVEN_PASSWORDS = 10_000
PROVEN_SECONDS = 60.0
"""Time in which a password that was right is charged before its hash, so that an exhausted budget saves the hash."""

ChargeHash = Callable[[Principal], Awaitable[None]]
"""Charges the owner of a right password for its hash. Raise RateLimited if the budget does not cover it."""


async def _charge_nothing(principal: Principal) -> None:
    return


_TOKEN_STATEMENT = (
    select(
        col(Token.application_id),
        col(Token.user_id),
        col(Token.account_id),
        col(Token.token_id),
        col(Token.expires_at),
        col(Token.scope),
        col(Token.family),
        col(Token.ve_id),
        col(Account.administrator),
        col(Account.template_editor),
        col(Account.second_factor),
        col(Application.trusted_only),
    )
    .join(Account, col(Account.account_id) == Token.account_id)
    .join(Application, col(Application.application_id) == Token.application_id)
    .where(
        col(Token.digest) == bindparam("digest"),
        col(Token.expires_at) > bindparam("now"),
        col(Account.active).is_(True),
    )
)
"""A constant, so that it is compiled once: every request with a token executes it."""


_CLIENT_STATEMENT = select(col(OAuthClient.application_id)).where(col(OAuthClient.client_id) == bindparam("name"))


class _Verified(NamedTuple):
    """The principal of a right password, and whether it also needs the code of a second factor."""

    principal: Principal
    needs_code: bool


class CredentialLookup:
    """Lookups by credential. Each uses a short session of its own."""

    def __init__(
        self,
        database: Database,
        address_limits: AddressLimiter = UNLIMITED_ADDRESSES,
        *,
        states: CredentialStates | None = None,
        charge_hash: ChargeHash = _charge_nothing,
        hash_units: int = 0,
    ) -> None:
        """Create a look-up. `charge_hash` charges `hash_units` for the hash of a right password."""
        self._database = database
        self._charge_hash = charge_hash
        self._hash_units = hash_units
        self._password_key = secrets.token_bytes(32)
        self.remembered = RememberedTokens()
        self._states = states or CredentialStates()
        self._address_limits = address_limits
        self._proven = TtlCache[bytes, Principal](max_entries=MAX_PROVEN_PASSWORDS, ttl_seconds=PROVEN_SECONDS)
        self._refused = TtlCache[bytes, bool](max_entries=MAX_PROVEN_PASSWORDS, ttl_seconds=REMEMBERED_SECONDS)
        """Digests of names with which an address had to wait a moment ago."""
        self._anonymous_cache = TtlCache[str, Principal](max_entries=MAX_CACHED_APPLICATIONS, ttl_seconds=60.0)
        self._clients = TtlCache[str, str](max_entries=MAX_CACHED_APPLICATIONS, ttl_seconds=60.0)
        """The applications of OAuth clients."""

    def forget(self) -> None:
        """Forget all remembered callers, because credentials or applications have changed."""
        self.remembered.forget()
        self._proven.clear()
        self._anonymous_cache.clear()
        self._clients.clear()

    async def principal_by_token(self, token: str, now: datetime) -> Principal | None:
        """Return the principal of a token; None if it is expired or deleted, or if its account is not active."""
        digest = hash_secret(token)
        principal = self.remembered.get(digest, now)
        if principal is None:
            await self._check_address()
            started = self.remembered.begin_lookup()
            principal = await self._find_principal(digest, now)
            if principal is None:
                await self._charge_address()
            else:
                self.remembered.put(digest, principal, started)
        if principal is not None and principal.role is Role.DISPLAY:
            ends = {str(principal.token_id): principal.expires_at}
            if await self._record_displays([principal], ends, now):
                self.remembered.forget_one(digest)
        return principal

    async def _find_principal(self, digest: bytes, now: datetime) -> Principal | None:
        async with self._database.reader(SystemAccess.FIND_CREDENTIALS) as session:
            parameters = {"digest": digest, "now": now}
            rows = await fetch(session, _TOKEN_STATEMENT, parameters, execution_options=SCOPED_OPTION)
        if not rows:
            return None
        application_id, user_id, account_id, token_id, expires_at, scope, family, ve_id, *roles, trusted_only = rows[0]
        return Principal(
            role=self._states.role_of(*roles) if ve_id is None else Role.DISPLAY,
            scheme=AuthScheme.TOKEN,
            application_id=application_id,
            user_id=user_id,
            account_id=account_id,
            ve_id=ve_id,
            token_id=token_id,
            expires_at=expires_at,
            oauth_scopes=None if scope is None else frozenset(scope.split()),
            trusted_only=trusted_only,
            grant_id=family,
        )

    async def principal_by_application_credential(self, username: str, secret: str) -> Principal | None:
        """Return the principal of an application credential; None if the username or the secret is wrong."""
        await self._check_address()
        credential = await self._fetch_one(
            select(
                col(ApplicationCredential.application_id),
                col(ApplicationCredential.secret_digest),
                col(Application.trusted_only),
            )
            .join(Application, col(Application.application_id) == ApplicationCredential.application_id)
            .where(col(ApplicationCredential.username) == username, col(ApplicationCredential.active).is_(True))
        )
        if credential is None or not hmac.compare_digest(credential.secret_digest, hash_secret(secret)):
            return None
        return Principal(
            Role.APPLICATION,
            AuthScheme.BASIC,
            application_id=credential.application_id,
            trusted_only=credential.trusted_only,
            credential_name=username,
            secret_version=secret_version(credential.secret_digest),
        )

    async def principal_by_password(
        self, application_id: str, username: str, password: str, now: datetime
    ) -> Principal | None:
        """Return the principal of an active account in the application's own directory.

        Return None if there is no such account or the password is wrong. Raise RateLimited after too many wrong
        passwords, and SecondFactorRequired for an account with a second factor.

        A right password is remembered as a token is: only its digest with a key of this process. Its hash is charged to
        the account, and a wrong one to the client's address. The name alone charges nobody's account, and does not show
        whether its budget is exhausted. Only a password that was right shortly before is charged before its hash.

        It is remembered for the client's address alone, and not while the address has to wait with this name: a right
        guess would get another answer than a wrong one, and neither would count.
        """
        REPEATED_HASH.set(None)  # the refusal of this hash states its cost by itself
        name = self._password_digest(application_id, username, "")
        digest = self._password_digest(application_id, username, password)
        principal = None if self._refused.get(name) else self.remembered.get(digest, now)
        if principal is None:
            try:
                principal = await self._check_password(digest, application_id, username, password, now)
            except RateLimited:
                self._refused.put(name, True)
                raise
        if principal is not None:
            REPEATED_HASH.set(RepeatedHash(self._hash_units, partial(self.remembered.lasts, digest)))
        return principal

    async def _check_password(
        self, digest: bytes, application_id: str, username: str, password: str, now: datetime
    ) -> Principal | None:
        started, proven = self.remembered.begin_lookup(), self._proven.get(digest)
        charge_first = None if proven is None else partial(self._charge_hash, proven)
        verified = await self._verify_password(application_id, username, password, now, charge_first)
        if verified is None:
            self._proven.discard(digest)
            return None
        if self.remembered.is_current(started):
            self._proven.put(digest, verified.principal)
        if proven is None:
            await self._charge_hash(verified.principal)
        if verified.needs_code:
            raise SecondFactorRequired(
                "The account has a second factor, so its password alone is not enough. Log in with POST /auth or "
                "authenticate and a code, and send the token."
            )
        self.remembered.put(digest, verified.principal, started)
        return verified.principal

    def _password_digest(self, application_id: str, username: str, password: str) -> bytes:
        """Return a digest of a password from the client's address.

        Nobody can compare it with others without the key of this process.
        """
        address = current_client().address or ""
        parts = (text.encode("utf-8", "surrogatepass") for text in (address, application_id, username, password))
        message = b"".join(len(part).to_bytes(8, "big") + part for part in parts)
        return hmac.digest(self._password_key, message, "sha256")

    async def _verify_password(
        self,
        application_id: str,
        username: str,
        password: str,
        now: datetime,
        charge_first: Callable[[], Awaitable[None]] | None,
    ) -> _Verified | None:
        async with self._database.reader(RowScope(application_id)) as session:
            rows = Rows(session, application_id, now=now)
            application = await rows.application()
            directory_id = application.directory_id if application else ""
            account = await rows.first(
                Account,
                col(Account.username) == username,
                col(Account.directory_id) == directory_id,
                col(Account.active).is_(True),
            )
            key = backoff_id(rows, directory_id, username)
            attempt = await LoginAttempt.begin(rows, account, key, current_client())
        owner = application_id if application else NO_OWNER
        is_right = await attempt.verify(password, self._address_limits, owner, charge_first=charge_first)
        await self._record_attempt(attempt, application_id, now, is_right=is_right)
        if not is_right or account is None or application is None:
            return None
        principal = Principal(
            role=self._states.role_of(account.administrator, account.template_editor, account.second_factor),
            scheme=AuthScheme.BASIC,
            application_id=application_id,
            user_id=account.user_id,
            account_id=account.account_id,
            trusted_only=application.trusted_only,
            secret_version=secret_version(account.password_hash),
        )
        return _Verified(principal, account.second_factor)

    async def charge_wrong_credential(self) -> None:
        """Charge a wrong application credential to the client's address. Raise RateLimited if none is left."""
        await self._charge_address()
        await self._address_limits.charge(AddressPolicy.LOGIN, current_client())

    async def _record_attempt(
        self, attempt: LoginAttempt, application_id: str, now: datetime, *, is_right: bool
    ) -> None:
        """Store the outcome of an attempt. A right password that changes nothing needs no transaction."""
        if is_right:
            async with self._database.reader(RowScope(application_id)) as session:
                await attempt.recheck(Rows(session, application_id, now=now))
            if not attempt.must_record_success(now):
                return
        async with self._database.session(RowScope(application_id)) as write_session:
            rows = Rows(write_session, application_id, now=now)
            await (attempt.record_success(rows) if is_right else attempt.record_failure(rows))
            await write_session.commit()

    async def anonymous_principal(self, application_id: str) -> Principal | None:
        """Return the principal of a caller without credentials; None if the application does not exist.

        Results are cached for a minute, until credentials or applications change.
        """
        principal = self._anonymous_cache.get(application_id)
        if principal is not None:
            return principal
        await self._check_address()
        started = self.remembered.begin_lookup()
        trusted_only = await self._fetch_one(
            select(col(Application.trusted_only)).where(col(Application.application_id) == application_id)
        )
        if trusted_only is None:
            await self._charge_address()
            return None
        principal = Principal(Role.ANONYMOUS, application_id=application_id, trusted_only=trusted_only[0])
        if self.remembered.is_current(started):
            self._anonymous_cache.put(application_id, principal)
        return principal

    async def named_principal(self, name: str) -> Principal | None:
        """Return the anonymous principal of an application by its ID or by that of one of its OAuth clients, or None.

        The results are cached as those of `anonymous_principal`.
        """
        application_id = self._clients.get(name) or name
        principal = self._anonymous_cache.get(application_id)
        if principal is not None:
            return principal
        await self._check_address()
        started = self.remembered.begin_lookup()
        async with self._database.reader(SystemAccess.FIND_OAUTH_CLIENT) as session:
            clients = await fetch(session, _CLIENT_STATEMENT, {"name": name}, execution_options=SCOPED_OPTION)
        if not clients:
            return await self.anonymous_principal(name)
        if self.remembered.is_current(started):
            self._clients.put(name, clients[0][0])
        return await self.anonymous_principal(clients[0][0])

    async def _check_address(self) -> None:
        """Raise RateLimited before a look-up for an address that has named too much that was not found.

        An address may have many users, so its right credentials are not charged.
        """
        await self._address_limits.check(AddressPolicy.REQUEST, current_client())

    async def _charge_address(self) -> None:
        """Charge the client's address for a look-up that has found nothing, also above its attempts."""
        await self._address_limits.charge_done(AddressPolicy.REQUEST, current_client(), 1)

    async def has_user(self, application_id: str, user_id: str) -> bool:
        """Return whether an application may act for the user: it is one of its own, see `accepts_applications`."""
        user = await self._fetch_one(
            select(col(User.user_id)).where(
                col(User.application_id) == application_id, col(User.user_id) == user_id, accepts_applications()
            )
        )
        if user is None:
            await self._charge_address()
        return user is not None

    async def membership(self, principal: Principal, ve_id: str) -> tuple[str, str] | None:
        """Return the ID of the access of an account's user to a shared home, and the owner; None if there is none.

        It is never remembered, so that the next request after its end is refused.
        """
        await self._check_address()
        found = await self._fetch_one(
            select(col(HomeMember.member_id), col(HomeMember.user_id))
            .join(VirtualEntity, col(VirtualEntity.ve_id) == col(HomeMember.ve_id))
            .join(User, col(User.user_id) == col(HomeMember.user_id))
            .where(
                col(HomeMember.application_id) == principal.application_id,
                col(HomeMember.member_user_id) == principal.user_id,
                col(HomeMember.ve_id) == ve_id,
                is_open_membership(),
            )
        )
        if found is None:
            await self._charge_address()
            return None
        return found.member_id, found.user_id

    async def find_revoked(self, principals: Collection[Principal], now: datetime) -> set[Principal]:
        """Return the principals whose credential is no longer valid, see `CredentialStates.find_ended`."""
        async with self._database.reader(SystemAccess.FIND_CREDENTIALS) as session:
            tokens = await self._states.find_tokens(session, principals, now)
            ended = await self._states.find_ended(session, principals, now, tokens)
        await self._record_displays(principals, {token_id: row[1] for token_id, row in tokens.items()}, now)
        return ended

    async def _record_displays(
        self, principals: Collection[Principal], tokens: Mapping[str, datetime | None], now: datetime
    ) -> bool:
        """Store that displays are in use. `tokens` has the ends of the valid tokens. Return whether one was due."""
        uses = defaultdict[str, list[str]](list)
        for principal in principals:
            expires_at = tokens.get(principal.token_id or "")
            if principal.role is Role.DISPLAY and expires_at is not None and is_use_due(expires_at, now):
                uses[principal.application_id or ""].append(principal.token_id or "")
        for application_id, token_ids in uses.items():
            for batch in batches(token_ids):
                await self._record_uses(application_id, batch, now)
        return bool(uses)

    async def _record_uses(self, application_id: str, token_ids: Collection[str], now: datetime) -> None:
        """Store that displays are in use. Errors are only logged, so that a display does not fail because of them."""
        try:
            async with self._database.session(RowScope(application_id)) as session:
                await store_uses(Rows(session, application_id, now=now), token_ids)
                await session.commit()
        except GatewayError as error:
            log.warning(
                "The use of %d displays of application %s is not stored: %s", len(token_ids), application_id, error
            )

    async def _fetch_one(self, statement: Any) -> Row[Any] | None:
        async with self._database.reader(SystemAccess.FIND_CREDENTIALS) as session:
            return (await session.execute(statement, execution_options=SCOPED_OPTION)).one_or_none()


# Principals of tokens and verified passwords, remembered for a few seconds: not every request looks up or hashes.
#
# A remembered principal is valid for `REMEMBERED_SECONDS` from the start of its look-up. It is forgotten at once when
# the credentials of anybody change: in this process before the transaction of the change has returned
# (`db.credential_changes`), and in other processes when the bus delivers the change. While the bus cannot deliver it,
# nothing is remembered. Only the look-up is saved: permissions, budgets and the end of the token are checked as ever.

REMEMBERED_SECONDS = 5.0
"""Time after which a token is looked up again. The end of a credential takes effect within this time, on any path."""

MAX_REMEMBERED_TOKENS = 10_000
"""The maximum number of tokens. When it is reached, all are forgotten, because most of them have expired."""


def _hears_nothing() -> bool:
    return False


@dataclass(frozen=True, slots=True)
class LookupStart:
    """The state when a look-up began: the number of changes known by then, and the time."""

    change_count: int
    at: float


class RememberedTokens:
    """Principals by the digest of their token.

    `hears_changes` returns whether changes by other processes arrive at the moment. `time` returns seconds of a
    monotonic clock.
    """

    def __init__(
        self, hears_changes: Callable[[], bool] = _hears_nothing, time: Callable[[], float] = monotonic
    ) -> None:
        self.hears_changes = hears_changes
        self._time = time
        self._principals: dict[bytes, tuple[Principal, float]] = {}
        self._change_count = 0

    def get(self, digest: bytes, now: datetime) -> Principal | None:
        """Return the principal of a credential that has not expired `now`; None if it must be looked up.

        A password has no expiry.
        """
        remembered = self._principals.get(digest)
        if remembered is None:
            return None
        if not self.hears_changes():
            self.forget()
            return None
        principal, until = remembered
        expires_at = principal.expires_at
        if self._time() >= until or (expires_at is not None and expires_at <= now):
            del self._principals[digest]
            return None
        return principal

    def lasts(self, digest: bytes, seconds: float) -> bool:
        """Return whether a credential is remembered for so many seconds from now, unless credentials change."""
        remembered = self._principals.get(digest)
        return remembered is not None and self.hears_changes() and self._time() + seconds < remembered[1]

    def begin_lookup(self) -> LookupStart:
        return LookupStart(self._change_count, self._time())

    def put(self, digest: bytes, principal: Principal, started: LookupStart) -> None:
        """Remember the result of a look-up, unless credentials have changed since it began."""
        if not self.is_current(started) or not self.hears_changes():
            return
        if len(self._principals) >= MAX_REMEMBERED_TOKENS:
            self._principals.clear()
        self._principals[digest] = principal, started.at + REMEMBERED_SECONDS

    def is_current(self, started: LookupStart) -> bool:
        """Return whether no credentials have changed since a look-up began."""
        return started.change_count == self._change_count

    def forget_one(self, digest: bytes) -> None:
        """Forget a token whose end has moved to a later time."""
        self._principals.pop(digest, None)

    def forget(self) -> None:
        """Forget all tokens, because credentials have changed. Look-ups that have begun are not remembered."""
        self._change_count += 1
        self._principals.clear()
