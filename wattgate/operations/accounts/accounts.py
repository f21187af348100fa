"""Accounts: list, add, change and close them; passwords, e-mail addresses and push tokens."""

from typing import Annotated

from sqlmodel import col

from wattgate.db import models
from wattgate.db.identity.credential_locks import lock_user
from wattgate.db.identity.login_backoff import remember_client
from wattgate.delivery.account_mails import PASSWORD_CHANGED
from wattgate.delivery.channels.push import token_digest
from wattgate.delivery.channels.web_push import token_problem
from wattgate.enums import UserStatus
from wattgate.errors import BadInput, Conflict, NotFound, Problem, ReauthenticationRequired
from wattgate.operations.accounts.one_time_codes import change_status
from wattgate.operations.core.context import require_user_id
from wattgate.operations.core.input_limits import apply_input
from wattgate.operations.core.operation import Audit, Call, OperationKind, Preparation, RestRoute, Unaudited, operation
from wattgate.operations.credentials.credential_endings import end_account_credentials, end_acting
from wattgate.operations.credentials.directory_status import (
    DirectoryAnswer,
    ask_about_account,
    ask_about_presented_token,
    ask_own_directory,
)
from wattgate.operations.credentials.email_changes import confirm_requested_change, request_email_change
from wattgate.operations.credentials.login import (
    create_account,
    hash_new_password,
    parse_email,
    parse_optional_email,
    password_context,
    require_account,
    require_recent_login,
    rows_for_login,
    verify_password,
)
from wattgate.operations.messages.account_mails import enqueue_account_mail
from wattgate.operations.messages.message_context import mail_address
from wattgate.operations.types.identity import accounts as types
from wattgate.operations.vocabulary import ids
from wattgate.operations.vocabulary.arguments import UNSET, Id
from wattgate.operations.vocabulary.cost_weights import GROWING_LIST_SIZE, PASSWORD_HASH_WEIGHT, ListSize
from wattgate.operations.vocabulary.tags import Tag
from wattgate.principal import AuthScheme, Permission, Role
from wattgate.requests.client import AddressPolicy
from wattgate.values import terms
from wattgate.values.annotations import Described

MAX_PUSH_TOKENS = 20
"""Maximum push tokens of an account. Adding another deletes the oldest."""


@operation(
    OperationKind.QUERY,
    returns=list[types.Account],
    needs=Permission.ACCOUNT_READ,
    rest=RestRoute("GET", "/account", Tag.ACCOUNTS),
    sizes=[ListSize(GROWING_LIST_SIZE)],
    in_graphql=("viewer", "accounts"),
)
async def accounts(call: Call) -> list[models.Account]:
    """List the accounts that the caller may see, oldest first."""
    return await call.rows.all(models.Account, order_by=[models.Account.created_at])


@operation(
    OperationKind.QUERY,
    returns=types.Account,
    needs=Permission.ACCOUNT_READ,
    rest=RestRoute("GET", "/account/{accountId}", Tag.ACCOUNTS),
)
async def account(call: Call, *, account_id: ids.AccountId) -> models.Account:
    """Return the account with this ID."""
    return await call.rows.get(models.Account, account_id)


@operation(
    OperationKind.MUTATION,
    returns=types.Account,
    needs=Permission.ACCOUNT_ADD,
    audit=Audit.EVERY_CALL,
    rest=RestRoute("POST", "/account", Tag.ACCOUNTS, acknowledged_fields=("accountId", "applicationId", "userId")),
    weight=PASSWORD_HASH_WEIGHT,
)
async def add_account(call: Call, *, input: types.NewAccount) -> models.Account:
    """Add an account to an existing user.

    An application that names a user in the header `userId` can add accounts only to this user.
    """
    user = await call.rows.get(models.User, input.user_id or require_user_id(call))
    await call.rows.require_present(user.user_id)
    return await create_account(
        call.outside,
        call.rows,
        user,
        username=input.username,
        directory_id=input.directory_id,
        password=input.password,
        name=input.name,
        email=parse_optional_email(input.email, ("input", "email")),
    )


