"""Settings of the Redis servers that connect several gateways."""

from pathlib import Path

from pydantic import Field, ValidationInfo, field_validator

from wattgate.app.page_settings import PageSettings
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
