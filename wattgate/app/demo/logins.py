"""The log-ins of the demonstration: the users that are created, and what `wattgate demo` prints."""

from dataclasses import dataclass

PASSWORD = "demo-password"  # noqa: S105 (published, for the demonstration only)
"""The password of all log-ins."""

USERNAME = "demo@wattgate.example"
NEIGHBOUR_USERNAME = "neighbour@wattgate.example"
EDITOR_USERNAME = "editor@wattgate.example"


@dataclass(frozen=True, slots=True)
class DemoLogin:
    """A user of the demonstration. `shows` says what the log-in is for. Messages to the user are in `culture_code`."""

    username: str
    name: str
    shows: str
    culture_code: str = "en-GB"
    template_editor: bool = False


LOGINS = (
    DemoLogin(USERNAME, "Sam Demo", "Two homes: time-of-use tariff and gas; solar panels. Consents and an alert"),
    DemoLogin(
        NEIGHBOUR_USERNAME,
        "Alex Demo",
        "Two homes: dynamic tariff; no tariff. Joined a flexibility event",
        culture_code="fr-FR",
    ),
    DemoLogin(EDITOR_USERNAME, "Robin Demo", "The templates of alerts, and no home", template_editor=True),
)
"""All log-ins. The demonstration has no other accounts."""
