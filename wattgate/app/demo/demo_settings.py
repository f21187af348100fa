"""The settings of the demonstration, and its start page."""

from pathlib import Path

from pydantic import SecretStr

from wattgate.app.demo import seed
from wattgate.app.demo.logins import LOGINS, PASSWORD
from wattgate.app.demo.seed import APPLICATION_ID
from wattgate.app.server.pages.landing_page import Demonstration
from wattgate.app.settings import Settings

DEMO_LINK_KEY = SecretStr("only for the demonstration, known to all")


def demo_settings(folder: Path) -> Settings:
    """Return the environment's settings, with defaults for a demonstration whose database is in `folder`."""
    settings = Settings()
    explicit = settings.model_fields_set
    defaults = {
        "database_url": f"sqlite:///{folder / 'demo.sqlite3'}",
        "environment": "development",
        "mail_from": "wattgate demo <alerts@wattgate.example>",
        "public_url": f"http://{settings.host}:{settings.port}",
        "link_key": DEMO_LINK_KEY,
        "test_addresses": ["@wattgate.example"],
        "display_application_id": APPLICATION_ID,
        "drain_pause": 0.0,
        "drain_seconds": 0.0,
    }
    return settings.model_copy(update={name: value for name, value in defaults.items() if name not in explicit})


DAYS_OF_A_MONTH = 30


def describe_demonstration() -> Demonstration:
    """Return the log-ins of the demonstration, the number of its homes and the length of their history."""
    return Demonstration(
        application_id=seed.APPLICATION_ID,
        password=PASSWORD,
        logins={login.username: login.shows for login in LOGINS},
        home_count=len(seed.HOMES),
        months=seed.HISTORY.days // DAYS_OF_A_MONTH,
    )
