"""Applications, which are the tenants, and the base class of their records, with their quotas."""

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from sqlalchemy import false
from sqlmodel import Field, SQLModel

from wattgate.db.column_types import AssignedId, created_at_field, updated_at_field

# Constraints have names, so that a later migration can refer to them.
SQLModel.metadata.naming_convention = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s",
    "pk": "pk_%(table_name)s",
}

# Rows are never validated by pydantic, so its validators are built only if somebody asks for one.
SQLModel.model_config["defer_build"] = True


@dataclass(frozen=True, slots=True)
class Quota:
    """The maximum number of records of a model. None means no limit.

    `per_parent` is a column that refers to another record, and the limit for each of those. `grows_with_users` is true
    if the setting WATTGATE_APPLICATION_RECORDS limits the records of an application.
    """

    noun: str
    per_user: int | None = None
    per_application: int | None = None
    per_parent: tuple[str, int] | None = None
    grows_with_users: bool = False


@dataclass(frozen=True, slots=True)
class NoQuota:
    """The declaration of a model whose records have no quota, with the reason."""

    reason: str


class Tenanted(SQLModel):
    """A record of an application. Only `Rows` reads and writes such records.

    `key` is the name of the column with the public identifier. `owner` is the name of the column with the user who owns
    the record, or None if the whole application shares it. `quota` limits the number of records.
    """

    model_config = {"arbitrary_types_allowed": True}

    key: ClassVar[str]
    quota: ClassVar[Quota | NoQuota]
    owner: ClassVar[str | None] = None

    application_id: str = Field(default="", foreign_key="application.application_id", index=True)


class Application(SQLModel, table=True):
    """A tenant of the gateway. `culture_code` is the default culture of messages to its users.

    If `trusted_only` is true, its callers can execute only registered GraphQL documents.
    """

    application_id: str = AssignedId()
    name: str
    culture_code: str = Field(default="en-GB", sa_column_kwargs={"server_default": "en-GB"})
    directory_id: str = Field()
    trusted_only: bool = Field(default=False, sa_column_kwargs={"server_default": false()})
    created_at: datetime = created_at_field()
    updated_at: datetime = updated_at_field()


class ApplicationCredential(SQLModel, table=True):
    """A username and secret for calls from an application's own servers (Basic). Only the digest is stored."""

    __tablename__ = "application_credential"

    username: str = Field(primary_key=True)
    application_id: str = Field(foreign_key="application.application_id", index=True)
    secret_digest: bytes
    active: bool = True
    created_at: datetime = created_at_field()
