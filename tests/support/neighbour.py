"""A second user of a tenant's application, with one record of every kind that users own."""

from collections.abc import Collection, Iterable
from functools import cache

from sqlalchemy import Table, text
from sqlmodel import SQLModel, col, select
from strawberry import ID

from tests.support import metering
from tests.support.house import PASSWORD, Tenant
from tests.support.sample_records import add_webhook, silence_rule
from tests.support.scopes import EVERYTHING
from tests.support.tables import columns_of_requests
from wattgate.db.models import Resource
from wattgate.db.scope.tenancy_guard import SCOPED_OPTION
from wattgate.enums import Channel
from wattgate.operations.accounts import provisioning
from wattgate.operations.types.content import content, prompts
from wattgate.operations.types.messages import alerts

READING_TABLES = ("reading", "reading_hour", "reading_day")


async def add_neighbour(tenant: Tenant) -> Tenant:
    """Add another user to the application of a tenant. Return it as a tenant that shares the application's records."""
    username = "neighbour@one.example"
    created = await tenant.gateway.runner.run(
        provisioning.create_user, tenant.system, {"username": username, "password": PASSWORD}
    )
    neighbour = Tenant(
        tenant.gateway, tenant.application_id, created.user_id, created.account_id, username, ids=dict(tenant.ids)
    )
    await _add_home(neighbour)
    await add_answers(neighbour)
    await add_messages(neighbour)
    return neighbour


async def _add_home(neighbour: Tenant) -> None:
    ids, run = neighbour.ids, neighbour.run
    metered = await metering.metered(neighbour)
    ids["resource"], ids["mpxn"] = metered.resource_id, metered.mpxn
    ids["virtual_entity"] = await neighbour.add_home(ids["resource"])
    ids["device"] = await metering.add_device(neighbour, ids["resource"])
    await neighbour.set_tariff(ids["resource"])
    await run("verify_meter_point", mpxn=ids["mpxn"])
    await run("renew_consents", mpxns=[ids["mpxn"]])
    ids["dfs_user"] = (await run("opt_in_to_dfs")).dfs_user_id
    await run("participate_in_dfs_event", dfs_event_id=ids["dfs_event"])


async def add_answers(neighbour: Tenant) -> None:
    """Add the answers of a user to what the application asks and shows."""
    ids, run = neighbour.ids, neighbour.run
    answer = content.NewTermsConditionsUser(
        tc_id=ID(ids["terms_conditions"]),
        data=content.TermsConditionsAnswer(data_access=content.DataAccess(valid=True)),
        reference="app",
    )
    ids["terms_conditions_user"] = (await run("add_terms_conditions_user", input=answer)).tc_user_id
    shown = prompts.NewPromptUser(prompt_id=ID(ids["prompt"]))
    ids["prompt_user"] = (await run("add_prompt_user", input=shown)).prompt_user_id
    action = prompts.NewUserAction(user_action_type_id=ID(ids["user_action_type"]))
    ids["user_action"] = (await run("add_user_action", input=action)).user_action_id


async def add_messages(neighbour: Tenant) -> None:
    """Add a message of each kind for a user, and a rule on the resource of the user."""
    ids, run = neighbour.ids, neighbour.run
    alert = alerts.NewAlert(user_id=ID(neighbour.user_id), alert_type_id="CM01", channels=[Channel.INBOX])
    sent = await run("send_alert", input=alert)
    ids["alert"] = sent.alert_id
    (notifications,) = await neighbour.edge(alerts.Alert, "notifications", [sent])
    ids["notification"] = notifications[0].notification_id
    ids["webhook"], ids["webhook_error"] = await add_webhook(neighbour)
    ids["alert_rule"] = (await run("add_alert_rule", input=silence_rule(neighbour))).rule_id
    await run("add_mobile_app_token", account_id=neighbour.account_id, new_token=f"fcm:{neighbour.account_id}")


def private_values(tenant: Tenant, neighbour: Tenant) -> set[str]:
    """Return the identifiers of the neighbour and of its records, which the tenant's user must not see."""
    own = {neighbour.user_id, neighbour.account_id, neighbour.username}
    return own | (set(neighbour.ids.values()) - set(tenant.ids.values()))


async def all_rows(neighbour: Tenant) -> set[tuple[str, str]]:
    """Return every row of the database, and of readings those of the neighbour's resource.

    A row is a table's name and the row as text. One statement reads all tables, because tests call this often.
    """
    database = neighbour.gateway.database
    async with database.session(EVERYTHING) as session:
        number = select(Resource.number).where(col(Resource.resource_id) == neighbour.ids["resource"])
        (own,) = (await session.execute(number, execution_options=SCOPED_OPTION)).scalars()
        statement = text(_all_rows_statement(is_sqlite=database.is_sqlite, resource_number=own))
        return {(table, row) for table, row in await session.execute(statement, execution_options=SCOPED_OPTION)}


def rows_with(values: Collection[str], rows: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the rows that contain one of the values, and the readings."""
    return sorted(
        (table, row) for table, row in rows if table in READING_TABLES or any(value in row for value in values)
    )


@cache
def _all_rows_statement(*, is_sqlite: bool, resource_number: int) -> str:
    """Return a statement that reads all rows of all tables as text, and of readings those of one resource."""
    return " UNION ALL ".join(
        f"SELECT '{table.name}', {_row_as_text(table, is_sqlite=is_sqlite)} FROM {table.name} AS t"
        + (f" WHERE resource_number = {resource_number}" if table.name in READING_TABLES else "")
        for table in SQLModel.metadata.sorted_tables
    )


def _row_as_text(table: Table, *, is_sqlite: bool) -> str:
    """Return a row as text. On PostgreSQL, gateways of tests have no list of erasures, so no worker changes rows."""
    columns = columns_of_requests(table)
    return "||'|'||".join(f'quote("{column.name}")' for column in columns) if is_sqlite else "CAST(t AS text)"
