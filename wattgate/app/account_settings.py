"""Settings of accounts, consents and the access log."""

from datetime import timedelta

from pydantic import Field

from wattgate.app.page_settings import PageSettings


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

    consent_required: bool = Field(
        default=True,
        description=(
            "Whether the data of a meter point without a recorded consent is withheld. Adding a resource for a user "
            "records the consent. If false, such data is served."
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
    def access_log_lifetime(self) -> timedelta:
        """Time for which entries of the access log are kept."""
        return timedelta(days=self.access_log_days)
