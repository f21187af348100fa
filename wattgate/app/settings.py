"""Every setting of the gateway, read once from the environment or `.env`."""

import os
from importlib.util import find_spec
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from ssl import create_default_context
from typing import Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from wattgate.app.mqtt_topic_filter import is_topic_filter
from wattgate.delivery.channels.smtp import SmtpServer
from wattgate.delivery.channels.web_push import Vapid
from wattgate.delivery.http import egress
from wattgate.delivery.http.egress import Reach
from wattgate.delivery.mail_addresses import AllowList, mailbox
from wattgate.realtime.server_address import Address

DEMO_LINK_KEY = SecretStr("only for the demonstration, known to all")

DATABASES = ("sqlite", "postgresql", "postgres")


class Settings(BaseSettings):
    """Each field is the environment variable WATTGATE_ and its name in capitals. A bad value stops the boot."""

    model_config = SettingsConfigDict(env_prefix="WATTGATE_", env_file=".env", frozen=True, extra="forbid")

    database_url: str = Field(
        default="sqlite:///wattgate.sqlite3", description="SQLite or PostgreSQL, as an SQLAlchemy URL."
    )
    database_pool_size: int = Field(default=20, ge=1, le=200, description="Database connections of a process.")
    redis_url: str | None = Field(
        default=None,
        description="Redis 6.2 or later, which joins several gateways: redis:// or rediss://user:password@host:port/0.",
    )
    base_path: str = Field(default="/api/v0-1", description="Where the REST interface stands ({base_url}).")
    host: str = Field(default="127.0.0.1", description="Address to listen on.")
    port: int = Field(default=8000, ge=0, le=65535, description="Port to listen on; 0 takes any free one.")
    environment: Literal["development", "production"] = Field(
        default="production", description="development serves an IDE at /graphql, and /metrics."
    )
    allowed_origins: list[str] = Field(
        default=["*"], description="Origins (JSON list) whose web pages may call; * for any."
    )
    max_body_bytes: int = Field(default=4 * 2**20, ge=2**10, description="Largest request body.")
    operation_seconds: float = Field(
        default=30.0, gt=0, le=600, description="Seconds that a GraphQL query or mutation may take, with its SQL."
    )
    max_account_connections: int = Field(
        default=20, ge=1, description="Sockets and event streams of one account at once; the oldest give way."
    )
    max_application_connections: int = Field(
        default=100_000, ge=1, description="Those of all accounts of one application; the oldest give way."
    )
    caller_budget: int = Field(
        default=50_000, ge=0, le=10**9, description="Cost that one log-in may spend at once; 0 sets no limit."
    )
    application_budget: int = Field(
        default=5_000_000, ge=0, le=10**9, description="Cost of all callers of one application; 0 sets no limit."
    )
    budget_seconds: int = Field(
        default=60, ge=1, le=86_400, description="Seconds in which a budget that was spent fills again."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(default="info", description="What is logged.")
    log_format: Literal["text", "json"] = Field(default="text", description="How it is logged: json for collectors.")
    drain_pause: float = Field(
        default=2.0,
        ge=0,
        le=10,
        description="Seconds at the end in which /readyz answers 503 but all is served, for load balancers.",
    )
    drain_seconds: float = Field(
        default=8.0, ge=0, le=20, description="Seconds at the end over which sockets are closed, one after the other."
    )
    drain_limit: float = Field(
        default=25.0, ge=1, le=28, description="Seconds after which the end is cut short, with whatever is left."
    )
    metrics_port: int | None = Field(
        default=None,
        ge=1,
        le=65535,
        description="Port of /metrics for Prometheus; that of the gateway itself where it is the same one.",
    )
    metrics_host: str = Field(default="127.0.0.1", description="Address on which the port of /metrics listens.")

    deliver: bool = Field(
        default=True, description="Whether serve delivers mail, pushes and webhooks itself; else wattgate worker does."
    )
    delivery_lease: float = Field(
        default=60.0,
        ge=1,
        le=600,
        description="Seconds until another worker takes over a delivery; the clocks of all workers must agree.",
    )

    callout_networks: list[IPv4Network | IPv6Network] = Field(
        default=[],
        description="Networks (JSON list, such as 10.1.0.0/16) within reach of webhooks and pushes beside public ones.",
    )
    callout_http: bool = Field(
        default=False, description="Whether webhooks and pushes may go to http addresses, unencrypted."
    )
    push_url: str | None = Field(default=None, description="Where pushes to phones go by HTTP: a push provider's URL.")
    push_token: SecretStr | None = Field(default=None, description="The credential there, sent as Bearer.")
    web_push_key: SecretStr | None = Field(
        default=None, description="Private VAPID key of Web Push: 32 bytes in base64url."
    )
    web_push_contact: str | None = Field(
        default=None,
        validate_default=True,
        description="Who sends Web Push: a mailto: or https: address for the push services.",
    )

    smtp_url: str | None = Field(
        default=None,
        description="Mail server: smtps:// or smtp+starttls://user:password@host:port, or smtp:// without encryption.",
    )
    smtp_ca_file: Path | None = Field(
        default=None, description="Certificates (PEM) that a mail server of a private authority is known by."
    )
    smtp_timeout: float = Field(default=30.0, ge=1, le=300, description="Seconds that sending one mail may take.")
    mail_from: str | None = Field(
        default=None, validate_default=True, description="Who writes the mails: Energy <alerts@energy.example>."
    )
    public_url: str | None = Field(
        default=None,
        validate_default=True,
        description="Where people reach the gateway, such as https://energy.example; for the links in mails.",
    )
    link_key: SecretStr | None = Field(
        default=None,
        min_length=32,
        validate_default=True,
        description="Signs the links in mails: at least 32 random characters, the same in every process.",
    )

    test_addresses: list[str] = Field(
        default=[],
        description="Who may get test mails (JSON list): addresses, or @energy.example for all of a domain.",
    )

    mqtt_url: str | None = Field(
        default=None, description="Broker of in-home displays, mqtt:// or mqtts://user:password@host:port."
    )
    mqtt_application_id: str | None = Field(
        default=None, validate_default=True, description="The application whose devices these displays are."
    )
    mqtt_topics: list[str] = Field(
        default=["glow/+/STATE", "glow/+/SENSOR/+", "SMART/+/+"],
        min_length=1,
        description="What is subscribed to (JSON list); another prefix may stand for glow.",
    )
    mqtt_client_id: str = Field(
        default="wattgate", min_length=1, max_length=64, description="Who the gateway is to the broker; one each."
    )

    @property
    def reach(self) -> Reach:
        """How far requests go to addresses that users name."""
        return Reach(networks=tuple(self.callout_networks), plain=self.callout_http)

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

    @field_validator("redis_url")
    @classmethod
    def _redis(cls, url: str | None) -> str | None:
        if url is not None:
            Address.at(url)
        return url

    @field_validator("push_url")
    @classmethod
    def _push_provider(cls, url: str | None) -> str | None:
        if url is not None:
            try:
                egress.parse(url, egress.ANYWHERE)
            except egress.Refused as refused:
                raise ValueError(f"the address {refused}") from None
        return url

    @field_validator("web_push_contact")
    @classmethod
    def _sender_of_web_push(cls, contact: str | None, info: ValidationInfo) -> str | None:
        key = info.data.get("web_push_key")
        if key is None:
            return contact
        if contact is None or not contact.startswith(("mailto:", "https:")):
            raise ValueError("is needed with WATTGATE_WEB_PUSH_KEY: an address that begins with mailto: or https:")
        Vapid(key.get_secret_value(), contact)
        return contact

    @field_validator("smtp_url")
    @classmethod
    def _mail_server(cls, url: str | None) -> str | None:
        if url is not None:
            SmtpServer.at(url)
        return url

    @field_validator("smtp_ca_file")
    @classmethod
    def _authority(cls, file: Path | None) -> Path | None:
        if file is not None:
            try:
                create_default_context(cafile=file)
            except OSError as error:
                raise ValueError(f"cannot be used: {error}") from None
        return file

    @field_validator("mail_from", "public_url", "link_key")
    @classmethod
    def _needed_for_mail(cls, given: str | SecretStr | None, info: ValidationInfo) -> str | SecretStr | None:
        if given is None and info.data.get("smtp_url"):
            raise ValueError("is needed with WATTGATE_SMTP_URL")
        return given

    @field_validator("mail_from")
    @classmethod
    def _writer(cls, written: str | None) -> str | None:
        if written is not None and mailbox(written).international:
            raise ValueError("is an address that not every mail server takes; before the @ use ASCII")
        return written

    @field_validator("test_addresses")
    @classmethod
    def _testers(cls, written: list[str]) -> list[str]:
        AllowList.of(written)
        return written

    @field_validator("public_url")
    @classmethod
    def _reachable(cls, url: str | None) -> str | None:
        if url is not None:
            parts = urlsplit(url)
            if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
                raise ValueError("is not the address of a web site, such as https://energy.example")
        return url

    @field_validator("mqtt_url")
    @classmethod
    def _reachable_broker(cls, url: str | None) -> str | None:
        if url is not None:
            Address.of_broker(url)
            if find_spec("aiomqtt") is None:
                raise ValueError("needs what is not installed: pip install wattgate[mqtt]")
        return url

    @field_validator("mqtt_application_id")
    @classmethod
    def _somebodys_displays(cls, application_id: str | None, info: ValidationInfo) -> str | None:
        if info.data.get("mqtt_url") and not application_id:
            raise ValueError("is needed with WATTGATE_MQTT_URL: the application whose devices the displays are")
        return application_id

    @field_validator("mqtt_topics")
    @classmethod
    def _topic_filters(cls, topics: list[str]) -> list[str]:
        for topic in topics:
            if not is_topic_filter(topic):
                raise ValueError(f"{topic!r} is no topic that a broker takes")
        return topics

    @field_validator("base_path")
    @classmethod
    def _rooted(cls, path: str) -> str:
        if not path.startswith("/") or path.endswith("/"):
            raise ValueError("begins with a slash and does not end with one")
        return path


def traces_are_wanted() -> bool:
    """Whether the variables of OpenTelemetry's specification say where traces are sent."""
    given = os.environ
    if given.get("OTEL_SDK_DISABLED", "").lower() == "true" or given.get("OTEL_TRACES_EXPORTER") == "none":
        return False
    return bool(given.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") or given.get("OTEL_EXPORTER_OTLP_ENDPOINT"))


def environment_with(**changed: str) -> dict[str, str]:
    """The environment of this process with some variables changed, for a process that it starts."""
    return {**os.environ, **changed}


def demo_settings(folder: Path) -> Settings:
    """The environment's settings, with a database in `folder` and the IDE on where it does not say otherwise."""
    settings = Settings()
    given = settings.model_fields_set
    defaults = {
        "database_url": f"sqlite:///{folder / 'demo.sqlite3'}",
        "environment": "development",
        "mail_from": "wattgate demo <alerts@wattgate.example>",
        "public_url": f"http://{settings.host}:{settings.port}",
        "link_key": DEMO_LINK_KEY,
        "test_addresses": ["@wattgate.example"],
        "drain_pause": 0.0,
        "drain_seconds": 0.0,
    }
    return settings.model_copy(update={name: value for name, value in defaults.items() if name not in given})
