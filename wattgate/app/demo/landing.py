"""The description of the demonstration on the landing page, from its data."""

from wattgate.app.demo import seed
from wattgate.app.demo.logins import LOGINS, PASSWORD
from wattgate.app.server.pages.landing_page import Demonstration

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