@operation(
    OperationKind.MUTATION,
    returns=types.Account,
    needs=Permission.ACCOUNT_WRITE,
    audit=Audit.CALLS_FOR_OTHERS,
    rest=RestRoute("PUT", "/account/{accountId}", Tag.ACCOUNTS, scheme=AuthScheme.BASIC),
    raises=(Conflict,),
)
async def update_account(call: Call, *, account_id: ids.AccountId, input: types.AccountChange) -> models.Account:
    """Change an account. Omitted fields keep their values.

    An application or administrator that vouches for the holder can make an unverified account active. Its user becomes
    active as well.
    """
    account = await call.rows.edit(models.Account, account_id)
    await call.rows.require_present(account.user_id)
    if input.status is not UNSET:
        await change_status(call, account, input.status)
    return apply_input(account, input, exclude=("status",))


@operation(
    OperationKind.MUTATION,
    returns=types.Account,
    needs=Permission.ACCOUNT_MANAGE,
    audit=Audit.EVERY_CALL,
    rest=RestRoute("DELETE", "/account/{accountId}", Tag.ACCOUNTS),
)
async def delete_account(call: Call, *, account_id: ids.AccountId) -> models.Account:
    """Close an account: deactivate it, revoke its tokens and remove its push tokens. The record is kept.

    An application cannot act for a user whose accounts are all closed.
    """
    await lock_user(call.rows, (await call.rows.get(models.Account, account_id)).user_id)
    account = await call.rows.edit(models.Account, account_id)
    account.active, account.status = False, UserStatus.INACTIVE
    await end_account_credentials(call, call.rows, account_id)
    await end_acting(call, call.rows, account.user_id)
    return account


async def _ask_about_account(preparation: Preparation, *, account_id: str) -> DirectoryAnswer | None:
    return await ask_about_account(preparation, account_id)


@operation(
    OperationKind.QUERY,
    returns=types.AccountStatus,
    needs=Permission.ACCOUNT_STATUS,
    rest=RestRoute("GET", "/account/{accountId}/status", Tag.ACCOUNTS),
    prepare=_ask_about_account,
)
async def account_status(call: Call, *, account_id: ids.AccountId) -> types.AccountStatus:
    """Return the status of an account and whether its newest token is valid.

    For an account of an external directory, this is the newest token of the directory that the account logged in with,
    and the gateway checks it again.
    """
    return await _load_status(call, await call.rows.get(models.Account, account_id))


async def _ask_about_caller(preparation: Preparation) -> DirectoryAnswer | None:
    principal = preparation.principal
    if principal.account_id is not None:
        return await ask_about_account(preparation, principal.account_id)
    if principal.role is Role.ANONYMOUS:
        return await ask_about_presented_token(preparation, principal.directory_token)
    return None


@operation(
    OperationKind.QUERY,
    returns=types.AccountStatus,
    needs=Permission.OWN_STATUS,
    rest=RestRoute("GET", "/account/status", Tag.ACCOUNTS),
    raises=(BadInput, NotFound),
    prepare=_ask_about_caller,
)
async def own_account_status(call: Call) -> types.AccountStatus:
    """Return the status of the account of the token of this request, and whether the token is valid.

    A token of an external directory (a JWT) is accepted here too, with the header `applicationId`. For an account of an
    external directory, the gateway checks whether the token of the directory is still valid.
    """
    answer: DirectoryAnswer | None = call.prepared
    if answer is not None and call.principal.account_id is None:
        rows = rows_for_login(call, None)
        return await _load_status(call, await rows.get(models.Account, answer.account_id))
    return await _load_status(call, await require_account(call), call.principal.token_id)


async def _load_status(call: Call, account: models.Account, token_id: str | None = None) -> types.AccountStatus:
    answer: DirectoryAnswer = call.prepared or await ask_own_directory(call.rows, account, token_id)
    dates = types.DirectoryToken(token_issue_date=answer.issued_at, token_expiry_date=answer.expires_at)
    return types.AccountStatus(
        status=account.status,
        active=account.active,
        account_id=Id(account.account_id),
        application_id=Id(account.application_id),
        directory_id=Id(account.directory_id),
        created_at=account.created_at,
        updated_at=account.updated_at,
        directory=types.DirectoryAnswer(data=dates, valid=answer.valid, reason=answer.reason),
    )


