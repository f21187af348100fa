"""Authenticated callers, their roles, permissions and OAuth scopes."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import Enum, auto
from functools import cache
from types import MappingProxyType

TOKEN_GRACE = timedelta(seconds=25)
"""Time after the end of a token in which an open connection may renew it, and do nothing else."""


UNKNOWN_APPLICATION_ID = "unknown"
"""Application ID of an anonymous caller that names an application which does not exist."""


class AuthScheme(Enum):
    """How a caller authenticated (SPEC.md, Authentication)."""

    NONE = "none"
    BASIC = "basic"
    TOKEN = "token"  # noqa: S105 (not a credential)


class Permission(Enum):
    """A permission that an operation requires of its caller."""

    __hash__ = object.__hash__  # members are unique; that of Enum is a function in Python

    ANYONE = auto()
    TOKEN = auto()
    OWN_STATUS = auto()
    SECOND_FACTOR = auto()
    ACCOUNT_READ = auto()
    ACCOUNT_WRITE = auto()
    ACCOUNT_ADD = auto()
    ACCOUNT_MANAGE = auto()
    CREDENTIAL_WRITE = auto()
    HOME_MEMBER_READ = auto()
    HOME_MEMBER_WRITE = auto()
    SHARED_HOME_READ = auto()
    SHARED_HOME_WRITE = auto()
    PAIRED_DISPLAY_READ = auto()
    PAIRED_DISPLAY_WRITE = auto()
    OWN_DISPLAY = auto()
    VIRTUAL_ENTITY_READ = auto()
    VIRTUAL_ENTITY_WRITE = auto()
    VIRTUAL_ENTITY_TYPE_READ = auto()
    VIRTUAL_ENTITY_TYPE_WRITE = auto()
    RESOURCE_READ = auto()
    RESOURCE_WRITE = auto()
    RESOURCE_MANAGE = auto()
    RESOURCE_TYPE_READ = auto()
    RESOURCE_TYPE_WRITE = auto()
    READINGS_READ = auto()
    READINGS_WRITE = auto()
    TARIFF_WRITE = auto()
    CONTENT_READ = auto()
    CONTENT_WRITE = auto()
    ALERT_READ = auto()
    ALERT_WRITE = auto()
    STATISTICS_READ = auto()
    USER_READ = auto()
    USER_WRITE = auto()
    USER_DELETE = auto()
    ACCOUNT_STATUS = auto()
    CONSENT_READ = auto()
    CONSENT_WRITE = auto()
    CONSENT_MANAGE = auto()
    RESPONSE_READ = auto()
    RESPONSE_WRITE = auto()
    NOTIFICATION_READ = auto()
    NOTIFICATION_WRITE = auto()
    NOTIFICATION_SEND = auto()
    TEMPLATE_READ = auto()
    TEMPLATE_WRITE = auto()
    WEBHOOK_READ = auto()
    WEBHOOK_WRITE = auto()
    WEBHOOK_MANAGE = auto()
    DEVICE_TYPE_READ = auto()
    DEVICE_TYPE_WRITE = auto()
    DEVICE_READ = auto()
    DEVICE_WRITE = auto()
    DEVICE_MANAGE = auto()
    INVENTORY_READ = auto()
    ELIGIBILITY_CHECK = auto()
    CATCH_UP = auto()
    FLEXIBILITY_READ = auto()
    FLEXIBILITY_JOIN = auto()
    FLEXIBILITY_MANAGE = auto()
    AUDIT_READ = auto()
    DIRECTORY_MANAGE = auto()
    DATA_EXPORT = auto()
    DATA_ERASE = auto()
    SYSTEM = auto()


class AccessScope(Enum):
    """How far a permission reaches: every row of the application, the user's own rows, or those of one home."""

    APPLICATION = auto()
    OWN = auto()
    HOME = auto()


class Role(Enum):
    """The kind of a caller. A member reads a home that its owner shares, with the log-in of the own account."""

    __hash__ = object.__hash__  # members are unique; that of Enum is a function in Python

    ANONYMOUS = "anonymous"
    ACCOUNT = "account"
    DISPLAY = "display"
    MEMBER = "member"
    TEMPLATE_EDITOR = "template_editor"
    ADMINISTRATOR = "administrator"
    UNENROLLED_ADMINISTRATOR = "unenrolled_administrator"
    APPLICATION = "application"
    SYSTEM = "system"


_ANONYMOUS_GRANTS = {
    Permission.ANYONE: AccessScope.APPLICATION,
    Permission.OWN_STATUS: AccessScope.APPLICATION,  # the token of a directory, which the operation checks, names whose
}

