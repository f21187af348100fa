"""Free objects that apps keep for an account: profiles under names, and one session."""

from dataclasses import dataclass
from typing import Any

import orjson
from sqlmodel import col

from wattgate.db import models
from wattgate.db.rows import Condition
from wattgate.errors import BadInput, NotFound, Problem, TooLarge
from wattgate.graphql.core.operation import Call, OperationKind, RestRoute, operation
from wattgate.graphql.core.scalars import Json
from wattgate.graphql.services.login import require_account
from wattgate.graphql.types import users as types
from wattgate.principal import Permission

MAX_OBJECT_BYTES = 64 * 1024
"""How large a profile or a session may be, as JSON."""

MAX_PROFILES = 100
"""How many profiles an account may have."""


@dataclass(frozen=True, slots=True)
class AccountProfileNames:
    account_id: str
    profile_names: list[str]


@dataclass(frozen=True, slots=True)
class AccountSessionData:
    account_id: str
    data: dict[str, Any]


@operation(
    OperationKind.QUERY,
    returns=types.AccountProfiles,
    needs=Permission.ACCOUNT_READ,
    rest=RestRoute("GET", "/accountprofile"),
)
async def account_profiles(call: Call) -> AccountProfileNames:
    """List the names of the calling account's profiles in alphabetical order."""
    account = await require_account(call)
    found = await call.rows.all(models.AccountProfile, col(models.AccountProfile.account_id) == account.account_id)
    return AccountProfileNames(account.account_id, sorted(profile.profile_name for profile in found))


@operation(
    OperationKind.QUERY,
    returns=types.AccountProfile,
    needs=Permission.ACCOUNT_READ,
    rest=RestRoute("GET", "/accountprofile/{profileName}"),
)
async def account_profile(call: Call, *, profile_name: str) -> models.AccountProfile:
    """Return one profile of the calling account."""
    account = await require_account(call)
    found = await call.rows.first(models.AccountProfile, *_profile_conditions(account, profile_name))
    if found is None:
        raise NotFound(f"no account profile named {profile_name}")
    return found


@operation(
    OperationKind.MUTATION,
    returns=types.AccountProfile,
    needs=Permission.ACCOUNT_WRITE,
    rest=RestRoute("POST", "/accountprofile"),
)
async def set_account_profile(call: Call, *, profile_name: str, data: Json) -> models.AccountProfile:
    """Store a JSON object under a name for the calling account. It replaces an existing profile of this name."""
    account = await require_account(call)
    free = _check_object(data, "data")
    if found := await call.rows.first(models.AccountProfile, *_profile_conditions(account, profile_name)):
        profile = await call.rows.edit(models.AccountProfile, found.profile_id)
        profile.data = free
        return profile
    of_account = col(models.AccountProfile.account_id) == account.account_id
    if await call.rows.count(models.AccountProfile, of_account) >= MAX_PROFILES:
        raise BadInput(f"an account has at most {MAX_PROFILES} profiles")
    return await call.rows.add(
        models.AccountProfile(
            user_id=account.user_id, account_id=account.account_id, profile_name=profile_name, data=free
        )
    )


@operation(
    OperationKind.QUERY,
    returns=types.AccountSession,
    needs=Permission.ACCOUNT_READ,
    rest=RestRoute("GET", "/accountsession"),
)
async def account_session(call: Call) -> AccountSessionData:
    """Return the calling account's session. It is an empty object until an app stores something."""
    account = await require_account(call)
    found = await call.rows.first(models.AccountSession, col(models.AccountSession.account_id) == account.account_id)
    return AccountSessionData(account.account_id, found.data if found else {})


@operation(
    OperationKind.MUTATION,
    returns=types.AccountSession,
    needs=Permission.ACCOUNT_WRITE,
    rest=RestRoute("PUT", "/accountsession"),
)
async def update_account_session(call: Call, *, values: Json) -> AccountSessionData:
    """Set members of the calling account's session. Other members keep their values."""
    account = await require_account(call)
    new = _check_object(values, "values")
    of_account = col(models.AccountSession.account_id) == account.account_id
    if await call.rows.count(models.AccountSession, of_account):
        session = await call.rows.edit(models.AccountSession, account.account_id)
        session.data = _check_object({**session.data, **new}, "values")
    else:
        session = await call.rows.add(
            models.AccountSession(user_id=account.user_id, account_id=account.account_id, data=new)
        )
    return AccountSessionData(account.account_id, session.data)


def _profile_conditions(account: models.Account, profile_name: str) -> tuple[Condition, Condition]:
    return (
        col(models.AccountProfile.account_id) == account.account_id,
        col(models.AccountProfile.profile_name) == profile_name,
    )


def _check_object(value: object, argument: str) -> dict[str, Any]:
    """The value as a JSON object of at most MAX_BYTES."""
    if not isinstance(value, dict):
        raise BadInput("this is kept as a JSON object", problems=[Problem((argument,), "is not an object")])
    if len(orjson.dumps(value)) > MAX_OBJECT_BYTES:
        raise TooLarge(f"an object kept for an account has at most {MAX_OBJECT_BYTES} bytes")
    return value
