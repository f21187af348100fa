"""Settings of accounts."""

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

    @property
    def unverified_lifetime(self) -> timedelta:
        """Time in which a registration can be verified."""
        return timedelta(days=self.unverified_days)
