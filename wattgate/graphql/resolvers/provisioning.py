"""What only the system itself does: applications and their first users. On no door; the command line runs it."""

from dataclasses import dataclass

from wattgate.db import models
from wattgate.db.column_types import new_id
from wattgate.db.identity.credentials import digest, new_secret
from wattgate.delivery.templates.cultures import DEFAULT_CULTURE, is_culture
from wattgate.errors import BadInput, NotFound, Problem
from wattgate.graphql.core.operation import Call, Kind, operation
from wattgate.graphql.services.login import hash_of_new, username_of
from wattgate.principal import Permission


@dataclass(frozen=True, slots=True)
class Founded:
    """A new application, with the credential that can be told at no other time."""

    application_id: str
    username: str
    secret: str


@operation(Kind.MUTATION, returns=Founded, needs=Permission.SYSTEM)
async def create_application(
    call: Call,
    *,
    name: str,
    username: str,
    secret: str | None = None,
    application_id: str | None = None,
    culture_code: str = DEFAULT_CULTURE,
) -> Founded:
    """Add an application with a credential of this username; the secret is made where none is given."""
    if not is_culture(culture_code):
        problem = Problem(("cultureCode",), "is not a language tag such as en-GB")
        raise BadInput(f"{culture_code} is not a culture", problems=[problem])
    chosen = secret or new_secret()
    application = await call.rows.found(
        models.Application(
            application_id=application_id or new_id(),
            directory_id=new_id(),
            name=name,
            culture_code=culture_code,
        ),
        models.ApplicationCredential(username=username, secret_digest=digest(chosen), application_id=""),
    )
    return Founded(application.application_id, username, chosen)


@operation(Kind.MUTATION, returns=models.Account, needs=Permission.SYSTEM)
async def create_user(
    call: Call, *, username: str, password: str, name: str = "", administrator: bool = False
) -> models.Account:
    """Add a user with an account in the application's own directory."""
    application = await call.rows.application()
    if application is None:
        raise NotFound(f"no application with id {call.rows.application_id}")
    user = await call.rows.add(models.User())
    return await call.rows.add(
        models.Account(
            user_id=user.user_id,
            directory_id=application.directory_id,
            username=username_of(username),
            email=username if "@" in username else "",
            name=name,
            password_hash=await hash_of_new(password),
            administrator=administrator,
        )
    )
