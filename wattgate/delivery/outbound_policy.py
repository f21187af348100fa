"""How the gateway stands to the world outside, as far as those who call it may know."""

from dataclasses import dataclass

from wattgate.delivery.http.egress import PUBLIC_HTTPS_ONLY, EgressPolicy
from wattgate.delivery.mail_addresses import EMPTY_ALLOW_LIST, AllowList


@dataclass(frozen=True, slots=True)
class OutboundPolicy:
    """How far requests to named addresses may reach, the public key of Web Push, and who may get test mails."""

    egress: EgressPolicy = PUBLIC_HTTPS_ONLY
    web_push_public_key: str | None = None
    test_mail_addresses: AllowList = EMPTY_ALLOW_LIST


DEFAULT_OUTBOUND_POLICY = OutboundPolicy()
"""Nothing but the public network is within reach, and nobody gets anything."""
