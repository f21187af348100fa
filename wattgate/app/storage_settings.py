"""Settings of the database and of Redis."""

from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationInfo, field_validator
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from wattgate.app.account_settings import PageSettings
from wattgate.app.setting_names import StrictSettings
from wattgate.realtime.redis_url import RedisServers, TlsFiles


class RedisSettings(PageSettings):
    """A part of `Settings`."""

    redis_url: str | None = Field(
        default=None,
        description=(
            "Redis or Valkey (Redis 6.2 or later) that connects several gateways: `redis://` or "
            "`rediss://user:password@host:port/0`, `redis+sentinel://host:port,host2:port/0?master=NAME` or "
            "`redis+cluster://host:port,host2:port`. If not set, live events and budgets stay within one process."
        ),
    )
    redis_ca_file: Path | None = Field(
        default=None,
        description="PEM file with the CA certificates of Redis. If not set, the system's are used.",
    )
    redis_key_file: Path | None = Field(
        default=None, description="PEM file with the private key of WATTGATE_REDIS_CERTIFICATE_FILE."
    )
    redis_certificate_file: Path | None = Field(
        default=None, description="PEM file with the certificate with which the gateway logs in to Redis (mutual TLS)."
    )

    @field_validator("redis_url")
    @classmethod
    def _check_redis_url(cls, url: str | None) -> str | None:
        if url is not None:
            RedisServers.from_url(url)
        return url

    @field_validator("redis_ca_file", "redis_key_file", "redis_certificate_file")
    @classmethod
    def _check_redis_files(cls, file: Path | None, info: ValidationInfo) -> Path | None:
        if file is None:
            return None
        if not (info.data.get("redis_url") or "").startswith("rediss"):
            raise ValueError("is used only with TLS: write WATTGATE_REDIS_URL with rediss instead of redis")
        if info.field_name == "redis_key_file":
            return file  # it is read together with its certificate
        try:
            if info.field_name == "redis_ca_file":
                TlsFiles(ca_file=file).create_context()
            else:
                TlsFiles(certificate_file=file, key_file=info.data.get("redis_key_file")).create_context()
        except OSError as error:
            raise ValueError(f"cannot be read as PEM: {error}. Check the file and its permissions") from None
        return file

    @property
    def redis_tls_files(self) -> TlsFiles:
        """The files with which the connections to Redis use TLS."""
        return TlsFiles(self.redis_ca_file, self.redis_certificate_file, self.redis_key_file)


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
