"""The ends of credentials: one function for each kind, which also ends everything that depends on the credential.

`STORED_CAPABILITIES` lists the tables of what depends on a credential. Connections depend on credentials too: each end
emits a `CredentialsRevoked`, and every gateway closes the connections that it applies to. `graphql.capabilities` lists
all capabilities for readers.
"""

from collections.abc import Collection
from dataclasses import dataclass

from sqlmodel import col

from wattgate.db import models
from wattgate.db.column_types import new_id
from wattgate.db.models.tenancy import Tenanted
from wattgate.db.rows.lookups import model_columns
from wattgate.db.rows.pages import Condition
from wattgate.db.rows.rows import Rows
from wattgate.enums import HomeMemberEnd, UserStatus
from wattgate.operations.core.operation import Call
from wattgate.operations.credentials.email_changes import cancel_email_changes
from wattgate.operations.messages.account_mails import withdraw_codes
from wattgate.realtime import topics
from wattgate.realtime.events import CredentialsRevoked, Event


@dataclass(frozen=True, slots=True)
class StoredCapability:
    """A table whose rows depend on an account (`account_id`), and on a token or a grant if the columns are named."""

    model: type[Tenanted]
    token_column: str | None = None
    grant_column: str | None = None


STORED_CAPABILITIES = (
    StoredCapability(models.DisplayPairing),
    StoredCapability(models.PairedDisplay, token_column="token_id"),  # noqa: S106 (the name of a column)
    StoredCapability(models.Token, token_column="token_id", grant_column="family"),  # noqa: S106 (the name of a column)
    StoredCapability(models.RefreshToken, grant_column="family"),
    StoredCapability(models.AuthorizationCode),
    StoredCapability(models.OneTimeCode),
    StoredCapability(models.LoginSource),
    StoredCapability(models.MobileAppToken, token_column="added_by_token_id"),  # noqa: S106 (the name of a column)
)
"""The stored capabilities of an account that work without its password, in the order in which they are deleted.

A claim locks its pairing before it adds a display and a token. So pairings come first: the deletion of displays and
tokens then follows every claim that has begun.
"""


async def end_account_credentials(
    call: Call, rows: Rows, account_id: str, *, except_token_id: str | None = None
) -> None:
    """End what depends on an account, because its password was changed or the account was closed.

    The token with `except_token_id`, and what depends on it, stay. Connections that were opened with the password end.
    The caller has locked the user (`lock_user`), before it changed the account.
    """
    for stored in STORED_CAPABILITIES:
        columns = model_columns(stored.model)
        where: list[Condition] = [columns["account_id"] == account_id]
        if except_token_id is not None and stored.token_column is not None:
            where.append(columns[stored.token_column].is_distinct_from(except_token_id))
        await rows.delete(stored.model, *where)
    await _cancel_requests(rows, account_id)
    await withdraw_codes(rows, account_id)
    of_account = col(models.ExternalAccount.account_id) == account_id
    await rows.update(models.ExternalAccount, of_account, token=None, access_token=None)
    _emit(call, CredentialsRevoked(account_id, except_token_id=except_token_id))


async def end_token(call: Call, rows: Rows, token: models.Token) -> None:
    """End a token and what depends on it. For a token of an OAuth client, end the whole grant.

    Unconfirmed requests of the account end too, because the token may have made them.
    """
    if token.family is not None:
        return await end_grant(call, rows, token.family)
    if token.ve_id is None:
        await rows.delete(models.DisplayPairing, col(models.DisplayPairing.account_id) == token.account_id)
        await _cancel_requests(rows, token.account_id)
    await _delete_of_tokens(rows, [token.token_id])
    return _emit(call, CredentialsRevoked(token.account_id, (token.token_id,)))


async def end_surplus_tokens(call: Call, rows: Rows, account_id: str, *, of_oauth: bool) -> None:
    """End the oldest tokens of an account, so that one more fits. Displays do not count. The caller's token stays."""
    token = models.Token
    of_kind = (
        col(token.account_id) == account_id,
        col(token.ve_id).is_(None),
        col(token.expires_at) > rows.now,
        col(token.scope).is_not(None) if of_oauth else col(token.scope).is_(None),
    )
    maximum = call.account_policy.max_tokens
    if await rows.count(token, *of_kind, limit=maximum) < maximum:
        return
    oldest_first = await rows.all(token, *of_kind, order_by=[col(token.created_at), col(token.token_id)])
    others = [one.token_id for one in oldest_first if one.token_id != call.principal.token_id]
    if token_ids := tuple(others[: len(oldest_first) - maximum + 1]):
        await _delete_of_tokens(rows, token_ids)
        _emit(call, CredentialsRevoked(account_id, token_ids))


