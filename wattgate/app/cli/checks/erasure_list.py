"""Check that a restored backup takes back no erasure and no move: the list of erasures, and whether it fits."""

import asyncio

from wattgate.app.cli.checks.result import CheckResult, failed, passed, warning
from wattgate.app.erasure_list import open_erasure_list
from wattgate.app.settings import Settings
from wattgate.clock import utc_now
from wattgate.db.connections.engine import Database
from wattgate.db.personal_data.erasure_check import count_late, count_unlisted, verify_erasures
from wattgate.errors import GatewayError

SUBJECT = "erasure list"


async def check_erasure_list(settings: Settings, database: Database) -> list[CheckResult]:
    """Check the list, and compare it with the database. Without a list, warn on PostgreSQL."""
    erasure_list = open_erasure_list(settings)
    try:
        await verify_erasures(database, erasure_list)
    except GatewayError as error:
        return [failed(SUBJECT, error.message)]
    if erasure_list is None:
        if database.is_sqlite:  # in memory, so there are no backups
            return []
        return [
            warning(
                SUBJECT,
                "there is none, so a restored backup brings erased users back, and former households to meter points. "
                "Set WATTGATE_ERASURE_LIST to a file that all gateways share, or schedule wattgate db export-erasures",
            )
        ]
    if problem := erasure_list.find_write_problem():
        return [failed(SUBJECT, f"{problem}. Until then, no erasure is done")]
    if not erasure_list.exists():
        results = [passed(SUBJECT, f"the first erasure or tenancy creates {erasure_list.file}")]
    else:
        content = await asyncio.to_thread(erasure_list.read)
        text = f"the database has erased all users of {erasure_list.file}: {len(content.erasures):,}"
        results = [passed(SUBJECT, f"{text}. It has all of its tenancies: {len(content.tenancies):,}")]
    waiting = {
        "erasures": await count_unlisted(database),
        "changes of tenancies": await count_late(database, utc_now()),
    }
    for entries, number in waiting.items():
        if number:
            text = (
                f"{number:,} {entries} wait for the list. A gateway adds them within seconds: check that one is running"
            )
            results.append(warning(SUBJECT, text))
    return results
