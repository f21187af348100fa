"""A second user of a tenant's application, with one record of every kind that users own."""

from collections.abc import Collection
from typing import Any

from sqlalchemy import select
from sqlmodel import SQLModel
from strawberry import ID

from tests.support import metering
from tests.support.house import PASSWORD, Tenant
from tests.support.sample_records import add_webhook, silence_rule
from tests.support.scopes import EVERYTHING
from wattgate.db.tenancy_guard import SCOPED_OPTION
from wattgate.graphql.resolvers import provisioning
from wattgate.graphql.types import alerts, content, prompts

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
    await _add_answers(neighbour)
    await _add_messages(neighbour)
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


async def _add_answers(neighbour: Tenant) -> None:
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


async def _add_messages(neighbour: Tenant) -> None:
    ids, run = neighbour.ids, neighbour.run
    alert = alerts.NewAlert(user_id=ID(neighbour.user_id), alert_type_id="CM01", channels=[alerts.Channel.INBOX])
    sent = await run("send_alert", input=alert)
    ids["alert"] = sent.alert_id
    (notifications,) = await neighbour.edge(alerts.Alert, "notifications", [sent])
    ids["notification"] = notifications[0].notification_id
    ids["webhook"], ids["webhook_error"] = await add_webhook(neighbour)
    ids["alert_rule"] = (await run("add_alert_rule", input=silence_rule(neighbour))).rule_id
    await run("add_mobile_app_token", account_id=neighbour.account_id, new_token="fcm:neighbour")


def private_values(tenant: Tenant, neighbour: Tenant) -> set[str]:
    """Return the identifiers of the neighbour and of its records, which the tenant's user must not see."""
    own = {neighbour.user_id, neighbour.account_id, neighbour.username, "fcm:neighbour"}
    return own | (set(neighbour.ids.values()) - set(tenant.ids.values()))


async def rows_of(neighbour: Tenant, values: Collection[str]) -> dict[str, list[Any]]:
    """Return every row of the database that contains one of the values, by table, and the neighbour's readings."""
    found: dict[str, list[Any]] = {}
    async with neighbour.gateway.database.session(EVERYTHING) as session:
        for table in SQLModel.metadata.sorted_tables:
            rows = (await session.execute(select(table), execution_options=SCOPED_OPTION)).all()
            found[table.name] = [tuple(row) for row in rows if any(value in values for value in row if _is_text(value))]
        resources = SQLModel.metadata.tables["resource"]
        own = select(resources.c.number).where(resources.c.resource_id == neighbour.ids["resource"])
        for name in READING_TABLES:
            table = SQLModel.metadata.tables[name]
            readings = select(table).where(table.c.resource_number.in_(own)).order_by(table.c.at)
            found[name] = [tuple(row) for row in await session.execute(readings, execution_options=SCOPED_OPTION)]
    return {name: sorted(rows, key=repr) for name, rows in found.items() if rows}


def _is_text(value: Any) -> bool:
    return isinstance(value, str)
