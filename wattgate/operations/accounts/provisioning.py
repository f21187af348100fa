"""Create applications and their first users, for the command line. GraphQL and REST do not offer these operations."""

from dataclasses import dataclass
from typing import Any

from sqlmodel import col

from wattgate.db import models
from wattgate.db.column_types import new_id
from wattgate.db.identity.credential_locks import lock_application_credential, lock_user
from wattgate.db.identity.login_backoff import backoff_id, forget_failures
from wattgate.db.identity.secrets import hash_secret, new_secret
from wattgate.db.scope.row_scope import SystemAccess
from wattgate.delivery.account_mails import PASSWORD_CHANGED
from wattgate.delivery.templates.language.cultures import DEFAULT_CULTURE, canonical_culture, is_culture
from wattgate.enums import UserStatus
from wattgate.errors import BadInput, NotFound, Problem, ProblemPath
from wattgate.operations.alerts.alert_types import account_mail_alert_types
from wattgate.operations.core.operation import Audit, Call, OperationKind, operation
from wattgate.operations.credentials.credential_endings import end_account_credentials, end_application_credential
from wattgate.operations.credentials.login import hash_new_password, normalize_username, parse_optional_email
from wattgate.operations.messages.account_mails import enqueue_account_mail
from wattgate.operations.messages.message_context import mail_address
from wattgate.operations.vocabulary.arguments import Id
from wattgate.principal import Permission
from wattgate.values import terms


@dataclass(frozen=True, slots=True)
class CreatedApplication:
    """An application and its new credential. The secret is stored as a hash and cannot be shown again."""

    application_id: str
    username: str
    secret: str


@operation(
    OperationKind.MUTATION,
    returns=CreatedApplication,
    needs=Permission.SYSTEM,
    audit=Audit.EVERY_CALL,
    system_access=SystemAccess.CREATE_APPLICATION,
)
async def create_application(
    call: Call,
    *,
    name: terms.Text200,
    username: terms.Address,
    secret: str | None = None,
    application_id: str | None = None,
    culture_code: terms.Text100 = DEFAULT_CULTURE,
) -> CreatedApplication:
    """Add an application with a credential of this username. Generate the secret unless one is given."""
    culture_code = parse_culture(culture_code)
    chosen = secret or new_secret()
    application = await call.rows.create_application(
        models.Application(
            application_id=application_id or new_id(),
            directory_id=new_id(),
            name=name,
            culture_code=culture_code,
        ),
        models.ApplicationCredential(username=username, secret_digest=hash_secret(chosen), application_id=""),
        account_mail_alert_types(),
    )
    return CreatedApplication(application.application_id, username, chosen)


@operation(
    OperationKind.MUTATION,
    returns=CreatedApplication,
    needs=Permission.SYSTEM,
    audit=Audit.EVERY_CALL,
    system_access=SystemAccess.FIND_CREDENTIALS,
)
async def rotate_application_secret(call: Call, *, username: terms.Address) -> CreatedApplication:
    """Give a credential of an application a new secret. The old one, and connections opened with it, end."""
    await lock_application_credential(call.rows, username)
    credential = await call.rows.application_credential(username)
    if credential is None:
        raise NotFound(f"No application credential with username {username}.")
    chosen = new_secret()
    credential.secret_digest = hash_secret(chosen)
    end_application_credential(call, username)
    return CreatedApplication(credential.application_id, username, chosen)


@operation(OperationKind.MUTATION, returns=models.Account, needs=Permission.SYSTEM, audit=Audit.EVERY_CALL)
async def create_user(
    call: Call,
    *,
    username: terms.Address,
    password: terms.Secret | None = None,
    name: terms.Text200 = "",
    administrator: bool = False,
    template_editor: bool = False,
    culture_code: terms.Text100 | None = None,
) -> models.Account:
    """Add a user with an account in the application's own directory.

    An administrator manages the records of the application; a template editor manages its templates only. The default
    of `culture_code` is the culture of the application. Without a password, nobody can log in until the user resets it.
    """
    if administrator and template_editor:
        problem = Problem(("templateEditor",), "is set together with administrator")
        raise BadInput("An administrator can edit templates already. Set one of the two.", problems=[problem])
    return await add_user(
        call,
        username,
        password,
        culture_code,
        name=name,
        administrator=administrator,
        template_editor=template_editor,
    )


@operation(OperationKind.MUTATION, returns=models.Account, needs=Permission.SYSTEM, audit=Audit.EVERY_CALL)
async def set_user_password(call: Call, *, user_id: Id, password: terms.Secret) -> models.Account:
    """Set a new password of a user's account in the application's own directory, as an operator does.

    Everything that depends on the account ends, and the holder gets a mail. Wrong passwords from before do not count.
    """
    rows, application = call.rows, await call.rows.application()
    own_directory_id = application.directory_id if application else ""
    account = await rows.first(
        models.Account,
        col(models.Account.user_id) == user_id,
        col(models.Account.directory_id) == own_directory_id,
        col(models.Account.status) != UserStatus.INACTIVE,
        order_by=[models.Account.created_at, models.Account.account_id],
    )
    if account is None:
        raise NotFound(
            f"User {user_id} has no open account in the application's own directory, so there is no password to set."
        )
    context = [account.username, account.email, application.name if application else ""]
    hashed = hash_new_password(call.outside, rows, password, context=context)
    await lock_user(rows, account.user_id)
    record = await rows.edit(models.Account, account.account_id)
    record.password_hash = hashed
    await end_account_credentials(call, rows, account.account_id)
    await forget_failures(rows, backoff_id(rows, own_directory_id, account.username))
    await enqueue_account_mail(call, PASSWORD_CHANGED, record, mail_address(record))
    return record


async def add_user(
    call: Call, username: str, password: str | None, culture_code: str | None = None, **values: Any
) -> models.Account:
    """Add a user with an account in the application's own directory. `values` are further values of the account."""
    application = await call.rows.application()
    if application is None:
        raise NotFound(f"No application with ID {call.rows.application_id}.")
    culture_code = parse_optional_culture(culture_code) or application.culture_code
    hashed = None
    if password is not None:
        hashed = hash_new_password(call.outside, call.rows, password, context=[username, application.name])
    user = await call.rows.add(models.User(culture_code=culture_code))
    return await call.rows.add(
        models.Account(
            user_id=user.user_id,
            directory_id=application.directory_id,
            username=normalize_username(username),
            email=parse_optional_email(username if "@" in username else "", ("username",)),
            password_hash=hashed,
            **values,
        )
    )


# Cultures in the arguments of operations.


def parse_culture(code: str, path: ProblemPath = ("cultureCode",)) -> str:
    """Return a culture code in its canonical form. Raise BadInput with a problem at `path` if it is malformed."""
    if not is_culture(code):
        problem = Problem(path, "is not a language tag such as en-GB")
        raise BadInput(f"Invalid culture code {code!r}. Give a language tag such as en-GB.", problems=[problem])
    return canonical_culture(code)


def parse_optional_culture(code: str | None, path: ProblemPath = ("cultureCode",)) -> str | None:
    """Return a culture code as `parse_culture` does, or None if there is none."""
    return None if code is None else parse_culture(code, path)
