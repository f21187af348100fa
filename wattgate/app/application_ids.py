"""The form of application IDs: UUIDs."""

import re

_APPLICATION_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII | re.IGNORECASE)

SAMPLE_APPLICATION_ID = "3f2b8c1e-6d54-4a7b-9c0d-1e2f3a4b5c6d"
"""An ID that shows the form. It belongs to no application."""


def parse_application_id(text: str) -> str | None:
    """Return an application ID in lower case, or None if the text does not have the form of one."""
    return text.lower() if _APPLICATION_ID.fullmatch(text) else None
