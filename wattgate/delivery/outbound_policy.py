"""Policy for outbound requests, mail and links, as far as operations and their callers need it."""

from dataclasses import dataclass

from wattgate.delivery.egress import PUBLIC_HTTPS_ONLY, EgressPolicy
from wattgate.delivery.mail_addresses import EMPTY_ALLOW_LIST, AllowList
from wattgate.delivery.signed_links import SignedLinks


@dataclass(frozen=True, slots=True)
class OutboundPolicy:
    """Permitted destinations of requests, the public key of Web Push, and permitted recipients of test mails.

    `public_url` is the address of the gateway in mails, or None if mails have no links to it. Without `links`, the
    gateway has no public URL or no key, and creates no signed links.
    """

    egress: EgressPolicy = PUBLIC_HTTPS_ONLY
    web_push_public_key: str | None = None
    test_mail_addresses: AllowList = EMPTY_ALLOW_LIST
    public_url: str | None = None
    links: SignedLinks | None = None


DEFAULT_OUTBOUND_POLICY = OutboundPolicy()
"""Requests may reach only public https addresses. Web Push and test mails are off."""
