"""Operations for people who cannot log in: register, verify an e-mail address, reset a password."""

from typing import Annotated, Any

from msgspec.structs import replace
from sqlmodel import col

from wattgate.db import models
from wattgate.db.identity.credential_locks import lock_user
from wattgate.db.identity.login_backoff import NO_ACCOUNT, backoff_id, count_failure, remember_client
from wattgate.db.queries.templates import application_culture
from wattgate.db.rows.rows import Rows
from wattgate.delivery.account_mails import PASSWORD_CHANGED
from wattgate.enums import UserStatus
from wattgate.errors import BadInput, Conflict, NotFound, Problem
from wattgate.operations.accounts.one_time_codes import (
    CODE_LIFETIME,
    PASSWORD_RESET,
    RESET_CODES,
    VERIFICATION_CODES,
    activate,
    code_conditions,
    is_code,
    matches_code,
    send_code,
    verify_code,
)
from wattgate.operations.accounts.provisioning import parse_optional_culture
from wattgate.operations.accounts.users import build_user
from wattgate.operations.core.operation import OWN_ACCOUNT_ONLY, Call, OperationKind, RestRoute, operation
from wattgate.operations.credentials.credential_endings import end_account_credentials
from wattgate.operations.credentials.directory_log_ins import find_directory, require_own_directory
from wattgate.operations.credentials.login import (
    application_directory,
    check_new_password,
    create_account,
    find_account,
    hash_new_password,
    normalize_username,
    parse_email,
    password_context,
    record_right_password,
    rows_for_login,
    try_password,
    verify_password,
)
from wattgate.operations.messages.account_mails import enqueue_account_mail
from wattgate.operations.messages.message_context import mail_address
from wattgate.operations.types.identity import accounts
from wattgate.operations.types.users import users as types
from wattgate.operations.vocabulary import ids
from wattgate.operations.vocabulary.arguments import Id
from wattgate.operations.vocabulary.cost_weights import PASSWORD_HASH_WEIGHT
from wattgate.operations.vocabulary.tags import Tag
from wattgate.principal import Permission
from wattgate.requests.client import AddressPolicy
from wattgate.values import terms
from wattgate.values.annotations import Described

NOBODY = Id("00000000-0000-0000-0000-000000000000")
"""The ID in the response to a registration by mail, which does not show whether a user was added."""


@operation(
    OperationKind.MUTATION,
    returns=types.User,
    needs=Permission.ANYONE,
    audit=OWN_ACCOUNT_ONLY,
    rest=RestRoute("POST", "/register", Tag.REGISTRATION),
    raises=(NotFound,),
    weight=PASSWORD_HASH_WEIGHT,
    address_policy=AddressPolicy.REGISTRATION,
)
async def register(
    call: Call,
    *,
    name: Annotated[terms.Text200, Described("Name of the person.")],
    username: terms.Username,
    email: terms.Email,
    password: terms.Password,
    application_id: ids.LoginApplicationId | None = None,
    directory_id: ids.RegistrationDirectoryId | None = None,
    culture_code: terms.CultureCode | None = None,
) -> types.User:
    """Register as a new user and send a verification code of six digits to the e-mail address.

    The account can log in after `verifyUser` with the code. A registration that is not verified in time is deleted. The
    application comes from `applicationId` or from the header `applicationId`. If the operator has set
    WATTGATE_REGISTER_BY_MAIL, the username must be the e-mail address, and the response is the same for one that is in
    use: its IDs are those of nobody, and the address gets a mail.
    """
    rows = rows_for_login(call, application_id)
    if await application_directory(rows) != (directory_id or await application_directory(rows)):
        raise BadInput(
            "Users can register only in the application's own directory.", problems=[_wrong_value("directoryId")]
        )
    user = models.User(
        status=UserStatus.UNVERIFIED, culture_code=parse_optional_culture(culture_code), created_at=rows.now
    )
    columns: dict[str, Any] = {
        "name": name,
        "email": parse_email(email),
        "status": UserStatus.UNVERIFIED,
        "active": False,
    }
    if call.account_policy.registers_by_mail:
        return await _register_by_mail(replace(call, rows=rows), user, username, password, columns)
    await rows.add(user)
    account = await create_account(
        call.outside, rows, user, username=username, password=password, created_at=rows.now, **columns
    )
    await send_code(replace(call, rows=rows), account, VERIFICATION_CODES)
    return await build_user(rows, user)


