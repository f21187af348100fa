"""Suspend a user, and reopen a suspended one. No data is erased."""

from sqlmodel import col

from wattgate.db import models
from wattgate.db.identity.credential_locks import lock_user
from wattgate.enums import UserStatus
from wattgate.errors import Conflict
from wattgate.operations.accounts.users import load_user
from wattgate.operations.core.operation import Audit, Call, OperationKind, RestRoute, operation
from wattgate.operations.credentials.credential_endings import end_user
from wattgate.operations.types.users import users as types
from wattgate.operations.vocabulary import ids
from wattgate.operations.vocabulary.tags import Tag
from wattgate.principal import Permission


@operation(
    OperationKind.MUTATION,
    returns=types.User,
    needs=Permission.USER_DELETE,
    audit=Audit.EVERY_CALL,
    rest=RestRoute("PUT", "/user/{userId}/suspension", Tag.USERS),
    raises=(Conflict,),
)
async def suspend_user(call: Call, *, user_id: ids.UserId) -> types.User:
    """Suspend a user: nobody can log in, and no application can act for the user, until `reopenUser`.

    All tokens, paired displays, push tokens and connections end at once. Devices and imports still record readings,
    alerts are still stored, and webhook endpoints of the application still get events. Mails of alerts and push
    messages are not sent. A second call changes nothing.
    """
    user = await _lock_present_user(call, user_id)
    if user.status != UserStatus.SUSPENDED:
        user.status, user.active = UserStatus.SUSPENDED, False
        await _change_accounts(call, user_id, UserStatus.ACTIVE, UserStatus.SUSPENDED)
        await end_user(call, call.rows, user_id)
    return await load_user(call.rows, user_id)


@operation(
    OperationKind.MUTATION,
    returns=types.User,
    needs=Permission.USER_DELETE,
    audit=Audit.EVERY_CALL,
    rest=RestRoute("DELETE", "/user/{userId}/suspension", Tag.USERS),
    raises=(Conflict,),
)
async def reopen_user(call: Call, *, user_id: ids.UserId) -> types.User:
    """Reopen a suspended user. The user logs in with the password from before, and pairs displays again.

    Accounts that were closed or not verified stay so. A call for a user who is not suspended changes nothing.
    """
    user = await _lock_present_user(call, user_id)
    if user.status == UserStatus.SUSPENDED:
        await _change_accounts(call, user_id, UserStatus.SUSPENDED, UserStatus.ACTIVE)
        is_unverified = col(models.Account.user_id) == user_id, col(models.Account.status) == UserStatus.UNVERIFIED
        is_active = col(models.Account.user_id) == user_id, col(models.Account.status) == UserStatus.ACTIVE
        waits = await call.rows.count(models.Account, *is_unverified) and not await call.rows.count(
            models.Account, *is_active
        )
        user.status, user.active = UserStatus.UNVERIFIED if waits else UserStatus.ACTIVE, True
    return await load_user(call.rows, user_id)


async def _lock_present_user(call: Call, user_id: str) -> models.User:
    """Return a user to change. Log-ins and other changes of the user wait. Raise Conflict for an erased user."""
    await lock_user(call.rows, user_id)
    await call.rows.require_present(user_id)
    return await call.rows.edit(models.User, user_id)


async def _change_accounts(call: Call, user_id: str, before: UserStatus, after: UserStatus) -> None:
    has_status = col(models.Account.user_id) == user_id, col(models.Account.status) == before
    await call.rows.update(models.Account, *has_status, status=after, active=after == UserStatus.ACTIVE)
