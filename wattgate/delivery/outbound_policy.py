"""How the gateway stands to the world outside, as far as those who call it may know."""

from dataclasses import dataclass

from wattgate.delivery.http.egress import PUBLIC, Reach
from wattgate.delivery.mail_addresses import NOBODY, AllowList


@dataclass(frozen=True, slots=True)
class Outside:
    """How far requests to named addresses may reach, the public key of Web Push, and who may get test mails."""

    reach: Reach = PUBLIC
    web_push_key: str | None = None
    test_addresses: AllowList = NOBODY


ALONE = Outside()
"""Nothing but the public network is within reach, and nobody gets anything."""
