"""Every setting of the gateway, read once from the environment or `.env`."""

from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

DATABASES = ("sqlite", "postgresql", "postgres")


class Settings(BaseSettings):
    """Each field is the environment variable WATTGATE_ and its name in capitals. A bad value stops the boot."""

    model_config = SettingsConfigDict(env_prefix="WATTGATE_", env_file=".env", frozen=True, extra="forbid")

    database_url: str = Field(
        default="sqlite:///wattgate.sqlite3", description="SQLite or PostgreSQL, as an SQLAlchemy URL."
    )
    database_pool_size: int = Field(default=10, ge=1, le=200, description="Database connections of a process.")
    base_path: str = Field(default="/api/v0-1", description="Where the REST interface stands ({base_url}).")
    host: str = Field(default="127.0.0.1", description="Address to listen on.")
    port: int = Field(default=8000, ge=0, le=65535, description="Port to listen on; 0 takes any free one.")
    environment: Literal["development", "production"] = Field(
        default="production", description="development serves an IDE at /graphql."
    )
    allowed_origins: list[str] = Field(
        default=["*"], description="Origins (JSON list) whose web pages may call; * for any."
    )
    max_body_bytes: int = Field(default=4 * 2**20, ge=2**10, description="Largest request body.")
    log_level: Literal["debug", "info", "warning", "error"] = Field(default="info", description="What is logged.")

    @field_validator("database_url")
    @classmethod
    def _known_database(cls, url: str) -> str:
        try:
            backend = make_url(url).get_backend_name()
        except ArgumentError:
            raise ValueError("is not a database URL such as postgresql://user:password@host/name") from None
        if backend not in DATABASES:
            raise ValueError(f"{backend} is not supported; SQLite and PostgreSQL are")
        return url

    @field_validator("base_path")
    @classmethod
    def _rooted(cls, path: str) -> str:
        if not path.startswith("/") or path.endswith("/"):
            raise ValueError("begins with a slash and does not end with one")
        return path


def demo_settings(folder: Path) -> Settings:
    """The environment's settings, with a database in `folder` and the IDE on where it does not say otherwise."""
    settings = Settings()
    given = settings.model_fields_set
    defaults = {"database_url": f"sqlite:///{folder / 'demo.sqlite3'}", "environment": "development"}
    return settings.model_copy(update={name: value for name, value in defaults.items() if name not in given})
