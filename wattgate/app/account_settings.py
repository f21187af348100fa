"""Settings of pages, personal data, accounts, consents and the access log."""

from datetime import timedelta
from pathlib import Path

from pydantic import Field, field_validator

from wattgate.app.application_ids import SAMPLE_APPLICATION_ID, parse_application_id
from wattgate.app.client_limit_settings import ClientLimitSettings
from wattgate.app.setting_names import StrictSettings
from wattgate.db.scope.policies import AccountPolicy, ConsentPolicy


class PageSettings(ClientLimitSettings):
    """The settings of pages."""

    display_application_id: str | None = Field(
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

    @field_validator("display_application_id")
    @classmethod
    def _check_display_application_id(cls, text: str | None) -> str | None:
        if text is None:
            return None
        application_id = parse_application_id(text)
        if application_id is None:
            raise ValueError(
                f"is not an application ID such as {SAMPLE_APPLICATION_ID}; `wattgate app list` prints the IDs"
            )
        return application_id


class PersonalDataSettings(StrictSettings):
    """The settings of personal data."""

    billing_retention_days: int = Field(
        default=2_192,
        ge=0,
        le=36_500,
        description=(
            "Days for which the readings and tariffs of meter points are kept after their user is erased, for billing "
            "(default: six years). 0 erases them with the user."
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


class AccountSettings(PageSettings):
    """A part of `Settings`."""

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

    @property
    def unverified_lifetime(self) -> timedelta:
        """Time in which a registration can be verified."""
        return timedelta(days=self.unverified_days)

    @property
    def account_policy(self) -> AccountPolicy:
        """The policy for accounts, their log-ins and tokens."""
        return AccountPolicy(
            recent_login=timedelta(minutes=self.recent_login_minutes),
            max_tokens=self.max_account_tokens,
            session_lifetime=timedelta(days=self.session_days),
            grant_lifetime=timedelta(days=self.grant_days),
            registers_by_mail=self.register_by_mail,
        )

    @property
    def consent_policy(self) -> ConsentPolicy:
        """What happens to the data of meter points without a valid consent."""
        return ConsentPolicy(is_required=self.consent_required, stores_without=self.store_without_consent)

    @property
    def access_log_lifetime(self) -> timedelta:
        """Time for which entries of the access log are kept."""
        return timedelta(days=self.access_log_days)
