"""Users: the people who own accounts, homes and meters."""

import msgspec
from sqlmodel import col

from wattgate.db import models
from wattgate.db.identity.credential_locks import lock_user
from wattgate.db.queries.users import add_accounts
from wattgate.db.rows.rows import Rows
from wattgate.errors import NotFound
from wattgate.operations.accounts.provisioning import parse_optional_culture
from wattgate.operations.core.operation import Audit, Call, OperationKind, RestRoute, operation
from wattgate.operations.credentials.login import create_account, find_account, normalize_username, parse_optional_email
from wattgate.operations.personal_data.erasures import begin_erasure
from wattgate.operations.types.users import users as types
from wattgate.operations.vocabulary import ids
from wattgate.operations.vocabulary.cost_weights import PASSWORD_HASH_WEIGHT
from wattgate.operations.vocabulary.tags import Tag
from wattgate.principal import Permission
from wattgate.values import terms


@operation(
    OperationKind.QUERY,
    returns=types.User,
    needs=Permission.USER_READ,
    rest=RestRoute("GET", "/user", Tag.USERS),
    raises=(NotFound,),
    in_graphql=("findUser",),
)
async def user_by_username(
    call: Call, *, username: terms.Username, directory_id: ids.LoginDirectoryId | None = None
) -> types.User:
    """Return the user who has an account with this username."""
    return await load_user_by_name(call.rows, username, directory_id)


@operation(
    OperationKind.QUERY,
    returns=types.User,
    needs=Permission.USER_READ,
    rest=RestRoute("GET", "/user/{userId}", Tag.USERS),
)
async def user(call: Call, *, user_id: ids.UserId) -> types.User:
    """Return the user with this ID."""
    return await load_user(call.rows, user_id)


@operation(
    OperationKind.MUTATION,
    returns=types.User,
    needs=Permission.USER_WRITE,
    audit=Audit.EVERY_CALL,
    rest=RestRoute("POST", "/user", Tag.USERS),
    weight=PASSWORD_HASH_WEIGHT,
)
async def add_user(call: Call, *, input: types.NewUser) -> types.User:
    """Add a user with an account. Both are active immediately."""
    culture_code = parse_optional_culture(input.culture_code, ("input", "cultureCode"))
    added = await call.rows.add(models.User(culture_code=culture_code))
    await create_account(
        call.outside,
        call.rows,
        added,
        username=input.username,
        directory_id=input.directory_id,
        password=input.password,
        name=input.name,
        email=parse_optional_email(input.email, ("input", "email")),
    )
    return await build_user(call.rows, added)


@operation(
    OperationKind.MUTATION,
    returns=types.User,
    needs=Permission.USER_DELETE,
    audit=Audit.EVERY_CALL,
    rest=RestRoute("DELETE", "/user/{userId}", Tag.USERS),
)
async def delete_user(call: Call, *, user_id: ids.UserId) -> types.User:
    """Erase a user. The user cannot log in any more, and the username is free.

    A job erases or replaces all personal data. Readings and tariffs by meter point are kept for billing, under the user
    ID as a pseudonym. `erasure` reports the progress and the result. It cannot be undone.
    """
    await lock_user(call.rows, user_id)
    await call.rows.lock(models.User, col(models.User.user_id) == user_id)
    await begin_erasure(call, call.rows, await call.rows.get(models.User, user_id))
    return await build_user(call.rows, await call.rows.get(models.User, user_id))


async def load_user(rows: Rows, user_id: str) -> types.User:
    """Return the user with this id. Raise NotFound unless the caller may see it."""
    return await build_user(rows, await rows.get(models.User, user_id))


async def load_user_by_name(rows: Rows, username: str, directory_id: str | None = None) -> types.User:
    """Return the user with an account of this name. Raise NotFound unless the caller may see it.

    The default directory is the application's own.
    """
    account = await find_account(rows, username, directory_id)
    if account is None:
        raise NotFound(f"No user with username {normalize_username(username)}.")
    return await load_user(rows, account.user_id)


async def build_user(rows: Rows, user: models.User) -> types.User:
    """Return the result for a user: the record and its accounts, oldest first."""
    (with_accounts,) = (await add_accounts(rows, [user])).values()
    return types.User(**msgspec.structs.asdict(with_accounts))
