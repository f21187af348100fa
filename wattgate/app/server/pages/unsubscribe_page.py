"""The unsubscribe link of mails: a confirmation page for people, and one-click requests of mail programs (RFC 8058)."""

from string import Template

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from wattgate.app.server.pages.pages import STATIC_DIRECTORY
from wattgate.delivery.signed_links import UNSUBSCRIBE_PATH, SignedLinks
from wattgate.errors import NotFound
from wattgate.operations.core.runner import Runner
from wattgate.operations.messages import mail
from wattgate.principal import Principal, Role

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