@operation(
    OperationKind.MUTATION,
    returns=types.Account,
    needs=Permission.CREDENTIAL_WRITE,
    audit=Audit.CALLS_FOR_OTHERS,
    rest=RestRoute("POST", "/account/email", Tag.ACCOUNTS),
    raises=(ReauthenticationRequired, NotFound, Conflict),
    weight=PASSWORD_HASH_WEIGHT,
    rest_result=types.DONE,
)
async def change_email(
    call: Call,
    *,
    email: terms.Email,
    password: terms.CallerPassword | None = None,
    code: terms.CallerCode | None = None,
) -> models.Account:
    """Request a new e-mail address for the calling account. It is used after it is confirmed there.

    The new address gets a code for `confirmEmailChange`, valid for 24 hours. The old one gets a notice, and all mails
    until then. A further request replaces an earlier one. Log-outs and changes of the password cancel it.

    A token whose log-in is some minutes old needs `password`; without it, the error is `REAUTHENTICATION_REQUIRED`.
    """
    address = parse_email(email)
    await require_recent_login(call, password, code)
    account = await require_account(call)
    await request_email_change(call, account, address)
    return account


@operation(
    OperationKind.MUTATION,
    returns=types.Account,
    needs=Permission.ANYONE,
    audit=Unaudited("The holder of an account proves an address that was requested before."),
    rest=RestRoute("PUT", "/account/email", Tag.ACCOUNTS),
    raises=(NotFound, Conflict),
    address_policy=AddressPolicy.CODE,
    rest_result=types.DONE,
)
async def confirm_email_change(
    call: Call, *, token: terms.Token, application_id: ids.ApplicationId | None = None
) -> models.Account:
    """Confirm a new e-mail address with the code that was sent to it. The code is valid once.

    Codes that were sent to the old address become invalid. The application comes from `applicationId` or from the
    header `applicationId`.
    """
    return await confirm_requested_change(call, rows_for_login(call, application_id), token)


@operation(
    OperationKind.MUTATION,
    returns=types.Account,
    needs=Permission.ACCOUNT_WRITE,
    audit=Audit.CALLS_FOR_OTHERS,
    rest=RestRoute("POST", "/account/name", Tag.ACCOUNTS),
    raises=(NotFound,),
    rest_result=types.DONE,
)
async def change_name(
    call: Call, *, name: Annotated[terms.Text200, Described("New name of the person.")]
) -> models.Account:
    """Change the name of the person on the calling account."""
    account = await call.rows.edit(models.Account, (await require_account(call)).account_id)
    account.name = name
    return account


@operation(
    OperationKind.MUTATION,
    returns=types.Account,
    needs=Permission.CREDENTIAL_WRITE,
    audit=Audit.CALLS_FOR_OTHERS,
    rest=RestRoute("POST", "/account/changepassword", Tag.ACCOUNTS),
    raises=(NotFound,),
    weight=2 * PASSWORD_HASH_WEIGHT,
    rest_result=types.DONE,
)
async def change_password(
    call: Call, *, old_password: terms.OldPassword, new_password: terms.NewPassword
) -> models.Account:
    """Change the password of the calling account.

    All its tokens except the one of this request are revoked, and all its push tokens except those that were added with
    the token of this request are removed. The holder gets a mail about the change.
    """
    account = await require_account(call)
    if not await verify_password(call, call.rows, account, old_password, account.username, account.directory_id):
        problem = Problem(("oldPassword",), "is wrong")
        raise BadInput("The old password is wrong.", problems=[problem], commits_changes=True)
    context = await password_context(call.rows, account.username, account.email)
    hashed = hash_new_password(call.outside, call.rows, new_password, ("newPassword",), context=context)
    await lock_user(call.rows, account.user_id)
    (await call.rows.edit(models.Account, account.account_id)).password_hash = hashed
    await end_account_credentials(call, call.rows, account.account_id, except_token_id=call.principal.token_id)
    await remember_client(call.rows, account, call.client)
    await enqueue_account_mail(call, PASSWORD_CHANGED, account, mail_address(account))
    return await call.rows.get(models.Account, account.account_id)