_OWN_CREDENTIAL_GRANTS = dict.fromkeys(
    (Permission.TOKEN, Permission.OWN_STATUS, Permission.SECOND_FACTOR), AccessScope.OWN
)
"""The permissions of every account for its own credentials. Applications have none of them."""

_DISPLAY_GRANTS = dict.fromkeys(
    (
        Permission.OWN_DISPLAY,
        Permission.VIRTUAL_ENTITY_READ,
        Permission.RESOURCE_READ,
        Permission.READINGS_READ,
    ),
    AccessScope.HOME,
)
"""The permissions of a paired display: to read its home, and to end itself. It has none that anonymous callers have."""

_MEMBER_GRANTS = dict.fromkeys(
    (
        Permission.HOME_MEMBER_READ,
        Permission.VIRTUAL_ENTITY_READ,
        Permission.RESOURCE_READ,
        Permission.READINGS_READ,
    ),
    AccessScope.HOME,
)
"""The permissions of a person with whom the owner shares a home: to read this home, as its displays do."""

_ACCOUNT_GRANTS = (
    _ANONYMOUS_GRANTS
    | _OWN_CREDENTIAL_GRANTS
    | {
        Permission.ACCOUNT_READ: AccessScope.OWN,
        Permission.ACCOUNT_WRITE: AccessScope.OWN,
        Permission.CREDENTIAL_WRITE: AccessScope.OWN,
        Permission.HOME_MEMBER_READ: AccessScope.OWN,
        Permission.HOME_MEMBER_WRITE: AccessScope.OWN,
        Permission.SHARED_HOME_READ: AccessScope.OWN,
        Permission.SHARED_HOME_WRITE: AccessScope.OWN,
        Permission.PAIRED_DISPLAY_READ: AccessScope.OWN,
        Permission.PAIRED_DISPLAY_WRITE: AccessScope.OWN,
        Permission.VIRTUAL_ENTITY_READ: AccessScope.OWN,
        Permission.VIRTUAL_ENTITY_WRITE: AccessScope.OWN,
        Permission.VIRTUAL_ENTITY_TYPE_READ: AccessScope.APPLICATION,
        Permission.RESOURCE_READ: AccessScope.OWN,
        Permission.RESOURCE_WRITE: AccessScope.OWN,
        Permission.RESOURCE_TYPE_READ: AccessScope.APPLICATION,
        Permission.READINGS_READ: AccessScope.OWN,
        Permission.READINGS_WRITE: AccessScope.OWN,
        Permission.TARIFF_WRITE: AccessScope.OWN,
        Permission.CONTENT_READ: AccessScope.APPLICATION,
        Permission.ALERT_READ: AccessScope.APPLICATION,
        Permission.USER_READ: AccessScope.OWN,
        Permission.CONSENT_READ: AccessScope.OWN,
        Permission.CONSENT_WRITE: AccessScope.OWN,
        Permission.RESPONSE_READ: AccessScope.OWN,
        Permission.RESPONSE_WRITE: AccessScope.OWN,
        Permission.NOTIFICATION_READ: AccessScope.OWN,
        Permission.NOTIFICATION_WRITE: AccessScope.OWN,
        Permission.WEBHOOK_READ: AccessScope.OWN,
        Permission.DEVICE_TYPE_READ: AccessScope.APPLICATION,
        Permission.DEVICE_READ: AccessScope.OWN,
        Permission.DEVICE_WRITE: AccessScope.OWN,
        Permission.INVENTORY_READ: AccessScope.OWN,
        Permission.ELIGIBILITY_CHECK: AccessScope.OWN,
        Permission.CATCH_UP: AccessScope.OWN,
        Permission.FLEXIBILITY_READ: AccessScope.OWN,
        Permission.FLEXIBILITY_JOIN: AccessScope.OWN,
        Permission.DATA_EXPORT: AccessScope.OWN,
        Permission.DATA_ERASE: AccessScope.OWN,
    }
)

_EDITOR_GRANTS = _ACCOUNT_GRANTS | {
    Permission.TEMPLATE_READ: AccessScope.APPLICATION,
    Permission.TEMPLATE_WRITE: AccessScope.APPLICATION,
}

_APPLICATION_GRANTS: dict[Permission, AccessScope] = {
    permission: AccessScope.OWN
    if permission in (Permission.DATA_EXPORT, Permission.DATA_ERASE)
    else AccessScope.APPLICATION
    for permission in Permission
    if permission not in (Permission.SYSTEM, Permission.OWN_DISPLAY) and permission not in _OWN_CREDENTIAL_GRANTS
}

