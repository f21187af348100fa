"""External directories: find them, verify their tokens, and log in the users whom they name."""

import hashlib
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import func
from sqlmodel import col

from wattgate.db import models
from wattgate.db.rows.rows import Rows
from wattgate.delivery.mail_addresses import NotMailable, check_address
from wattgate.delivery.openid.client import ProviderClient
from wattgate.delivery.openid.tokens import (
    MAX_LOGIN_AGE,
    MAX_SUBJECT_CHARACTERS,
    ExternalToken,
    RejectedToken,
    TokenRules,
)
from wattgate.enums import AccountRule, TokenCheck
from wattgate.errors import BadInput, Forbidden, Problem, RateLimited, Unauthenticated
from wattgate.operations.core.operation import Preparation
from wattgate.requests.client import AddressPolicy
from wattgate.values.terms import to_one_line

MAX_CLOCK_SKEW_SECONDS = 300
"""Maximum tolerated difference between the clocks of a directory and the gateway."""

MAX_USED_TOKENS = 200
"""Maximum log-ins of a subject with tokens of its directory in MAX_LOGIN_AGE."""

UNKNOWN_DIRECTORY = Problem(("directoryId",), "is not known")


@dataclass(frozen=True, slots=True)
class VerifiedToken:
    """A token that its directory has issued and confirmed. `access_token` is the one that was confirmed with it."""

    directory: models.Directory
    claims: ExternalToken
    token: str
    access_token: str | None = None


async def find_directory(rows: Rows, directory_id: str) -> models.Directory | None:
    """Return an external directory, or None for the application's own. Raise BadInput if there is no such directory.

    Directories of other applications, and those that are not active, are unknown as well.
    """
    application = await rows.application()
    if application is None:
        raise BadInput(
            "No application has this ID. Check applicationId.", problems=[Problem(("applicationId",), "is not known")]
        )
    if directory_id == application.directory_id:
        return None
    with rows.whole_application() as all_rows:
        is_named = col(models.Directory.directory_id) == directory_id, col(models.Directory.active).is_(True)
        directory = await all_rows.first(models.Directory, *is_named)
    if directory is None:
        raise BadInput("The application has no active directory with this ID.", problems=[UNKNOWN_DIRECTORY])
    return directory


async def require_own_directory(rows: Rows, directory_id: str | None) -> None:
    """Raise BadInput unless this is the application's own directory, which alone has passwords. None is its default."""
    if directory_id is not None and await find_directory(rows, directory_id) is not None:
        problem = Problem(("directoryId",), "is an external directory, whose accounts have no password here")
        raise BadInput("Log in at the directory, and send its token as directoryToken.", problems=[problem])


def token_rules(directory: models.Directory) -> TokenRules:
    """Return what tokens of a directory must fulfil."""
    return TokenRules(
        directory.issuer,
        tuple(directory.audiences),
        tuple(directory.algorithms),
        timedelta(seconds=directory.clock_skew_seconds),
        directory.client_id,
    )


def provider_client(rows: Rows, directory: models.Directory) -> ProviderClient:
    """Return how to ask the provider of a directory about tokens."""
    if directory.token_check is not TokenCheck.INTROSPECTION:
        return ProviderClient(directory.token_check)
    secret = rows.decrypt(models.Directory, directory, "client_secret") if directory.client_secret else ""
    return ProviderClient(directory.token_check, directory.client_id, secret)


async def verify_directory_token(
    preparation: Preparation,
    directory: models.Directory,
    client: ProviderClient,
    token: str,
    access_token: str | None = None,
    *,
    is_charged: bool = True,
) -> VerifiedToken:
    """Verify a token of a directory, and let the directory confirm it if it has a check.

    A rejected token is charged to the client's address, as a wrong password is, unless `is_charged` is false. Raise
    RejectedToken or Unavailable.
    """
    openid, owner = preparation.openid, directory.application_id
    try:
        claims = await openid.verify(token, token_rules(directory), preparation.now, owner)
        if not await openid.confirm(access_token or token, claims.subject, directory.issuer, client, owner):
            raise RejectedToken("is no longer valid: the directory has rejected it")
    except RejectedToken:
        if is_charged:
            await preparation.address_limits.charge(AddressPolicy.LOGIN, preparation.client)
        raise
    return VerifiedToken(directory, claims, token, access_token)


async def log_in_externally(rows: Rows, verified: VerifiedToken) -> models.Account:
    """Return the active account of a token's subject. Link or create it by the rule of the directory.

    Raise Forbidden if the rule gives the subject no account, and Unauthenticated if the account is closed.
    """
    directory = await find_directory(rows, verified.directory.directory_id)  # it may have changed in the meantime
    assert directory is not None
    if rows.now - verified.claims.issued_at > MAX_LOGIN_AGE + timedelta(seconds=directory.clock_skew_seconds):
        hours = MAX_LOGIN_AGE // timedelta(hours=1)
        raise RejectedToken(f"was issued more than {hours} hours ago (iat). Get a new one from the directory")
    external = await find_external_account(rows, directory, verified.claims.subject)
    if external is None:  # concurrent log-ins of a new subject wait for each other
        await rows.edit(models.Directory, directory.directory_id)
        external = await find_external_account(rows, directory, verified.claims.subject)
    await hold_directory(rows, directory.directory_id)  # before the account, as a log-in of a new subject does
    if external is None:
        account = await _admit(rows, directory, verified.claims)
    else:
        account = await rows.edit(models.Account, external.account_id)  # an act that closes it ends the new token too
    if not account.active:
        raise Unauthenticated("The account of the token is not active.")
    await _store_token(rows, account.account_id, verified)
    return account


