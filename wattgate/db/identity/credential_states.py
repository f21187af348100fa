"""Whether credentials are valid: one question for requests, connections, and operations that have begun."""

import hashlib
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import ColumnElement, LargeBinary, bindparam, cast, exists, literal, null, or_, select, union_all
from sqlmodel import col

from wattgate.db.connections.reader import DatabaseSession, fetch
from wattgate.db.models import Account, ApplicationCredential, HomeMember, Token, User, VirtualEntity
from wattgate.db.scope.tenancy_guard import SCOPED_OPTION
from wattgate.enums import UserStatus
from wattgate.principal import GRANTS, Permission, Principal, Role, grants_as_much

T = TypeVar("T", str, tuple[str, str])

MAX_KEYS_PER_STATEMENT = 500
"""The maximum number of keys in one statement."""

_CREDENTIAL, _USER = "credential", "user"

_ROLE_COLUMNS = (col(Account.administrator), col(Account.template_editor), col(Account.second_factor))


def secret_version(stored: str | bytes | None) -> str:
    """Return a short name for the stored hash of a password or secret. It differs after each change of the secret."""
    data = stored.encode() if isinstance(stored, str) else stored or b""
    return hashlib.sha256(data).hexdigest()[:32]


def accepts_applications() -> ColumnElement[bool]:
    """Return the condition on a user for whom applications may act: active, and with an open account, or with none.

    A user without any account is one that the application has provisioned, and whom only the application serves.
    """
    of_user = col(Account.user_id) == col(User.user_id)
    has_open_account = exists().where(of_user, col(Account.status) != UserStatus.INACTIVE).correlate(User)
    has_account = exists().where(of_user).correlate(User)
    return col(User.active).is_(True) & or_(has_open_account, ~has_account)


def is_open_membership() -> ColumnElement[bool]:
    """Return the condition on a member of a home that may read it, together with the home and the user who owns it.

    The access has neither ended nor is it an invitation, the home is open and still belongs to the owner who invited,
    and the owner is neither suspended nor erased.
    """
    is_member = col(HomeMember.joined_at).is_not(None) & col(HomeMember.ended_at).is_(None)
    has_home = col(VirtualEntity.active).is_(True) & (col(VirtualEntity.owner_id) == col(HomeMember.user_id))
    return is_member & has_home & accepts_applications()


class _Statements(NamedTuple):
    """The statements that find valid credentials by their keys. They are compiled once.

    Each operation that changes records executes one of them, so those for one key are apart.
    """

    tokens: Any
    accounts: Any
    credentials: Any
    acting: Any
    members: Any


def _build_statements(has_key: Callable[[Any, str], ColumnElement[bool]]) -> _Statements:
    """Return the statements with a condition on a key column, for the parameter with this name."""
    credentials = select(
        literal(_CREDENTIAL).label("kind"),
        col(ApplicationCredential.username),
        col(ApplicationCredential.secret_digest),
    ).where(has_key(col(ApplicationCredential.username), "names"), col(ApplicationCredential.active).is_(True))
    users = select(literal(_USER).label("kind"), col(User.user_id), cast(null(), LargeBinary)).where(
        has_key(col(User.user_id), "user_ids"), accepts_applications()
    )
    return _Statements(
        tokens=select(col(Token.token_id), col(Token.expires_at), *_ROLE_COLUMNS)
        .join(Account, col(Account.account_id) == Token.account_id)
        .where(
            has_key(col(Token.token_id), "names"),
            col(Token.expires_at) > bindparam("now"),
            col(Account.active).is_(True),
        ),
        accounts=select(col(Account.account_id), col(Account.password_hash), *_ROLE_COLUMNS).where(
            has_key(col(Account.account_id), "names"), col(Account.active).is_(True)
        ),
        credentials=credentials,
        acting=union_all(credentials, users),
        members=select(col(HomeMember.member_id), col(HomeMember.member_user_id))
        .join(VirtualEntity, col(VirtualEntity.ve_id) == col(HomeMember.ve_id))
        .join(User, col(User.user_id) == col(HomeMember.user_id))
        .where(has_key(col(HomeMember.member_id), "names"), is_open_membership()),
    )


_FOR_ONE = _build_statements(lambda column, name: column == bindparam(name))
_FOR_SEVERAL = _build_statements(lambda column, name: column.in_(bindparam(name, expanding=True)))


