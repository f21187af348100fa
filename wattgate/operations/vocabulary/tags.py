"""Tags of the OpenAPI document. Each route of the REST interface names its own."""

from enum import Enum


class Tag(Enum):
    """An area of the interface: its group, title and description. The order is that in which readers see them."""

    LOGIN = ("People", "Login", "Log in, log out, and list and revoke tokens, also with OAuth 2.0.")
    REGISTRATION = ("People", "Registration", "Register a user, and verify the e-mail address.")
    ACCOUNTS = ("People", "Accounts", "Login accounts: their names, addresses, passwords and second factors.")
    ACCOUNT_PROFILES = ("People", "Account profiles", "Data of an app that each account keeps.")
    USERS = ("People", "Users", "The people who own homes and devices. Export and erase their data.")
    CONSENTS = (
        "People",
        "Consents",
        "Consents to the use of a meter point's data, their receipts, and the access log.",
    )
    DIRECTORIES = ("People", "Directories", "External directories in which the users of an application log in.")
    AUDIT_LOG = ("People", "Audit log", "Log of administrative acts.")
    HOMES = ("Homes and readings", "Homes", "Virtual entities: homes with their resources and attributes.")
    SHARED_HOMES = (
        "Homes and readings",
        "Shared homes",
        "Other people who may read a home, and homes that others share.",
    )
    PAIRED_DISPLAYS = ("Homes and readings", "Paired displays", "Displays that a user pairs with a home by a code.")
    HOME_TYPES = ("Homes and readings", "Home types", "Types of virtual entities.")
    HOME_STATISTICS = ("Homes and readings", "Home statistics", "Numbers of homes of an application.")
    RESOURCES_AND_READINGS = (
        "Homes and readings",
        "Resources and readings",
        "Metered data series: readings, present values, tariffs and costs.",
    )
    RESOURCE_TYPES = ("Homes and readings", "Resource types", "Types of resources, with the fields that they store.")
    DEVICES = ("Devices", "Devices", "Displays, bridges and other devices of a home, and what they send.")
    DEVICE_TYPES = ("Devices", "Device types", "Types of devices.")
    DISCOVERY = ("Devices", "Discovery", "Find a device by any of its identifiers.")
    ELIGIBILITY = ("Devices", "Eligibility", "Ask whether a meter point can use smart-meter services.")
    ALERTS = ("Messages", "Alerts", "Alerts that were sent to users.")
    ALERT_RULES = ("Messages", "Alert rules", "Rules that send an alert when readings meet a condition.")
    ALERT_TYPES = ("Messages", "Alert types", "Types of alerts, and the variables of their templates.")
    TEMPLATES = ("Messages", "Templates", "Texts of messages, their versions and previews.")
    NOTIFICATIONS = ("Messages", "Notifications", "Messages of alerts, and the steps of their delivery.")
    WEBHOOKS = ("Messages", "Webhooks", "Deliveries of events to the systems of an application.")
    PROMPTS = ("Messages", "Prompts", "Prompts that an app shows, and their outcomes.")
    USER_ACTIONS = ("Messages", "User actions", "Actions of users that an app records.")
    CONTENT = ("Content and terms", "Content", "Content of an app, also by language.")
    QUESTIONS_AND_ANSWERS = ("Content and terms", "Questions and answers", "Frequently asked questions.")
    SUPPORT_DETAILS = ("Content and terms", "Support details", "How users reach the support.")
    TERMS_AND_CONDITIONS = (
        "Content and terms",
        "Terms and conditions",
        "Versions of terms and conditions, and the answers of users.",
    )
    DEMAND_FLEXIBILITY = ("Flexibility", "Demand flexibility", "Events of the demand flexibility service.")

    def __init__(self, group: str, title: str, description: str) -> None:
        self.group = group
        self.title = title
        self.description = description