async def hold_directory(rows: Rows, directory_id: str) -> None:
    """Keep a directory from being switched off until the transaction ends, because a token depends on it.

    Raise BadInput if it is switched off already.
    """
    with rows.whole_application() as all_rows:
        await all_rows.lock(models.Directory, col(models.Directory.directory_id) == directory_id, shared=True)
    await find_directory(rows, directory_id)


async def find_external_account(rows: Rows, directory: models.Directory, subject: str) -> models.ExternalAccount | None:
    """Return the account of a subject in a directory, or None."""
    return await rows.first(
        models.ExternalAccount,
        col(models.ExternalAccount.directory_id) == directory.directory_id,
        col(models.ExternalAccount.subject) == subject,
    )


async def add_external_account(
    rows: Rows, user: models.User, directory: models.Directory, subject: str, *, name: str = "", email: str = ""
) -> models.Account:
    """Add an account for a subject of a directory to a user. Raise BadInput if the subject cannot be one."""
    if not 0 < len(subject) <= MAX_SUBJECT_CHARACTERS:
        problem = Problem(("username",), f"is not a subject (sub) of 1 to {MAX_SUBJECT_CHARACTERS} characters")
        raise BadInput("The username of an account in an external directory is its subject.", problems=[problem])
    account = await rows.add(
        models.Account(
            user_id=user.user_id,
            directory_id=directory.directory_id,
            username=external_username(subject),
            name=name,
            email=email,
            mails_username=False,
        )
    )
    await rows.add(
        models.ExternalAccount(
            account_id=account.account_id,
            user_id=user.user_id,
            directory_id=directory.directory_id,
            subject=subject,
        )
    )
    return account


def external_username(subject: str) -> str:
    """Return the username for a subject: one line in lower case. Subjects that differ only in that still differ."""
    name = to_one_line(subject).lower()
    if name == subject:
        return name
    return f"{name}#{hashlib.sha256(subject.encode()).hexdigest()[:16]}"


async def _admit(rows: Rows, directory: models.Directory, claims: ExternalToken) -> models.Account:
    """Link or create an account for a new subject, as the rule of the directory says."""
    email = _usable_email(claims)
    if directory.account_rule is AccountRule.LINK:
        user_id = await _find_user_by_email(rows, email)
        user = await rows.get(models.User, user_id)
    elif directory.account_rule is AccountRule.CREATE:
        user = await rows.add(models.User())
    else:
        raise Forbidden(
            "No account of the application belongs to the subject of the token. Add one with POST /account, or change "
            "the account rule of the directory."
        )
    return await add_external_account(rows, user, directory, claims.subject, name=claims.name, email=email)


async def _find_user_by_email(rows: Rows, email: str) -> str:
    """Return the user of the only active account with this address in the application's own directory."""
    if not email:
        raise Forbidden("The token has no verified e-mail address (email, email_verified), which this directory needs.")
    application = await rows.application()
    assert application is not None
    accounts = await rows.all(
        models.Account,
        col(models.Account.directory_id) == application.directory_id,
        func.lower(col(models.Account.email)) == email.lower(),
        col(models.Account.active).is_(True),
        limit=2,
    )
    if not accounts:
        raise Forbidden("No active account of the application has the e-mail address of the token.")
    if len({account.user_id for account in accounts}) > 1:
        raise Forbidden(
            "Several users have the e-mail address of the token. Remove it from all but one, or add the account with "
            "POST /account."
        )
    return accounts[0].user_id


def _usable_email(claims: ExternalToken) -> str:
    try:
        return check_address(claims.email) if claims.email else ""
    except NotMailable:
        return ""


def _use_up(record: models.ExternalAccount, verified: VerifiedToken, now: int) -> None:
    """Record that a token has logged in. Raise RejectedToken if it has before, and RateLimited after too many.

    The digest is of the signed part: a signature can have several forms.
    """
    signed, _, _ = verified.token.rpartition(".")
    digest = hashlib.sha256(signed.encode()).hexdigest()[:32]
    known = {known: end for known, end in (record.used_tokens or {}).items() if end > now}
    if digest in known:
        raise RejectedToken("has logged in before, and each token does so once. Get a new one from the directory")
    if len(known) >= MAX_USED_TOKENS:
        retry_after = min(known.values()) - now
        raise RateLimited(
            f"The subject of the token has logged in {MAX_USED_TOKENS} times in a day. Use the tokens of the gateway.",
            retry_after=retry_after,
        )
    skew = timedelta(seconds=MAX_CLOCK_SKEW_SECONDS)
    too_old_at = verified.claims.issued_at + MAX_LOGIN_AGE + skew
    record.used_tokens = {**known, digest: int(too_old_at.timestamp()) + 1}


async def _store_token(rows: Rows, account_id: str, verified: VerifiedToken) -> None:
    """Keep the newest token of an account, to find out later whether it is still good. Raise as `_use_up` does."""
    record = await rows.edit(models.ExternalAccount, account_id)
    _use_up(record, verified, int(rows.now.timestamp()))
    rows.encrypt(record, "token", verified.token)
    if verified.access_token is None:
        record.access_token = None
    else:
        rows.encrypt(record, "access_token", verified.access_token)
    record.token_issued_at, record.token_expires_at = verified.claims.issued_at, verified.claims.expires_at
