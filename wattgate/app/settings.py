"""Settings of the gateway, read once from the environment or `.env`."""

import os
import re
import sys
from importlib.util import find_spec
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, ValidationInfo, field_validator
from pydantic_settings import SettingsConfigDict

from wattgate.app.account_settings import AccountSettings, PersonalDataSettings
from wattgate.app.storage_settings import DatabaseSettings, RedisSettings
from wattgate.db.encryption.key_ring import parse_keys, read_keys
from wattgate.delivery.channels.smtp import SmtpServer
from wattgate.delivery.channels.web_push import Vapid
from wattgate.delivery.http import egress
from wattgate.delivery.http.egress import EgressPolicy
from wattgate.delivery.mail_addresses import AllowList, parse_mailbox
from wattgate.realtime.server_address import ServerAddress
from wattgate.tls import client_context

MQTT_REQUIREMENT = "aiomqtt>=2.5"


class Settings(PersonalDataSettings, AccountSettings, DatabaseSettings, RedisSettings):
    """Settings of a gateway. `WATTGATE_NAME` sets field `name`; an invalid value or an unknown name stops the start."""

    model_config = SettingsConfigDict(
        env_prefix="WATTGATE_", env_file=".env", frozen=True, extra="forbid", hide_input_in_errors=True
    )

    secret_keys: SecretStr | None = Field(
        default=None,
        description=(
            "Keys that encrypt stored secrets: ID:KEY, separated by commas; `wattgate keys new` prints one. The first "
            "key encrypts, all decrypt. Required with PostgreSQL. With SQLite, a key file is created by default."
        ),
    )
    secret_keys_file: Path | None = Field(
        default=None,
        validate_default=True,
        description="File with the keys of WATTGATE_SECRET_KEYS, one per line. Set one of both.",
    )
    base_path: str = Field(
        default="/api/v0-1",
        description="Path prefix of the REST interface ({base_url}); begins with a slash, does not end with one.",
    )
    host: str = Field(
        default="127.0.0.1", description="Address to listen on. The default accepts connections from this machine only."
    )
    port: int = Field(default=8000, ge=0, le=65535, description="TCP port to listen on. 0 selects any free port.")
    environment: Literal["development", "production"] = Field(
        default="production",
        description=(
            "`development` also serves the GraphQL IDE at /graphql, introspection, /metrics on the main port and, "
            "without WATTGATE_SMTP_URL, unsent mail at /outbox."
        ),
    )
    allowed_origins: list[str] = Field(
        default=["*"],
        description="Origins of web pages that may call the gateway by HTTP and WebSocket. `*` allows every origin.",
    )
    max_body_bytes: int = Field(
        default=4 * 2**20,
        ge=2**10,
        description="Maximum size of a request body, in bytes (default: 4 MiB). Streams to /readings have no limit.",
    )
    operation_seconds: float = Field(
        default=30.0, gt=0, le=600, description="Time limit for a GraphQL query or mutation with its SQL, in seconds."
    )
    application_records: int = Field(
        default=1_000_000,
        ge=0,
        le=10**12,
        description=(
            "Maximum users, accounts, virtual entities, resources and devices, of each kind, of one application. "
            "0 means no limit."
        ),
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="Minimum level of the log records that are written."
    )
    log_format: Literal["text", "json"] = Field(
        default="text", description="Format of the log: `text` for people, `json` (one object a line) for collectors."
    )
    drain_pause: float = Field(
        default=2.0,
        ge=0,
        le=10,
        description=(
            "Seconds to keep serving after SIGTERM while /readyz returns 503, so that load balancers stop sending "
            "requests."
        ),
    )
    drain_seconds: float = Field(
        default=8.0,
        ge=0,
        le=20,
        description="Seconds over which open connections are closed, evenly, after the pause. 0 closes all at once.",
    )
    drain_limit: float = Field(
        default=25.0,
        ge=1,
        le=28,
        description="Maximum seconds from SIGTERM to the end of the process; then the rest is cut off.",
    )
    metrics_port: int | None = Field(
        default=None,
        ge=1,
        le=65535,
        description=(
            "Port that serves /metrics. Set it to WATTGATE_PORT to share the main port. If not set, only "
            "`development` serves /metrics, on the main port."
        ),
    )
    metrics_host: str = Field(default="127.0.0.1", description="Address that WATTGATE_METRICS_PORT listens on.")

    deliver: bool = Field(
        default=True,
        description="Whether `wattgate serve` delivers mail, pushes and webhooks. If false, run `wattgate worker`.",
    )
    delivery_lease: float = Field(
        default=60.0,
        ge=1,
        le=600,
        description=(
            "Seconds for which a worker owns a delivery that it has claimed; then another worker may claim it. The "
            "clocks of all workers must agree within seconds."
        ),
    )

    callout_networks: list[IPv4Network | IPv6Network] = Field(
        default=[],
        description=(
            "Networks, such as 10.1.0.0/16, that webhooks, Web Push and directories may reach besides public addresses."
        ),
    )
    callout_http: bool = Field(
        default=False, description="Whether webhooks, Web Push and directories may use unencrypted http addresses."
    )
    push_url: str | None = Field(
        default=None,
        description="URL of your push provider, which gets the pushes for phones. If not set, phones get no pushes.",
    )
    push_token: SecretStr | None = Field(
        default=None, description="Bearer token that the gateway sends to WATTGATE_PUSH_URL."
    )
    web_push_key: SecretStr | None = Field(
        default=None,
        description="Private VAPID key for Web Push: 32 bytes in base64url. If not set, browsers get no pushes.",
    )
    web_push_contact: str | None = Field(
        default=None,
        validate_default=True,
        description="Contact for push services: a `mailto:` or `https:` URL. Required with WATTGATE_WEB_PUSH_KEY.",
    )

    smtp_url: str | None = Field(
        default=None,
        description=(
            "Mail server: `smtps://` or `smtp+starttls://user:password@host:port`, or `smtp://` without encryption. "
            "If not set, mail waits in the outbox; `development` shows it at /outbox."
        ),
    )
    smtp_ca_file: Path | None = Field(
        default=None,
        description="PEM file with the CA certificates of the mail server. If not set, the system's are used.",
    )
    smtp_timeout: float = Field(default=30.0, ge=1, le=300, description="Time limit for sending one mail, in seconds.")
    mail_from: str | None = Field(
        default=None,
        validate_default=True,
        description="Sender of the mails, such as `Energy <alerts@energy.example>`. Required with WATTGATE_SMTP_URL.",
    )
    public_url: str | None = Field(
        default=None,
        validate_default=True,
        description=(
            "Public URL of the gateway, used for links in mails, to previews, and to the page on which displays are "
            "paired. Required with WATTGATE_SMTP_URL."
        ),
    )
    link_key: SecretStr | None = Field(
        default=None,
        min_length=32,
        validate_default=True,
        description="Secret that signs the links; the same in every process. Required with WATTGATE_SMTP_URL.",
    )

    test_addresses: list[str] = Field(
        default=[],
        description=(
            "Addresses that may receive test mails; @energy.example means every address of a domain. If empty, "
            "nobody may."
        ),
    )

    mqtt_url: str | None = Field(
        default=None,
        description="MQTT broker of the in-home displays: `mqtt://` or `mqtts://user:password@host:port`.",
    )
    mqtt_application_id: str | None = Field(
        default=None,
        validate_default=True,
        description="ID of the application that owns these displays. Required with WATTGATE_MQTT_URL.",
    )
    mqtt_topics: list[str] = Field(
        default=["glow/+/STATE", "glow/+/SENSOR/+", "SMART/+/+"],
        min_length=1,
        description="Topic filters to subscribe to. Replace glow if your displays publish under another prefix.",
    )
    mqtt_client_id: str = Field(
        default="wattgate",
        min_length=1,
        max_length=64,
        description="MQTT client ID; the broker keeps messages for it. Give each gateway its own.",
    )

    @property
    def egress_policy(self) -> EgressPolicy:
        """Destinations that requests to user-supplied addresses may reach."""
        return EgressPolicy(allowed_networks=tuple(self.callout_networks), allow_http=self.callout_http)

    @field_validator("secret_keys")
    @classmethod
    def _check_secret_keys(cls, keys: SecretStr | None) -> SecretStr | None:
        if keys is not None:
            parse_keys(keys.get_secret_value())
        return keys

    @field_validator("secret_keys_file")
    @classmethod
    def _check_secret_keys_file(cls, file: Path | None, info: ValidationInfo) -> Path | None:
        if file is not None:
            if info.data.get("secret_keys") is not None:
                raise ValueError("cannot be set together with WATTGATE_SECRET_KEYS. Unset one of both")
            read_keys(file)
        return file

    @field_validator("push_url")
    @classmethod
    def _check_push_url(cls, url: str | None) -> str | None:
        if url is not None:
            try:
                egress.parse_destination(url, egress.ALLOW_ALL)
            except egress.BlockedDestination as refused:
                raise ValueError(f"{refused}. Write one such as https://push.example/send") from None
        return url

    @field_validator("web_push_key")
    @classmethod
    def _check_web_push_key(cls, key: SecretStr | None) -> SecretStr | None:
        if key is not None:
            Vapid(key.get_secret_value(), "")
        return key

    @field_validator("web_push_contact")
    @classmethod
    def _check_web_push_contact(cls, contact: str | None, info: ValidationInfo) -> str | None:
        if info.data.get("web_push_key") is None:
            return contact
        if contact is None or not contact.startswith(("mailto:", "https:")):
            raise ValueError("is required with WATTGATE_WEB_PUSH_KEY: an address that begins with mailto: or https:")
        return contact

    @field_validator("smtp_url")
    @classmethod
    def _check_smtp_url(cls, url: str | None) -> str | None:
        if url is not None:
            SmtpServer.from_url(url)
        return url

    @field_validator("smtp_ca_file")
    @classmethod
    def _check_smtp_ca_file(cls, file: Path | None) -> Path | None:
        if file is not None:
            try:
                client_context(file)
            except OSError as error:
                raise ValueError(f"cannot be read as PEM certificates: {error}. Check the file") from None
        return file

    @field_validator("mail_from", "public_url", "link_key")
    @classmethod
    def _require_with_smtp(cls, value: str | SecretStr | None, info: ValidationInfo) -> str | SecretStr | None:
        if value is None and info.data.get("smtp_url"):
            raise ValueError("is required with WATTGATE_SMTP_URL. Set it, or unset WATTGATE_SMTP_URL")
        return value

    @field_validator("mail_from")
    @classmethod
    def _check_mail_from(cls, written: str | None) -> str | None:
        if written is not None and parse_mailbox(written).is_international:
            raise ValueError("is an address that some mail servers reject; use only ASCII before the @")
        return written

    @field_validator("test_addresses")
    @classmethod
    def _check_test_addresses(cls, written: list[str]) -> list[str]:
        AllowList.from_texts(written)
        return written

    @field_validator("public_url")
    @classmethod
    def _check_public_url(cls, url: str | None) -> str | None:
        if url is not None:
            parts = urlsplit(url)
            if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
                raise ValueError("is not the address of a web site. Write one such as https://energy.example")
        return url

    @field_validator("mqtt_url")
    @classmethod
    def _check_mqtt_url(cls, url: str | None) -> str | None:
        if url is not None:
            ServerAddress.from_mqtt_url(url)
            if find_spec("aiomqtt") is None:
                raise ValueError(f"needs a package: run `{sys.executable} -m pip install '{MQTT_REQUIREMENT}'`")
        return url

    @field_validator("mqtt_application_id")
    @classmethod
    def _check_mqtt_application_id(cls, application_id: str | None, info: ValidationInfo) -> str | None:
        if info.data.get("mqtt_url") and not application_id:
            raise ValueError("is required with WATTGATE_MQTT_URL: the ID of the application that owns the displays")
        return application_id

    @field_validator("mqtt_topics")
    @classmethod
    def _check_mqtt_topics(cls, topics: list[str]) -> list[str]:
        for topic in topics:
            if not is_topic_filter(topic):
                raise ValueError(f"{topic!r} is not a valid MQTT topic filter. Write one such as glow/+/STATE")
        return topics

    @field_validator("base_path")
    @classmethod
    def _check_base_path(cls, path: str) -> str:
        if not path.startswith("/") or path.endswith("/"):
            raise ValueError("must begin with a slash and must not end with one. Write a path such as /api")
        return path


def is_tracing_configured() -> bool:
    """Return whether the OpenTelemetry variables of the environment name a collector for traces."""
    variables = os.environ
    if variables.get("OTEL_SDK_DISABLED", "").lower() == "true" or variables.get("OTEL_TRACES_EXPORTER") == "none":
        return False
    return bool(variables.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") or variables.get("OTEL_EXPORTER_OTLP_ENDPOINT"))


def build_environment(**changed: str) -> dict[str, str]:
    """Return this process's environment with some variables changed, for a child process."""
    return {**os.environ, **changed}


_FILTER = re.compile(r"(?:(?:\+|[^+#/\0]*)/)*(?:\+|#|[^+#/\0]*)")


def is_topic_filter(text: str) -> bool:
    """Return whether a text is a valid MQTT topic filter.

    The wildcards `+` and `#` must be the only character of their level, and `#` must be in the last level.
    """
    return bool(text) and _FILTER.fullmatch(text) is not None
