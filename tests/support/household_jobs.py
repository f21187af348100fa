"""Jobs of a home that changed hands: rules, the alerts, mails and pushes that they enqueue, and catch-ups."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal

from sqlmodel import col
from strawberry import ID

from tests.support.house import Tenant
from tests.support.neighbour import all_rows
from tests.support.successive_households import POWER, HomeOfThree, Household, report
from wattgate.app.workers.catch_ups import process_waiting
from wattgate.clock import format_iso, utc_now
from wattgate.db.models import Delivery
from wattgate.db.rows.rows import Rows
from wattgate.delivery.channels.channel import OutboundMessage, PermanentFailure
from wattgate.enums import Channel, DeliveryKind, Function, RuleKind
from wattgate.operations.alerts import alert_rules
from wattgate.operations.alerts.alerts import create_alert
from wattgate.operations.core.operation import Call, OperationKind
from wattgate.operations.core.operation import operation as declare
from wattgate.operations.devices import catch_ups
from wattgate.operations.messages import mail, push
from wattgate.operations.types.messages.alert_rules import NewAlertRule
from wattgate.operations.types.messages.alerts import NewAlert
from wattgate.operations.vocabulary.scalars import Json
from wattgate.principal import Permission

MESSAGE_TABLES = ("account_mail", "alert", "catch_up", "delivery", "notification", "notification_log", "webhook_event")
"""The tables with the results of jobs, and with the messages that they send."""

PREPARE = {DeliveryKind.EMAIL: mail.prepare_mail, DeliveryKind.PUSH: push.prepare_push}
"""The operations that decide at sending whether a message about readings is sent, and what it has."""


async def add_power_rule(household: Household) -> str:
    """Add a rule of a household that fires at each reading of power, in all channels. Return its ID."""
    declared = NewAlertRule(
        name=household.text,
        kind=RuleKind.THRESHOLD,
        field="POWER",
        function=Function.MAX,
        threshold=Decimal(1),
        window_minutes=60,
        time_zone="UTC",
        alert_type_id=ID(household.who.ids["alert_type"]),
        channels=[*Channel],
        resource_id=ID(household.resources[0]),
    )
    return str((await household.who.run("add_alert_rule", input=declared)).rule_id)


async def retrieved_instants(household: Household) -> list[datetime]:
    """Return the instants of the readings that a catch-up of a household retrieves first."""
    arguments = {"resource_id": household.resources[0]}
    page = await household.who.gateway.runner.run(catch_ups.network_readings, household.who.system, arguments)
    return [] if page is None else [reading.at for reading in page.readings]


@declare(OperationKind.MUTATION, returns=None, needs=Permission.SYSTEM)
async def send_alert_about(
    call: Call, *, who: Tenant, resource_id: str | None, at: datetime, channels: Sequence[Channel] = (Channel.INBOX,)
) -> None:
    """Send a user an alert as that of a rule that fired at an instant, by a reading of that minute."""
    alert = NewAlert(
        user_id=ID(who.user_id),
        alert_type_id=ID(who.ids["alert_type"]),
        channels=[*channels],
        data=Json({"at": format_iso(at), "windowMinutes": 1}),
    )
    await create_alert(call, alert, resource_id=resource_id)


async def queue_alerts(place: HomeOfThree, household: Household, rule_id: str) -> None:
    """Let mails and pushes of a household wait: about a reading of its own time, and about the power of now.

    The display reports that power, at which the rule fires. The worker of the served gateway may have evaluated the
    rule first.
    """
    run, system = place.served.gateway.runner.run, household.who.system
    own = {"who": household.who, "resource_id": household.resources[0], "at": household.at}
    await run(send_alert_about, system, {**own, "channels": [Channel.EMAIL, Channel.PUSH]})
    assert await report(place, place.hardware_id, utc_now(), POWER[household.number]) == 1
    await run(alert_rules.evaluate_rule, system, {"rule_id": rule_id})


async def prepared_messages(household: Household) -> list[tuple[DeliveryKind, OutboundMessage | PermanentFailure]]:
    """Return what the worker of deliveries would send now for each mail and push about readings of a household."""

    async def load(rows: Rows) -> list[Delivery]:
        of_user = col(Delivery.user_id) == household.who.user_id
        return await rows.all(Delivery, of_user, col(Delivery.kind).in_(PREPARE), order_by=[Delivery.created_at])

    runner, system = household.who.gateway.runner, household.who.system
    deliveries = await runner.read(system, Permission.SYSTEM, load)
    return [
        (one.kind, await runner.run(PREPARE[one.kind], system, {"delivery_id": one.delivery_id})) for one in deliveries
    ]


async def messages_after_jobs(place: HomeOfThree, rules: Mapping[str, str]) -> dict[str, list[str]]:
    """Run the jobs of a home after its display has reported the power of now. Return the messages of each household.

    `rules` are the rules of the households by name. The power fires that of the present household only.
    """
    run, present = place.served.gateway.runner.run, place.present
    assert await report(place, place.hardware_id, utc_now(), POWER[present.number]) == 1
    for household in place.households:
        if not household.is_erased:
            await run(alert_rules.evaluate_rule, present.who.system, {"rule_id": rules[household.name]})
    await run(catch_ups.catch_up, present.who.account, {"resource_id": present.resources[0]})
    while await process_waiting(place.served.gateway.runner):
        continue
    rows = [row for table, row in await all_rows(present.who) if table in MESSAGE_TABLES]
    return {
        household.name: [row for row in rows if household.who.user_id in row or household.who.account_id in row]
        for household in place.households
    }