GRANTS: Mapping[Role, Mapping[Permission, AccessScope]] = MappingProxyType(
    {
        Role.ANONYMOUS: _ANONYMOUS_GRANTS,
        Role.ACCOUNT: _ACCOUNT_GRANTS,
        Role.DISPLAY: _DISPLAY_GRANTS,
        Role.MEMBER: _MEMBER_GRANTS,
        Role.TEMPLATE_EDITOR: _EDITOR_GRANTS,
        Role.ADMINISTRATOR: _APPLICATION_GRANTS | _OWN_CREDENTIAL_GRANTS,
        Role.UNENROLLED_ADMINISTRATOR: _ANONYMOUS_GRANTS | _OWN_CREDENTIAL_GRANTS,
        Role.APPLICATION: _APPLICATION_GRANTS,
        Role.SYSTEM: dict.fromkeys(Permission, AccessScope.APPLICATION),
    }
)
"""The permissions of each role, with their access scope. A permission that is not listed is denied."""

OWN_CREDENTIAL_PERMISSIONS = frozenset(
    {
        Permission.TOKEN,
        Permission.SECOND_FACTOR,
        Permission.CREDENTIAL_WRITE,
        Permission.ACCOUNT_WRITE,
        Permission.ACCOUNT_ADD,
        Permission.ACCOUNT_MANAGE,
        Permission.USER_DELETE,
        Permission.DATA_ERASE,
        Permission.OWN_DISPLAY,
        Permission.PAIRED_DISPLAY_WRITE,
    }
)
"""The permissions of operations that may change the user or the accounts of their caller, or end its credentials."""


@cache
def grants_as_much(role: Role, former: Role) -> bool:
    """Return whether a role has every permission of a former one, and none of them reaches less far."""
    granted = GRANTS[role]
    return all(granted.get(needs) in (scope, AccessScope.APPLICATION) for needs, scope in GRANTS[former].items())


ACTING_EXCEPTIONS: Mapping[Permission, str] = MappingProxyType(
    {
        Permission.ACCOUNT_ADD: "An account is added to an existing user, and legacy clients name the user only in the "
        "header userId.",
        Permission.CONSENT_MANAGE: "The application checks that a user may consent for a meter point. Users cannot "
        "confirm it themselves.",
    }
)
"""Permissions that an account does not have, but an application that acts for its user has, each with the reason."""

_ACTING_GRANTS: Mapping[Permission, AccessScope] = MappingProxyType(
    {permission: scope for permission, scope in _ACCOUNT_GRANTS.items() if permission in _APPLICATION_GRANTS}
    | dict.fromkeys(ACTING_EXCEPTIONS, AccessScope.OWN)
)
"""The permissions of an application that names a user in the header `userId`: those of the user's account.

An application has no token, so it has no permission for operations on one.
"""


_PERMISSIONS_OF_ALL_SCOPES = frozenset({Permission.ANYONE, Permission.TOKEN, Permission.OWN_STATUS})

_READING_PERMISSIONS = frozenset(permission for permission in Permission if permission.name.endswith("_READ"))

OAUTH_SCOPES: Mapping[str, frozenset[Permission]] = MappingProxyType(
    {
        "read": _PERMISSIONS_OF_ALL_SCOPES | _READING_PERMISSIONS,
        "write": frozenset(Permission)
        - _READING_PERMISSIONS
        - {
            Permission.ACCOUNT_ADD,
            Permission.ACCOUNT_MANAGE,
            Permission.CREDENTIAL_WRITE,
            Permission.DIRECTORY_MANAGE,
            Permission.HOME_MEMBER_WRITE,
            Permission.OWN_DISPLAY,
            Permission.PAIRED_DISPLAY_WRITE,
            Permission.SECOND_FACTOR,
            Permission.SHARED_HOME_WRITE,
            Permission.USER_WRITE,
            Permission.USER_DELETE,
            Permission.WEBHOOK_MANAGE,
            Permission.DATA_EXPORT,
            Permission.DATA_ERASE,
            Permission.SYSTEM,
        },
    }
)
"""The permissions that each OAuth scope allows.

No scope allows a client to make or change credentials, which would outlive its grant: users, accounts, tokens, access
of other people to homes, and webhook endpoints with their secrets. None allows it to download all data of the user at
once, or to erase the user. The scope `write` does not read.
"""


