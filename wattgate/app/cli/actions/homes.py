"""Carry out `wattgate home show`."""

from functools import partial
from typing import Any

from wattgate.app.cli.actions.listing import home_record
from wattgate.app.cli.consoles import out
from wattgate.app.cli.database_context import run_async
from wattgate.app.cli.gateway_context import with_current_gateway
from wattgate.app.cli.record_lists import print_records, to_cell, to_text
from wattgate.app.homes.applications import ListedHome, ResourceDetails, load_home_details, load_resource_details
from wattgate.app.homes.home_selection import HomeChoice, find_home
from wattgate.app.server.components import Components
from wattgate.app.settings import Settings
from wattgate.db.rows.rows import Rows
from wattgate.principal import Permission, Principal, Role


def home_show(*, home: str, application: str | None, user: str | None, as_json: bool) -> None:
    """Show a home: its resources, with their IDs, meter points, first and last readings, and tariffs."""
    choice = HomeChoice(home, application, user)
    record = run_async(with_current_gateway(Settings(), partial(_show_home, choice=choice)))
    if as_json:
        out.print_json(data=record)
        return
    resources = record.pop("resources")
    for label, value in record.items():
        out.print(f"{label:<10} {to_cell(value)}", markup=False, highlight=False)
    print_records(resources, len(resources), as_json=False)


async def _show_home(gateway: Components, *, choice: HomeChoice) -> dict[str, Any]:
    """Return the record of a home, with those of its resources."""
    home = await find_home(gateway.runner, choice)

    async def load(rows: Rows) -> tuple[ListedHome, list[ResourceDetails]]:
        (listed,) = await load_home_details(rows, [home])
        return listed, await load_resource_details(rows, listed.resources)

    system = Principal(Role.SYSTEM, application_id=home.application_id)
    listed, details = await gateway.runner.read(system, Permission.SYSTEM, load)
    records = [
        {
            "classifier": shown.resource.classifier,
            "resourceId": shown.resource.resource_id,
            "mpxn": shown.resource.mpxn,
            "firstTime": to_text(shown.first_time),
            "lastTime": to_text(shown.last_time),
            "tariff": shown.tariff.name if shown.tariff else None,
        }
        for shown in details
    ]
    return {**home_record(listed), "resources": records}
