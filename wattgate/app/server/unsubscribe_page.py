"""What the link in every mail leads to: a page that asks, and the one click that mail programs do by themselves."""

from string import Template

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from wattgate.app.server.pages import HEADERS, STATIC
from wattgate.delivery.links import UNSUBSCRIBE_PATH, Links
from wattgate.errors import NotFound
from wattgate.graphql.core.runner import Runner
from wattgate.graphql.resolvers import mail
from wattgate.principal import Principal, Role

PAGES = STATIC / "unsubscribe"
FRAME = Template((PAGES / "frame.html").read_text())
ASK, DONE, UNKNOWN = (
    FRAME.substitute(content=(PAGES / f"{one}.html").read_text()) for one in ("ask", "done", "unknown")
)


def unsubscribing(runner: Runner, links: Links) -> Route:
    """Where people and programs unsubscribe (RFC 8058). Looking changes nothing: scanners follow every link."""

    async def serve(request: Request) -> Response:
        known = links.unsubscribed(request.path_params["token"])
        if known is None:
            return HTMLResponse(UNKNOWN, 404, HEADERS)
        if request.method != "POST":
            return HTMLResponse(ASK, headers=HEADERS)
        application_id, delivery_id = known
        try:
            system = Principal(Role.SYSTEM, application_id=application_id)
            await runner.run(mail.unsubscribe, system, {"delivery_id": delivery_id})
        except NotFound:
            return HTMLResponse(UNKNOWN, 404, HEADERS)
        return HTMLResponse(DONE, headers=HEADERS)

    return Route(f"{UNSUBSCRIBE_PATH}/{{token}}", serve, methods=["GET", "POST"])
