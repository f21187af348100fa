"""Find an application by its name or ID."""

from collections.abc import Sequence

from wattgate.app.application_ids import parse_application_id
from wattgate.db.applications import ApplicationSummary
from wattgate.errors import BadInput, NotFound, Problem


def find_application(applications: Sequence[ApplicationSummary], text: str) -> ApplicationSummary | None:
    """Return the application with this ID or name, or None.

    Raise NotFound for an unknown ID, so that nobody creates an application with an ID as its name. Raise BadInput if
    several applications have the name.
    """
    found = [application for application in applications if text == application.application_id]
    found = found or [application for application in applications if text == application.name]
    if len(found) > 1:
        ids = ", ".join(application.application_id for application in found)
        raise BadInput(
            f"Several applications have the name {text!r}. Give the ID of one.",
            problems=[Problem(("--application",), f"{text!r} is the name of {ids}")],
        )
    if not found and parse_application_id(text) is not None:
        raise NotFound(f"No application with the ID {text}. List them with `wattgate app list`.")
    return found[0] if found else None


def require_application(applications: Sequence[ApplicationSummary], text: str | None) -> ApplicationSummary:
    """Return the application with this ID or name. Without a text, return the only one.

    Raise NotFound, or BadInput with all names if there are several and no text.
    """
    if text is not None:
        application = find_application(applications, text)
        if application is None:
            raise NotFound(f"No application with the name or ID {text!r}. List them with `wattgate app list`.")
        return application
    if not applications:
        raise NotFound("The database has no application. Create a home with `wattgate home create`.")
    if len(applications) > 1:
        names = ", ".join(repr(application.name) for application in applications)
        raise BadInput(f"There are {len(applications)} applications. Name one with --application: {names}.")
    return applications[0]
