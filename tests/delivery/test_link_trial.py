"""Links and images of mails that are requested: which of them answer, and bounds of the requests."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from ipaddress import ip_network

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tests.support.servers import serving
from wattgate.delivery.egress import EgressPolicy
from wattgate.delivery.outbound_http import OutboundHttpClient
from wattgate.delivery.templates.language.diagnostics import Finding
from wattgate.delivery.templates.link_trial import MAX_TRIED_ADDRESSES, mail_addresses, try_addresses

LOOPBACK = EgressPolicy((ip_network("127.0.0.0/8"),), allow_http=True)
OWN = "https://energy.example"


@dataclass
class Site:
    """A site with pages and images. `requests` has the method and path of each request."""

    url: str = ""
    requests: list[str] = field(default_factory=list)

    async def respond(self, request: Request) -> Response:
        path = request.path_params["path"]
        self.requests.append(f"{request.method} {path}")
        if path == "no-head" and request.method == "HEAD":
            return Response(status_code=405)
        if path == "moved.png":
            return Response(status_code=302, headers={"location": "/logo.png"})
        if path.startswith("gone"):
            return Response(status_code=404)
        return Response(media_type="image/png" if path == "logo.png" else "text/html")


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    found = Site()
    routes = [Route("/{path:path}", found.respond, methods=["GET", "HEAD"])]
    async with serving(Starlette(routes=routes)) as url:
        found.url = url
        yield found


async def findings(html: str, policy: EgressPolicy = LOOPBACK) -> list[Finding]:
    return await try_addresses(OutboundHttpClient(policy), mail_addresses(html, OWN), "owner")


async def test_addresses_that_do_not_answer_are_findings(site: Site) -> None:
    html = f"""<a href="{site.url}/page?a=1&amp;b=2#part">1</a><a href="{site.url}/gone">2</a>
        <a href="{site.url}/no-head">3</a><img src="{site.url}/logo.png"><img src="{site.url}/gone.png">
        <img src="{site.url}/page"><img src="{site.url}/moved.png"><td background="{site.url}/gone-too">"""
    *failed, trial = await findings(html)
    not_image = "the server sends text/html; charset=utf-8, which is no image"
    assert [(each.code, each.message) for each in failed] == [
        ("link-failed", f"the link {site.url}/gone failed: the server answers 404"),
        ("image-failed", f"the image {site.url}/gone.png failed: the server answers 404"),
        (
            "image-failed",
            f"the image {site.url}/page failed: {not_image}",
        ),
        ("image-failed", f"the image {site.url}/gone-too failed: the server answers 404"),
    ]
    assert (trial.code, trial.message) == ("links-tried", "4 of 8 addresses of links and images answer")
    assert "GET no-head" in site.requests
    assert "HEAD page" in site.requests


async def test_destinations_that_the_policy_forbids_are_not_requested(site: Site) -> None:
    (failed, _) = await findings(f'<a href="{site.url}/page">1</a>', EgressPolicy())
    assert "is not an https address" in failed.message
    (failed, _) = await findings('<img src="https://127.0.0.1/logo.png">', EgressPolicy())
    assert "leads to an address that is not public" in failed.message
    assert site.requests == []


async def test_first_addresses_are_requested_once(site: Site) -> None:
    count = MAX_TRIED_ADDRESSES + 3
    html = "".join(f'<a href="{site.url}/{number}">x</a>' * 2 for number in range(count))
    (trial,) = await findings(html)
    assert trial.message == "20 of 20 addresses of links and images answer; 3 more were not requested"
    assert len(site.requests) == MAX_TRIED_ADDRESSES


@pytest.mark.parametrize(
    "html",
    [
        f'<a href="{OWN}/unsubscribe?token=1">own</a>',
        '<a href="mailto:help@example.org">mail</a><a href="tel:+44">call</a><a href="#top">top</a>',
        '<img src="cid:logo"><img src="data:image/png;base64,AAAA"></a>',
    ],
)
def test_links_of_the_gateway_and_of_no_web_page_are_not_requested(html: str) -> None:
    """A request of the link that unsubscribes would unsubscribe somebody."""
    assert mail_addresses(html, OWN) == []
