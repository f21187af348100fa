"""The second factor of accounts: enrol, confirm, remove and reset it."""

from typing import Annotated

from sqlmodel import col

from wattgate.db import models
from wattgate.errors import BadInput, Conflict, Forbidden, NotFound, Problem
from wattgate.operations.core.operation import Audit, Call, OperationKind, RestRoute, operation
from wattgate.operations.credentials.login import require_account, verify_password
from wattgate.operations.credentials.second_factor_codes import (
    check_code,
    find_factor,
    new_factor_secret,
    otpauth_uri,
    remove_factor,
    replace_recovery_codes,
)
from wattgate.operations.types.identity import accounts as account_types
from wattgate.operations.vocabulary import ids
from wattgate.operations.vocabulary.cost_weights import PASSWORD_HASH_WEIGHT
from wattgate.operations.vocabulary.tags import Tag
from wattgate.principal import Permission, Role
from wattgate.values import terms
from wattgate.values.annotations import Described

SECOND_FACTOR_PATH = "/account/secondfactor"


@operation(
    OperationKind.QUERY,
    returns=account_types.SecondFactor,
    needs=Permission.SECOND_FACTOR,
    rest=RestRoute("GET", SECOND_FACTOR_PATH, Tag.ACCOUNTS),
    raises=(NotFound,),
)
async def second_factor(call: Call) -> account_types.SecondFactor:
    """Return the state of the calling account's second factor."""
    account = await require_account(call)
    factor = await find_factor(call.rows, account.account_id)
    codes = await call.rows.count(models.RecoveryCode, col(models.RecoveryCode.account_id) == account.account_id)
    return account_types.SecondFactor(
        enabled=account.second_factor,
        required=call.principal.role is Role.UNENROLLED_ADMINISTRATOR,
        confirmed_at=factor.confirmed_at if factor else None,
        recovery_codes=codes,
    )


@operation(
    OperationKind.MUTATION,
    returns=account_types.SecondFactorEnrolment,
    needs=Permission.SECOND_FACTOR,
    audit=Audit.CALLS_FOR_OTHERS,
    rest=RestRoute("POST", SECOND_FACTOR_PATH, Tag.ACCOUNTS),
    raises=(NotFound, Conflict),
    weight=PASSWORD_HASH_WEIGHT,
)
async def enrol_second_factor(call: Call, *, password: terms.Password) -> account_types.SecondFactorEnrolment:
    """Create a secret for codes by time (TOTP). It is in use after `confirmSecondFactor`.

    Another call replaces a secret that is not confirmed. Accounts of external directories have no second factor here.
    """
    account = await require_account(call)
    if account.password_hash is None:
        raise Conflict("The account has no password, so it has no second factor here. Its directory may ask for one.")
    await _require_password(call, account, password)
    account = await call.rows.edit(models.Account, account.account_id)  # of concurrent calls, one waits
    if account.second_factor:
        raise Conflict("The account has a second factor. Remove it first.")
    await call.rows.delete(models.SecondFactor, col(models.SecondFactor.account_id) == account.account_id)
    factor = models.SecondFactor(
        account_id=account.account_id, user_id=account.user_id, secret="", created_at=call.rows.now
    )
    secret = new_factor_secret()
    call.rows.encrypt(factor, "secret", secret)
    await call.rows.add(factor)
    application = await call.rows.application()
    uri = otpauth_uri(secret, account, application.name if application else "")
    return account_types.SecondFactorEnrolment(secret=secret, uri=uri)


@operation(
    OperationKind.MUTATION,
    returns=account_types.RecoveryCodes,
    needs=Permission.SECOND_FACTOR,
    audit=Audit.CALLS_FOR_OTHERS,
    rest=RestRoute("PUT", SECOND_FACTOR_PATH, Tag.ACCOUNTS),
    raises=(NotFound, Conflict),
)
async def confirm_second_factor(
    call: Call, *, code: Annotated[terms.Secret, Described("Code that the app shows.")]
) -> account_types.RecoveryCodes:
    """Confirm a second factor with a code of the app. From now on, a log-in needs a code.

    Basic authentication with the password of the account no longer works. Existing tokens stay valid.
    """
    account = await call.rows.edit(models.Account, (await require_account(call)).account_id)
    factor = await find_factor(call.rows, account.account_id)
    if factor is None or account.second_factor:
        raise Conflict("The account has no second factor that waits for a confirmation. Enrol one first.")
    await check_code(call, call.rows, account, code)
    (await call.rows.edit(models.SecondFactor, account.account_id)).confirmed_at = call.rows.now
    account.second_factor = True
    return account_types.RecoveryCodes(recovery_codes=await replace_recovery_codes(call.rows, account))


@operation(
    OperationKind.MUTATION,
    returns=account_types.Account,
    needs=Permission.SECOND_FACTOR,
    audit=Audit.CALLS_FOR_OTHERS,
    rest=RestRoute("POST", SECOND_FACTOR_PATH + "/removal", Tag.ACCOUNTS),
    raises=(NotFound, Conflict),
    weight=PASSWORD_HASH_WEIGHT,
    rest_result=account_types.DONE,
)
async def remove_second_factor(call: Call, *, password: terms.Password, code: terms.SecondFactorCode) -> models.Account:
    """Remove the second factor of the calling account, with its password and a code or a recovery code."""
    account = await require_account(call)
    await _require_password(call, account, password)
    if not account.second_factor:
        raise Conflict("The account has no second factor.")
    await check_code(call, call.rows, account, code)
    await remove_factor(call.rows, account.account_id)
    return await call.rows.get(models.Account, account.account_id)


@operation(
    OperationKind.MUTATION,
    returns=account_types.Account,
    needs=Permission.ACCOUNT_MANAGE,
    audit=Audit.EVERY_CALL,
    rest=RestRoute("DELETE", "/account/{accountId}/secondfactor", Tag.ACCOUNTS),
    rest_result=account_types.DONE,
)
async def reset_second_factor(call: Call, *, account_id: ids.AccountId) -> models.Account:
    """Remove the second factor of another account, whose holder has lost the app and the recovery codes.

    The call succeeds if the account has none.
    """
    if account_id == call.principal.account_id:
        raise Forbidden("Remove your own second factor with deleteSecondFactor, which needs the password and a code.")
    await remove_factor(call.rows, account_id)
    return await call.rows.get(models.Account, account_id)


async def _require_password(call: Call, account: models.Account, password: str) -> None:
    """Raise BadInput unless this is the password of the calling account."""
    if not await verify_password(call, call.rows, account, password, account.username, account.directory_id):
        problem = Problem(("password",), "is wrong")
        raise BadInput("The password is wrong.", problems=[problem], commits_changes=True)
