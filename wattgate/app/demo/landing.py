"""The description of the demonstration on the landing page, from its data."""

from wattgate.app.demo import seed
from wattgate.app.server.landing_page import Demonstration, DemonstrationLogin

DAYS_OF_A_MONTH = 30


def describe_demonstration() -> Demonstration:
    """Return the log-ins of the demonstration, the number of its homes and the length of their history."""
    owners = dict.fromkeys(home.owner for home in seed.HOMES)
    logins = [
        DemonstrationLogin(owner, " and ".join(home.name for home in seed.HOMES if home.owner == owner))
        for owner in owners
    ]
    return Demonstration(
        application_id=seed.APPLICATION_ID,
        password=seed.PASSWORD,
        logins=(*logins, DemonstrationLogin(seed.EDITOR_USERNAME, "Templates")),
        home_count=len(seed.HOMES),
        months=seed.HISTORY.days // DAYS_OF_A_MONTH,
    )