class CredentialStates:
    """The states of credentials. A caller's session needs `SystemAccess.FIND_CREDENTIALS`."""

    def __init__(self, *, administrators_need_second_factor: bool = False) -> None:
        self._administrators_need_second_factor = administrators_need_second_factor

    def role_of(self, administrator: bool, template_editor: bool, second_factor: bool) -> Role:
        """Return the role of an account with these columns."""
        if administrator:
            is_enrolled = second_factor or not self._administrators_need_second_factor
            return Role.ADMINISTRATOR if is_enrolled else Role.UNENROLLED_ADMINISTRATOR
        return Role.TEMPLATE_EDITOR if template_editor else Role.ACCOUNT

    async def find_tokens(
        self, session: DatabaseSession, principals: Collection[Principal], now: datetime
    ) -> dict[str, Any]:
        """Return the rows of the valid tokens of callers by id: the token, its end, and the columns of the role."""
        return {
            row[0]: row
            for batch in batches(_names(principals, "token_id"))
            for row in await _fetch(session, "tokens", {"names": batch}, now=now)
        }

    async def find_ended(
        self,
        session: DatabaseSession,
        principals: Collection[Principal],
        now: datetime,
        tokens: Mapping[str, Any] | None = None,
    ) -> set[Principal]:
        """Return the callers whose credentials are no longer valid, or grant less than they did.

        A token is expired or deleted, an account or a user is closed, a password or secret was changed, an account has
        another role, its password needs a second factor, or its access to a shared home has ended. `tokens` is the
        result of `find_tokens`, if it is known.
        """
        if tokens is None:
            tokens = await self.find_tokens(session, principals, now)
        accounts = await self._find_accounts(session, principals)
        applications = await _find_applications(session, principals)
        members = await _find_members(session, principals)

        def is_valid(principal: Principal) -> bool:
            if principal.membership_id is not None and principal.membership_id not in members:
                return False
            if principal.token_id is not None:
                return self._is_token(principal, tokens.get(principal.token_id))
            if principal.account_id is not None:
                row = accounts.get(principal.account_id)
                return row is not None and self._is_account(principal, row)
            return _is_application(principal, applications)

        return {principal for principal in principals if not is_valid(principal)}

    async def has_ended(self, session: DatabaseSession, principal: Principal, now: datetime) -> bool:
        """Return whether `find_ended` finds this caller. Each operation that changes records asks it of its caller."""
        if principal.token_id is None or principal.membership_id is not None:
            return bool(await self.find_ended(session, [principal], now))
        parameters = {"names": principal.token_id, "now": now}
        rows = await fetch(session, _FOR_ONE.tokens, parameters, execution_options=SCOPED_OPTION)
        return not self._is_token(principal, rows[0] if rows else None)

    async def _find_accounts(self, session: DatabaseSession, principals: Collection[Principal]) -> dict[str, Any]:
        by_password = [principal for principal in principals if principal.token_id is None]
        return {
            row[0]: row
            for batch in batches(_names(by_password, "account_id"))
            for row in await _fetch(session, "accounts", {"names": batch})
        }

    def _is_token(self, principal: Principal, row: Any | None) -> bool:
        return row is not None and self._is_role(principal, row[2:])

    def _is_account(self, principal: Principal, row: Any) -> bool:
        _, password_hash, administrator, template_editor, second_factor = row
        is_password = principal.secret_version is not None
        if is_password and (second_factor or principal.secret_version != secret_version(password_hash)):
            return False
        return self._is_role(principal, (administrator, template_editor, second_factor))

    def _is_role(self, principal: Principal, columns: Any) -> bool:
        if principal.role is Role.MEMBER:
            return Permission.SHARED_HOME_READ in GRANTS[self.role_of(*columns)]
        return principal.role is Role.DISPLAY or grants_as_much(self.role_of(*columns), principal.role)


async def _find_members(session: DatabaseSession, principals: Collection[Principal]) -> set[str]:
    """Return the ids of the accesses to shared homes that have not ended."""
    names = _names(principals, "membership_id")
    return {row[0] for batch in batches(names) for row in await _fetch(session, "members", {"names": batch})}


async def _find_applications(
    session: DatabaseSession, principals: Collection[Principal]
) -> dict[tuple[str, str], bytes | None]:
    """Return the secrets of the active credentials of applications, and None for each user for whom they may act."""
    acting = [principal for principal in principals if principal.role is Role.APPLICATION]
    keys = [(_CREDENTIAL, name) for name in _names(acting, "credential_name")]
    keys += [(_USER, name) for name in _names(acting, "user_id")]
    found = dict[tuple[str, str], bytes | None]()
    for batch in batches(keys):
        parameters = {"names": [name for kind, name in batch if kind == _CREDENTIAL]}
        user_ids = [name for kind, name in batch if kind == _USER]
        statement = "credentials"
        if user_ids:
            statement, parameters = "acting", parameters | {"user_ids": user_ids}
        found |= {(kind, name): secret for kind, name, secret in await _fetch(session, statement, parameters)}
    return found


def _is_application(principal: Principal, found: Mapping[tuple[str, str], bytes | None]) -> bool:
    if principal.role is not Role.APPLICATION:
        return True
    if principal.user_id is not None and (_USER, principal.user_id) not in found:
        return False
    if principal.credential_name is None:
        return True
    key = (_CREDENTIAL, principal.credential_name)
    return key in found and principal.secret_version in (None, secret_version(found[key]))


async def _fetch(session: DatabaseSession, statement: str, keys: Mapping[str, list[str]], **others: Any) -> Any:
    if all(len(values) == 1 for values in keys.values()):
        parameters = {name: values[0] for name, values in keys.items()} | others
        return await fetch(session, getattr(_FOR_ONE, statement), parameters, execution_options=SCOPED_OPTION)
    return await session.execute(getattr(_FOR_SEVERAL, statement), {**keys, **others}, execution_options=SCOPED_OPTION)


def _names(principals: Collection[Principal], attribute: str) -> set[str]:
    """Return the values of an attribute that are not None."""
    return {value for principal in principals if (value := getattr(principal, attribute)) is not None}


def batches(keys: Collection[T]) -> Iterator[list[T]]:
    """Return the keys in order, in lists of at most MAX_KEYS_PER_STATEMENT."""
    in_order = sorted(keys)
    for start in range(0, len(in_order), MAX_KEYS_PER_STATEMENT):
        yield in_order[start : start + MAX_KEYS_PER_STATEMENT]
