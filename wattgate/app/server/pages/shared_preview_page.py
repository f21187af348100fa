"""The page of a shared preview: a version of a template with sample data, for everybody who has the link.

The page has no scripts and the mail is in a sandboxed frame, so that the template can do nothing there. Only an
operation with a limit for each client address renders it, and the address pays for the processor time.
"""

from collections.abc import Callable
from html import escape
from string import Template

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Route

from wattgate.app.server.pages.pages import STATIC_DIRECTORY, read_template
from wattgate.clock import format_iso
from wattgate.delivery.signed_links import SHARED_PREVIEW_PATH, UNSUBSCRIBE_PATH, SharedPreview, SignedLinks
from wattgate.errors import GatewayError, NotFound
from wattgate.operations.core.runner import Runner
from wattgate.operations.messages import mail
from wattgate.operations.templates.template_sharing import AddressCharge, SharedPreviewResult, shared_preview
from wattgate.principal import Principal, Role
from wattgate.requests.client import AddressLimiter, AddressPolicy, current_client

PAGE, PROBLEM_PAGE = (read_template(f"shared-preview/{name}.html") for name in ("index", "problem"))
NO_INDEX = {"X-Robots-Tag": "noindex, nofollow"}
UNKNOWN_LINK = "This link is not valid. It may be incomplete: copy it again, or ask for a new one."
EXPIRED_LINK = "This link has expired, or its template was archived. Ask the person who sent it for a new one."


def shared_preview_routes(runner: Runner, links: SignedLinks, limits: AddressLimiter) -> list[BaseRoute]:
    """Return the routes of shared previews: the page, and the HTML of the mail in its frame.

    `limits` are the limits of addresses that pay for the renderings.
    """

    async def serve(request: Request, render: Callable[[SharedPreview, SharedPreviewResult], str]) -> Response:
        shared = links.parse_shared_preview_token(request.path_params["token"])
        if shared is None:
            return _problem_page(404, UNKNOWN_LINK)
        try:
            result = await _load(runner, shared, limits)
        except GatewayError as error:
            return _error_page(error)
        return HTMLResponse(render(shared, result), headers=NO_INDEX)

    async def serve_page(request: Request) -> Response:
        return await serve(request, lambda shared, result: _render_page(shared, result, f"{request.url.path}/html"))

    async def serve_html(request: Request) -> Response:
        return await serve(request, lambda _, result: result.preview.rendering.html or "")

    path = f"{SHARED_PREVIEW_PATH}/{{token}}"
    return [Route(path, serve_page), Route(f"{path}/html", serve_html)]


async def _load(runner: Runner, shared: SharedPreview, limits: AddressLimiter) -> SharedPreviewResult:
    system = Principal(Role.SYSTEM, application_id=shared.application_id)
    arguments = {"template_id": shared.template_id, "version": shared.version, "expires_at": shared.expires_at}
    charge = AddressCharge(limits, AddressPolicy.SHARED_PREVIEW, current_client())
    result: SharedPreviewResult = await runner.run(shared_preview, system, arguments, charge=charge)
    return result


def _render_page(shared: SharedPreview, result: SharedPreviewResult, frame_url: str) -> str:
    template, rendering = result.template, result.preview.rendering
    texts = {
        "name": template.name,
        "details": f"{template.channel_type.capitalize()} · {template.culture_code} · version {shared.version}",
        "subject": rendering.subject or "(no subject)",
        "preheader": rendering.preheader or "",
        "text": rendering.text or "The text of this version cannot be rendered: it has errors.",
        "expiry": f"{shared.expires_at:%-d %B %Y, %H:%M} UTC",
        "expiry_instant": format_iso(shared.expires_at),
        "frame_url": frame_url,
    }
    return PAGE.substitute({name: escape(text) for name, text in texts.items()})


def _error_page(error: GatewayError) -> Response:
    if isinstance(error, NotFound):
        return _problem_page(410, EXPIRED_LINK)
    response = _problem_page(error.status, error.message)
    if error.retry_after is not None:
        response.headers["Retry-After"] = str(error.retry_after)
    return response


def _problem_page(status: int, message: str) -> Response:
    return HTMLResponse(PROBLEM_PAGE.substitute(message=escape(message)), status, headers=NO_INDEX)


PAGES_DIRECTORY = STATIC_DIRECTORY / "unsubscribe"
PAGE_TEMPLATE = Template((PAGES_DIRECTORY / "frame.html").read_text())
CONFIRMATION_PAGE, UNSUBSCRIBED_PAGE, UNKNOWN_LINK_PAGE = (
    PAGE_TEMPLATE.substitute(content=(PAGES_DIRECTORY / f"{page}.html").read_text())
    for page in ("ask", "done", "unknown")
)


def unsubscribe_route(runner: Runner, links: SignedLinks) -> Route:
    """Return the route of the unsubscribe link. Only POST unsubscribes, because mail scanners GET every link."""

    async def serve(request: Request) -> Response:
        delivery = links.parse_unsubscribe_token(request.path_params["token"])
        if delivery is None:
            return HTMLResponse(UNKNOWN_LINK_PAGE, 404)
        if request.method != "POST":
            return HTMLResponse(CONFIRMATION_PAGE)
        application_id, delivery_id = delivery
        try:
            system = Principal(Role.SYSTEM, application_id=application_id)
            await runner.run(mail.unsubscribe, system, {"delivery_id": delivery_id})
        except NotFound:
            return HTMLResponse(UNKNOWN_LINK_PAGE, 404)
        return HTMLResponse(UNSUBSCRIBED_PAGE)

    return Route(f"{UNSUBSCRIBE_PATH}/{{token}}", serve, methods=["GET", "POST"])