async def end_displays(call: Call, rows: Rows, displays: Collection[models.PairedDisplay]) -> None:
    """End the credentials of paired displays, and the displays with them."""
    for account_id in {display.account_id for display in displays}:
        token_ids = tuple(display.token_id for display in displays if display.account_id == account_id)
        await _delete_of_tokens(rows, token_ids)
        _emit(call, CredentialsRevoked(account_id, token_ids))


async def end_home(call: Call, rows: Rows, ve_id: str) -> None:
    """End what depends on a home that was closed: its paired displays, and the access of its members."""
    await end_home_members(call, rows, HomeMemberEnd.HOME_CLOSED, col(models.HomeMember.ve_id) == ve_id)
    await rows.delete(models.DisplayPairing, col(models.DisplayPairing.ve_id) == ve_id)
    await end_displays(call, rows, await rows.all(models.PairedDisplay, col(models.PairedDisplay.ve_id) == ve_id))


async def end_home_members(call: Call, rows: Rows, reason: HomeMemberEnd, *where: Condition) -> None:
    """End the access of other people to homes, and invitations, that meet the conditions and have not ended yet."""
    are_open = *where, col(models.HomeMember.ended_at).is_(None)
    members = await rows.all(models.HomeMember, *are_open)
    await rows.update(models.HomeMember, *are_open, ended_at=rows.now, end_reason=reason, email=None, digest=None)
    for member in members:  # also for invitations: one may have been accepted since
        _emit(call, CredentialsRevoked(membership_id=member.member_id))


async def end_grant(call: Call, rows: Rows, family: str) -> None:
    """End an OAuth grant: all tokens that were issued from one authorization code, and what depends on them."""
    tokens = await rows.all(models.Token, col(models.Token.family) == family)
    token_ids = tuple(token.token_id for token in tokens)
    await _delete_of_tokens(rows, token_ids)
    for stored in STORED_CAPABILITIES:
        if stored.grant_column is not None:
            await rows.delete(stored.model, model_columns(stored.model)[stored.grant_column] == family)
    for account_id in {token.account_id for token in tokens}:
        _emit(call, CredentialsRevoked(account_id, token_ids))


async def end_user(call: Call, rows: Rows, user_id: str) -> None:
    """End what depends on the accounts of a closed user, and on applications that act for the user."""
    for account in await rows.all(models.Account, col(models.Account.user_id) == user_id):
        await end_account_credentials(call, rows, account.account_id)
    _emit(call, CredentialsRevoked(user_id=user_id))


async def end_acting(call: Call, rows: Rows, user_id: str) -> None:
    """End the connections of applications that act for a user, if all accounts of the user are closed."""
    is_open = col(models.Account.user_id) == user_id, col(models.Account.status) != UserStatus.INACTIVE
    if not await rows.count(models.Account, *is_open, limit=1):
        _emit(call, CredentialsRevoked(user_id=user_id))


def end_application_credential(call: Call, credential_name: str) -> None:
    """End what depends on the secret of an application's credential, which was changed: its connections."""
    _emit(call, CredentialsRevoked(credential_name=credential_name))


async def _cancel_requests(rows: Rows, account_id: str) -> None:
    """Cancel a new e-mail address and a second factor that are not confirmed.

    Otherwise a token alone could confirm a secret that somebody got with an earlier password.
    """
    await cancel_email_changes(rows, account_id)
    is_unconfirmed = col(models.SecondFactor.confirmed_at).is_(None)
    await rows.delete(models.SecondFactor, col(models.SecondFactor.account_id) == account_id, is_unconfirmed)


async def _delete_of_tokens(rows: Rows, token_ids: Collection[str]) -> None:
    for stored in STORED_CAPABILITIES:
        if stored.token_column is not None:
            await rows.delete(stored.model, model_columns(stored.model)[stored.token_column].in_(token_ids))


def _emit(call: Call, revoked: CredentialsRevoked) -> None:
    call.emit(Event(topics.revocations(), new_id(), revoked))
