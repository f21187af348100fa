"""JSON objects that apps store for an account: named profiles, and one session."""

from typing import Annotated, Any

from sqlmodel import col

from wattgate.db import models
from wattgate.db.models.identity.users import MAX_PROFILES
from wattgate.db.rows.pages import Condition
from wattgate.errors import BadInput, Conflict, NotFound, Problem, QuotaExceeded, TooLarge
from wattgate.operations.core.operation import Audit, Call, OperationKind, RestRoute, operation
from wattgate.operations.credentials.login import require_account
from wattgate.operations.types.users import users as types
from wattgate.operations.vocabulary.arguments import Id
from wattgate.operations.vocabulary.scalars import Json
from wattgate.operations.vocabulary.tags import Tag
from wattgate.principal import Permission
from wattgate.values import terms
from wattgate.values.annotations import Described
from wattgate.values.stored_json import encode_json

MAX_OBJECT_BYTES = 64 * 1024
"""Maximum size of a profile or session, as JSON."""


@operation(
    OperationKind.QUERY,
    returns=types.AccountProfiles,
    needs=Permission.ACCOUNT_READ,
    rest=RestRoute("GET", "/accountprofile", Tag.ACCOUNT_PROFILES),
    raises=(NotFound,),
)
async def account_profiles(call: Call) -> types.AccountProfiles:
    """List the names of the calling account's profiles in alphabetical order."""
    account = await require_account(call)
    profiles = await call.rows.all(models.AccountProfile, col(models.AccountProfile.account_id) == account.account_id)
    names = sorted(profile.profile_name for profile in profiles)
    return types.AccountProfiles(account_id=Id(account.account_id), profile_names=names)


@operation(
    OperationKind.QUERY,
    returns=types.AccountProfile,
    needs=Permission.ACCOUNT_READ,
    rest=RestRoute("GET", "/accountprofile/{profileName}", Tag.ACCOUNT_PROFILES),
)
async def account_profile(call: Call, *, profile_name: terms.ProfileName) -> models.AccountProfile:
    """Return one profile of the calling account."""
    account = await require_account(call)
    profile = await call.rows.first(models.AccountProfile, *_profile_conditions(account, profile_name))
    if profile is None:
        raise NotFound(f"No account profile named {profile_name}.")
    return profile


@operation(
    OperationKind.MUTATION,
    returns=types.AccountProfile,
    needs=Permission.ACCOUNT_WRITE,
    audit=Audit.CALLS_FOR_OTHERS,
    rest=RestRoute("POST", "/accountprofile", Tag.ACCOUNT_PROFILES),
    raises=(NotFound, Conflict, QuotaExceeded),
)
async def set_account_profile(
    call: Call, *, profile_name: terms.ProfileName, data: Annotated[Json, Described("JSON object to store.")]
) -> models.AccountProfile:
    """Store a JSON object under a name for the calling account. It replaces an existing profile of this name."""
    account = await require_account(call)
    checked = _check_object(data, "data")
    if known := await call.rows.first(models.AccountProfile, *_profile_conditions(account, profile_name)):
        profile = await call.rows.edit(models.AccountProfile, known.profile_id)
        profile.data = checked
        return profile
    of_account = col(models.AccountProfile.account_id) == account.account_id
    if await call.rows.count(models.AccountProfile, of_account) >= MAX_PROFILES:
        raise BadInput(f"An account has at most {MAX_PROFILES} profiles.")
    return await call.rows.add(
        models.AccountProfile(
            user_id=account.user_id, account_id=account.account_id, profile_name=profile_name, data=checked
        )
    )


@operation(
    OperationKind.QUERY,
    returns=types.AccountSession,
    needs=Permission.ACCOUNT_READ,
    rest=RestRoute("GET", "/accountsession", Tag.ACCOUNT_PROFILES),
    raises=(NotFound,),
)
async def account_session(call: Call) -> types.AccountSession:
    """Return the calling account's session. It is an empty object until an app stores something."""
    account = await require_account(call)
    session = await call.rows.first(models.AccountSession, col(models.AccountSession.account_id) == account.account_id)
    return _build_session(account, session.data if session else {})


@operation(
    OperationKind.MUTATION,
    returns=types.AccountSession,
    needs=Permission.ACCOUNT_WRITE,
    audit=Audit.CALLS_FOR_OTHERS,
    rest=RestRoute("PUT", "/accountsession", Tag.ACCOUNT_PROFILES),
    raises=(NotFound, Conflict),
)
async def update_account_session(
    call: Call, *, values: Annotated[Json, Described("JSON object with the members to set.")]
) -> types.AccountSession:
    """Set members of the calling account's session. Other members keep their values."""
    account = await require_account(call)
    checked = _check_object(values, "values")
    of_account = col(models.AccountSession.account_id) == account.account_id
    if await call.rows.count(models.AccountSession, of_account):
        session = await call.rows.edit(models.AccountSession, account.account_id)
        session.data = _check_object({**session.data, **checked}, "values")
    else:
        session = await call.rows.add(
            models.AccountSession(user_id=account.user_id, account_id=account.account_id, data=checked)
        )
    return _build_session(account, session.data)


def _build_session(account: models.Account, data: dict[str, Any]) -> types.AccountSession:
    return types.AccountSession(account_id=Id(account.account_id), data=Json(data))


def _profile_conditions(account: models.Account, profile_name: str) -> tuple[Condition, Condition]:
    return (
        col(models.AccountProfile.account_id) == account.account_id,
        col(models.AccountProfile.profile_name) == profile_name,
    )


def _check_object(value: object, argument: str) -> dict[str, Any]:
    """Return the value if it is a JSON object of at most MAX_OBJECT_BYTES. Raise BadInput or TooLarge otherwise."""
    if not isinstance(value, dict):
        raise BadInput(
            f"The argument {argument} must be a JSON object.", problems=[Problem((argument,), "is not an object")]
        )
    if len(encode_json(value)) > MAX_OBJECT_BYTES:
        raise TooLarge(f"The object is larger than {MAX_OBJECT_BYTES:,} bytes.")
    return value
