"""Tags of the OpenAPI document: the areas of the interface, in groups, in the order in which readers see them."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from wattgate.rest_compat.openapi.components import Json


@dataclass(frozen=True, slots=True)
class Tag:
    """An area of the interface: its name, its description, and the beginnings of its paths."""

    name: str
    description: str
    paths: tuple[str, ...]


TAG_GROUPS: Mapping[str, tuple[Tag, ...]] = MappingProxyType(
    {
        "People": (
            Tag("Login", "Log in, log out, and list and revoke tokens, also with OAuth 2.0.", ("/auth",)),
            Tag("Registration", "Register a user, and verify the e-mail address.", ("/register", "/user/verify")),
            Tag("Accounts", "Login accounts: their names, addresses, passwords and second factors.", ("/account",)),
            Tag("Account profiles", "Data of an app that each account keeps.", ("/accountprofile", "/accountsession")),
            Tag("Users", "The people who own homes and devices. Export and erase their data.", ("/user",)),
            Tag(
                "Consents",
                "Consents to the use of a meter point's data, their receipts, and the access log.",
                ("/user/verification", "/user/consentreceipt", "/user/accesslog", "/user/tenancy"),
            ),
            Tag("Directories", "External directories in which the users of an application log in.", ("/directory",)),
            Tag("Audit log", "Log of administrative acts.", ("/auditlog",)),
        ),
        "Homes and readings": (
            Tag("Homes", "Virtual entities: homes with their resources and attributes.", ("/virtualentity",)),
            Tag(
                "Paired displays",
                "Displays that a user pairs with a home by a code.",
                ("/displaypairing", "/paireddisplay"),
            ),
            Tag("Home types", "Types of virtual entities.", ("/vetype",)),
            Tag("Home statistics", "Numbers of homes of an application.", ("/vesys",)),
            Tag(
                "Resources and readings",
                "Metered data series: readings, present values, tariffs and costs.",
                ("/resource", "/readings"),
            ),
            Tag("Resource types", "Types of resources, with the fields that they store.", ("/resourcetype",)),
        ),
        "Devices": (
            Tag("Devices", "Displays, bridges and other devices of a home, and what they send.", ("/device",)),
            Tag("Device types", "Types of devices.", ("/devicetype",)),
            Tag("Discovery", "Find a device by any of its identifiers.", ("/discover",)),
            Tag("Eligibility", "Ask whether a meter point can use smart-meter services.", ("/eligibility",)),
        ),
        "Messages": (
            Tag("Alerts", "Alerts that were sent to users.", ("/alert",)),
            Tag("Alert rules", "Rules that send an alert when readings meet a condition.", ("/alertrule",)),
            Tag("Alert types", "Types of alerts, and the variables of their templates.", ("/alerttype",)),
            Tag("Templates", "Texts of messages, their versions and previews.", ("/template",)),
            Tag("Notifications", "Messages of alerts, and the steps of their delivery.", ("/notification",)),
            Tag("Webhooks", "Deliveries of events to the systems of an application.", ("/webhook",)),
            Tag("Prompts", "Prompts that an app shows, and their outcomes.", ("/prompt", "/prompttype", "/promptuser")),
            Tag("User actions", "Actions of users that an app records.", ("/useraction", "/useractiontype")),
        ),
        "Content and terms": (
            Tag("Content", "Content of an app, also by language.", ("/content", "/languagecontent")),
            Tag("Questions and answers", "Frequently asked questions.", ("/faq",)),
            Tag("Support details", "How users reach the support.", ("/supportdetails",)),
            Tag(
                "Terms and conditions",
                "Versions of terms and conditions, and the answers of users.",
                ("/termsconditions", "/termsconditionsuser"),
            ),
        ),
        "Flexibility": (Tag("Demand flexibility", "Events of the demand flexibility service.", ("/dfs",)),),
    }
)
"""The tags by the name of their group."""

_NAMES_BY_PATH = {path: tag.name for tags in TAG_GROUPS.values() for tag in tags for path in tag.paths}


def tag_of(path: str) -> str:
    """Return the name of the tag of a path. Raise LookupError if it has none."""
    segments = path.split("/")
    for length in range(len(segments), 1, -1):
        if name := _NAMES_BY_PATH.get("/".join(segments[:length])):
            return name
    raise LookupError(f"{path} has no tag. Add one to TAG_GROUPS.")


def tag_members() -> Json:
    """Return the members `tags` and `x-tagGroups` of the document."""
    return {
        "tags": [{"name": tag.name, "description": tag.description} for tags in TAG_GROUPS.values() for tag in tags],
        "x-tagGroups": [{"name": group, "tags": [tag.name for tag in tags]} for group, tags in TAG_GROUPS.items()],
    }
