"""The terms that the users of a household app accept, which `wattgate home create` and the demonstration add."""

from datetime import UTC, datetime

from wattgate.app.homes.records import Note, find_or_add
from wattgate.app.homes.series import find_operation
from wattgate.db.models import TermsConditions
from wattgate.operations.core.runner import Runner
from wattgate.operations.flexibility import DFS_REFERENCE
from wattgate.operations.types.content.content import NewTermsConditions
from wattgate.operations.vocabulary.scalars import Json
from wattgate.principal import Principal

APP_REFERENCE, VERSION = "app", "1.0.0"

_VALID_FROM = datetime(2024, 4, 1, tzinfo=UTC)

TERMS = (
    NewTermsConditions(
        reference=APP_REFERENCE,
        version=VERSION,
        valid_from=_VALID_FROM,
        title="Terms of the app",
        data=Json({"text": "The app shows the readings of meter points that you have consented to."}),
    ),
    NewTermsConditions(
        reference=DFS_REFERENCE,
        version=VERSION,
        valid_from=_VALID_FROM,
        title="Terms of flexibility events",
        data=Json({"text": "You are paid for electricity that you do not use during an event that you joined."}),
    ),
)
"""The terms of the app, and those of the demand flexibility service."""


async def ensure_terms(runner: Runner, system: Principal, note: Note) -> list[TermsConditions]:
    """Add the terms that are missing, and return them. An application with other terms keeps its own alone."""
    terms = list[TermsConditions]()
    present: list[TermsConditions] = await runner.run(find_operation("all_terms_conditions"), system, {})
    if {stored.reference for stored in present} - {new.reference for new in TERMS}:
        return terms
    for new in TERMS:
        listing, adding = "all_terms_conditions", "add_terms_conditions"
        stored, created = await find_or_add(runner, system, listing, adding, new, "reference")
        note("terms", stored.title or stored.reference, stored.tc_id, created)
        terms.append(stored)
    return terms
