"""The settings of the demonstration."""

from pathlib import Path

from pydantic import SecretStr

from wattgate.app.demo.seed import APPLICATION_ID
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
