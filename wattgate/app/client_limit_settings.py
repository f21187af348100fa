"""Settings of the limits for clients: budgets, connections, slow requests and network addresses."""

from ipaddress import IPv4Network, IPv6Network

from pydantic import Field

from wattgate.app.setting_names import StrictSettings


class ClientLimitSettings(StrictSettings):
    """A part of `Settings`."""

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
            "Requests from one address in a minute to pages, their files and the OpenAPI document, and REST requests "
            "without credentials. 0 means no limit."
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
