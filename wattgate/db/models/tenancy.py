"""Applications: whose the records are."""

from datetime import datetime
from typing import ClassVar

from sqlalchemy import false
from sqlmodel import Field, SQLModel

from wattgate.db.column_types import AssignedId, created_at, updated_at

# Constraints have names, so that a later migration can say which one it means.
SQLModel.metadata.naming_convention = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s",
    "pk": "pk_%(table_name)s",
}


class Tenanted(SQLModel):
    """A record of an application. Only `Rows` reads and writes its kind.

    `key` names the identifier by which callers know the record; `owner` names the column with the user whose
    record it is, or is None where the whole application shares it.
    """

    model_config = {"arbitrary_types_allowed": True}

    key: ClassVar[str]
    owner: ClassVar[str | None] = None

    application_id: str = Field(default="", foreign_key="application.application_id", index=True)


class Application(SQLModel, table=True):
    """Whose the records are. `culture_code` is what people are written to in where nothing says otherwise.

    `trusted_only` says that its callers may have no GraphQL document executed but those that are registered.
    """

    application_id: str = AssignedId()
    name: str
    culture_code: str = Field(default="en-GB", sa_column_kwargs={"server_default": "en-GB"})
    directory_id: str = Field()
    trusted_only: bool = Field(default=False, sa_column_kwargs={"server_default": false()})
    created_at: datetime = created_at()
    updated_at: datetime = updated_at()


class ApplicationCredential(SQLModel, table=True):
    """A name and secret with which an application's own servers call (Basic). Only the digest is kept."""

    __tablename__ = "application_credential"

    username: str = Field(primary_key=True)
    application_id: str = Field(foreign_key="application.application_id", index=True)
    secret_digest: bytes
    active: bool = True
    created_at: datetime = created_at()
