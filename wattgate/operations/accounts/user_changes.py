"""Changes of a user: the username, and the language."""

from typing import Annotated

from sqlmodel import col

from wattgate.db import models
from wattgate.db.identity.login_backoff import (
    TAKEN_NAME,
    backoff_id,
    count_failure,
    enforce_login_backoff,
    load_failures,
)
from wattgate.db.models import Account
from wattgate.db.rows.rows import Rows
from wattgate.enums import UserStatus
from wattgate.errors import BadInput, Conflict, NotFound, Problem, ReauthenticationRequired
from wattgate.operations.accounts.provisioning import parse_optional_culture
from wattgate.operations.accounts.users import build_user
from wattgate.operations.core.operation import Audit, Call, OperationKind, RestRoute, operation
from wattgate.operations.credentials.email_changes import end_codes_of_address
from wattgate.operations.credentials.login import (
    application_directory,
    normalize_username,
    require_recent_login,
    validate_new_username,
)
from wattgate.operations.messages.message_context import mail_address
from wattgate.operations.types.identity import accounts as account_types
from wattgate.operations.types.users import users as types
from wattgate.operations.vocabulary import ids
from wattgate.operations.vocabulary.arguments import UNSET
from wattgate.operations.vocabulary.cost_weights import PASSWORD_HASH_WEIGHT
from wattgate.operations.vocabulary.tags import Tag
from wattgate.principal import Permission
from wattgate.values import terms
from wattgate.values.annotations import Described


@operation(
    OperationKind.MUTATION,
    returns=types.User,
    needs=Permission.CREDENTIAL_WRITE,
    audit=Audit.CALLS_FOR_OTHERS,
    rest=RestRoute("PUT", "/user/{userId}/username", Tag.USERS),
    raises=(ReauthenticationRequired, Conflict),
    weight=PASSWORD_HASH_WEIGHT,
    rest_result=account_types.DONE,
)
async def rename_user(
    call: Call,
    *,
    user_id: ids.UserId,
    username: Annotated[terms.Address, Described("New username; compared trimmed and in lower case.")],
    status: Annotated[
        terms.Text100, Described("Current status of the user, which legacy clients send. Other values are rejected.")
    ]
    | None = None,
    password: terms.CallerPassword | None = None,
    code: terms.CallerCode | None = None,
) -> types.User:
    """Change the username of a user in the application's own directory.

    A token whose log-in is some minutes old needs `password`; without it, the error is `REAUTHENTICATION_REQUIRED`.
    """
    await require_recent_login(call, password, code)
    await call.rows.require_present(user_id)
    user = await call.rows.get(models.User, user_id)
    if status not in (None, user.status):
        problem = Problem(("status",), f"is {user.status} and changes only by verification or deletion")
        raise BadInput("Renaming a user does not change the status.", problems=[problem])
    directory_id = await application_directory(call.rows)
    account = await call.rows.first(
        models.Account,
        col(models.Account.user_id) == user_id,
        col(models.Account.directory_id) == directory_id,
        order_by=[  # rename always the oldest of several that are not closed
            col(models.Account.status) == UserStatus.INACTIVE,
            models.Account.created_at,
            models.Account.account_id,
        ],
    )
    if account is not None and account.status == UserStatus.INACTIVE:
        raise Conflict(f"The accounts of user {user_id} are closed. A closed account keeps its username.")
    if account is None:
        raise NotFound(f"User {user_id} has no account in the application's own directory.")
    if normalize_username(username) != account.username:
        name = await choose_new_username(call.rows, account, username)
        record = await call.rows.edit(models.Account, account.account_id)
        address = mail_address(record)
        if call.rows.user_id is not None:  # mails go on to the address that was in use, not to an unconfirmed one
            record.email, record.mails_username = address or record.email, False
        record.username = name
        if mail_address(record) != address:
            await end_codes_of_address(call.rows, account.account_id)
    return await build_user(call.rows, user)


@operation(
    OperationKind.MUTATION,
    returns=types.User,
    needs=Permission.ACCOUNT_WRITE,
    audit=Audit.CALLS_FOR_OTHERS,
    rest=RestRoute("PUT", "/user/{userId}", Tag.USERS),
    raises=(Conflict,),
)
async def update_user(call: Call, *, user_id: ids.UserId, input: types.UserChange) -> types.User:
    """Change a user. Omitted fields keep their values."""
    user = await call.rows.edit(models.User, user_id)
    if input.culture_code is not UNSET:
        user.culture_code = parse_optional_culture(input.culture_code, ("input", "cultureCode"))
    return await build_user(call.rows, user)


async def choose_new_username(rows: Rows, account: Account, username: str) -> str:
    """Return a free username for an account as it is stored. Raise as `validate_new_username` does.

    The holder who tries names that others have must wait, as after wrong passwords: raise RateLimited. A successful
    rename does not reset the count. Applications and administrators list all users, so they need not wait.
    """
    if rows.user_id is None:
        return await validate_new_username(rows, username, account.directory_id)
    key = backoff_id(rows, account.directory_id, account.user_id, TAKEN_NAME)
    enforce_login_backoff(*await load_failures(rows, key), rows.now, "usernames that are in use")
    try:
        return await validate_new_username(rows, username, account.directory_id)
    except Conflict as taken:
        await count_failure(rows, key)
        raise Conflict(taken.message, commits_changes=True) from None
