"""Read rows for a principal without an operation: check the permission, and open a session of the rows that it may see.

The runner does this for operations and edges. A command that only lists records needs nothing else.
"""

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any

from wattgate.clock import Clock, utc_now
from wattgate.db.applications import ApplicationSummary, list_applications
from wattgate.db.connections.engine import Database
from wattgate.db.connections.reader import DatabaseSession
from wattgate.db.rows.quotas import QuotaChecker
from wattgate.db.rows.rows import Rows
from wattgate.db.scope.policies import DEFAULT_CONSENT_POLICY, ConsentPolicy
from wattgate.db.scope.row_scope import RowScope, SystemAccess
from wattgate.errors import NO_CREDENTIALS, Forbidden, Unauthenticated
from wattgate.principal import GRANTS, AccessScope, Permission, Principal, Role

NO_APPLICATION = ""
"""The application of callers that have none. It owns no rows."""

EXCHANGE_FIRST = (
    "The token is one of an external directory. Send it as directoryToken to POST /auth or authenticate, and use the "
    "token that they return."
)
"""The message for a caller who sent the token of an external directory where only the gateway's own are accepted."""

ENROL_FIRST = (
    "Administrators need a second factor. Enrol one: POST /account/secondfactor or enrolSecondFactor, then confirm it."
)
"""The message for an administrator without the second factor that a setting requires."""

DISPLAY_ONLY = (
    "The token belongs to a paired display, which only reads its home. Send the token of an account, or none if the "
    "operation needs no credentials."
)
"""The message for a paired display that calls any other operation."""

HOME_ONLY = (
    "The header sharedHomeId lets a request only read the home that it names. Leave it out to use your own records."
)
"""The message for a member of a shared home that calls any other operation."""


WRITE_ONLY = "The OAuth token has the scope write, which does not read. Request the scopes read and write."
"""The message for an OAuth client that reads with the scope for changes."""


class RowReader:
    """Read rows for principals. It never commits."""

    def __init__(
        self,
        database: Database,
        *,
        clock: Clock = utc_now,
        quotas: QuotaChecker | None = None,
        consent_policy: ConsentPolicy = DEFAULT_CONSENT_POLICY,
    ) -> None:
        self._database = database
        self._clock = clock
        self._quotas = quotas or QuotaChecker()
        self._consent_policy = consent_policy

    def now(self) -> datetime:
        """Return the time of the clock of the operations."""
        return self._clock()

    async def read(self, principal: Principal, needs: Permission, query: Callable[[Rows], Awaitable[Any]]) -> Any:
        """Return the result of a query function over the rows that the permission lets the principal see."""
        scope = scope_of_rows(principal, check_permission(principal, needs, is_read=True))
        async with self._database.query_reader(scope) as session:
            return await query(self._rows(session, principal, scope))

    async def list_applications(
        self, *, application_id: str | None = None, limit: int | None = None
    ) -> list[ApplicationSummary]:
        """Return all applications, oldest first: up to `limit`, or only the one with the ID.

        This is for the gateway itself. No caller can reach it, because it is no operation.
        """
        async with self._database.reader(SystemAccess.LIST_APPLICATIONS) as session:
            return await list_applications(session, application_id=application_id, limit=limit)

    def _rows(
        self, session: DatabaseSession, principal: Principal, scope: RowScope, now: datetime | None = None
    ) -> Rows:
        quotas = None if principal.role is Role.SYSTEM else self._quotas
        key_ring = self._database.key_ring
        rows = Rows(
            session,
            scope.application_id,
            scope.user_id,
            scope.ve_id,
            now=now or self._clock(),
            quotas=quotas,
            key_ring=key_ring,
            consent_policy=self._consent_policy,
        )
        rows.for_household = scope.user_id is not None and not principal.acts_for_user
        rows.guards_owners = scope.user_id is None and principal.role not in (Role.SYSTEM, Role.ANONYMOUS)
        return rows


def scope_of_rows(principal: Principal, scope: AccessScope) -> RowScope:
    """Return the rows that a principal may see. Raise Forbidden if these are a user's and it names none."""
    application_id = principal.application_id or NO_APPLICATION
    if scope is AccessScope.HOME:
        if principal.user_id is None or principal.ve_id is None:
            raise Forbidden("these credentials belong to no home")
        return RowScope(application_id, principal.user_id, principal.ve_id)
    own_rows_only = scope is AccessScope.OWN
    if own_rows_only and principal.user_id is None:
        raise Forbidden("this needs a user; applications name one in the header userId")
    return RowScope(application_id, principal.user_id if own_rows_only else None)


def check_permission(principal: Principal, permission: Permission, *, is_read: bool) -> AccessScope:
    """Return the scope of a permission for the principal. Raise Unauthenticated or Forbidden if it is not granted.

    `is_read` says that the caller reads, for which an OAuth token needs its scope.
    """
    scope = principal.access_scope(permission, is_read=is_read)
    if scope is not None:
        return scope
    if principal.role is Role.ANONYMOUS:
        raise Unauthenticated(EXCHANGE_FIRST if principal.directory_token else NO_CREDENTIALS)
    if principal.role is Role.UNENROLLED_ADMINISTRATOR:
        raise Forbidden(ENROL_FIRST)
    if principal.role is Role.DISPLAY:
        raise Forbidden(DISPLAY_ONLY)
    if principal.role is Role.MEMBER:
        raise Forbidden(HOME_ONLY)
    if is_read and principal.access_scope(permission) is not None:
        raise Forbidden(WRITE_ONLY)
    subject = permission.name.lower().replace("_", " ")
    if principal.acts_for_user and permission in GRANTS[Role.APPLICATION]:
        raise Forbidden(f"an application that acts for a user is not allowed {subject}; leave out the header userId")
    raise Forbidden(f"these credentials do not allow {subject}")
