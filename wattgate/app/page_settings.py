"""Settings of the log-in of users, and of the pages that they log in to."""

from pydantic import Field, field_validator

from wattgate.app.application_ids import SAMPLE_APPLICATION_ID, parse_application_id
from wattgate.app.client_limit_settings import ClientLimitSettings


class PageSettings(ClientLimitSettings):
    """A part of `Settings`."""

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
