"""Free objects that apps keep for an account: profiles under names, and one session."""

from dataclasses import dataclass
from typing import Any

import orjson
from sqlmodel import col

from wattgate.db import models
from wattgate.db.rows import Condition
from wattgate.errors import BadInput, NotFound, Problem, TooLarge
from wattgate.graphql.core.operation import Call, Kind, Rest, operation
from wattgate.graphql.core.scalars import Json
from wattgate.graphql.services.login import own_account
from wattgate.graphql.types import users as types
from wattgate.principal import Permission

MAX_BYTES = 64 * 1024
"""How large a profile or a session may be, as JSON."""

MAX_PROFILES = 100
"""How many profiles an account may have."""


@dataclass(frozen=True, slots=True)
class Profiles:
    account_id: str
    profile_names: list[str]


@dataclass(frozen=True, slots=True)
class Session:
    account_id: str
    data: dict[str, Any]


@operation(
    Kind.QUERY, returns=types.AccountProfiles, needs=Permission.ACCOUNT_READ, rest=Rest("GET", "/accountprofile")
)
async def account_profiles(call: Call) -> Profiles:
    """The names of the calling account's profiles, in the order of the alphabet."""
    account = await own_account(call)
    found = await call.rows.all(models.AccountProfile, col(models.AccountProfile.account_id) == account.account_id)
    return Profiles(account.account_id, sorted(profile.profile_name for profile in found))


@operation(
    Kind.QUERY,
    returns=types.AccountProfile,
    needs=Permission.ACCOUNT_READ,
    rest=Rest("GET", "/accountprofile/{profileName}"),
)
async def account_profile(call: Call, *, profile_name: str) -> models.AccountProfile:
    """The calling account's profile of this name."""
    account = await own_account(call)
    found = await call.rows.first(models.AccountProfile, *_named(account, profile_name))
    if found is None:
        raise NotFound(f"no account profile named {profile_name}")
    return found


@operation(
    Kind.MUTATION, returns=types.AccountProfile, needs=Permission.ACCOUNT_WRITE, rest=Rest("POST", "/accountprofile")
)
async def set_account_profile(call: Call, *, profile_name: str, data: Json) -> models.AccountProfile:
    """Keep a free object under a name for the calling account; it takes the place of what stood there."""
    account = await own_account(call)
    free = _free(data, "data")
    if found := await call.rows.first(models.AccountProfile, *_named(account, profile_name)):
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


@operation(Kind.QUERY, returns=types.AccountSession, needs=Permission.ACCOUNT_READ, rest=Rest("GET", "/accountsession"))
async def account_session(call: Call) -> Session:
    """The session of the calling account: an empty object until something is put there."""
    account = await own_account(call)
    found = await call.rows.first(models.AccountSession, col(models.AccountSession.account_id) == account.account_id)
    return Session(account.account_id, found.data if found else {})


@operation(
    Kind.MUTATION, returns=types.AccountSession, needs=Permission.ACCOUNT_WRITE, rest=Rest("PUT", "/accountsession")
)
async def update_account_session(call: Call, *, values: Json) -> Session:
    """Put the given members into the calling account's session; the others stay."""
    account = await own_account(call)
    new = _free(values, "values")
    of_account = col(models.AccountSession.account_id) == account.account_id
    if await call.rows.count(models.AccountSession, of_account):
        session = await call.rows.edit(models.AccountSession, account.account_id)
        session.data = _free({**session.data, **new}, "values")
    else:
        session = await call.rows.add(
            models.AccountSession(user_id=account.user_id, account_id=account.account_id, data=new)
        )
    return Session(account.account_id, session.data)


def _named(account: models.Account, profile_name: str) -> tuple[Condition, Condition]:
    return (
        col(models.AccountProfile.account_id) == account.account_id,
        col(models.AccountProfile.profile_name) == profile_name,
    )


def _free(value: object, argument: str) -> dict[str, Any]:
    """The value as a JSON object of at most MAX_BYTES."""
    if not isinstance(value, dict):
        raise BadInput("this is kept as a JSON object", problems=[Problem((argument,), "is not an object")])
    if len(orjson.dumps(value)) > MAX_BYTES:
        raise TooLarge(f"an object kept for an account has at most {MAX_BYTES} bytes")
    return value