@dataclass(frozen=True, slots=True)
class Principal:
    """The authenticated caller of an operation.

    `user_id` is the account's user, or the user for whom an application acts (header `userId`).
    `token_id` and `expires_at` are set if the caller sent a token. `oauth_scopes` and `grant_id` are set if it is an
    OAuth token: all tokens from one authorization code share the grant. `credential_name` is the username of an
    application's credential. `secret_version` identifies the password or secret that the caller sent, without revealing
    it: it differs after each change. `directory_token` is the token of an external directory that an anonymous caller
    sent. It is not verified, and grants nothing by itself. `ve_id` is the only home that a paired display or a member
    sees. `trusted_only` restricts the application's callers to registered GraphQL documents.

    A member of a shared home has the `user_id` of its owner, whose rows the home is a part of, and the `account_id` of
    the own account. `membership_id` is the record of the access, and `member_user_id` the user of the own account.
    """

    role: Role
    scheme: AuthScheme = AuthScheme.NONE
    application_id: str | None = None
    user_id: str | None = None
    account_id: str | None = None
    ve_id: str | None = None
    membership_id: str | None = None
    member_user_id: str | None = None
    token_id: str | None = None
    expires_at: datetime | None = None
    oauth_scopes: frozenset[str] | None = None
    trusted_only: bool = False
    grant_id: str | None = None
    credential_name: str | None = None
    secret_version: str | None = field(default=None, repr=False)
    directory_token: str | None = field(default=None, repr=False)

    @property
    def names_application(self) -> bool:
        """Whether the caller belongs to an application, or names one that exists."""
        return self.application_id not in (None, UNKNOWN_APPLICATION_ID)

    @property
    def identity(self) -> tuple[str, ...]:
        """The caller behind the credentials: new credentials with the same identity may replace these."""
        ids = (self.application_id, self.account_id, self.user_id, self.ve_id, self.grant_id)
        return (self.role.value, *(name or "" for name in ids))

    def reading_own_changes(self) -> "Principal":
        """Return the caller of a change for the records in its REST result, for which the scope `write` suffices."""
        if self.oauth_scopes is None or "write" not in self.oauth_scopes:
            return self
        return replace(self, oauth_scopes=self.oauth_scopes | {"read"})

    @property
    def sees_own_records_only(self) -> bool:
        """Whether the caller is an account that sees no records of other users. A template editor is one too."""
        return self.role in (
            Role.ACCOUNT,
            Role.DISPLAY,
            Role.MEMBER,
            Role.TEMPLATE_EDITOR,
            Role.UNENROLLED_ADMINISTRATOR,
        )

    @property
    def may_enter_shared_homes(self) -> bool:
        """Whether the caller is an account that may read homes which their owners share with it."""
        reads_shared_homes = self.access_scope(Permission.SHARED_HOME_READ) is not None
        return self.account_id is not None and self.oauth_scopes is None and reads_shared_homes

    def has_expired(self, now: datetime, grace: timedelta = timedelta(0)) -> bool:
        """Return whether the token of the caller expired `grace` ago or earlier. No other credential expires."""
        return self.expires_at is not None and self.expires_at + grace <= now

    @property
    def acts_for_user(self) -> bool:
        """Whether the caller is an application that names a user in the header `userId`."""
        return self.role is Role.APPLICATION and self.user_id is not None

    def access_scope(self, permission: Permission, *, is_read: bool = False) -> AccessScope | None:
        """Return the access scope of a permission for this caller; None if it is not granted.

        An application that acts for a user has the permissions of that user's account, and ACTING_EXCEPTIONS. An OAuth
        token has the permissions of its account that its scopes allow. To read, it also needs the scope `read`: some
        queries need the permission for a change, such as the list of addresses that get no mail.
        """
        if self.oauth_scopes is not None:
            if not any(permission in OAUTH_SCOPES.get(name, ()) for name in self.oauth_scopes):
                return None
            if is_read and "read" not in self.oauth_scopes and permission not in _PERMISSIONS_OF_ALL_SCOPES:
                return None
        return (_ACTING_GRANTS if self.acts_for_user else GRANTS[self.role]).get(permission)


FindPayer = Callable[[Principal, str], Awaitable[Principal]]
"""Returns the principal whose budget pays for work of an anonymous caller with an application that it names."""


async def pay_oneself(caller: Principal, name: str) -> Principal:
    """Return the caller: without a database, no application is known."""
    return caller


Authenticate = Callable[[Mapping[str, str]], Awaitable[Principal]]
"""Return the caller from headers (lower-case names). Raise Unauthenticated if it sent invalid credentials."""