@operation(
    OperationKind.MUTATION,
    returns=accounts.CodeRequest,
    needs=Permission.ANYONE,
    audit=OWN_ACCOUNT_ONLY,
    rest=RestRoute("POST", "/user/verify", Tag.REGISTRATION),
    raises=(NotFound,),
    weight=PASSWORD_HASH_WEIGHT,
    address_policy=AddressPolicy.CODE,
    rest_result=accounts.DONE,
)
async def request_verification(
    call: Call,
    *,
    username: terms.Username,
    password: terms.Password,
    application_id: ids.LoginApplicationId | None = None,
    directory_id: ids.LoginDirectoryId | None = None,
) -> accounts.CodeRequest:
    """Send a verification code of six digits to the e-mail address of an unverified account.

    The code is valid for one hour and replaces earlier codes. A request within a minute of the last code sends no
    other one, nor does the sixth in an hour. The response is the same if the account does not exist.
    """
    rows = rows_for_login(call, application_id)
    account = await _find_unverified_account(rows, username, directory_id)
    if call.account_policy.registers_by_mail:
        # neither counted nor refunded: a wait would show whether a registration has this password, or none exists
        _, is_right = await try_password(call, rows, account, password, username, directory_id, is_refunded=False)
        await send_code(replace(call, rows=rows), account if is_right else None, VERIFICATION_CODES)
    elif await verify_password(call, rows, account, password, username, directory_id) and account is not None:
        await send_code(replace(call, rows=rows), account, VERIFICATION_CODES)
    return accounts.CodeRequest(expires_at=rows.now + CODE_LIFETIME)


@operation(
    OperationKind.MUTATION,
    returns=types.Verified,
    needs=Permission.ANYONE,
    audit=OWN_ACCOUNT_ONLY,
    rest=RestRoute("PUT", "/user/verify", Tag.REGISTRATION),
    raises=(NotFound, Conflict),
    weight=PASSWORD_HASH_WEIGHT,
    address_policy=AddressPolicy.CODE,
)
async def verify_user(
    call: Call,
    *,
    username: terms.Username,
    password: terms.Password,
    token: Annotated[terms.Secret, Described("Code from the verification e-mail.")],
    application_id: ids.LoginApplicationId | None = None,
    directory_id: ids.LoginDirectoryId | None = None,
) -> types.Verified:
    """Verify an account with the code from its verification e-mail. The account and its user become active."""
    rows = rows_for_login(call, application_id)
    account = await _find_unverified_account(rows, username, directory_id)
    by_mail = call.account_policy.registers_by_mail
    attempt, is_right = await try_password(
        call, rows, account, password, username, directory_id, is_refunded=not by_mail
    )
    if is_right and not by_mail:
        await record_right_password(rows, attempt)
    is_verified = await verify_code(rows, account if is_right else None, token)
    if not is_verified and (by_mail or not is_right):
        await attempt.record_failure(rows)
    if account is None or not is_verified:
        raise BadInput("The code is wrong or has expired.", problems=[_wrong_value("token")], commits_changes=True)
    if by_mail:
        await record_right_password(rows, attempt)
    await activate(rows, await rows.edit(models.Account, account.account_id))
    user = await rows.get(models.User, account.user_id)
    return types.Verified(valid=True, user_id=Id(user.user_id), status=user.status)


@operation(
    OperationKind.MUTATION,
    returns=accounts.CodeRequest,
    needs=Permission.ANYONE,
    audit=OWN_ACCOUNT_ONLY,
    rest=RestRoute("POST", "/user/resetpassword", Tag.USERS),
    raises=(NotFound,),
    address_policy=AddressPolicy.CODE,
    rest_result=accounts.DONE,
)
async def request_password_reset(
    call: Call,
    *,
    username: terms.Username,
    application_id: ids.LoginApplicationId | None = None,
    directory_id: ids.LoginDirectoryId | None = None,
) -> accounts.CodeRequest:
    """Send a password reset token to the e-mail address of an account. The token is valid for one hour.

    The response is the same if the account does not exist.
    """
    rows = rows_for_login(call, application_id)
    account = await _find_open_account(rows, username, directory_id)
    # stored for every name, so that the time of the transaction does not reveal which names exist
    await count_failure(rows, backoff_id(rows, directory_id, normalize_username(username), PASSWORD_RESET))
    await send_code(replace(call, rows=rows), account, RESET_CODES)
    return accounts.CodeRequest(expires_at=rows.now + CODE_LIFETIME)


