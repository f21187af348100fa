"""Settings of the database."""

from typing import Literal

from pydantic import Field, field_validator
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from wattgate.app.setting_names import StrictSettings

SUPPORTED_DATABASES = ("sqlite", "postgresql", "postgres")


class DatabaseSettings(StrictSettings):
    """A part of `Settings`."""

    database_url: str = Field(
        default="sqlite:///wattgate.sqlite3", description="SQLAlchemy URL of the database: SQLite or PostgreSQL."
    )
    database_pool_size: int = Field(
        default=20, ge=1, le=200, description="Maximum number of database connections in each process."
    )
    database_pooler: Literal["none", "transaction"] = Field(
        default="none",
        description=(
            "Set `transaction` if WATTGATE_DATABASE_URL is the address of a pooler that pools transactions, such as "
            "PgBouncer. `none` is for PostgreSQL itself, and for poolers that pool sessions."
        ),
    )

    @field_validator("database_url")
    @classmethod
    def _check_database_url(cls, url: str) -> str:
        try:
            backend = make_url(url).get_backend_name()
        except ArgumentError:
            raise ValueError("is not a database URL such as postgresql://user:password@host/name") from None
        if backend not in SUPPORTED_DATABASES:
            raise ValueError(f"{backend} is not supported; use SQLite or PostgreSQL")
        return url
