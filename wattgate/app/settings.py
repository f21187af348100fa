"""Settings of the gateway, read once from the environment or `.env`: their declarations, one class."""

from datetime import timedelta
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, SecretStr, ValidationInfo, field_validator
from pydantic_settings import (
    BaseSettings,
    DotEnvSettingsSource,
    EnvSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from wattgate.app import setting_checks as checks
from wattgate.app.env_file import find_lines
from wattgate.app.setting_sources import COMMAND_VARIABLES, ENV_FILE, PREFIX, unknown_names
from wattgate.db.scope.policies import AccountPolicy, ConsentPolicy
from wattgate.delivery.egress import EgressPolicy
from wattgate.realtime.redis_url import TlsFiles
from wattgate.requests.request_limits import BODY_MEMORY_BYTES

ENVIRONMENT = "the environment"
"""Where an unknown setting was found, if not in ENV_FILE: the input of the error that pydantic raises for it."""


class StrictEnvironment(EnvSettingsSource):
    """The settings of the environment, and each unknown variable with PREFIX, which then is a forbidden setting."""

    def __call__(self) -> dict[str, Any]:
        fields = self.settings_cls.model_fields
        variables = [name for name in self.env_vars if name.upper().startswith(PREFIX)]
        unknown = [name for name in unknown_names(variables, fields) if name not in COMMAND_VARIABLES]
        return super().__call__() | dict.fromkeys(unknown, ENVIRONMENT)


class StrictEnvFile(DotEnvSettingsSource):
    """The settings of `.env`, and each of its other lines, which then is a forbidden setting."""

    def __call__(self) -> dict[str, Any]:
        find_lines(Path(ENV_FILE))  # the parser of the library leaves out a line that it does not understand
        fields = self.settings_cls.model_fields
        settings = {name: value for name, value in super().__call__().items() if name in fields}
        return settings | dict.fromkeys(unknown_names(self.env_vars, fields), ENV_FILE)


class StrictSettings(BaseSettings):
    """Settings that reject unknown names of the environment and of `.env`. Subclasses forbid extra settings.

    White space around the address of a server, such as the line break at the end of a file, is removed.
    """

    @field_validator("*", mode="before")
    @classmethod
    def _strip_addresses(cls, value: Any, info: ValidationInfo) -> Any:
        is_address = info.field_name is not None and info.field_name.endswith("_url")
        return checks.strip_address(value) if is_address and isinstance(value, str) else value

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Return the sources of settings, first the ones that override the others."""
        assert isinstance(dotenv_settings, DotEnvSettingsSource)
        environment = StrictEnvironment(settings_cls)
        if dotenv_settings.env_file is None:
            return init_settings, environment
        return init_settings, environment, StrictEnvFile(settings_cls, env_file=dotenv_settings.env_file)


class ClientLimitSettings(StrictSettings):
    """The limits for clients: budgets, connections, slow requests and network addresses."""

    caller_budget: int = Field(
        default=250_000, ge=0, le=10**9, description="Budget of one login, in units of cost. 0 means no limit."
    )
    caller_budget_seconds: int = Field(
        default=300,
        ge=1,
        le=86_400,
        description="Time in which an empty budget of a login, an account or a user fills again, in seconds.",
    )
    application_budget: int = Field(
        default=5_000_000,
        ge=0,
        le=10**9,
        description="Budget that all callers of one application share, in units of cost. 0 means no limit.",
    )
    budget_seconds: int = Field(
        default=60,
        ge=1,
        le=86_400,
        description="Time in which an empty `WATTGATE_APPLICATION_BUDGET` fills again, in seconds.",
    )
    max_account_connections: int = Field(
        default=20,
        ge=1,
        description=(
            "Maximum concurrent connections for each account, over all gateways. A further one closes the oldest. "
            "Paired displays do not count."
        ),
    )
    max_application_connections: int = Field(
        default=100_000,
        ge=1,
        description=(
            "Maximum concurrent connections for each application, over all gateways. A further one closes the oldest."
        ),
    )
    trusted_proxies: list[IPv4Network | IPv6Network] = Field(
        default=[],
        description=(
            "Networks of your proxies, such as 10.0.0.0/8. The gateway believes their X-Forwarded-For, Forwarded and "
            "X-Forwarded-Proto. If empty, it believes nobody."
        ),
    )
    address_logins: int = Field(
        default=60,
        ge=0,
        le=10**9,
        description=(
            "Wrong passwords, codes of second factors, application credentials and tokens of directories from one "
            "address in a minute. 0 means no limit."
        ),
    )
    address_registrations: int = Field(
        default=20, ge=0, le=10**9, description="Registrations from one address in an hour. 0 means no limit."
    )
    address_codes: int = Field(
        default=120,
        ge=0,
        le=10**9,
        description=(
            "Calls from one address in an hour that request or use a code: verification, password reset, confirmation "
            "of an e-mail address, OAuth tokens, wrong codes of displays. 0 means no limit."
        ),
    )
    address_pairings: int = Field(
        default=120, ge=0, le=10**9, description="Pairings of displays from one address in an hour. 0 means no limit."
    )
    address_documents: int = Field(
        default=600,
        ge=0,
        le=10**9,
        description="GraphQL documents from one address in a minute without credentials. 0 means no limit.",
    )
    address_shared_previews: int = Field(
        default=120,
        ge=0,
        le=10**9,
        description="Requests from one address in a minute to shared previews of templates. 0 means no limit.",
    )
    address_requests: int = Field(
        default=3_000,
        ge=0,
        le=10**9,
        description=(
            "Requests from one address in a minute to pages and the OpenAPI document, and REST requests without "
            "credentials. It also limits the files of pages, apart from these, to at least 256. 0 means no limit."
        ),
    )
    head_seconds: float = Field(
        default=10.0, gt=0, le=300, description="Time limit for the head of an HTTP request to arrive, in seconds."
    )
    head_bytes: int = Field(
        default=65_536,
        ge=1_024,
        le=2**20,
        description="Maximum bytes of the head of an HTTP request: its address and its headers.",
    )
    head_lines: int = Field(default=128, ge=16, le=10_000, description="Maximum headers of an HTTP request.")
    head_line_bytes: int = Field(
        default=32_768, ge=512, le=2**20, description="Maximum bytes of the address, and of each header, of a request."
    )
    body_seconds: float = Field(
        default=20.0,
        gt=0,
        le=300,
        description="Seconds in which a request body must bring 100 bytes a second on average, again and again.",
    )
    response_seconds: float = Field(
        default=30.0,
        gt=0,
        le=600,
        description=(
            "Seconds in which a client that leaves more than 64 KiB unread must read 100 bytes a second on average, "
            "again and again."
        ),
    )
    max_address_connections: int = Field(
        default=2_000,
        ge=0,
        description=(
            "Maximum open connections from one address to each process; trusted proxies are excepted. 0 means no limit."
        ),
    )
    max_connections: int = Field(
        default=20_000, ge=0, description="Maximum open connections to each process. 0 means no limit."
    )


class Settings(ClientLimitSettings):
    """Settings of a gateway. `WATTGATE_NAME` sets field `name`; an invalid value or an unknown name stops the start."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_file=ENV_FILE, frozen=True, extra="forbid", hide_input_in_errors=True
    )

    # pages
    display_application_id: Annotated[str | None, AfterValidator(checks.check_display_application_id)] = Field(
        default=None,
        description=(
            "ID of the application whose users log in at /display and /preview. If not set, it is the only "
            "application; with several, users name theirs by /display?application=ID."
        ),
    )
    graphql_ide: bool | None = Field(
        default=None,
        description=(
            "Whether browsers get the GraphQL IDE at /graphql. If not set, development serves it and production does "
            "not. In production, the IDE does not know the schema, because introspection is hidden."
        ),
    )
    administrators_need_second_factor: bool = Field(
        default=False,
        description=("Whether administrators need a second factor. One without it can only enrol one, and log out."),
    )

    # Redis
    redis_url: Annotated[str | None, AfterValidator(checks.check_redis_url)] = Field(
        default=None,
        description=(
            "Redis or Valkey (Redis 6.2 or later) that connects several gateways: `redis://` or "
            "`rediss://user:password@host:port/0`, `redis+sentinel://host:port,host2:port/0?master=NAME` or "
            "`redis+cluster://host:port,host2:port`. If not set, live events and budgets stay within one process."
        ),
    )
    redis_ca_file: Annotated[Path | None, AfterValidator(checks.check_redis_files)] = Field(
        default=None,
        description="PEM file with the CA certificates of Redis. If not set, the system's are used.",
    )
    redis_key_file: Annotated[Path | None, AfterValidator(checks.check_redis_files)] = Field(
        default=None, description="PEM file with the private key of WATTGATE_REDIS_CERTIFICATE_FILE."
    )
    redis_certificate_file: Annotated[Path | None, AfterValidator(checks.check_redis_files)] = Field(
        default=None, description="PEM file with the certificate with which the gateway logs in to Redis (mutual TLS)."
    )

    # the database
    database_url: Annotated[str, AfterValidator(checks.check_database_url)] = Field(
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
    database_replica_url: Annotated[str | None, AfterValidator(checks.check_replica_url)] = Field(
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

    # accounts
    unverified_days: int = Field(
        default=7,
        ge=1,
        le=365,
        description=(
            "Days after which a registration that nobody has verified is deleted, which frees its username. Accounts "
            "with other records, such as homes, are kept."
        ),
    )
    register_by_mail: bool = Field(
        default=False,
        description=(
            "Whether a registration has the same response for a username that is in use, so that strangers cannot find "
            "it out. The username must then be the e-mail address, which gets a mail; the response has no IDs."
        ),
    )
    recent_login_minutes: int = Field(
        default=10,
        ge=1,
        le=1_440,
        description=(
            "Minutes after a log-in in which its token may change the username and the e-mail address. Later, such a "
            "change needs the password, or another log-in."
        ),
    )
    max_account_tokens: int = Field(
        default=100,
        ge=1,
        le=10_000,
        description=(
            "Maximum valid log-in tokens of an account. A further log-in ends the oldest. Tokens of OAuth clients have "
            "the same maximum of their own. Paired displays do not count."
        ),
    )
    session_days: int = Field(
        default=90,
        ge=1,
        le=3_650,
        description=(
            "Days after a log-in in which its token can be renewed. Then the user must log in again. Paired displays "
            "and the grants of OAuth clients have lifetimes of their own."
        ),
    )
    grant_days: int = Field(
        default=365,
        ge=1,
        le=3_650,
        description=(
            "Days after which the grant of an OAuth client ends, with its tokens. Then the client must ask the user "
            "again."
        ),
    )

    # consents and the access log
    consent_required: bool = Field(
        default=True,
        description=(
            "Whether the data of a meter point without a recorded consent is withheld. Adding a resource for a user "
            "records the consent. If false, such data is served."
        ),
    )
    store_without_consent: bool = Field(
        default=False,
        description=(
            "Whether readings of a time without a valid consent are stored: revoked, expired, or not recorded while "
            "WATTGATE_CONSENT_REQUIRED is true. Set it to true only if you have another legal basis. Alert rules, "
            "comparisons and forecasts never use these readings."
        ),
    )
    access_log_days: int = Field(
        default=730,
        ge=1,
        le=36_500,
        description="Days for which the access log keeps who read the data of a household. Older entries are deleted.",
    )

    # personal data
    billing_retention_days: int = Field(
        default=2_192,
        ge=0,
        le=36_500,
        description=(
            "Days for which the readings and tariffs of meter points are kept after their user is erased, for billing "
            "(default: six years). 0 erases them with the user."
        ),
    )
    private_gateway: bool = Field(
        default=False,
        description=(
            "Whether this gateway serves only its own households, and nobody is billed by it. If true, people delete "
            "their homes and themselves, and nothing is kept for billing: the days above count as 0."
        ),
    )
    erasure_list: Path | None = Field(
        default=None,
        description=(
            "File with a signed list of the erased users and of the tenancies of meter points, which a restore of the "
            "database does not change. All gateways and workers need the same file. With SQLite, the default is a file "
            "beside the database. With PostgreSQL, there is no list by default."
        ),
    )
    export_lifetime_hours: int = Field(
        default=72,
        ge=1,
        le=8_760,
        description="Hours for which the archive of a user's data can be downloaded. Then it is deleted.",
    )

    # stored secrets
    secret_keys: Annotated[SecretStr | None, AfterValidator(checks.check_secret_keys)] = Field(
        default=None,
        description=(
            "Keys that encrypt stored secrets: ID:KEY, separated by commas; `wattgate keys new` prints one. The first "
            "key encrypts, all decrypt. Required with PostgreSQL. With SQLite, a key file is created by default."
        ),
    )
    secret_keys_file: Annotated[Path | None, AfterValidator(checks.check_secret_keys_file)] = Field(
        default=None,
        validate_default=True,
        description="File with the keys of WATTGATE_SECRET_KEYS, one per line. Set one of both.",
    )

    # addresses, access and limits of requests
    base_path: Annotated[str, AfterValidator(checks.check_base_path)] = Field(
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
    kept_body_bytes: Annotated[int | None, AfterValidator(checks.check_kept_body_bytes)] = Field(
        default=None,
        ge=2**20,
        description=(
            "Memory of a process for the request bodies that it keeps, in bytes: at least 4 times "
            "WATTGATE_MAX_BODY_BYTES. One address has at most a quarter of it, and one application a half. "
            "Default: 64 MiB, or 16 times WATTGATE_MAX_BODY_BYTES if that is more."
        ),
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

    # logs
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="Minimum level of the log records that are written."
    )
    log_format: Literal["text", "json"] = Field(
        default="text", description="Format of the log: `text` for people, `json` (one object a line) for collectors."
    )

    # shutdown
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

    # metrics
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

    # delivery
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

    # webhooks and pushes
    callout_networks: list[IPv4Network | IPv6Network] = Field(
        default=[],
        description=(
            "Networks, such as 10.1.0.0/16, that webhooks, Web Push and directories may reach besides public addresses."
        ),
    )
    callout_http: bool = Field(
        default=False, description="Whether webhooks, Web Push and directories may use unencrypted http addresses."
    )
    push_url: Annotated[str | None, AfterValidator(checks.check_push_url)] = Field(
        default=None,
        description="URL of your push provider, which gets the pushes for phones. If not set, phones get no pushes.",
    )
    push_token: SecretStr | None = Field(
        default=None, description="Bearer token that the gateway sends to WATTGATE_PUSH_URL."
    )
    web_push_key: Annotated[SecretStr | None, AfterValidator(checks.check_web_push_key)] = Field(
        default=None,
        description="Private VAPID key for Web Push: 32 bytes in base64url. If not set, browsers get no pushes.",
    )
    web_push_contact: Annotated[str | None, AfterValidator(checks.check_web_push_contact)] = Field(
        default=None,
        validate_default=True,
        description="Contact for push services: a `mailto:` or `https:` URL. Required with WATTGATE_WEB_PUSH_KEY.",
    )

    # mail
    smtp_url: Annotated[str | None, AfterValidator(checks.check_smtp_url)] = Field(
        default=None,
        description=(
            "Mail server: `smtps://` or `smtp+starttls://user:password@host:port`, or `smtp://` without encryption. "
            "If not set, mail waits in the outbox; `development` shows it at /outbox."
        ),
    )
    mail_outbox: Annotated[bool | None, AfterValidator(checks.check_mail_outbox)] = Field(
        default=None,
        description=(
            "Whether the page /outbox shows mail while WATTGATE_SMTP_URL is not set. The page has no log-in, so `true` "
            "needs a WATTGATE_HOST of this machine. If not set, only `development` serves the page."
        ),
    )
    smtp_ca_file: Annotated[Path | None, AfterValidator(checks.check_smtp_ca_file)] = Field(
        default=None,
        description="PEM file with the CA certificates of the mail server. If not set, the system's are used.",
    )
    smtp_timeout: float = Field(default=30.0, ge=1, le=300, description="Time limit for sending one mail, in seconds.")
    mail_from: Annotated[str | None, AfterValidator(checks.check_mail_from)] = Field(
        default=None,
        validate_default=True,
        description="Sender of the mails, such as `Energy <alerts@energy.example>`. Required with WATTGATE_SMTP_URL.",
    )
    public_url: Annotated[str | None, AfterValidator(checks.check_public_url)] = Field(
        default=None,
        validate_default=True,
        description=(
            "Public URL of the gateway, used for links in mails, to previews, and to the page on which displays are "
            "paired. Required with WATTGATE_SMTP_URL."
        ),
    )
    link_key: Annotated[SecretStr | None, AfterValidator(checks.require_with_smtp)] = Field(
        default=None,
        min_length=32,
        validate_default=True,
        description="Secret that signs the links; the same in every process. Required with WATTGATE_SMTP_URL.",
    )
    test_addresses: Annotated[list[str], AfterValidator(checks.check_test_addresses)] = Field(
        default=[],
        description=(
            "Addresses that may receive test mails; @energy.example means every address of a domain. If empty, "
            "nobody may."
        ),
    )

    # MQTT
    mqtt_url: Annotated[str | None, AfterValidator(checks.check_mqtt_url)] = Field(
        default=None,
        description="MQTT broker of the in-home displays: `mqtt://` or `mqtts://user:password@host:port`.",
    )
    mqtt_application_id: Annotated[str | None, AfterValidator(checks.check_mqtt_application_id)] = Field(
        default=None,
        validate_default=True,
        description="ID of the application that owns these displays. Required with WATTGATE_MQTT_URL.",
    )
    mqtt_topics: Annotated[list[str], AfterValidator(checks.check_mqtt_topics)] = Field(
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

    @property
    def redis_tls_files(self) -> TlsFiles:
        """The files with which the connections to Redis use TLS."""
        return TlsFiles(self.redis_ca_file, self.redis_certificate_file, self.redis_key_file)

    @property
    def unverified_lifetime(self) -> timedelta:
        """Time in which a registration can be verified."""
        return timedelta(days=self.unverified_days)

    @property
    def body_memory(self) -> int:
        """The memory of a process for the request bodies that it keeps, in bytes."""
        return self.kept_body_bytes or max(BODY_MEMORY_BYTES, 16 * self.max_body_bytes)

    @property
    def account_policy(self) -> AccountPolicy:
        """The policy for accounts, their log-ins and tokens."""
        return AccountPolicy(
            recent_login=timedelta(minutes=self.recent_login_minutes),
            max_tokens=self.max_account_tokens,
            session_lifetime=timedelta(days=self.session_days),
            grant_lifetime=timedelta(days=self.grant_days),
            registers_by_mail=self.register_by_mail,
            allows_own_erasure=self.private_gateway,
        )

    @property
    def kept_billing_days(self) -> int:
        """Days for which records for billing are kept after an erasure. A private gateway keeps none."""
        return 0 if self.private_gateway else self.billing_retention_days

    @property
    def consent_policy(self) -> ConsentPolicy:
        """What happens to the data of meter points without a valid consent."""
        return ConsentPolicy(is_required=self.consent_required, stores_without=self.store_without_consent)

    @property
    def access_log_lifetime(self) -> timedelta:
        """Time for which entries of the access log are kept."""
        return timedelta(days=self.access_log_days)
