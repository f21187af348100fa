"""The settings of the demonstration, and its start page."""

from pathlib import Path

from pydantic import SecretStr

from wattgate.app.demo import seed
from wattgate.app.demo.logins import LOGINS, PASSWORD
from wattgate.app.demo.seed import APPLICATION_ID
from wattgate.app.server.pages.landing_page import Demonstration
from wattgate.app.setting_sources import ENV_FILE, PREFIX
from wattgate.app.settings import Settings
from wattgate.private_files import write_private

DEMO_LINK_KEY = SecretStr("only for the demonstration, known to all")


DATABASE_FILE = "demo.sqlite3"


def write_env_file(folder: Path) -> None:
    """Write the settings by which other commands find the database of a demonstration in its folder, unless it has any.

    Its paths are relative, so that the folder can move.
    """
    file = folder / ENV_FILE
    if file.exists():
        return
    lines = {
        "DATABASE_URL": f"sqlite:///{DATABASE_FILE}",
        "ENVIRONMENT": "development",
        "DISPLAY_APPLICATION_ID": APPLICATION_ID,
    }
    with write_private(file) as writing:
        writing.write("# The settings of the demonstration, for commands that run in this folder.\n")
        writing.writelines(f"{PREFIX}{name}={value}\n" for name, value in lines.items())


def demo_settings(folder: Path) -> Settings:
    """Return the environment's settings, with defaults for a demonstration whose database is in `folder`."""
    settings = Settings()
    explicit = settings.model_fields_set
    defaults = {
        "database_url": f"sqlite:///{folder / DATABASE_FILE}",
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
