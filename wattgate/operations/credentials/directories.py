"""External directories of an application: add and change them."""

from sqlalchemy import select
from sqlmodel import col

from wattgate.db import models
from wattgate.db.column_types import new_id
from wattgate.delivery import egress
from wattgate.delivery.openid.keys import ALGORITHMS
from wattgate.enums import TokenCheck
from wattgate.errors import BadInput, Conflict, Problem
from wattgate.operations.core.input_limits import apply_input
from wattgate.operations.core.operation import Audit, Call, OperationKind, Preparation, RestRoute, operation
from wattgate.operations.credentials.directory_log_ins import MAX_CLOCK_SKEW_SECONDS
from wattgate.operations.types.identity import directories as types
from wattgate.operations.vocabulary import ids
from wattgate.operations.vocabulary.arguments import UNSET
from wattgate.operations.vocabulary.tags import Tag
from wattgate.principal import Permission

DIRECTORIES_PATH = "/directory"
DIRECTORY_PATH = DIRECTORIES_PATH + "/{directoryId}"

MAX_AUDIENCES = 20
"""Maximum audiences of a directory."""

CLOCK_SKEW_SECONDS = range(MAX_CLOCK_SKEW_SECONDS + 1)
SESSION_SECONDS = range(60, 604_801)


async def _check_issuer(preparation: Preparation, *, input: types.NewDirectory) -> str | None:
    """Return why the issuer cannot be used, by the metadata of the provider; None if it can."""
    return await preparation.openid.check_issuer(input.issuer, preparation.principal.application_id or "")


@operation(
    OperationKind.MUTATION,
    returns=types.Directory,
    needs=Permission.DIRECTORY_MANAGE,
    audit=Audit.EVERY_CALL,
    rest=RestRoute("POST", DIRECTORIES_PATH, Tag.DIRECTORIES, status=201),
    prepare=_check_issuer,
)
async def add_directory(call: Call, *, input: types.NewDirectory) -> models.Directory:
    """Add an OpenID Connect provider as a directory. Its users log in with tokens that it has issued.

    The gateway reads the metadata of the provider, which must name the same issuer. A provider that does not respond
    is added without this check.
    """
    directory = models.Directory(
        directory_id=new_id(),
        name=input.name.strip(),
        issuer=input.issuer,
        audiences=input.audiences,
        algorithms=input.algorithms,
        account_rule=input.account_rule,
        token_check=input.token_check,
        clock_skew_seconds=input.clock_skew_seconds,
        session_seconds=input.session_seconds,
        client_id=input.client_id,
    )
    if input.client_secret:
        call.rows.encrypt(directory, "client_secret", input.client_secret)
    _raise_problems([*_issuer_problems(call, input.issuer), *_problems(directory)])
    return await call.rows.add(directory)


@operation(
    OperationKind.MUTATION,
    returns=types.Directory,
    needs=Permission.DIRECTORY_MANAGE,
    audit=Audit.EVERY_CALL,
    rest=RestRoute("PUT", DIRECTORY_PATH, Tag.DIRECTORIES),
    raises=(Conflict,),
)
async def update_directory(
    call: Call, *, directory_id: ids.DirectoryId, input: types.DirectoryChange
) -> models.Directory:
    """Change an external directory. Omitted fields keep their values."""
    directory = await call.rows.edit(models.Directory, directory_id)
    apply_input(directory, input, exclude={"client_secret"})
    if isinstance(input.client_secret, str) and input.client_secret:
        call.rows.encrypt(directory, "client_secret", input.client_secret)
    elif input.client_secret is not UNSET:
        directory.client_secret = None
    _raise_problems(_problems(directory))
    if not directory.active:
        await _end_sessions(call, directory_id)
    return directory


async def _end_sessions(call: Call, directory_id: str) -> None:
    """Delete the tokens of all accounts of a directory. Connections end when the gateway checks them the next time."""
    accounts = select(col(models.ExternalAccount.account_id)).where(
        col(models.ExternalAccount.application_id) == call.rows.application_id,
        col(models.ExternalAccount.directory_id) == directory_id,
    )
    await call.rows.delete(models.PairedDisplay, col(models.PairedDisplay.account_id).in_(accounts))
    await call.rows.delete(models.Token, col(models.Token.account_id).in_(accounts))
    of_directory = col(models.ExternalAccount.directory_id) == directory_id
    await call.rows.update(models.ExternalAccount, of_directory, token=None, access_token=None)


def _issuer_problems(call: Call, issuer: str) -> list[Problem]:
    path = ("input", "issuer")
    try:
        egress.parse_destination(issuer, call.outbound_policy.egress)
    except egress.BlockedDestination as blocked:
        return [Problem(path, str(blocked))]
    if "?" in issuer:
        return [Problem(path, "has a query")]
    return [Problem(path, f"cannot be used: {call.prepared}")] if call.prepared else []


def _problems(directory: models.Directory) -> list[Problem]:
    """Return the problems of the other values of a directory."""
    unknown = [name for name in directory.algorithms if name not in ALGORITHMS]
    has_client = directory.client_id and directory.client_secret
    checks = {
        "name": (not directory.name, "is empty"),
        "audiences": (
            not 0 < len(directory.audiences) <= MAX_AUDIENCES or not all(directory.audiences),
            f"must have 1 to {MAX_AUDIENCES} texts that are not empty",
        ),
        "algorithms": (
            bool(unknown) or not directory.algorithms,
            f"must have one or more of {', '.join(ALGORITHMS)}" + (f", not {unknown[0][:40]}" if unknown else ""),
        ),
        "clockSkewSeconds": (directory.clock_skew_seconds not in CLOCK_SKEW_SECONDS, "is not between 0 and 300"),
        "sessionSeconds": (directory.session_seconds not in SESSION_SECONDS, "is not between 60 and 604,800"),
        "clientSecret": (
            directory.token_check is TokenCheck.INTROSPECTION and not has_client,
            "is missing; INTROSPECTION needs clientId and clientSecret",
        ),
    }
    return [Problem(("input", name), message) for name, (is_wrong, message) in checks.items() if is_wrong]


def _raise_problems(problems: list[Problem]) -> None:
    if problems:
        raise BadInput("Invalid directory. See `problems`.", problems=problems)
