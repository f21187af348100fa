"""Settings of the database."""

from typing import Literal

from pydantic import Field, ValidationInfo, field_validator
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from wattgate.app.setting_names import StrictSettings

SUPPORTED_DATABASES = ("sqlite", "postgresql", "postgres")

WRITE_URL = "Write sqlite:///FILE or postgresql://user:password@host/name"


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

    database_replica_url: str | None = Field(
        default=None,
        description=(
            "URL of a streaming replica of WATTGATE_DATABASE_URL. Queries then read from it if it has all changes of "
            "the moment, else from the primary. It must be one server, without a pooler of transactions."
        ),
    )
    database_replica_wait: float = Field(
        default=0.1,
        ge=0,
        le=10,
        description=(
            "Maximum seconds that a query waits until the replica has the changes. Then, and for one second, queries "
            "read from the primary."
        ),
    )

    database_lock_seconds: float = Field(
        default=0.5,
        ge=0.1,
        le=600,
        description=(
            "Maximum seconds that `wattgate db upgrade` waits for a lock of PostgreSQL, while other statements wait "
            "behind it. It tries 40 times."
        ),
    )

    @field_validator("database_replica_url")
    @classmethod
    def _check_replica_url(cls, url: str | None, info: ValidationInfo) -> str | None:
        if url is None:
            return None
        if not all(
            _backend_of(address).startswith("postgres") for address in (url, info.data.get("database_url", url))
        ):
            raise ValueError(
                "needs PostgreSQL, here and in WATTGATE_DATABASE_URL. Write both as "
                "postgresql://user:password@host/name, or unset this setting"
            )
        return url

    @field_validator("database_url")
    @classmethod
    def _check_database_url(cls, url: str) -> str:
        backend = _backend_of(url)
        if backend not in SUPPORTED_DATABASES:
            raise ValueError(f"names the database {backend}, which is not supported. {WRITE_URL}")
        return url


def _backend_of(url: str) -> str:
    try:
        return make_url(url).get_backend_name()
    except (ArgumentError, ValueError):
        raise ValueError(f"is not a database URL. {WRITE_URL}") from None