@operation(
    OperationKind.MUTATION,
    returns=types.Account,
    needs=Permission.CREDENTIAL_WRITE,
    audit=Audit.CALLS_FOR_OTHERS,
    rest=RestRoute("POST", "/account/{accountId}/mobileapptoken", Tag.ACCOUNTS),
    rest_result=types.DONE,
)
async def add_mobile_app_token(call: Call, *, account_id: ids.AccountId, new_token: terms.PushToken) -> models.Account:
    """Add the push token of an app or a browser to an account. A token that exists already is kept.

    A push token belongs to one account: it is removed from any other account of the application that had it before.
    For a browser, pass the result of `PushManager.subscribe` as JSON. An account has at most 20 push tokens; the oldest
    is removed. The push token ends when the token of this request is revoked, when the password is changed by another
    login, or when the account is closed.
    """
    account = await call.rows.get(models.Account, account_id)
    if problem := token_problem(new_token):
        raise BadInput("Invalid push token. See `problems`.", problems=[Problem(("newToken",), problem)])
    added_by = call.principal.token_id if call.principal.account_id == account_id else None
    digest = token_digest(new_token)
    await _remove_from_other_accounts(call, digest, account_id)
    tokens = await _push_tokens(call, account_id)
    existing = [token.mobile_app_token_id for token in tokens if token.digest == digest]
    if existing:
        token = await call.rows.edit(models.MobileAppToken, existing[0])
        token.added_by_token_id = added_by
        call.rows.encrypt(token, "token", new_token)  # a browser may have new keys
    else:
        await _delete_oldest_tokens(call, tokens)
        token = models.MobileAppToken(
            user_id=account.user_id,
            account_id=account_id,
            token="",
            digest=digest,
            added_by_token_id=added_by,
            created_at=call.rows.now,
        )
        call.rows.encrypt(token, "token", new_token)
        await call.rows.add(token)
    return account


@operation(
    OperationKind.MUTATION,
    returns=types.Account,
    needs=Permission.CREDENTIAL_WRITE,
    audit=Audit.CALLS_FOR_OTHERS,
    rest=RestRoute("PUT", "/account/{accountId}/mobileapptoken", Tag.ACCOUNTS),
    rest_result=types.DONE,
)
async def remove_mobile_app_token(
    call: Call, *, account_id: ids.AccountId, remove_token: terms.RemovedPushToken
) -> models.Account:
    """Remove a push token from an account. The call succeeds if the token does not exist."""
    account = await call.rows.get(models.Account, account_id)
    await _delete_tokens(call, _matching_ids(call, await _push_tokens(call, account_id), remove_token))
    return account


async def _remove_from_other_accounts(call: Call, digest: bytes, account_id: str) -> None:
    """Remove a push token from other accounts: the app shows alerts of the account that is logged in now."""
    model = models.MobileAppToken
    with call.rows.whole_application() as rows:
        await rows.delete(model, col(model.digest) == digest, col(model.account_id) != account_id)


async def _push_tokens(call: Call, account_id: str) -> list[models.MobileAppToken]:
    """Return the push tokens of an account, oldest first."""
    return await call.rows.all(
        models.MobileAppToken,
        col(models.MobileAppToken.account_id) == account_id,
        order_by=[models.MobileAppToken.created_at],
    )


def _matching_ids(call: Call, tokens: list[models.MobileAppToken], text: str) -> list[str]:
    """Return the IDs of the push tokens with this text. They are encrypted, so SQL cannot compare them."""
    return [
        token.mobile_app_token_id
        for token in tokens
        if call.rows.decrypt(models.MobileAppToken, token, "token") == text
    ]


async def _delete_oldest_tokens(call: Call, tokens: list[models.MobileAppToken]) -> None:
    """Delete the oldest push tokens of an account so that one more fits."""
    excess = max(0, len(tokens) - MAX_PUSH_TOKENS + 1)
    await _delete_tokens(call, [token.mobile_app_token_id for token in tokens[:excess]])


async def _delete_tokens(call: Call, ids: list[str]) -> None:
    if ids:
        await call.rows.delete(models.MobileAppToken, col(models.MobileAppToken.mobile_app_token_id).in_(ids))
