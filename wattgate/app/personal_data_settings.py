"""Settings for the erasure and the export of personal data."""

from pathlib import Path

from pydantic import Field

from wattgate.app.setting_names import StrictSettings


class PersonalDataSettings(StrictSettings):
    """A part of `Settings`."""

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
