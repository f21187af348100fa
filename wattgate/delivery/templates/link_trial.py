"""Request the links and images of a rendered mail, and report those that do not answer.

The addresses are those of the author of a template, so the egress policy decides which of them may be requested.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from wattgate.delivery.outbound_http import OutboundHttpClient, OutboundRequestFailed
from wattgate.delivery.templates.language.diagnostics import Finding, Severity, TemplatePart
from wattgate.delivery.templates.lint import extract_images, extract_links

MAX_TRIED_ADDRESSES = 20
"""Maximum different addresses of a mail that are requested."""

CONCURRENT_TRIALS = 4
"""Maximum requests of one trial at the same time."""

TRIAL_SECONDS = 4.0
"""Maximum seconds of one request."""

FIRST_ERROR_STATUS = 400

NO_HEAD = (405, 501)
"""Statuses of servers that do not answer to HEAD, although the address is there."""


@dataclass(frozen=True, slots=True)
class Address:
    """The address of a link or an image of a mail."""

    url: str
    is_image: bool


def mail_addresses(html: str, own_url: str | None) -> list[Address]:
    """Return the different web addresses of a mail, without those of the gateway itself.

    A request of the gateway's own link would unsubscribe somebody.
    """
    found = {url: Address(url, is_image=False) for url in extract_links(html)}
    found |= {url: Address(url, is_image=True) for url in extract_images(html)}
    own = None if own_url is None else own_url.rstrip("/") + "/"
    return [
        address
        for url, address in found.items()
        if url.lower().startswith(("https://", "http://")) and not (own and url.startswith(own))
    ]


async def try_addresses(http: OutboundHttpClient, addresses: Iterable[Address], owner: str) -> list[Finding]:
    """Request the first addresses, and return a finding for each that does not answer, and one about the trial."""
    every = list(addresses)
    tried, places = every[:MAX_TRIED_ADDRESSES], asyncio.Semaphore(CONCURRENT_TRIALS)

    async def problem_of(address: Address) -> str | None:
        async with places:
            return await _problem(http, address, owner)

    problems = await asyncio.gather(*map(problem_of, tried))
    findings = [
        _finding(address, problem) for address, problem in zip(tried, problems, strict=True) if problem is not None
    ]
    answered = f"{len(tried) - len(findings)} of {len(tried)} addresses of links and images answer"
    omitted = "" if len(every) == len(tried) else f"; {len(every) - len(tried)} more were not requested"
    return [*findings, Finding(Severity.INFO, "links-tried", TemplatePart.HTML, answered + omitted)]


def _finding(address: Address, problem: str) -> Finding:
    kind = "image" if address.is_image else "link"
    hint = "check the address; readers see no image" if address.is_image else "check the address, and open it"
    message = f"the {kind} {address.url} failed: {problem}"
    return Finding(Severity.WARNING, f"{kind}-failed", TemplatePart.HTML, message, hint=hint)


async def _problem(http: OutboundHttpClient, address: Address, owner: str) -> str | None:
    """Return why an address does not answer as a link or an image, or None. A redirect is an answer of a link."""
    url = address.url.partition("#")[0]
    try:
        response = await http.send("HEAD", url, headers={}, body=b"", owner=owner)
        if response.status in NO_HEAD:
            response = await http.send("GET", url, headers={}, body=b"", owner=owner)
    except OutboundRequestFailed as error:
        return error.message
    if response.status >= FIRST_ERROR_STATUS:
        return f"the server answers {response.status}"
    kind = response.headers.get("content-type", "")
    is_redirect = "location" in response.headers
    if address.is_image and not is_redirect and not kind.startswith("image/"):
        return f"the server sends {kind or 'no media type'}, which is no image"
    return None