@operation(
    OperationKind.MUTATION,
    returns=accounts.Account,
    needs=Permission.ANYONE,
    audit=OWN_ACCOUNT_ONLY,
    rest=RestRoute("PUT", "/user/resetpassword", Tag.USERS),
    raises=(NotFound, Conflict),
    weight=PASSWORD_HASH_WEIGHT,
    address_policy=AddressPolicy.CODE,
    rest_result=accounts.DONE,
)
async def reset_password(
    call: Call,
    *,
    username: terms.Username,
    token: Annotated[terms.Secret, Described("Token from the password reset e-mail.")],
    new_password: terms.NewPassword,
    application_id: ids.LoginApplicationId | None = None,
    directory_id: ids.LoginDirectoryId | None = None,
) -> models.Account:
    """Set a new password with the token from the password reset e-mail.

    All tokens of the account are revoked, and all its push tokens are removed. The holder gets a mail about the change.
    """
    rows = rows_for_login(call, application_id)
    path, context = ("newPassword",), await password_context(rows, username)
    hashed = hash_new_password(call.outside, rows, new_password, path, context=context)
    account = await _find_open_account(rows, username, directory_id)
    sent = await rows.all(models.OneTimeCode, *code_conditions(account, PASSWORD_RESET))
    valid = [code.code_id for code in sent if matches_code(code, token) and code.expires_at > rows.now]
    if account is not None and valid:
        await lock_user(rows, account.user_id)
    # of two requests with the token at the same time, only one deletes it
    if account is None or not valid or not await rows.delete(models.OneTimeCode, is_code(valid[0])):
        raise BadInput("The token is wrong or has expired.", problems=[_wrong_value("token")])
    check_new_password(new_password, path, context=[account.email])  # not before, because it reveals the address
    record = await rows.edit(models.Account, account.account_id)
    record.password_hash = hashed
    await end_account_credentials(call, rows, account.account_id)
    await remember_client(rows, account, call.client)  # the holder of the mailbox need not wait behind a guesser
    await enqueue_account_mail(replace(call, rows=rows), PASSWORD_CHANGED, account, mail_address(account))
    return record


async def _register_by_mail(
    call: Call, user: models.User, username: str, password: str, columns: dict[str, Any]
) -> types.User:
    """Register an address, with the same statements and the same response whether or not an account has the name.

    A free address gets a verification code. So does one whose registration is not verified: the newest one counts. The
    address of another account gets the mail for a new password.
    """
    rows, email = call.rows, columns["email"]
    name, directory_id = normalize_username(email), await application_directory(call.rows)
    if normalize_username(username) != name or await find_directory(rows, directory_id) is not None:
        raise BadInput("Use the e-mail address as the username.", problems=[_wrong_value("username")])
    hashed = hash_new_password(call.outside, rows, password, context=await password_context(rows, name))
    await rows.add_if_absent(user)
    account = models.Account(
        user_id=user.user_id, directory_id=directory_id, username=name, created_at=rows.now, **columns
    )
    is_new = await rows.add_if_absent(account)
    await rows.delete(models.User, col(models.User.user_id) == (NO_ACCOUNT if is_new else user.user_id))
    is_pending = col(models.Account.username) == name, col(models.Account.status) == UserStatus.UNVERIFIED
    in_directory = col(models.Account.directory_id) == directory_id
    await rows.update(models.Account, *is_pending, in_directory, password_hash=hashed, name=columns["name"])
    holder = await _find_open_account(rows, name, None)
    is_verified = holder is not None and holder.status != UserStatus.UNVERIFIED
    await send_code(call, holder, RESET_CODES if is_verified else VERIFICATION_CODES)
    application = types.UserApplication(active=False, account_id=NOBODY, application_id=Id(rows.application_id))
    return types.User(
        user_id=NOBODY,
        application_id=Id(rows.application_id),
        applications=[application],
        status=UserStatus.UNVERIFIED,
        active=user.active,
        culture_code=user.culture_code or await application_culture(rows),
        created_at=rows.now,
        updated_at=rows.now,
    )


async def _find_unverified_account(rows: Rows, username: str, directory_id: str | None) -> models.Account | None:
    await require_own_directory(rows, directory_id)
    account = await find_account(rows, username, directory_id)
    return account if account and account.status == UserStatus.UNVERIFIED else None


async def _find_open_account(rows: Rows, username: str, directory_id: str | None) -> models.Account | None:
    await require_own_directory(rows, directory_id)
    account = await find_account(rows, username, directory_id)
    is_open = account is not None and account.status not in (UserStatus.INACTIVE, UserStatus.SUSPENDED)
    return account if is_open else None


def _wrong_value(name: str) -> Problem:
    return Problem((name,), "is wrong")
